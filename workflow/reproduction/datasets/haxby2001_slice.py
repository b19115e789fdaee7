"""Haxby 2001, one axial slice of one subject: BOLD responses to eight categories of pictures."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, read_lines, require_folder
from ermlab.fmri.volumes import read_volume
from reproduction.datasets.bold_files import write_map, write_series
from reproduction.datasets.files import parse_integer
from reproduction.datasets.simulators.bold_anatomy import Head, Region, draw_head, random_fields
from reproduction.datasets.simulators.bold_series import (
    FINE,
    ONGOING_SD,
    Acquisition,
    Components,
    draw_motion,
    draw_nuisance,
    draw_peaks,
    hemodynamic,
    ongoing,
    render,
)
from reproduction.datasets.simulators.sizes import check_size

#: The label of volumes without a stimulus.
REST = "rest"


@dataclass(frozen=True)
class HaxbySlice:
    """Scan of several runs, with the category of each volume."""

    bold: np.ndarray  #: (x, y, z, volumes)
    mask: np.ndarray  #: (x, y, z), True in the brain
    labels: np.ndarray  #: category of each volume, `REST` without a stimulus; delayed like the response
    runs: np.ndarray  #: run of each volume, from 0
    affine: np.ndarray  #: voxels to millimeters
    repetition_time: float  #: seconds between volumes


def read_haxby2001_slice(folder: str | Path) -> HaxbySlice:
    """Read ``bold.nii.gz``, ``mask.nii.gz`` and ``attributes_literal.txt`` (``label run`` per volume)."""
    folder = require_folder(folder)
    bold, mask = read_volume(folder / "bold.nii.gz", ndim=4), read_volume(folder / "mask.nii.gz", ndim=3)
    if mask.data.shape != bold.data.shape[:3] or not np.allclose(mask.affine, bold.affine):
        raise broken(
            folder / "mask.nii.gz",
            f"shape {mask.data.shape}, affine {mask.affine.tolist()}",
            f"those of bold.nii.gz, {bold.data.shape[:3]} and {bold.affine.tolist()}",
        )
    if not mask.data.any():
        raise broken(folder / "mask.nii.gz", "no voxel in the mask", "at least one")
    if not np.isfinite(bold.data).all():
        raise broken(folder / "bold.nii.gz", "NaN or infinite voxels", "finite ones")
    if not bold.steps[3] > 0:
        raise broken(folder / "bold.nii.gz", f"repetition time {bold.steps[3]}", "seconds above 0")
    attributes = folder / "attributes_literal.txt"
    lines = read_lines(attributes, _parse_volume, "<label> <run>")
    if len(lines) != bold.data.shape[3]:
        raise broken(attributes, f"{len(lines)} lines", f"one for each of {bold.data.shape[3]} volumes")
    labels, runs = zip(*lines, strict=True)
    return HaxbySlice(
        bold.data,
        mask.data != 0,
        np.array(labels),
        np.array(runs),
        bold.affine,
        repetition_time=bold.steps[3],
    )


def _parse_volume(line: str) -> tuple[str, int]:
    label, run = line.split()
    return label, parse_integer(run)


#: All sizes give the same: 12 runs of 121 volumes of one slice.
SIZES = ("smoke", "demo", "paper")
CATEGORIES = ("bottle", "cat", "chair", "face", "house", "scissors", "scrambledpix", "shoe")
_RUNS, _REPETITION_TIME, _SHAPE, _STEP = 12, 2.5, (40, 20, 1), (3.1, 3.75, 3.75)
#: Volumes of rest before each block and after the last, and of each block, as in the study.
_REST, _BLOCK = (6, 6, 5, 5, 5, 6, 5, 5, 6), 9
#: Delay of the labels of the file after the pictures in seconds. The real labels follow the response: shifted
#: by a volume in either direction they explain less. The delay of the response to a block is similar.
_LABEL_DELAY = 6.0
#: Center of the slice in MNI millimeters: posterior half, through the fusiform gyri.
_SLICE_CENTER = np.array([0.0, -70.0, -14.0])
#: Signal change in percent in the core of a region, for any picture and in addition for its category
#: (localizers give 1 to 2 %). Each category also has a weaker, smooth pattern in all gray matter: the
#: distributed and overlapping responses of the study. In the real slice, the patterns of odd and even runs
#: share 0.18 % over the brain; a standard deviation of 0.3 % in gray matter gives 0.2 %.
_ANY = (
    Region("visual", ((-12, -88, -10), (14, -86, -10), (-34, -74, -14), (36, -72, -14)), (12, 12, 12)),
    1.5,
)
_SPECIAL = {
    "face": (Region("fusiform face area", ((-40, -54, -17), (41, -52, -17)), (7, 8, 7)), 1.0),
    "house": (Region("parahippocampal place area", ((-26, -48, -10), (27, -46, -10)), (6, 8, 8)), 1.0),
}
_PATTERN_SD, _PATTERN_FWHM = 0.3, 8.0
_NETWORKS = 12


def simulate_haxby2001_slice(folder: str | Path, seed: int, size: str) -> None:
    """Write a simulated slice with the names, the shape and the design of the real one.

    The head moves within the slice only, because adjacent slices are not simulated.
    """
    check_size(size, SIZES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, 0])
    head = _draw_slice(rng)
    evoked, networks = _draw_maps(rng, head)
    epi = head.epi(rng)
    mask = head.t1() > 0.2
    peaks = draw_peaks(rng, len(evoked))
    series, lines = [], []
    for run in range(_RUNS):
        rng = np.random.default_rng([seed, 1, run])
        labels = _draw_labels(rng)
        when = Acquisition(len(labels), _REPETITION_TIME, np.zeros(1))
        activity = Components(evoked, when.sample(hemodynamic(_shown(labels), peaks)))
        activity += Components(networks, when.sample(ongoing(rng, len(networks), when.fine_count)))
        motion = draw_motion(rng, when.volumes) * [1, 1, 0, 0, 0, 1]
        series.append(render(rng, head, epi, activity + draw_nuisance(rng, head, when), when, motion))
        lines += [f"{label} {run}" for label in labels]
    bold = np.concatenate(series, axis=3) * mask[..., None]
    affine = np.diag([-_STEP[0], _STEP[1], _STEP[2], 1.0])
    affine[:2, 3] = -affine[:2, :2] @ (np.array(_SHAPE[:2]) - 1) / 2
    write_series(folder / "bold.nii.gz", bold.astype(np.int16), affine, _REPETITION_TIME)
    write_map(folder / "mask.nii.gz", mask.astype(np.int16), affine)
    (folder / "attributes_literal.txt").write_text("\n".join(lines) + "\n")


def _draw_slice(rng: np.random.Generator) -> Head:
    """Draw the head of a person within the slice."""
    affine = np.diag([-_STEP[0], _STEP[1], _STEP[2], 1.0])
    affine[:3, 3] = _SLICE_CENTER - affine[:3, :3] @ (np.array(_SHAPE) - 1) / 2
    return draw_head(rng, _SHAPE, float(np.mean(_STEP[:2])), affine=affine, template_resolution=3)


def _draw_maps(rng: np.random.Generator, head: Head) -> tuple[np.ndarray, np.ndarray]:
    """Return the responses to any picture and to each category, and networks with ongoing activity."""
    gray = head.gray()
    patterns = _PATTERN_SD * random_fields(rng, len(CATEGORIES), head.shape, head.resolution, _PATTERN_FWHM)
    for category, (region, percent) in _SPECIAL.items():
        patterns[CATEGORIES.index(category)] += percent * region.weight(head.coordinates)
    region, percent = _ANY
    evoked = np.concatenate([percent * region.weight(head.coordinates)[None], patterns]) * gray / 100
    networks = 0.4 * ONGOING_SD * gray * random_fields(rng, _NETWORKS, head.shape, head.resolution, 20.0)
    return evoked.astype(np.float32), networks.astype(np.float32)


def _draw_labels(rng: np.random.Generator) -> list[str]:
    """Return the labels of a run: every category once, in random order."""
    labels = [REST] * _REST[0]
    for category, pause in zip(rng.permutation(CATEGORIES), _REST[1:], strict=True):
        labels += [str(category)] * _BLOCK + [REST] * pause
    return labels


def _shown(labels: list[str]) -> np.ndarray:
    """Return when any picture, and when one of each category, is shown: (1 + categories, fine samples)."""
    count = int(np.ceil(len(labels) * _REPETITION_TIME / FINE)) + 1
    labeled = FINE * np.arange(count) + _LABEL_DELAY
    volume = np.minimum((labeled / _REPETITION_TIME).astype(int), len(labels) - 1)
    names = np.array(labels)[volume]
    return np.stack([names != REST, *(names == category for category in CATEGORIES)]).astype(float)
