"""The studies of sections 4.2 and 4.3: rows of voxels, a target, and splits that do not leak."""

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.metrics.splits import Sampling
from reproduction.datasets.wager2008_contrasts import WagerContrasts, mni_brain
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps
from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.fmri_studies.movie_series import Films, MovieSeries

#: Target of the film study (thesis, section 4.2.3).
TARGET = "temporal_contrast"
#: Category of the Haxby slice whose presence is predicted.
CATEGORY = "face"
#: Data set to its study of two groups (rule prepare_group_studies), and to the title of that study.
GROUP_STUDIES = {"drug_stroop": "stroop_groups", "wager2008_contrasts": "wager_groups"}
GROUP_TITLES = {"drug_stroop": "drug Stroop", "wager2008_contrasts": "Wager maps, median split"}


@dataclass(frozen=True)
class Study(ArrayFile):
    """Samples in rows, a target, and the place of each voxel."""

    X: NDArray[np.float32]  #: (samples, voxels)
    y: NDArray[np.float64]
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]
    fair: str  #: kind of `Sampling` whose splits do not leak
    #: Run of each sample; empty if there are no runs.
    runs: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: True voxels; empty if unknown.
    region: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def sampling(self, kind: str) -> Sampling:
        """Return how samples are split, for a kind of `Sampling`."""
        return Sampling(kind, len(self.y), runs=self.runs if kind == "runs" else None)


@dataclass(frozen=True)
class Scaling:
    """Means and standard deviations of a training part; features that do not vary become 0."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, X: ArrayLike) -> Self:
        """Estimate mean and standard deviation from a training part."""
        X = np.asarray(X, dtype=np.float64)
        deviation = X.std(axis=0)
        # Rounding gives a constant feature a deviation that is not quite 0.
        flat = deviation <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        return cls(X.mean(axis=0), np.where(flat, math.inf, deviation))

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scale samples."""
        return (np.asarray(X, dtype=np.float64) - self.mean) / self.deviation


def film_study(series: MovieSeries, films: Films) -> Study:
    """Predict temporal contrast from the volumes of the first film, whose stretches are runs.

    Parameters
    ----------
    series : MovieSeries
    films : Films
        The films of ``series``, cut into independent stretches (`cut_films`) or, for splits that leak, whole
        (`whole_films`).
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
    """Return the films with labels reversed in time: equally smooth, and unrelated to the scan.

    Any correlation with them comes from a leak of the splits, or from choosing the best of many models.
    """
    return replace(series, labels=series.labels[::-1].copy())


def haxby_study(series: HaxbySeries) -> Study:
    """Predict from volumes whether a face is shown."""
    volumes, target = series.volumes.astype(np.float32), series.category(CATEGORY)[:, 0]
    return Study(volumes, target, series.mask, series.affine, "runs", runs=series.runs)


def wager_study(data: WagerContrasts, pool: int) -> Study:
    """Predict reappraisal success from contrast maps, with ``pool`` voxels per axis averaged into one.

    The maps have values far outside the head, so only voxels of the MNI brain are used.
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
    sums = np.stack([_cubes(np.pad(np.where(mask, volume, 0), pads), pool) for volume in maps])
    means = np.divide(sums, inside, out=np.zeros_like(sums), where=inside > 0)
    pooled_affine = affine.copy()
    pooled_affine[:3, :3] *= pool
    pooled_affine[:3, 3] += affine[:3, :3] @ np.full(3, (pool - 1) / 2)
    return means.astype(np.float32), inside >= pool**3 / 2, pooled_affine


def _cubes(volume: NDArray, pool: int) -> NDArray[np.float64]:
    """Return the sum over each cube."""
    a, b, c = (n // pool for n in volume.shape)
    return volume.reshape(a, pool, b, pool, c, pool).sum(axis=(1, 3, 5), dtype=np.float64)


def group_study(maps: ContrastMaps, positive: str) -> Study:
    """Classify the subjects that were kept: 1 for the group ``positive``, -1 for the other."""
    y = np.where(maps.group == positive, 1.0, -1.0)[maps.kept]
    if len(set(y)) != 2:
        raise ValueError(f"the groups kept are {sorted(set(maps.group[maps.kept]))}: expected two")
    return Study(maps.maps[maps.kept], y, maps.mask, maps.affine, "permuted", region=maps.region)


def median_split(study: Study) -> Study:
    """Classify subjects by whether their score is above the median (1) or not (-1)."""
    return replace(study, y=np.where(study.y > np.median(study.y), 1.0, -1.0))
