"""Drug Stroop study of two groups: BOLD series of cocaine users and controls naming the colors of words.

The scans of the study (thesis, section 4.2.2) are private; `simulate_drug_stroop` writes similar ones.
"""

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from ermlab._utils.files import broken, require_folder
from reproduction.datasets import bold_files
from reproduction.datasets.files import inside
from reproduction.datasets.simulators import bold_anatomy, bold_series
from reproduction.datasets.simulators.bold_anatomy import Head, Region
from reproduction.datasets.simulators.bold_series import Acquisition, Components
from reproduction.datasets.simulators.sizes import check_size

CONTROL, COCAINE = "control", "cocaine"
#: Condition in which words are shown, ten per block.
WORDS = "words"


@dataclass(frozen=True)
class Subject:
    """Series of one person, a NIfTI file."""

    name: str
    group: str  #: `CONTROL` or `COCAINE`
    bold: Path


@dataclass(frozen=True)
class DrugStroop:
    """Study in which all subjects have the same task with the same timing."""

    subjects: tuple[Subject, ...]
    events: pd.DataFrame  #: onset and duration in seconds, trial_type
    repetition_time: float
    slice_times: np.ndarray  #: seconds after the start of a volume, one per slice
    region: nib.Nifti1Image  #: 1 in the rostral anterior cingulate cortex, in template space


def read_drug_stroop(folder: str | Path) -> DrugStroop:
    """Read ``participants.tsv`` and the events, and check the series of every participant."""
    folder = require_folder(folder)
    participants = folder / "participants.tsv"
    people = bold_files.read_tsv(participants, ("participant_id", "group"), numeric=())
    for row, (name, group) in enumerate(people.itertuples(index=False)):
        if group not in (CONTROL, COCAINE):
            raise broken(f"{participants}, line {row + 2}", f"group {group!r}", f"{CONTROL} or {COCAINE}")
        if name in set(people["participant_id"][:row]):
            raise broken(f"{participants}, line {row + 2}", f"{name} again", "each participant once")
    repetition_time, slice_times = bold_files.read_sidecar(folder / "task-stroop_bold.json")
    subjects, shapes = [], []
    for name, group in people.itertuples(index=False):
        bold = inside(folder, f"{name}/func/{name}_task-stroop_bold.nii.gz", participants)
        shapes.append(bold_files.check_series(bold, repetition_time, len(slice_times)))
        if shapes[-1] != shapes[0]:
            raise broken(bold, f"shape {shapes[-1]}", f"that of {subjects[0].bold.name}, {shapes[0]}")
        subjects.append(Subject(name, group, bold))
    events = _read_events(folder / "task-stroop_events.tsv", shapes[0][3] * repetition_time)
    region = bold_files.read_regions(folder / "truth/regions.nii.gz")
    return DrugStroop(tuple(subjects), events, repetition_time, slice_times, region)


def _read_events(path: Path, seconds: float) -> pd.DataFrame:
    events = bold_files.read_tsv(path, ("onset", "duration", "trial_type"), numeric=("onset", "duration"))
    for row, (onset, duration, _) in enumerate(events.itertuples(index=False)):
        if onset < 0 or duration < 0 or onset + duration > seconds:
            raise broken(
                f"{path}, line {row + 2}",
                f"from {onset:g} for {duration:g} s",
                f"an event within the {seconds:g} s of a series",
            )
    return events


@dataclass(frozen=True)
class _Size:
    cocaine: int
    control: int
    shape: tuple[int, int, int]
    resolution: int
    blocks: int


