"""Kernels of a dense CRF: their specification, and the filters of samples."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import largest_magnitude, positive_number, real_array, whole_number
from ermlab.segmentation.gaussian_filter import GaussianFilter, position_features
from ermlab.segmentation.potentials import LARGEST_POTENTIAL

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """A Gaussian kernel of positions, and of the guide image if it has a width there.

    Attributes
    ----------
    width : float
        Standard deviation of the positions.
    guide_width : float or None
        Standard deviation of the values of the guide image.
    channels : tuple of int or None
        The channels of the guide image, by default all.
    """

    width: float
    guide_width: float | None = None
    channels: tuple[int, ...] | None = None

    @classmethod
    def parse(cls, number: int, value: object) -> Kernel:
        """Return the kernel for ``width``, ``(width, guide_width)`` or ``(width, guide_width, channels)``."""
        parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(
                f"kernel {number} is {value!r}: expected width, (width, guide_width) or "
                "(width, guide_width, channels)"
            )
        width = positive_number(f"width of kernel {number}", parts[0])
        if len(parts) == 1:
            return cls(width)
        guide_width = positive_number(f"guide_width of kernel {number}", parts[1])
        if len(parts) == 2:
            return cls(width, guide_width)
        channels = tuple(whole_number(f"channel of kernel {number}", channel, 0) for channel in parts[2])
        if not channels:
            raise ValueError(f"kernel {number} has no channels: expected at least one")
        return cls(width, guide_width, channels)

    def features(self, positions: Vector, guide: Vector | None) -> Vector:
        """Return positions, and values of the guide image, in units of the widths."""
        with np.errstate(over="ignore"):  # the filter rejects infinite features
            scaled = positions / self.width
            if self.guide_width is None:
                return scaled
            values = guide if self.channels is None else guide[:, list(self.channels)]
            return np.hstack([scaled, values / self.guide_width])


class FilterCache:
    """Filters by key, the least recently used of which are forgotten when they take too much memory."""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self._filters: OrderedDict[Hashable, GaussianFilter] = OrderedDict()
        self._n_bytes, self._lock = 0, Lock()

    def __call__(self, key: Hashable, build: Callable[[], GaussianFilter], keep: bool) -> GaussianFilter:
        """Return the filter of a key, built if it is not there, and kept if ``keep``."""
        with self._lock:
            if key in self._filters:
                self._filters.move_to_end(key)
                return self._filters[key]
        found = build()
        if keep:
            self._store(key, found)
        return found

    def _store(self, key: Hashable, found: GaussianFilter) -> None:
        with self._lock:
            if key in self._filters:
                return
            self._filters[key] = found
            self._n_bytes += found.nbytes
            while self._n_bytes > self.max_bytes:
                self._n_bytes -= self._filters.popitem(last=False)[1].nbytes

    def __getstate__(self) -> dict:
        """Leave the filters, which can be large, out of copies and files."""
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)


@dataclass(frozen=True)
class DenseSample:
    """A checked sample.

    Attributes
    ----------
    features : ndarray of shape (n_nodes, n_features)
        Features of the pixels that are nodes.
    shape : tuple of int
        Shape of the image.
    guide : ndarray of shape (n_nodes, n_channels) or None
        The guide image at the nodes.
    nodes : ndarray of int or None
        Numbers of the pixels that are nodes; None if all are.
    keys : list of Hashable
        What the filter of each kernel depends on.
    """

    features: Vector
    shape: tuple[int, ...]
    guide: Vector | None
    nodes: NDArray[np.int64] | None
    keys: list[Hashable]

    @property
    def n_pixels(self) -> int:
        """Number of pixels of the image."""
        return int(np.prod(self.shape))

    def at_nodes(self, values: NDArray) -> NDArray:
        """Return the values of the nodes from those of all pixels."""
        return values if self.nodes is None else values[self.nodes]

    def image(self, values: NDArray) -> NDArray:
        """Return an image from values of the nodes, 0 at other pixels."""
        whole = values
        if self.nodes is not None:
            whole = np.zeros((self.n_pixels, *values.shape[1:]), dtype=values.dtype)
            whole[self.nodes] = values
        return whole.reshape(*self.shape, *values.shape[1:])


def dense_sample(x: object, n_features: int, kernels: Sequence[Kernel]) -> DenseSample:
    """Return a checked sample from ``features``, ``(features, guide)`` or ``(features, guide, mask)``."""
    parts = x if isinstance(x, tuple) else (x,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"sample of {len(parts)} parts: expected features, (features, guide) or (features, guide, mask)"
        )
    features, guide, mask = (*parts, None, None)[:3]
    features = real_array(features, "features")
    if features.ndim < 2 or features.shape[-1] != n_features or features.size == 0:
        raise ValueError(
            f"features have shape {features.shape}: expected (height, width, {n_features}) or "
            f"(depth, height, width, {n_features}), at least one pixel"
        )
    shape = features.shape[:-1]
    nodes = None if mask is None else _check_mask(mask, shape)
    guide = None if guide is None else _check_guide(guide, shape)
    for m, kernel in enumerate(kernels):
        _check_kernel(m, kernel, guide)
    features = _finite_rows(features.reshape(-1, n_features), nodes, "features", shape)
    guide = None if guide is None else _finite_rows(guide, nodes, "guide", shape)
    place = (shape, None if nodes is None else _digest(nodes))
    content = None if guide is None else _digest(guide)
    keys = [(k, *place, None if k.guide_width is None else content) for k in kernels]
    return DenseSample(features, shape, guide, nodes, keys)


def build_filter(sample: DenseSample, kernel: Kernel, spacing: Vector, n_jobs: int | None) -> GaussianFilter:
    """Return the filter of a kernel between the nodes of a sample."""
    positions = sample.at_nodes(position_features(sample.shape, spacing))
    try:
        return GaussianFilter(kernel.features(positions, sample.guide), n_jobs=n_jobs)
    except ValueError as error:
        raise ValueError(f"{kernel}: {error}") from error


def _check_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the numbers of the pixels in a mask."""
    mask = np.asarray(mask)
    if mask.shape != shape or mask.dtype != np.bool_:
        raise ValueError(f"mask of type {mask.dtype}, shape {mask.shape}: expected booleans of shape {shape}")
    if not mask.any():
        raise ValueError("mask has no true entry: expected at least one pixel to label")
    return np.flatnonzero(mask)


