"""Cells from label images: their measurements, the true cells they hold, and films of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.tracking.ctc import Lineage, TrackedCells
from ermlab.tracking.events import Cells
from ermlab.tracking.films import CellFilm

Numbers = NDArray[np.int64]
#: Largest label: two labels then fit into an integer of 64 bits.
_LARGEST_LABEL = (1 << 31) - 1


def measure(labels: ArrayLike, image: ArrayLike | None = None) -> tuple[Numbers, Cells]:
    """Return the labels of the regions of an image, ascending, and their measurements.

    All regions are measured at once by sums over pixels, unlike in `skimage.measure.regionprops`.

    Parameters
    ----------
    labels : array-like of shape (height, width)
        Label image, 0 for the background.
    image : array-like of shape (height, width), optional
        Image for the mean intensity, positive within the regions; without it all intensities are 1.
    """
    labels = as_label_image(labels)
    place = np.flatnonzero(labels)
    numbers, region = np.unique(labels.ravel()[place], return_inverse=True)
    area = np.bincount(region).astype(float)

    def mean(values: NDArray) -> NDArray[np.float64]:
        return np.bincount(region, weights=values, minlength=len(area)) / area

    row, column = np.divmod(place, labels.shape[1]) if len(place) else (place, place)
    center = np.column_stack([mean(row), mean(column)])
    y, x = row - center[region, 0], column - center[region, 1]
    light = np.ones(len(place)) if image is None else as_image(image, labels.shape).ravel()[place]
    eccentricity = _eccentricity(mean(y * y), mean(x * x), mean(y * x))
    return numbers, Cells(center, area, mean(light), eccentricity, labels.shape)


def _eccentricity(yy: NDArray, xx: NDArray, yx: NDArray) -> NDArray[np.float64]:
    """Return the eccentricity of the ellipse with the given second moments, 0 for a single pixel."""
    middle, half = (yy + xx) / 2, np.hypot((yy - xx) / 2, yx)
    long, short = middle + half, np.maximum(middle - half, 0.0)
    return np.sqrt(1 - np.divide(short, long, out=np.ones_like(long), where=long > 0))


def match_tracks(labels: ArrayLike, truth: ArrayLike) -> Numbers:
    """Return rows (label of a detection, label of a true cell that it holds), ascending.

    A detection holds a cell if it covers more than half of the cell, or if the cell covers more than half of
    the detection. Each piece of an oversegmented cell thus holds it, and a detection of several cells holds
    all.

    Parameters
    ----------
    labels, truth : array-like of shape (height, width)
        Label images of the detections and of the true cells, 0 for the background.
    """
    labels, truth = as_label_image(labels), as_label_image(truth)
    if labels.shape != truth.shape:
        raise ValueError(f"truth has shape {truth.shape}: expected {labels.shape} as the labels")
    base = int(truth.max(initial=0)) + 1
    pairs, shared = np.unique(labels.ravel() * base + truth.ravel(), return_counts=True)
    detection, cell = np.divmod(pairs, base)
    held = (2 * shared > _sums(detection, shared)) | (2 * shared > _sums(cell, shared))
    return np.column_stack([detection, cell])[held & (detection > 0) & (cell > 0)]


def _sums(key: Numbers, values: Numbers) -> NDArray[np.float64]:
    """Return for each entry the sum of the values with the same key."""
    _, number = np.unique(key, return_inverse=True)
    return np.bincount(number, weights=values)[number]


def film_of_masks(truth: TrackedCells) -> CellFilm:
    """Return a film of true cells, as if they had been detected without errors; all intensities are 1."""
    found = [measure(mask) for mask in truth.masks]
    tracks = [np.column_stack([np.arange(len(numbers)), numbers]) for numbers, _ in found]
    return join_frames([cells for _, cells in found], tracks, truth.lineage)


def join_frames(
    frames: Sequence[Cells], tracks: Iterable[Numbers] | None = None, lineage: Lineage | None = None
) -> CellFilm:
    """Return the film that consists of the given frames.

    Parameters
    ----------
    frames : sequence of Cells
        The detections of each frame, at least one frame.
    tracks : iterable of ndarray of shape (n_rows, 2), optional
        For each frame rows (cell, true track), ordered by cell; without them no track is known.
    lineage : Lineage, optional
        The lineage of the tracks.
    """
    tracks = [np.zeros((0, 2), dtype=np.int64) for _ in frames] if tracks is None else tracks
    lineage = Lineage.empty() if lineage is None else lineage
    if not frames:
        raise ValueError("no frames: expected at least one")
    shapes = {cells.shape for cells in frames}
    if len(shapes) > 1:
        raise ValueError(f"frames of shapes {sorted(shapes)}: expected all the same")
    counts = [len(cells) for cells in frames]
    first = np.cumsum([0, *counts[:-1]])
    rows = [of_frame + np.array([start, 0]) for start, of_frame in zip(first, tracks, strict=True)]
    return CellFilm(
        frame=np.repeat(np.arange(len(frames)), counts),
        position=np.concatenate([cells.position for cells in frames]),
        area=np.concatenate([cells.area for cells in frames]),
        intensity=np.concatenate([cells.intensity for cells in frames]),
        eccentricity=np.concatenate([cells.eccentricity for cells in frames]),
        shape=np.array(shapes.pop()),
        n_frames=len(frames),
        tracks=np.concatenate(rows),
        lineage=np.array(lineage.rows(), dtype=np.int64).reshape(-1, 4),
    )


def settle_tracks(film: CellFilm) -> CellFilm:
    """Return a completely annotated film with tracks that follow its detections.

    A detection without a cell gets a track of its own: it appears and disappears. A track that is not
    detected in some frames is broken: it disappears, and another one appears later. If it is not detected in
    the last frame before a division, or the first one after it, the division stays unknown.
    """
    seen: dict[int, list[int]] = {}
    for frame, track in zip(film.frame[film.tracks[:, 0]].tolist(), film.tracks[:, 1].tolist(), strict=True):
        seen.setdefault(track, []).append(frame)
    dividing = set(film.lineage[:, 3].tolist())
    fresh = count(int(film.lineage[:, 0].max(initial=0)) + 1)
    lineage, names = [], {}
    for label, begin, end, parent in film.lineage.tolist():
        known = label in seen
        *earlier, (first, last) = _stretches(seen[label]) if known else [(begin, end)]
        # The last stretch keeps the label, to which children refer.
        for name, start, stop in [*((next(fresh), *stretch) for stretch in earlier), (label, first, last)]:
            # A track that is never detected gets no names: its lineage may claim any length.
            names |= {(label, frame): name for frame in range(start, stop + 1)} if known else {}
            lineage.append([name, start, stop, 0])
        lineage[-1][2] = end if label in dividing else last
        if parent:
            lineage[-1 - len(earlier)][1::2] = [begin, parent]
    rows = [
        [detection, names[track, frame]]
        for (detection, track), frame in zip(film.tracks.tolist(), film.frame[film.tracks[:, 0]], strict=True)
    ]
    for detection in np.setdiff1d(np.arange(len(film.frame)), film.tracks[:, 0]).tolist():
        frame = int(film.frame[detection])
        rows.append([detection, next(fresh)])
        lineage.append([rows[-1][1], frame, frame, 0])
    return replace(
        film,
        tracks=np.array(sorted(rows), dtype=np.int64).reshape(-1, 2),
        lineage=np.array(lineage, dtype=np.int64).reshape(-1, 4),
    )


def _stretches(frames: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last frame of each stretch of successive frames."""
    present = np.unique(list(frames))
    parts = np.split(present, np.flatnonzero(np.diff(present) > 1) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts]