#: The last one has the subjects and the words of the study, and the voxels of the movie scans.
SIZES = {
    "smoke": _Size(6, 6, (22, 23, 16), 9, 2),
    "demo": _Size(16, 17, (32, 34, 23), 6, 4),
    "paper": _Size(16, 17, (64, 68, 46), 3, 4),
}
REPETITION_TIME = 1.6
#: Seconds: the reward is shown, followed by four blocks of ten words of 2 s, each with a pause.
_REWARD_ONSET, _REWARD_SECONDS, _FIRST_BLOCK, _BLOCK, _PAUSE = 8.0, 3.0, 16.0, 20.0, 25.0
#: Regions engaged by reading, naming a color and pressing a button, with the signal change in their core in
#: percent: reviews of Stroop and finger tasks report 0.3 to 1 %. The default mode network is deactivated by
#: any demanding task.
_TASK = {
    Region("visual", ((10, -90, 0), (-10, -92, 0)), (9, 9, 8)): 1.0,
    Region("word form", ((-44, -56, -16),), (7, 9, 6)): 0.6,
    Region("left hand", ((-38, -24, 56),), (8, 8, 8)): 0.8,
    Region("supplementary motor, dorsal cingulate", ((0, 14, 46),), (8, 12, 10)): 0.5,
    Region("inferior frontal", ((-46, 12, 28), (46, 14, 28)), (9, 10, 9)): 0.4,
    Region("parietal", ((-32, -58, 48), (32, -58, 48)), (10, 9, 9)): 0.5,
    Region("posterior cingulate", ((0, -54, 26),), (9, 10, 10)): -0.4,
    Region("angular", ((-46, -68, 34), (48, -64, 34)), (9, 9, 9)): -0.3,
    Region("medial prefrontal", ((0, 54, 12),), (9, 8, 10)): -0.2,
}
#: Rostral anterior cingulate cortex with adjacent medial orbitofrontal cortex.
ROSTRAL_ACC = Region("rostral ACC", ((-5, 38, -4), (6, 38, -4)), (8, 10, 9))
#: Its response in controls in percent, like that of the default mode network around it.
_CONTROL_RESPONSE = -0.1
#: Difference in percent by which the response of cocaine users is lower, before white matter in the region,
#: smoothing and differences of anatomy leave about half of it. It is so large that linear classifiers of
#: voxels can separate the groups. The 0.3 of the literature are lost in the noise of 33 subjects, and a study
#: in which no method finds anything cannot compare methods.
EFFECT = 2.4
#: Standard deviation between subjects of the response there, of all other responses (relative) and of a
#: smooth field over the whole cortex, and the width of this field in millimeters.
_ACC_SD, _TASK_SD, _FIELD_SD, _FIELD_FWHM = 0.35, 0.3, 0.2, 15.0
#: Networks with ongoing activity, at the same places in all subjects.
_NETWORKS = 12


