"""Label images of a whole film in little memory: compressed, and unpacked when a frame is used."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.tracking.cell_detection import measure_nuclei
from ermlab.tracking.cells import as_label_image, measure
from ermlab.tracking.events import Cells

Labels = NDArray[np.int32]
#: Level of zlib: the fastest one makes label images about a hundred times smaller.
_LEVEL = 1


@dataclass(frozen=True)
class _Packed:
    """A compressed label image, whose regions are numbered from 1."""

    content: bytes
    dtype: str
    shape: tuple[int, int]

    @classmethod
    def of(cls, labels: NDArray[np.integer]) -> Self:
        small = labels.astype(np.min_scalar_type(int(labels.max(initial=0))))
        return cls(zlib.compress(small, _LEVEL), small.dtype.str, labels.shape)

    def unpacked(self) -> NDArray[np.unsignedinteger]:
        return np.frombuffer(zlib.decompress(self.content), dtype=self.dtype).reshape(self.shape)


class LabelFilm(Sequence[Labels]):
    """The label images of a film, a sequence of arrays.

    Frames are compressed in memory, which takes about a hundredth of the pixels. Each access unpacks a new
    array: to change one does not change the film.

    Parameters
    ----------
    frames : iterable of array-like of int of shape (height, width)
        For each frame the number of the region at each pixel, from 1 on; 0 for the background.
    labels : sequence of array-like of int, optional
        For each frame the labels of the regions 1, 2, ..., by default their numbers.
    """

    def __init__(self, frames: Iterable[ArrayLike], labels: Sequence[ArrayLike] | None = None):
        self._frames = [_Packed.of(as_label_image(frame)) for frame in frames]
        self._labels: list[Labels] | None = None
        if labels is not None:
            self._labels = self._checked(labels)

    def _checked(self, labels: Sequence[ArrayLike]) -> list[Labels]:
        if len(labels) != len(self._frames):
            raise ValueError(f"labels of {len(labels)} frames: expected {len(self._frames)}")
        return [np.asarray(of_frame, dtype=np.int32) for of_frame in labels]

    def with_labels(self, labels: Sequence[ArrayLike]) -> LabelFilm:
        """Return a film of the same regions with other labels; it shares the memory of this one."""
        return self._like(self._frames, self._checked(labels))

    @classmethod
    def _like(cls, frames: list[_Packed], labels: list[Labels] | None) -> LabelFilm:
        film = cls([])
        film._frames, film._labels = frames, labels
        return film

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Labels: ...

    @overload
    def __getitem__(self, index: slice) -> LabelFilm: ...

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._like(self._frames[index], None if self._labels is None else self._labels[index])
        regions = self._frames[index].unpacked()
        if self._labels is None:
            return regions.astype(np.int32)
        return np.concatenate([np.zeros(1, dtype=np.int32), self._labels[index]])[regions]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("frames are compressed: an array of them is always a copy")
        return np.stack(list(self)).astype(dtype or np.int32, copy=False) if self._frames else np.zeros((0,))


def measured_frames(
    masks: Iterable[ArrayLike], images: Iterable[ArrayLike] | None = None
) -> Iterator[tuple[NDArray[np.int64], Cells]]:
    """Yield for each label image its regions, numbered from 1 by ascending label, and their measurements.

    Parameters
    ----------
    masks : iterable of array-like of int of shape (height, width)
        Label images, 0 for the background. A label is one cell, even if its pixels are not connected.
    images : iterable of array-like of shape (height, width), optional
        The frames, for the intensities, which are means above the background as in `detect_frames`. Without
        them all intensities are 1: the score of an event then does not depend on them.
    """
    shape, pairs = None, ((mask, None) for mask in masks) if images is None else _paired(masks, images)
    for t, (mask, image) in enumerate(pairs):
        try:
            mask = as_label_image(_not_binary(mask))
            shape = mask.shape if shape is None else shape
            if mask.shape != shape:
                raise ValueError(f"a label image has shape {mask.shape}: expected {shape} as in frame 0")
            numbers, cells = measure(mask) if image is None else measure_nuclei(mask, image)
        except ValueError as error:
            raise ValueError(f"frame {t}: {error}") from error
        yield np.searchsorted(numbers, mask) + (mask > 0), cells


def _not_binary(mask: ArrayLike) -> NDArray:
    """Return a label image as an array; a binary mask is an error of its own."""
    mask = np.asarray(mask)
    if mask.dtype.kind == "b":
        raise ValueError(
            "a mask of bool does not tell touching cells apart: expected a label per cell, for example "
            "by `skimage.measure.label`"
        )
    return mask


def _paired(masks: Iterable[ArrayLike], images: Iterable[ArrayLike]) -> Iterator[tuple]:
    """Yield masks with their images, which must be equally many."""
    both, end = zip(iter(masks), iter(images), strict=True), object()
    while True:
        try:
            pair = next(both, end)
        except ValueError as error:  # of zip
            raise ValueError("masks and images differ in number: expected an image for each mask") from error
        if pair is end:
            return
        yield pair
