"""Read, check and preprocess a scan of the user (rule prepare_own_fmri)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from nibabel.spatialimages import SpatialImage
from nilearn.datasets import load_mni152_template
from nilearn.glm.first_level import make_first_level_design_matrix
from nilearn.image import mean_img, new_img_like
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab._utils.files import broken, reading, require_file
from ermlab.exceptions import DataError
from ermlab.fmri.bold_runs import on_one_grid
from ermlab.fmri.glm import REQUIRED, check_events
from ermlab.fmri.images import as_series, check_repetition_time, voxels
from ermlab.fmri.masking import brain_mask
from ermlab.fmri.normalization import mean_brain, normalize, tissue_templates
from ermlab.fmri.pipeline import Preprocessing, preprocess
from ermlab.fmri.realignment import realign
from ermlab.fmri.stretches import filtered_parts, stretches_of_runs, without_drifts
from ermlab.fmri.timing import correct_slice_timing, reference_time
from reproduction.experiments.fmri_studies.movie_series import label_series
from reproduction.pipeline.job import Paths, run_stage

MOTION_COLUMNS = ("x_mm", "y_mm", "z_mm", "x_degrees", "y_degrees", "z_degrees")


@dataclass(frozen=True)
class OwnScan:
    """The block ``own_fmri`` of the configuration, described in workflow/schemas/config.schema.yaml.

    A single file may be given in place of a list.
    """

    bold: Sequence[str]
    repetition_time: float
    target: str
    method: str = "laplacian_kcca"
    labels: Sequence[str] | None = None
    events: Sequence[str] | None = None
    unlabelled: Sequence[str] = ()
    slice_times: Sequence[float] | None = None
    convolve: bool = True
    template: bool = True
    resolution: int = 3
    fwhm: float = 6.0
    high_pass: float | None = 512.0
    low_pass: bool = True
    folds: int = 5
    gap: float = 16.0
    permutations: int = 200
    resample: bool = False

    def __post_init__(self) -> None:
        for name in ("bold", "labels", "events", "unlabelled"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        if (self.labels is None) == (self.events is None):
            raise DataError("own_fmri names both or neither of labels and events: expected one of them")
        for name in ("labels", "events"):
            tables = getattr(self, name)
            if tables is not None and len(tables) != len(self.bold):
                raise DataError(
                    f"own_fmri has {len(self.bold)} bold series and {len(tables)} files of {name}: "
                    "expected one for each"
                )

    @property
    def files(self) -> list[str]:
        """All files of the scan."""
        return [*self.bold, *(self.labels or ()), *(self.events or ()), *self.unlabelled]


@dataclass(frozen=True)
class OwnSeries(ArrayFile):
    """Volumes and target of all runs, one run after another, each stretch with mean 0."""

    X: NDArray[np.float32]  #: (volumes, voxels)
    y: NDArray[np.float64]  #: the target at each volume
    runs: NDArray[np.int64]  #: run of each volume
    stretches: NDArray[
        np.int64
    ]  #: part in the selection: the run of the volume or, of one or two runs, a stretch; -1 in gaps
    unlabelled: NDArray[np.float32]  #: (volumes, voxels) of series without labels, possibly none
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimeters
    background: NDArray[np.float32]  #: (x, y, z), the mean volume
    motion: NDArray[np.float64]  #: (all volumes, 6), relative to the first volume


def main(inputs: Paths, outputs: Paths, *, scan: OwnScan) -> None:
    """Write the rows to learn from, and the head motion, one row per volume."""
    series = prepare_own_scan(scan)
    series.write(outputs["series"])
    motion = pd.DataFrame(np.round(series.motion, 4), columns=MOTION_COLUMNS)
    motion.to_csv(outputs["motion"], index_label="volume", lineterminator="\n")


def prepare_own_scan(scan: OwnScan) -> OwnSeries:
    """Read and preprocess a scan.

    All series are realigned together and share one mask and one transformation to the template. Filters are
    applied run by run, and drifts are removed from each part that is held out (`filtered_parts`) separately.
    Tables are checked before the slow steps begin.
    """
    paths = [*scan.bold, *scan.unlabelled]
    images = [as_series(path) for path in paths]
    for img in images:
        check_repetition_time(scan.repetition_time, img)
    images = on_one_grid(images, [str(path) for path in paths], resample=scan.resample)
    lengths = [img.shape[3] for img in images]
    targets = read_targets(scan, lengths[: len(scan.bold)])
    try:
        stretches = stretches_of_runs(
            lengths[: len(scan.bold)], scan.folds, ceil(scan.gap / scan.repetition_time)
        )
        targets = [
            stretches_without_drifts(target, numbers, scan)
            for target, numbers in zip(targets, filtered_parts(stretches), strict=True)
        ]
    except ValueError as error:
        raise DataError(f"own_fmri: {error}; use longer runs, fewer folds or a smaller gap") from error
    if scan.slice_times is not None:
        images = [correct_slice_timing(img, scan.slice_times, scan.repetition_time) for img in images]
    realigned = realign(_joined(images))
    template = load_mni152_template(scan.resolution) if scan.template else None
    brain = mean_brain(realigned.img)
    mean = _mean_on_grid(realigned.img, brain, template)
    settings = Preprocessing(
        scan.repetition_time,
        realign=False,
        template=template,
        source=brain,
        mask=brain_mask(mean, standard=scan.template),
        fwhm=scan.fwhm,
        high_pass=scan.high_pass,
        low_pass=scan.low_pass,
    )
    ends = np.cumsum([0, *lengths])
    parts = [preprocess(realigned.img.slicer[..., a:b], settings) for a, b in pairwise(ends)]
    rows = [part.series - part.series.mean(axis=0, dtype=np.float64).astype(np.float32) for part in parts]
    labelled = len(scan.bold)
    mask = parts[0].mask
    empty = np.zeros((0, np.count_nonzero(mask)), dtype=np.float32)
    X = [
        stretches_without_drifts(run, numbers, scan)
        for run, numbers in zip(rows[:labelled], filtered_parts(stretches), strict=True)
    ]
    return OwnSeries(
        X=np.concatenate(X).astype(np.float32),
        y=np.concatenate(targets),
        runs=np.repeat(np.arange(labelled), [len(target) for target in targets]),
        stretches=np.concatenate(
            [numbers[part >= 0] for numbers, part in zip(stretches, filtered_parts(stretches), strict=True)]
        ),
        unlabelled=np.concatenate([empty, *rows[labelled:]]),
        mask=mask,
        affine=parts[0].affine,
        background=voxels(mean)[..., 0],
        motion=realigned.parameters,
    )


def stretches_without_drifts(
    rows: NDArray, stretches: NDArray[np.int64], scan: OwnScan
) -> NDArray[np.float64]:
    """Return the volumes of the stretches of a run, each stretch without drifts."""
    return without_drifts(rows, stretches, scan.repetition_time, scan.high_pass)[stretches >= 0]


def read_targets(scan: OwnScan, lengths: Sequence[int]) -> list[NDArray[np.float64]]:
    """Return the target at each volume of each run, convolved with the haemodynamic response."""
    if scan.labels is not None:
        targets = [_labels(path, scan, n) for path, n in zip(scan.labels, lengths, strict=True)]
    else:
        targets = [_events(path, scan, n) for path, n in zip(scan.events, lengths, strict=True)]
    for path, target in zip(scan.labels or scan.events, targets, strict=True):
        if np.ptp(target) == 0:
            raise broken(path, f"{scan.target} is the same at all volumes", "a target that varies")
    return targets


def _labels(path: str, scan: OwnScan, volumes: int) -> NDArray[np.float64]:
    table = _read_table(path)
    if scan.target not in table:
        raise broken(path, f"no column {scan.target!r}", f"one of {', '.join(map(str, table))}")
    if len(table) != volumes:
        raise broken(path, f"{len(table)} rows", f"one for each of {volumes} volumes")
    column = pd.to_numeric(table[scan.target], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        value = table[scan.target].tolist()[wrong[0]]
        raise broken(f"{path}, row {wrong[0] + 1}", f"{scan.target} is {value!r}", "a finite number")
    return label_series(column[:, None], scan.repetition_time)[:, 0] if scan.convolve else column


def _events(path: str, scan: OwnScan, volumes: int) -> NDArray[np.float64]:
    table = _read_table(path)
    if missing := [name for name in REQUIRED if name not in table]:
        raise broken(path, f"no column {', '.join(missing)}", f"columns {', '.join(REQUIRED)}")
    try:
        events = check_events(table[list(REQUIRED)], volumes * scan.repetition_time)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    events = events.assign(trial_type=events["trial_type"].astype(str))
    kinds = sorted(set(events["trial_type"]))
    if scan.target not in kinds:
        raise broken(path, f"no event of trial_type {scan.target!r}", f"one of {', '.join(kinds)}")
    offset = 0.0 if scan.slice_times is None else reference_time(scan.slice_times)
    times = np.arange(volumes) * scan.repetition_time + offset
    with reading(path, "a table of events"):
        design = make_first_level_design_matrix(times, events, hrf_model="spm", drift_model=None)
        return design[scan.target].to_numpy()


def _read_table(path: str) -> pd.DataFrame:
    with reading(path, "a table separated by tabs"):
        return pd.read_csv(require_file(Path(path)), sep="\t")


def _joined(images: Sequence[SpatialImage]) -> SpatialImage:
    return new_img_like(images[0], np.concatenate([voxels(img) for img in images], axis=3), copy_header=True)


def _mean_on_grid(img: SpatialImage, brain: SpatialImage, template: SpatialImage | None) -> SpatialImage:
    """Return the mean volume on the final grid, as a series of one volume."""
    mean = mean_img(img, copy_header=True)
    single = new_img_like(mean, voxels(mean)[..., None])
    if template is None:
        return single
    return normalize(single, template, source=brain, components=tissue_templates())


if "snakemake" in globals():
    run_stage(main, snakemake)
