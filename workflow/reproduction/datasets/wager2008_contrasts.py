"""Wager 2008: one contrast map per subject, and the success of the subject in reappraising emotions."""

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from nibabel.affines import apply_affine
from nilearn.datasets import load_mni152_brain_mask
from scipy.ndimage import gaussian_filter, map_coordinates

from ermlab._utils.files import broken, list_files, read_table, require_folder
from ermlab.fmri.volumes import read_volume
from reproduction.datasets.simulators.bold_anatomy import Region, grid_coordinates
from reproduction.datasets.simulators.sizes import check_size

_SCORES = "Wager_2008_emotionreg_behavioral_data.txt"


@dataclass(frozen=True)
class WagerContrasts:
    """Contrast maps in one space, and scores of the subjects."""

    maps: np.ndarray  #: (subjects, x, y, z); NaN where SPM had no data
    mask: np.ndarray  #: (x, y, z), True where every subject has data
    #: Voxels to millimeters; the old headers do not define left and right, nibabel uses the default of SPM.
    affine: np.ndarray
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


def mni_brain(shape: tuple[int, ...], affine: np.ndarray) -> np.ndarray:
    """Return which voxels of a grid are in the MNI brain."""
    brain = load_mni152_brain_mask(resolution=2)
    index = apply_affine(np.linalg.inv(brain.affine), grid_coordinates(shape, affine))
    return map_coordinates(np.asarray(brain.dataobj), np.moveaxis(index, -1, 0), order=0) > 0


#: Subjects, and size of the voxels relative to the real ones along every axis.
SIZES = {"smoke": (12, 2), "demo": (30, 1), "paper": (30, 1)}
#: The real grid: voxels, their edges in millimeters, and the voxel of the origin, counted from 1.
_SHAPE, _EDGES, _ORIGIN = (47, 56, 31), (3.4375, 3.4375, 4.5), (24, 34, 12)
#: Regions engaged by reappraisal, with their mean in units of the maps (standard deviation between subjects:
#: 1.3).
_ENGAGED = {
    Region("inferior frontal", ((48, 26, -8), (-48, 26, -8)), (12, 12, 10)): 0.8,
    Region("dorsomedial frontal", ((0, 20, 52),), (10, 14, 12)): 0.8,
    Region("temporoparietal", ((-54, -56, 30), (54, -54, 30)), (12, 12, 12)): 0.5,
    Region("visual", ((0, -88, 2),), (20, 10, 12)): -0.3,
}
#: Regions that correlate with the score: prefrontal and striatal regions positively, the amygdala negatively.
_VENTROLATERAL = Region("right ventrolateral prefrontal", ((48, 26, -8),), (12, 12, 10))
_RELATED = {
    _VENTROLATERAL: 1.0,
    Region("ventral striatum", ((10, 10, -6), (-10, 10, -6)), (8, 8, 8)): 1.0,
    Region("amygdala", ((22, -4, -18), (-22, -4, -18)), (9, 8, 8)): -1.0,
}
#: Change per standard deviation of the score: the correlation in a voxel is about 0.35; that of the region in
#: the real table is 0.31.
_SLOPE = 0.5
#: Differences between subjects: width in millimeters and variance of two kinds of smooth fields, such that
#: neighboring voxels correlate as in the real maps (0.95 within a slice, 0.92 across slices).
_FIELDS = ((80.0, 0.75), (12.5, 0.95))
#: Spread of the scale of the map of a subject (logarithm), and factor of the signal outside the brain.
_GAIN_SD, _OUTSIDE = 0.3, 0.4
_SCORE_MEAN, _SCORE_SD = 0.65, 0.5


def simulate_wager2008_contrasts(folder: str | Path, seed: int, size: str) -> None:
    """Write contrast maps in which the response of some regions depends on the score."""
    check_size(size, SIZES)
    count, coarse = SIZES[size]
    folder = Path(folder)
    (folder / "older").mkdir(parents=True, exist_ok=True)
    shape, affine = _grid(coarse)
    places = grid_coordinates(shape, affine)
    engaged = np.sum([mean * region.weight(places) for region, mean in _ENGAGED.items()], axis=0)
    related = np.sum([sign * region.weight(places) for region, sign in _RELATED.items()], axis=0)
    inside = gaussian_filter(mni_brain(shape, affine).astype(np.float32), 1.0)
    target = (_VENTROLATERAL.weight(places) > 0.5) & (inside > 0.5)
    rows = []
    for number in range(1, count + 1):
        rng = np.random.default_rng([seed, number])
        ability = rng.standard_normal()
        data = engaged + _SLOPE * ability * related + _differences(rng, shape, affine)
        data *= np.exp(_GAIN_SD * rng.standard_normal()) * (_OUTSIDE + (1 - _OUTSIDE) * inside)
        # The upper slices are sometimes outside the field of view.
        data[..., shape[2] - rng.integers(0, max(3 // coarse, 1) + 1) :] = np.nan
        _save(folder / "older" / f"con_0081{number:04d}.img", data, affine)
        rows.append((np.nanmean(data[target]), _SCORE_MEAN + _SCORE_SD * ability))
    table = "X_RVLPFC\tY_Reappraisal_Success\n" + "".join(f"{x:.4f}\t{y:.4f}\n" for x, y in rows)
    for name in (_SCORES, "X_Y_data.txt"):
        (folder / name).write_text(table, encoding="utf-8")


def _grid(coarse: int) -> tuple[tuple[int, int, int], np.ndarray]:
    """Return shape and affine; the first axis points left, as nibabel assumes for such headers."""
    edges = coarse * np.array(_EDGES)
    origin = (np.array(_ORIGIN) - 1) // coarse
    affine = np.diag([-edges[0], edges[1], edges[2], 1.0])
    affine[:3, 3] = -np.diag(affine)[:3] * origin
    return tuple(-(-n // coarse) for n in _SHAPE), affine


def _differences(rng: np.random.Generator, shape: tuple[int, int, int], affine: np.ndarray) -> np.ndarray:
    """Return one person's smooth deviation from the mean of all."""
    total = np.zeros(shape)
    for fwhm, variance in _FIELDS:
        sigmas = fwhm / np.sqrt(8 * np.log(2)) / np.abs(np.diag(affine)[:3])
        # Two widths at either side: a field has no border where the grid ends.
        pad = np.ceil(2 * sigmas).astype(int)
        noise = gaussian_filter(rng.standard_normal(shape + 2 * pad), sigmas, mode="wrap")
        cut = noise[tuple(slice(p, p + n) for p, n in zip(pad, shape, strict=True))]
        # The deviation of white noise after such a filter, by its formula: a field may lie off 0.
        total += np.sqrt(variance * np.prod(2 * np.sqrt(np.pi) * sigmas)) * cut
    return total


def _save(path: Path, data: np.ndarray, affine: np.ndarray) -> None:
    """Write an Analyze pair as SPM2 did; the affine is in its header."""
    image = nib.Spm2AnalyzeImage(data[..., None].astype(np.float32), affine)
    image.header["origin"][:3] = 1 + np.round(np.linalg.solve(affine[:3, :3], -affine[:3, 3]))
    image.header["descrip"] = b"SPM contrast - 81: Reapp_Neg_Stim > Look_Neg_Stim"
    image.to_filename(path)
    path.with_suffix(".mat").unlink()  # the real data have none, and it would tell when it was written
