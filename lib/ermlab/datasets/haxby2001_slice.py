"""Haxby 2001, one subject, one axial slice: BOLD responses to eight kinds of picture."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import broken, read_lines, read_volume, require_folder

#: The label of volumes without a stimulus.
REST = "rest"


@dataclass(frozen=True)
class HaxbySlice:
    """A scan of several runs, with the category seen at each volume."""

    bold: np.ndarray  #: (x, y, z, volumes)
    mask: np.ndarray  #: (x, y, z), True in the brain
    labels: np.ndarray  #: category of each volume, `REST` without a stimulus
    runs: np.ndarray  #: run of each volume, from 0
    affine: np.ndarray  #: voxel to millimetres
    repetition_time: float  #: seconds between volumes


def read_haxby2001_slice(folder: str | Path) -> HaxbySlice:
    """Read ``bold.nii.gz``, ``mask.nii.gz`` and ``attributes_literal.txt`` (``label run`` a volume)."""
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
    return label, int(run)
