"""Wager 2008: one contrast map a subject, and how well the subject reappraised emotions."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import broken, list_files, read_table, read_volume, require_folder

_SCORES = "Wager_2008_emotionreg_behavioral_data.txt"


@dataclass(frozen=True)
class WagerContrasts:
    """Contrast maps in one space, and a score for each subject."""

    maps: np.ndarray  #: (subjects, x, y, z); NaN where SPM had no data
    mask: np.ndarray  #: (x, y, z), True where every subject has data
    affine: np.ndarray  #: voxel to millimetres; the old headers name no side, nibabel takes SPM's default
    score: np.ndarray  #: reappraisal success
    prefrontal: np.ndarray  #: response of the right ventrolateral prefrontal cortex


def read_wager2008_contrasts(folder: str | Path) -> WagerContrasts:
    """Read the maps ``older/con_*.img`` and the table of scores, in the order of the subjects."""
    folder = require_folder(folder)
    files = list_files(folder / "older", "con_*.img")
    volumes = [read_volume(path, ndim=3) for path in files]
    first = volumes[0]
    for path, volume in zip(files, volumes, strict=True):
        if volume.data.shape != first.data.shape or not np.allclose(volume.affine, first.affine):
            raise broken(
                path, f"shape {volume.data.shape}", f"shape and affine of {files[0].name}, {first.data.shape}"
            )
    maps = np.stack([volume.data for volume in volumes]).astype(np.float32)
    mask = np.isfinite(maps).all(axis=0)
    if not mask.any():
        raise broken(folder / "older", "no voxel is finite in all maps", "a brain in common")
    scores = read_table(folder / _SCORES, columns=2, header=1)
    if len(scores) != len(maps):
        raise broken(folder / _SCORES, f"{len(scores)} subjects", f"one for each of {len(maps)} maps")
    return WagerContrasts(maps, mask, first.affine, score=scores[:, 1], prefrontal=scores[:, 0])
