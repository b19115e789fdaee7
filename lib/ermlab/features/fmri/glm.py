"""The general linear model of one scan: from events to contrast maps, as SPM does it (thesis, 4.2.2)."""

import ast
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from nibabel.spatialimages import SpatialImage
from nilearn.glm.first_level import FirstLevelModel
from nilearn.image import new_img_like

from ermlab.features.fmri._images import (
    ImageLike,
    as_image,
    as_series,
    check_repetition_time,
    check_same_grid,
    voxels,
)
from ermlab.features.fmri.filters import GLOBAL_MEAN
from ermlab.features.fmri.masking import brain_mask, checked_mask
from ermlab.optimize._blas import one_blas_thread

OUTPUTS = ("effect_size", "stat", "z_score", "p_value", "effect_variance")
REQUIRED = ("onset", "duration", "trial_type")
KNOWN = (*REQUIRED, "modulation")


def first_level(
    img: ImageLike,
    events: pd.DataFrame,
    contrasts: Mapping[str, str | Sequence[float]],
    *,
    repetition_time: float,
    mask: ImageLike | None = None,
    high_pass: float = 128.0,
    confounds: pd.DataFrame | None = None,
    reference_time: float = 0.0,
    scale: bool = True,
    output: str = "effect_size",
) -> dict[str, SpatialImage]:
    """Fit the model of the events to every voxel, and return a map for each contrast.

    The canonical response of SPM, a cosine basis for drifts, and noise that is autoregressive of order 1.

    Parameters
    ----------
    events
        ``onset`` and ``duration`` in seconds, ``trial_type``, and ``modulation`` where strengths differ.
    contrasts
        Names to expressions of trial types such as ``"drug - neutral"``, or to weights of the columns.
    mask
        Voxels to fit; None: `brain_mask`.
    high_pass
        Longest period in seconds of what is no drift.
    confounds
        Further regressors, a row a volume, such as the motion of the head.
    reference_time
        Seconds from a volume's begin that it shows: `reference_time` after slice-time correction, else 0.
    scale
        Divide by the mean over all voxels and volumes, and multiply by 100, so that effects are in percent of
        it, as in SPM.
    output
        ``"effect_size"``, or ``"stat"`` (t), ``"z_score"``, ``"p_value"``, ``"effect_variance"``.
    """
    img = as_series(img)
    repetition_time = check_repetition_time(repetition_time, img)
    events = _checked_events(events, img.shape[3] * repetition_time)
    if output not in OUTPUTS:
        raise ValueError(f"output is {output!r}: expected one of {OUTPUTS}")
    if not high_pass > 2 * repetition_time:
        raise ValueError(f"high_pass is {high_pass!r} s: expected more than two volumes")
    if not 0 <= reference_time < repetition_time:
        raise ValueError(
            f"reference_time is {reference_time!r}: expected from 0 to below {repetition_time} s"
        )
    if confounds is not None and len(confounds) != img.shape[3]:
        raise ValueError(
            f"confounds has {len(confounds)} rows: expected one for each of {img.shape[3]} volumes"
        )
    mask = brain_mask(img) if mask is None else checked_mask(as_image(mask, 3, "mask"))
    check_same_grid(img, mask)
    if scale:
        img = _scaled(img, mask)
    model = FirstLevelModel(
        t_r=repetition_time,
        slice_time_ref=reference_time / repetition_time,
        hrf_model="spm",
        drift_model="cosine",
        high_pass=1 / high_pass,
        mask_img=mask,
        signal_scaling=False,
        noise_model="ar1",
        random_state=0,
    )
    with one_blas_thread():
        model.fit(img, events, confounds=confounds)
        columns = list(model.design_matrices_[0].columns)
        checked = {name: _checked_contrast(name, contrast, columns) for name, contrast in contrasts.items()}
        return {name: model.compute_contrast(some, output_type=output) for name, some in checked.items()}


def _scaled(img: SpatialImage, mask: SpatialImage) -> SpatialImage:
    data = voxels(img)
    mean = float(data[voxels(mask) > 0].mean(dtype=np.float64))
    if not mean > 0:
        raise ValueError(f"the mean over the mask is {mean:g}: expected one above 0, or scale=False")
    return new_img_like(img, data * np.float32(GLOBAL_MEAN / mean), copy_header=True)


def _checked_events(events: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return the events unless columns are missing or unknown, or no event lies in the series."""
    if not isinstance(events, pd.DataFrame):
        raise ValueError(f"events is a {type(events).__name__}: expected a table with {', '.join(REQUIRED)}")
    missing = [name for name in REQUIRED if name not in events]
    unknown = [str(name) for name in events if name not in KNOWN]
    if missing or unknown:
        told = [f"without {', '.join(missing)}"] if missing else []
        told += [f"with unknown {', '.join(unknown)}"] if unknown else []
        raise ValueError(f"events has columns {' and '.join(told)}: expected {', '.join(KNOWN)}")
    for name in (column for column in KNOWN if column in events and column != "trial_type"):
        values = pd.to_numeric(events[name], errors="coerce").to_numpy(dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values) | ((values < 0) & (name == "duration")))
        if len(wrong):
            found = events[name].iloc[wrong[0]]
            raise ValueError(
                f"events, row {wrong[0]}: {name} is {found!r}: expected a finite number of seconds"
            )
    if not ((events["onset"] >= 0) & (events["onset"] < seconds)).any():
        raise ValueError(f"no event begins in the series of {seconds:g} s: expected onsets in seconds")
    return events


def _checked_contrast(name: str, contrast: str | Sequence[float], columns: list[str]) -> str | np.ndarray:
    """Return the contrast unless it speaks of columns that the model has not."""
    if isinstance(contrast, str):
        unknown = sorted(_names(contrast) - set(columns))
        if unknown:
            raise ValueError(
                f"contrast {name!r} names {', '.join(unknown)}: expected of {', '.join(columns)}"
            )
        return contrast
    weights = np.asarray(contrast, dtype=np.float64)
    if weights.ndim != 1 or len(weights) > len(columns) or not weights.any():
        raise ValueError(f"contrast {name!r} has shape {weights.shape}: expected weights of {columns}")
    return weights


def _names(expression: str) -> set[str]:
    """Return the names in an arithmetic expression."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"contrast {expression!r} is no expression of trial types ({error.msg})") from None
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