def as_label_image(labels: ArrayLike) -> Numbers:
    """Return a label image as integers, or raise a ValueError."""
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.dtype.kind not in "iu":
        raise ValueError(
            f"a label image has shape {labels.shape} of {labels.dtype}: expected two axes of whole numbers"
        )
    if labels.size and labels.min() < 0:
        raise ValueError(f"a label image has the label {labels.min()}: expected 0 for background or more")
    if labels.size and labels.max() > _LARGEST_LABEL:
        raise ValueError(f"a label image has the label {labels.max()}: expected at most {_LARGEST_LABEL}")
    return labels.astype(np.int64)


def as_image(image: ArrayLike, shape: tuple[int, int] | None = None) -> NDArray[np.float64]:
    """Return a gray image of finite numbers, with the given shape if any, or raise a ValueError."""
    image = np.asarray(image)
    if image.ndim != 2 or 0 in image.shape or (shape is not None and image.shape != shape):
        raise ValueError(f"an image has shape {image.shape}: expected {shape or 'two axes, gray'}")
    if image.dtype.kind not in "iuf":
        raise ValueError(f"an image is of {image.dtype}: expected numbers")
    if not np.isfinite(image).all():
        row, column = np.argwhere(~np.isfinite(image))[0]
        raise ValueError(f"an image has {image[row, column]} in row {row}, column {column}: expected numbers")
    with np.errstate(over="ignore"):
        double = image.astype(np.float64)
    if not np.isfinite(double).all():
        raise ValueError(
            f"an image of {image.dtype} has values beyond double precision: expected smaller ones"
        )
    return double
