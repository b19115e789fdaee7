"""BOLD series of one person who watches two films, one of them with labels of its content.

The scans (thesis, section 4.1.3) are private; `simulate_movie_watching` writes similar ones.
"""

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from ermlab._utils.files import broken, require_folder
from ermlab.fmri.volumes import read_volume
from reproduction.datasets import bold_files
from reproduction.datasets.simulators import bold_anatomy, bold_series
from reproduction.datasets.simulators.bold_anatomy import Head, Region
from reproduction.datasets.simulators.bold_films import KINDS, LABELS, Film, draw_film, rate
from reproduction.datasets.simulators.bold_series import Acquisition, Components
from reproduction.datasets.simulators.sizes import check_size

FILMS = ("film1", "film2")
_ANATOMY = "sub-01/anat/sub-01_T1w.nii.gz"
_BOLD = "sub-01/func/sub-01_task-{film}_bold.nii.gz"


@dataclass(frozen=True)
class MovieWatching:
    """Series of two films, and labels of the first film."""

    bold: dict[str, Path]  #: NIfTI files of "film1" and "film2"
    anatomy: Path  #: T1-weighted NIfTI file
    labels: pd.DataFrame  #: content of film1, one row per volume; the BOLD response follows 5 s later
    repetition_time: float
    slice_times: np.ndarray  #: seconds after the start of a volume, one per slice
    regions: nib.Nifti1Image  #: numbers of regions in template space, 0 outside
    region_names: dict[str, int]


def read_movie_watching(folder: str | Path) -> MovieWatching:
    """Read labels and regions, and check the series and the anatomy."""
    folder = require_folder(folder)
    repetition_time, slice_times = bold_files.read_sidecar(folder / "task-film_bold.json")
    bold = {film: folder / _BOLD.format(film=film) for film in FILMS}
    shapes = {
        film: bold_files.check_series(path, repetition_time, len(slice_times)) for film, path in bold.items()
    }
    if shapes["film2"][:3] != shapes["film1"][:3]:
        raise broken(bold["film2"], f"shape {shapes['film2']}", f"the grid of film1, {shapes['film1'][:3]}")
    bold_files.check_finite(folder / _ANATOMY, read_volume(folder / _ANATOMY, ndim=3).data)
    path = folder / "film1_labels.tsv"
    labels = bold_files.read_tsv(path, LABELS, numeric=LABELS)
    if len(labels) != shapes["film1"][3]:
        raise broken(path, f"{len(labels)} rows", f"one for each of {shapes['film1'][3]} volumes")
    regions = bold_files.read_regions(folder / "truth/regions.nii.gz")
    names = _read_names(folder / "truth/regions.tsv", regions)
    return MovieWatching(bold, folder / _ANATOMY, labels, repetition_time, slice_times, regions, names)


def _read_names(path: Path, regions: nib.Nifti1Image) -> dict[str, int]:
    table = bold_files.read_tsv(path, ("number", "name"), numeric=("number",))
    names = {str(name): int(number) for number, name in table.itertuples(index=False)}
    if missing := [name for name in LABELS if name not in names]:
        raise broken(path, f"no region {missing[0]}", f"regions {', '.join(LABELS)}")
    unnamed = set(np.unique(np.asanyarray(regions.dataobj)).tolist()) - {0, *names.values()}
    if unnamed:
        raise broken(path, f"no name for region {min(unnamed)}", "a name for each number in regions.nii.gz")
    return names


@dataclass(frozen=True)
class _Size:
    shape: tuple[int, int, int]
    resolution: int
    volumes: int
    anatomy_resolution: int


