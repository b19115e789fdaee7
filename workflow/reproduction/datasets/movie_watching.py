"""One person in the scanner watches two films, one of them with series of labels for what it shows.

The scans (thesis, section 4.1.3) are private; `simulate_movie_watching` writes such scans.
"""

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from ermlab._utils.files import broken, require_folder
from ermlab.fmri.volumes import read_volume
from reproduction.datasets.bold_files import (
    check_finite,
    check_series,
    read_regions,
    read_sidecar,
    read_tsv,
    write_map,
    write_series,
    write_sidecar,
    write_tsv,
)
from reproduction.datasets.simulators.bold_anatomy import (
    Head,
    Region,
    draw_head,
    draw_networks,
    label_regions,
    load_template,
    scanner_affine,
)
from reproduction.datasets.simulators.bold_films import KINDS, LABELS, Film, draw_film, rate
from reproduction.datasets.simulators.bold_series import (
    ONGOING_SD,
    Acquisition,
    Components,
    draw_motion,
    draw_nuisance,
    draw_peaks,
    haemodynamic,
    interleaved,
    ongoing,
    render,
)
from reproduction.datasets.simulators.sizes import check_size

FILMS = ("film1", "film2")
_ANATOMY = "sub-01/anat/sub-01_T1w.nii.gz"
_BOLD = "sub-01/func/sub-01_task-{film}_bold.nii.gz"


@dataclass(frozen=True)
class MovieWatching:
    """Series of two films, and labels of the first."""

    bold: dict[str, Path]  #: NIfTI files of "film1" and "film2"
    anatomy: Path  #: T1-weighted NIfTI file
    labels: pd.DataFrame  #: a row a volume of film1: what it shows then; the blood follows 5 s later
    repetition_time: float
    slice_times: np.ndarray  #: seconds after a volume's begin, one a slice
    regions: nib.Nifti1Image  #: numbers of regions in template space, 0 outside
    region_names: dict[str, int]


def read_movie_watching(folder: str | Path) -> MovieWatching:
    """Read labels and regions, and check the series and the anatomy."""
    folder = require_folder(folder)
    repetition_time, slice_times = read_sidecar(folder / "task-film_bold.json")
    bold = {film: folder / _BOLD.format(film=film) for film in FILMS}
    shapes = {film: check_series(path, repetition_time, len(slice_times)) for film, path in bold.items()}
    if shapes["film2"][:3] != shapes["film1"][:3]:
        raise broken(bold["film2"], f"shape {shapes['film2']}", f"the grid of film1, {shapes['film1'][:3]}")
    check_finite(folder / _ANATOMY, read_volume(folder / _ANATOMY, ndim=3).data)
    path = folder / "film1_labels.tsv"
    labels = read_tsv(path, LABELS, numeric=LABELS)
    if len(labels) != shapes["film1"][3]:
        raise broken(path, f"{len(labels)} rows", f"one for each of {shapes['film1'][3]} volumes")
    regions = read_regions(folder / "truth/regions.nii.gz")
    names = _read_names(folder / "truth/regions.tsv", regions)
    return MovieWatching(bold, folder / _ANATOMY, labels, repetition_time, slice_times, regions, names)


def _read_names(path: Path, regions: nib.Nifti1Image) -> dict[str, int]:
    table = read_tsv(path, ("number", "name"), numeric=("number",))
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
#: Where the labels act (MNI millimetres), and the percentage by which the signal changes in a region's core
#: when the label goes from 0 to 1: localisers give 1 to 2 %, natural viewing about half of it (Bartels and
#: Zeki, Human Brain Mapping 21, 2004). Centres rounded from studies of V5/MT+ (Dumoulin 2000), early visual
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
#: Networks without a label. A film drives them too, in its own way for each kind of scene: in their core by a
#: standard deviation of .2 %, beside ONGOING_SD of their own, so that about a tenth of their variance comes
#: from the film, as correlations between viewers have it (Hasson and others, Science 303, 2004).
_NETWORKS, _DRIVE_SD = 12, 0.002
#: Share of a network's pattern that is the same in both films: within a person, networks under different
#: tasks correlate by .8 to .9 (Cole and others, Neuron 83, 2014; Gratton and others, Neuron 98, 2018).
SHARING = 0.8
#: Between the films the head settles anew: millimetres and degrees of each axis.
_RESETTLING = np.repeat([0.5, 0.3], 3)
#: Noise of the anatomical image, as a share of white matter.
_ANATOMY_SD = 0.02


