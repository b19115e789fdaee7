"""Two films as rows of voxels, and the labels of the first one (thesis, section 4.1.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import nibabel as nib
import numpy as np
import pandas as pd
from nilearn.datasets import load_mni152_brain_mask, load_mni152_template
from nilearn.glm.first_level import spm_hrf
from nilearn.image import resample_to_img
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.fmri import Preprocessing, high_pass, preprocess, tissue_templates
from ermlab.fmri.stretches import stretch_numbers, without_drifts
from reproduction.datasets.movie_watching import MovieWatching

#: Samples of the haemodynamic response per volume.
_OVERSAMPLING = 16


def positions(names: Sequence[str], known: NDArray[np.str_], what: str) -> list[int]:
    """Return the index of each name among the known ones, or raise ValueError."""
    order = known.tolist()
    if unknown := [name for name in names if name not in order]:
        raise ValueError(f"{what} {unknown}: expected some of {order}")
    return [order.index(name) for name in names]


@dataclass(frozen=True)
class MovieSeries(ArrayFile):
    """Preprocessed volumes of two films on one mask; the first film has labels."""

    film1: NDArray[np.float32]  #: (volumes, voxels), with mean 0 over the film
    film2: NDArray[np.float32]
    labels: NDArray[np.float64]  #: (volumes of film 1, labels)
    names: NDArray[np.str_]  #: of the labels
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimeters
    regions: NDArray[np.int64]  #: number of the true region of each voxel, 0 for none
    region_names: NDArray[np.str_]  #: names of the regions 1, 2, ...
    motion: NDArray[np.float64]  #: (films, 2): largest translation in mm, largest rotation in degrees
    repetition_time: float = 3.2  #: seconds between volumes; default as in the thesis

    def region(self, *names: str) -> NDArray[np.bool_]:
        """Return which voxels lie in one of the named regions."""
        return np.isin(self.regions, [i + 1 for i in positions(names, self.region_names, "regions")])


def prepare_movie(data: MovieWatching) -> MovieSeries:
    """Preprocess both films (thesis, section 4.1.3), on the template's grid at the resolution of the scan.

    The labels describe what is on the screen, so they are convolved with the haemodynamic response, and
    high-pass filtered like the volumes. Each film is centered on its own mean volume.
    """
    resolution = int(np.round(np.min(nib.load(data.bold["film1"]).header.get_zooms()[:3])))
    mask = load_mni152_brain_mask(resolution=resolution)
    settings = Preprocessing(
        repetition_time=data.repetition_time,
        slice_times=data.slice_times,
        template=load_mni152_template(resolution=resolution),
        components=tissue_templates(),
        mask=mask,
    )
    films, motion = {}, []
    for name in ("film1", "film2"):
        scan = preprocess(data.bold[name], settings)
        films[name] = scan.series - scan.series.mean(axis=0, dtype=np.float64).astype(np.float32)
        motion.append([np.abs(part).max() for part in (scan.motion[:, :3], scan.motion[:, 3:])])
    inside = np.asarray(mask.dataobj) > 0
    names = sorted(data.region_names, key=data.region_names.get)
    return MovieSeries(
        films["film1"],
        films["film2"],
        label_series(data.labels, data.repetition_time),
        np.array(list(data.labels.columns)),
        inside,
        np.asarray(mask.affine),
        _regions_on(mask, data.regions, [data.region_names[name] for name in names])[inside],
        np.array(names),
        np.array(motion),
        data.repetition_time,
    )


def label_series(labels: pd.DataFrame | ArrayLike, repetition_time: float) -> NDArray[np.float64]:
    """Convolve each column with the haemodynamic response, and remove slow drifts and the mean."""
    columns = np.asarray(labels, dtype=np.float64)
    response = spm_hrf(repetition_time, _OVERSAMPLING)[::_OVERSAMPLING]
    centered = columns - columns.mean(axis=0)
    delayed = np.apply_along_axis(lambda column: np.convolve(column, response)[: len(column)], 0, centered)
    passed = high_pass(delayed, repetition_time)
    return passed - passed.mean(axis=0)


@dataclass(frozen=True)
class Films:
    """Volumes and labels to learn from."""

    paired: NDArray[np.float64]  #: (volumes, voxels) of film 1
    unpaired: NDArray[np.float64]  #: of film 2
    labels: NDArray[np.float64]  #: (volumes of film 1, labels)
    names: NDArray[np.str_]  #: of the labels
    stretches: NDArray[np.int64]  #: of the volumes of film 1

    def label(self, *names: str) -> NDArray[np.float64]:
        """Return the series of the named labels (volumes, names)."""
        return self.labels[:, positions(names, self.names, "labels")]


def cut_films(series: MovieSeries, stretches: int, gap: int) -> Films:
    """Cut the films into independent stretches of time.

    Drifts are removed from each stretch separately (`without_drifts`), and volumes between stretches of film
    1 are left out, because the response to one stretch extends into the next.

    Parameters
    ----------
    series : MovieSeries
    stretches : int
        Number of stretches.
    gap : int
        Number of volumes left out between two stretches.
    """
    first = stretch_numbers(len(series.film1), stretches, gap)
    second = stretch_numbers(len(series.film2), stretches, 0)
    kept = first >= 0
    parts = (series.film1, first), (series.film2, second), (series.labels, first)
    film1, film2, labels = (without_drifts(part, where, series.repetition_time) for part, where in parts)
    return Films(film1[kept], film2, labels[kept], series.names, first[kept])


def whole_films(series: MovieSeries) -> Films:
    """Return all volumes, high-pass filtered over the whole film: the protocol that leaks."""
    none = np.zeros(len(series.film1), dtype=np.int64)
    return Films(series.film1.astype(np.float64), series.film2, series.labels, series.names, none)


def _regions_on(grid: nib.Nifti1Image, regions: nib.Nifti1Image, numbers: list[int]) -> NDArray[np.int64]:
    """Resample regions to another grid, and renumber them 1, 2, ... in the order of ``numbers``."""
    resampled = resample_to_img(regions, grid, interpolation="nearest", copy_header=True, force_resample=True)
    volume = np.round(np.asarray(resampled.dataobj)).astype(np.int64)
    return sum((np.where(volume == number, i, 0) for i, number in enumerate(numbers, start=1)), start=0)