#: The last one has the grid and the volumes of the study.
SIZES = {
    "smoke": _Size((22, 22, 16), 9, 80, 9),
    "demo": _Size((32, 32, 23), 6, 350, 3),
    "paper": _Size((64, 64, 46), 3, 350, 1),
}
REPETITION_TIME = 3.2
#: Regions of the labels (MNI millimeters), and the signal change in percent in their core when the label goes
#: from 0 to 1: localizers give 1 to 2 %, natural viewing about half of it (Bartels and Zeki, Human Brain
#: Mapping 21, 2004). Centers are rounded from studies of V5/MT+ (Dumoulin 2000), early visual
#: cortex, the extrastriate and fusiform body areas (Downing 2001, Peelen 2005), hV4 (McKeefry 1997), the
#: fusiform face area (Kanwisher 1997) and the superior temporal cortex (Binder 2000). V5 and the extrastriate
#: body area touch, as do the fusiform areas.
_REGIONS = {
    "motion": (Region("motion", ((-46, -72, 4), (46, -66, 4)), (8, 8, 8)), 1.0),
    "temporal_contrast": (Region("temporal_contrast", ((-9, -92, 0), (10, -90, 2)), (9, 10, 9)), 1.0),
    "human_body": (
        Region("human_body", ((-50, -76, 12), (51, -72, 10), (-39, -46, -24), (41, -44, -24)), (7, 7, 7)),
        0.8,
    ),
    "color": (Region("color", ((-28, -74, -14), (28, -72, -14)), (8, 9, 6)), 0.8),
    "faces": (Region("faces", ((-40, -56, -18), (41, -54, -18)), (7, 8, 6)), 1.0),
    "language": (
        Region("language", ((-58, -20, 2), (-56, -38, 6), (58, -20, 0), (56, -36, 4)), (7, 12, 7)),
        1.0,
    ),
}
#: Networks without a label. A film drives them too, differently for each kind of scene: in their core with a
#: standard deviation of 0.2 %, in addition to ONGOING_SD, so that about a tenth of their variance comes from
#: the film, in agreement with correlations between viewers (Hasson and others, Science 303, 2004).
_NETWORKS, _DRIVE_SD = 12, 0.002
#: Share of the pattern of a network that is the same in both films: within a person, networks in different
#: tasks correlate by 0.8 to 0.9 (Cole and others, Neuron 83, 2014; Gratton and others, Neuron 98, 2018).
SHARING = 0.8
#: Change of the head position between the films: millimeters and degrees for each axis.
_RESETTLING = np.repeat([0.5, 0.3], 3)
#: Noise of the anatomical image, relative to white matter.
_ANATOMY_SD = 0.02


def simulate_movie_watching(
    folder: str | Path, seed: int, size: str, *, sharing: float = SHARING, signal: float = 1.0
) -> None:
    """Write the scans of a person who watches two films, and the labels of the first.

    Both films are sequences of scenes of the same kinds. The content of a scene drives the labeled
    regions, its kind drives networks without a label. Regions and networks also have ongoing activity.

    Parameters
    ----------
    folder, seed, size
        See `reproduction.datasets`.
    sharing : float, default=0.8
        Squared cosine between the patterns of the unlabeled networks in the two films, from 0 (unrelated) to
        1 (equal).
    signal : float, default=1.0
        Factor of all responses to the films; with 0 there is none.
    """
    check_size(size, SIZES)
    if not 0 <= sharing <= 1:
        raise ValueError(f"sharing is {sharing}: expected a number from 0 to 1")
    if not 0 <= signal < np.inf:
        raise ValueError(f"signal is {signal}: expected a finite number from 0")
    folder, counts = Path(folder), SIZES[size]
    when = Acquisition(
        counts.volumes, REPETITION_TIME, bold_series.interleaved(counts.shape[2], REPETITION_TIME)
    )
    rng = np.random.default_rng([seed, 0])
    head = bold_anatomy.draw_head(rng, counts.shape, counts.resolution)
    brain = _draw_brain(rng, head, sharing)
    epi = head.epi(rng)
    films = {
        name: draw_film(np.random.default_rng([seed, 1, k]), when.fine_count) for k, name in enumerate(FILMS)
    }
    for number, (name, film) in enumerate(films.items()):
        rng = np.random.default_rng([seed, 2, number])
        activity = brain.watch(rng, name, film, when, signal) + bold_series.draw_nuisance(rng, head, when)
        motion = bold_series.draw_motion(rng, when.volumes) + number * rng.normal(0, _RESETTLING)
        series = bold_series.render(rng, head, epi, activity, when, motion)
        bold_files.write_series(folder / _BOLD.format(film=name), series, head.affine, when.repetition_time)
    labels = rate(np.random.default_rng([seed, 3]), films["film1"], when.volumes, when.repetition_time)
    bold_files.write_tsv(folder / "film1_labels.tsv", pd.DataFrame(labels, columns=list(LABELS)))
    bold_files.write_sidecar(folder / "task-film_bold.json", "film", when)
    _write_anatomy(folder / _ANATOMY, np.random.default_rng([seed, 4]), head, counts)
    _write_truth(folder / "truth", counts)