def simulate_movie_watching(
    folder: str | Path, seed: int, size: str, *, sharing: float = SHARING, signal: float = 1.0
) -> None:
    """Write the scans of a person who watches two films, and the labels of the first.

    Both films are sequences of scenes of the same kinds. What a scene shows drives the labelled regions; its
    kind drives networks that no label names. Regions and networks also have ongoing activity of their own.

    Parameters
    ----------
    folder
        Where to write.
    seed
        Of all that is random.
    size
        ``"smoke"``, ``"demo"`` or ``"paper"``.
    sharing
        From 0 to 1: the squared cosine between the patterns of the unlabelled networks in the two films; 0
        makes them unrelated, 1 the same.
    signal
        Factor of all that the films drive; at 0 the brain knows nothing of them.
    """
    check_size(size, SIZES)
    if not 0 <= sharing <= 1:
        raise ValueError(f"sharing is {sharing}: expected a number from 0 to 1")
    if not 0 <= signal < np.inf:
        raise ValueError(f"signal is {signal}: expected a finite number from 0")
    folder, counts = Path(folder), SIZES[size]
    when = Acquisition(counts.volumes, REPETITION_TIME, interleaved(counts.shape[2], REPETITION_TIME))
    rng = np.random.default_rng([seed, 0])
    head = draw_head(rng, counts.shape, counts.resolution)
    brain = _draw_brain(rng, head, sharing)
    epi = head.epi(rng)
    films = {
        name: draw_film(np.random.default_rng([seed, 1, k]), when.fine_count) for k, name in enumerate(FILMS)
    }
    for number, (name, film) in enumerate(films.items()):
        rng = np.random.default_rng([seed, 2, number])
        activity = brain.watch(rng, name, film, when, signal) + draw_nuisance(rng, head, when)
        motion = draw_motion(rng, when.volumes) + number * rng.normal(0, _RESETTLING)
        series = render(rng, head, epi, activity, when, motion)
        write_series(folder / _BOLD.format(film=name), series, head.affine, when.repetition_time)
    labels = rate(np.random.default_rng([seed, 3]), films["film1"], when.volumes, when.repetition_time)
    write_tsv(folder / "film1_labels.tsv", pd.DataFrame(labels, columns=list(LABELS)))
    write_sidecar(folder / "task-film_bold.json", "film", when)
    _write_anatomy(folder / _ANATOMY, np.random.default_rng([seed, 4]), head, counts)
    _write_truth(folder / "truth", counts)


@dataclass(frozen=True)
class _Brain:
    """How one person's brain takes part in a film."""

    regions: np.ndarray  #: (labels, x, y, z), 1 in the core
    networks: dict[str, np.ndarray]  #: for each film (networks, x, y, z)
    tuning: np.ndarray  #: (networks, kinds of scene), response of a network to a kind
    peaks: np.ndarray  #: haemodynamics of regions and networks

    def watch(
        self, rng: np.random.Generator, name: str, film: Film, when: Acquisition, signal: float
    ) -> Components:
        """Return the activity of regions and networks while they see a film."""
        percents = np.array([percent for _, percent in _REGIONS.values()])
        driven = np.concatenate(
            [percents[:, None] / 100 * film.content, _DRIVE_SD * self.tuning[:, film.kinds]]
        )
        driven = signal * haemodynamic(driven, self.peaks)
        courses = driven + ONGOING_SD * ongoing(rng, len(driven), when.fine_count)
        return Components(np.concatenate([self.regions, self.networks[name]]), when.sample(courses))


def _draw_brain(rng: np.random.Generator, head: Head, sharing: float) -> _Brain:
    regions = np.stack([region.weight(head.coordinates) for region, _ in _REGIONS.values()]) * head.grey()
    # All patterns are orthogonal: the squared cosine of a network's patterns in the films is `sharing`.
    maps = draw_networks(rng, 2 * _NETWORKS, head.template)
    first, other = maps[:_NETWORKS], maps[_NETWORKS:]
    second = np.sqrt(sharing) * first + np.sqrt(1 - sharing) * other
    networks = {
        film: np.stack([head.sample(network) for network in patterns])
        for film, patterns in zip(FILMS, (first, second), strict=True)
    }
    tuning = rng.standard_normal((_NETWORKS, len(KINDS)))
    return _Brain(regions.astype(np.float32), networks, tuning, draw_peaks(rng, len(LABELS) + _NETWORKS))


def _write_anatomy(path: Path, rng: np.random.Generator, head: Head, counts: _Size) -> None:
    resolution = counts.anatomy_resolution
    factor = counts.resolution // resolution
    shape = tuple(factor * side for side in counts.shape)
    anatomy = head.regrid(shape, scanner_affine(shape, resolution), load_template(resolution))
    t1 = anatomy.t1() + _ANATOMY_SD * rng.standard_normal(shape, dtype=np.float32)
    write_map(path, np.rint(1000 * np.clip(t1, 0, None)).astype(np.int16), anatomy.affine)


def _write_truth(folder: Path, counts: _Size) -> None:
    template = load_template(counts.resolution)
    numbered = label_regions([region for region, _ in _REGIONS.values()], template)
    write_map(folder / "regions.nii.gz", numbered, template.affine)
    table = pd.DataFrame({"number": range(1, len(_REGIONS) + 1), "name": list(_REGIONS)})
    write_tsv(folder / "regions.tsv", table)
