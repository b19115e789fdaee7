"""The studies that sections 4.2 and 4.3 learn from, made from films, a slice and contrast maps."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets.haxby2001_slice import HaxbySlice
from reproduction.datasets.wager2008_contrasts import WagerContrasts, mni_brain
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps
from reproduction.experiments.fmri_studies.haxby import prepare_haxby
from reproduction.experiments.fmri_studies.movie_series import Films, MovieSeries
from reproduction.experiments.fmri_studies.study import Study

#: Of the film study: what is predicted (thesis, section 4.2.3).
TARGET = "temporal_contrast"
#: Of the Haxby slice: the category whose presence is predicted.
CATEGORY = "face"


def film_study(series: MovieSeries, films: Films) -> Study:
    """Predict temporal contrast from the volumes of the first film, whose stretches are runs.

    ``films`` are those of ``series``, cut into stretches that know nothing of each other or, for splits that
    leak, as they are.
    """
    return Study(
        films.paired.astype(np.float32),
        films.label(TARGET)[:, 0],
        series.mask,
        series.affine,
        "runs",
        runs=films.stretches,
        region=series.region(TARGET),
    )


def reversed_labels(series: MovieSeries) -> MovieSeries:
    """Return the films with their labels turned back to front: as smooth in time, and unrelated to the scan.

    What is predicted of them is what the splits leak, or the luck of the best among many models.
    """
    return replace(series, labels=series.labels[::-1].copy())


def haxby_study(data: HaxbySlice) -> Study:
    """Predict from volumes whether a face is seen."""
    series = prepare_haxby(data)
    if CATEGORY not in series.names:
        raise ValueError(f"the categories are {list(series.names)}: expected {CATEGORY!r} among them")
    return Study(
        series.volumes.astype(np.float32),
        series.categories[:, series.names.index(CATEGORY)],
        data.mask,
        data.affine,
        "runs",
        runs=series.runs,
    )


def wager_study(data: WagerContrasts, pool: int) -> Study:
    """Predict from contrast maps how well a subject reappraises; ``pool`` voxels along an axis become one.

    The maps have values far outside the head: voxels are those of the MNI brain.
    """
    if pool < 1:
        raise ValueError(f"pool is {pool}: expected at least 1")
    mask = data.mask & mni_brain(data.mask.shape, data.affine)
    if not mask.any():
        raise ValueError("no voxel lies in the MNI brain: expected maps in MNI space")
    maps, mask, affine = pool_voxels(data.maps, mask, data.affine, pool)
    return Study(maps[:, mask], data.score, mask, affine, "permuted")


def pool_voxels(
    maps: NDArray, mask: NDArray[np.bool_], affine: NDArray[np.float64], pool: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.float64]]:
    """Average cubes of ``pool`` voxels along each axis over their voxels in the mask.

    A cube is in the new mask if at least half of its voxels are in the old one.
    """
    pads = [(0, -n % pool) for n in mask.shape]
    inside = _cubes(np.pad(mask, pads).astype(np.float64), pool)
    sums = np.stack([_cubes(np.pad(np.where(mask, one, 0), pads), pool) for one in maps])
    means = np.divide(sums, inside, out=np.zeros_like(sums), where=inside > 0)
    moved = affine.copy()
    moved[:3, :3] *= pool
    moved[:3, 3] += affine[:3, :3] @ np.full(3, (pool - 1) / 2)
    return means.astype(np.float32), inside >= pool**3 / 2, moved


def _cubes(volume: NDArray, pool: int) -> NDArray[np.float64]:
    """Return the sum over each cube."""
    a, b, c = (n // pool for n in volume.shape)
    return volume.reshape(a, pool, b, pool, c, pool).sum(axis=(1, 3, 5), dtype=np.float64)


def group_study(maps: ContrastMaps, positive: str) -> Study:
    """Tell two groups of kept subjects apart: 1 for the group ``positive``, -1 for the other."""
    y = np.where(maps.group == positive, 1.0, -1.0)[maps.kept]
    if len(set(y)) != 2:
        raise ValueError(f"the groups kept are {sorted(set(maps.group[maps.kept]))}: expected two")
    return Study(maps.maps[maps.kept], y, maps.mask, maps.affine, "permuted", region=maps.region)


def median_split(study: Study) -> Study:
    """Tell the subjects with a score above the median (1) from the others (-1)."""
    y = np.where(study.y > np.median(study.y), 1.0, -1.0)
    return Study(study.X, y, study.mask, study.affine, study.fair)