@dataclass(frozen=True)
class _Brain:
    """Regions and networks of one person that respond to films."""

    regions: np.ndarray  #: (labels, x, y, z), 1 in the core
    networks: dict[str, np.ndarray]  #: for each film (networks, x, y, z)
    tuning: np.ndarray  #: (networks, kinds of scene), response of a network to a kind
    peaks: np.ndarray  #: hemodynamics of regions and networks

    def watch(
        self, rng: np.random.Generator, name: str, film: Film, when: Acquisition, signal: float
    ) -> Components:
        """Return the activity of regions and networks during a film."""
        percents = np.array([percent for _, percent in _REGIONS.values()])
        driven = np.concatenate(
            [percents[:, None] / 100 * film.content, _DRIVE_SD * self.tuning[:, film.kinds]]
        )
        driven = signal * bold_series.hemodynamic(driven, self.peaks)
        courses = driven + bold_series.ONGOING_SD * bold_series.ongoing(rng, len(driven), when.fine_count)
        return Components(np.concatenate([self.regions, self.networks[name]]), when.sample(courses))


def _draw_brain(rng: np.random.Generator, head: Head, sharing: float) -> _Brain:
    regions = np.stack([region.weight(head.coordinates) for region, _ in _REGIONS.values()]) * head.gray()
    # All patterns are orthogonal: the squared cosine of a network's patterns in the films is `sharing`.
    maps = bold_anatomy.draw_networks(rng, 2 * _NETWORKS, head.template)
    first, other = maps[:_NETWORKS], maps[_NETWORKS:]
    second = np.sqrt(sharing) * first + np.sqrt(1 - sharing) * other
    networks = {
        film: np.stack([head.sample(network) for network in patterns])
        for film, patterns in zip(FILMS, (first, second), strict=True)
    }
    tuning = rng.standard_normal((_NETWORKS, len(KINDS)))
    return _Brain(
        regions.astype(np.float32), networks, tuning, bold_series.draw_peaks(rng, len(LABELS) + _NETWORKS)
    )


def _write_anatomy(path: Path, rng: np.random.Generator, head: Head, counts: _Size) -> None:
    resolution = counts.anatomy_resolution
    factor = counts.resolution // resolution
    shape = tuple(factor * side for side in counts.shape)
    anatomy = head.regrid(
        shape, bold_anatomy.scanner_affine(shape, resolution), bold_anatomy.load_template(resolution)
    )
    t1 = anatomy.t1() + _ANATOMY_SD * rng.standard_normal(shape, dtype=np.float32)
    bold_files.write_map(path, np.rint(1000 * np.clip(t1, 0, None)).astype(np.int16), anatomy.affine)


def _write_truth(folder: Path, counts: _Size) -> None:
    template = bold_anatomy.load_template(counts.resolution)
    numbered = bold_anatomy.label_regions([region for region, _ in _REGIONS.values()], template)
    bold_files.write_map(folder / "regions.nii.gz", numbered, template.affine)
    table = pd.DataFrame({"number": range(1, len(_REGIONS) + 1), "name": list(_REGIONS)})
    bold_files.write_tsv(folder / "regions.tsv", table)