def _check_guide(guide: ArrayLike, shape: tuple[int, ...]) -> Vector:
    """Return the guide image with one row per pixel."""
    guide = real_array(guide, "guide")
    if guide.shape[: len(shape)] != shape or guide.ndim > len(shape) + 1 or guide.size == 0:
        raise ValueError(f"guide has shape {guide.shape}: expected {shape} or {shape} and channels")
    return guide.reshape(int(np.prod(shape)), -1)


def _check_kernel(number: int, kernel: Kernel, guide: Vector | None) -> None:
    if kernel.guide_width is None:
        return
    if guide is None:
        raise ValueError(f"kernel {number} has a guide_width: expected samples (features, guide)")
    last = max(kernel.channels or (0,))
    if last >= guide.shape[1]:
        raise ValueError(f"kernel {number} has channel {last}: expected less than {guide.shape[1]}")


def _finite_rows(
    values: Vector, nodes: NDArray[np.int64] | None, name: str, shape: tuple[int, ...]
) -> Vector:
    """Return the rows of the nodes, or raise a ValueError that names the pixel of a bad value."""
    rows = np.ascontiguousarray(values if nodes is None else values[nodes])
    if not largest_magnitude(rows) <= LARGEST_POTENTIAL:
        row, channel = np.argwhere(~(np.abs(rows) <= LARGEST_POTENTIAL))[0]
        pixel = np.unravel_index(row if nodes is None else nodes[row], shape)
        place = tuple(int(index) for index in pixel)
        raise ValueError(
            f"{name} is {rows[row, channel]} at pixel {place}, channel {channel}: "
            f"expected finite numbers up to {LARGEST_POTENTIAL:.3g}"
        )
    return rows


def _digest(array: NDArray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array), digest_size=16).digest()