def simulate_drug_stroop(folder: str | Path, seed: int, size: str, *, effect: float = EFFECT) -> None:
    """Write a study of two groups that differ in the rostral anterior cingulate cortex.

    Both groups have the same task activation, noise, motion and spread. They differ in a mean; each subject
    has an individual response there, an individual anatomy and a smooth field of other responses.

    Parameters
    ----------
    folder, seed, size
        See `reproduction.datasets`.
    effect : float, default=2.4
        Difference of the groups in percent of the signal; with 0 they have the same distribution.
    """
    check_size(size, SIZES)
    if not np.isfinite(effect):
        raise ValueError(f"effect is {effect}: expected a finite percentage")
    folder, counts = Path(folder), SIZES[size]
    folder.mkdir(parents=True, exist_ok=True)
    events = _design(counts.blocks)
    seconds = float((events["onset"] + events["duration"]).iloc[-1]) + _PAUSE
    when = Acquisition(
        int(seconds // REPETITION_TIME),
        REPETITION_TIME,
        bold_series.ascending(counts.shape[2], REPETITION_TIME),
    )
    groups = [COCAINE] * counts.cocaine + [CONTROL] * counts.control
    names = [f"sub-{number:02d}" for number in range(1, len(groups) + 1)]
    template = bold_anatomy.load_template(counts.resolution)
    networks = bold_anatomy.draw_networks(np.random.default_rng([seed, 0]), _NETWORKS, template)
    for number, (name, group) in enumerate(zip(names, groups, strict=True), start=1):
        rng = np.random.default_rng([seed, number])
        response = _CONTROL_RESPONSE - (effect if group == COCAINE else 0.0)
        head = bold_anatomy.draw_head(rng, counts.shape, counts.resolution)
        activity = _task_activity(rng, head, when, events, response) + _ongoing_activity(
            rng, head, when, networks
        )
        activity += bold_series.draw_nuisance(rng, head, when)
        series = bold_series.render(
            rng, head, head.epi(rng), activity, when, bold_series.draw_motion(rng, when.volumes)
        )
        path = folder / name / "func" / f"{name}_task-stroop_bold.nii.gz"
        bold_files.write_series(path, series, head.affine, when.repetition_time)
    bold_files.write_tsv(
        folder / "participants.tsv", pd.DataFrame({"participant_id": names, "group": groups})
    )
    bold_files.write_tsv(folder / "task-stroop_events.tsv", events)
    bold_files.write_sidecar(folder / "task-stroop_bold.json", "stroop", when)
    bold_files.write_map(
        folder / "truth/regions.nii.gz", bold_anatomy.label_regions([ROSTRAL_ACC], template), template.affine
    )


#: Standard deviation in percent of the estimation error of a contrast, and its width in millimeters after
#: smoothing: with them, deviation and correlation of neighbors are those of the maps of simulated scans.
_ERROR_SD, _ERROR_FWHM = 0.3, 25.0


def draw_contrast_maps(
    rng: np.random.Generator, mask: np.ndarray, affine: np.ndarray, effect: float, size: str = "demo"
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the contrast maps of a study directly, without scans: a fast model of the same responses.

    Parameters
    ----------
    rng : Generator
    mask : ndarray of shape (x, y, z)
        Voxels of the brain.
    affine : ndarray of shape (4, 4)
        Voxel to millimeters.
    effect : float
        Difference of the groups in the maps, in percent of the signal; of the effect of
        `simulate_drug_stroop` about half is left there.
    size : str, default="demo"
        Size of the study, which gives the number of subjects.

    Returns
    -------
    maps : ndarray of shape (n_subjects, n_voxels)
    groups : ndarray of shape (n_subjects,)
        `COCAINE` or `CONTROL`.
    """
    check_size(size, SIZES)
    counts = SIZES[size]
    groups = np.array([COCAINE] * counts.cocaine + [CONTROL] * counts.control)
    coordinates = nib.affines.apply_affine(affine, np.argwhere(mask))
    weights = np.stack([region.weight(coordinates) for region in (*_TASK, ROSTRAL_ACC)])
    percents = np.array(list(_TASK.values())) * rng.normal(1, _TASK_SD, (len(groups), len(_TASK)))
    means = _CONTROL_RESPONSE - effect * (groups == COCAINE)
    percents = np.column_stack([percents, rng.normal(means, _ACC_SD)])
    resolution = float(np.abs(np.linalg.det(affine[:3, :3])) ** (1 / 3))
    maps = percents @ weights
    for deviation, fwhm in ((_FIELD_SD, _FIELD_FWHM), (_ERROR_SD, _ERROR_FWHM)):
        maps += (
            deviation * bold_anatomy.random_fields(rng, len(groups), mask.shape, resolution, fwhm)[:, mask]
        )
    return maps, groups


def _design(blocks: int) -> pd.DataFrame:
    onsets = [_REWARD_ONSET, *(_FIRST_BLOCK + (_BLOCK + _PAUSE) * np.arange(blocks))]
    return pd.DataFrame(
        {
            "onset": onsets,
            "duration": [_REWARD_SECONDS] + [_BLOCK] * blocks,
            "trial_type": ["reward"] + [WORDS] * blocks,
        }
    )


def _task_activity(
    rng: np.random.Generator, head: Head, when: Acquisition, events: pd.DataFrame, acc_response: float
) -> Components:
    """Return the response to the words; the reward screen evokes a fifth of it."""
    percents = [percent * rng.normal(1, _TASK_SD) for percent in _TASK.values()]
    percents.append(rng.normal(acc_response, _ACC_SD))
    gray = head.gray()
    regions = [region.weight(head.coordinates) for region in (*_TASK, ROSTRAL_ACC)]
    field = _FIELD_SD * bold_anatomy.random_fields(rng, 1, head.shape, head.resolution, _FIELD_FWHM)[0]
    maps = np.stack([*(p * r for p, r in zip(percents, regions, strict=True)), field]) * gray / 100
    fine = bold_series.FINE * np.arange(when.fine_count)
    shown = np.zeros(when.fine_count)
    for onset, duration, kind in events.itertuples(index=False):
        shown[(fine >= onset) & (fine < onset + duration)] = 1.0 if kind == WORDS else 0.2
    courses = bold_series.hemodynamic(np.tile(shown, (len(maps), 1)), bold_series.draw_peaks(rng, len(maps)))
    return Components(maps.astype(np.float32), when.sample(courses))


def _ongoing_activity(
    rng: np.random.Generator, head: Head, when: Acquisition, networks: np.ndarray
) -> Components:
    maps = np.stack([bold_series.ONGOING_SD * head.sample(network) for network in networks])
    return Components(maps, when.sample(bold_series.ongoing(rng, len(maps), when.fine_count)))
