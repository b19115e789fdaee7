"""The general linear model of one scan as in SPM: contrast maps from events (thesis, section 4.2.2)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.optimize
from nilearn.image import new_img_like
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import real_array
from ermlab.fmri.filters import GLOBAL_MEAN
from ermlab.fmri.images import (
    ImageLike,
    SpatialImage,
    as_image,
    as_series,
    check_repetition_time,
    check_same_grid,
    volumes_first,
    voxels,
)
from ermlab.fmri.masking import brain_mask, check_mask

OUTPUTS = ("effect_size", "stat", "z_score", "p_value", "effect_variance")
REQUIRED = ("onset", "duration", "trial_type")
KNOWN = (*REQUIRED, "modulation")
#: Largest magnitude of the correlation of successive volumes.
MAX_CORRELATION = 0.95
#: Largest weight of a contrast: maps are in single precision.
LARGEST_WEIGHT = 1e15
#: Largest magnitude, and inverse of the smallest, of a column of the model that is not rescaled.
ORDINARY = 1e3
#: Smallest unit, and inverse of the largest, of an effect in single precision.
SMALLEST_SCALE = 1e-30


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

    As in SPM, the model has the canonical response, a cosine basis for drifts, and autoregressive noise of
    order 1 with one correlation for all voxels (`pooled_autocorrelation`).

    Parameters
    ----------
    img : image or str or Path
        A series.
    events : DataFrame
        ``onset`` and ``duration`` in seconds, ``trial_type``, and optionally ``modulation``.
    contrasts : mapping of str to str or sequence of float
        For each name an expression of trial types such as ``"drug - neutral"``, or the weights of the
        columns.
    repetition_time : float
        Seconds between volumes.
    mask : image or str or Path, optional
        Voxels to fit, by default `brain_mask`.
    high_pass : float, default=128.0
        Shortest period of a drift, in seconds.
    confounds : DataFrame, optional
        Further regressors such as head motion, one row per volume.
    reference_time : float, default=0.0
        Seconds from the start of a volume to which it corresponds: `reference_time` after slice-time
        correction.
    scale : bool, default=True
        Whether to scale the mean over all voxels and volumes to 100, so that effects are in percent.
    output : {"effect_size", "stat", "z_score", "p_value", "effect_variance"}, default="effect_size"
        The kind of maps; ``"stat"`` is t.

    Returns
    -------
    dict of str to image
        A map for each contrast.
    """
    img = as_series(img)
    repetition_time = check_repetition_time(repetition_time, img)
    events = check_events(events, img.shape[3] * repetition_time)
    if output not in OUTPUTS:
        raise ValueError(f"output is {output!r}: expected one of {OUTPUTS}")
    if not high_pass > 2 * repetition_time:
        raise ValueError(f"high_pass is {high_pass!r} s: expected more than two volumes")
    if not 0 <= reference_time < repetition_time:
        raise ValueError(
            f"reference_time is {reference_time!r}: expected from 0 to below {repetition_time} s"
        )
    if confounds is not None:
        _check_confounds(confounds, img.shape[3])
    mask = brain_mask(img) if mask is None else check_mask(as_image(mask, 3, "mask"))
    check_same_grid(img, mask)
    if scale:
        img = _scaled(img, mask)
    events, units = _rescale_modulation(events)
    if confounds is not None:
        scales = _column_units(confounds.to_numpy(dtype=np.float64))
        units |= dict(zip(map(str, confounds), scales, strict=True))
        confounds = confounds / scales
    design = _design(events, img.shape[3], repetition_time, reference_time, high_pass, confounds)
    rank = np.linalg.matrix_rank(design.to_numpy())
    if rank >= len(design):
        raise ValueError(
            f"the model has {rank} independent columns and the series {len(design)} volumes: expected more "
            "volumes, to estimate the noise"
        )
    scales = np.array([units.get(column, 1.0) for column in design])
    checked = {
        name: _check_contrast(name, weights, list(design)) / scales for name, weights in contrasts.items()
    }
    for name, weights in checked.items():
        size = np.abs(weights[weights != 0])
        if size.min(initial=1.0) < SMALLEST_SCALE or size.max(initial=1.0) > 1 / SMALLEST_SCALE:
            raise ValueError(
                f"contrast {name!r} scales effects by {size.min():.3g} to {size.max():.3g}, beyond single "
                "precision: expected events and confounds in other units"
            )
    from nilearn.glm.first_level import FirstLevelModel  # here, as it takes longer to load than all the rest

    with one_blas_thread():
        rho = pooled_autocorrelation(voxels(img)[voxels(mask) > 0].T, design.to_numpy())
        whitened = np.moveaxis(_whitened(volumes_first(img), rho), 0, 3)
        model = FirstLevelModel(mask_img=mask, signal_scaling=False, noise_model="ols")
        model.fit(
            new_img_like(img, whitened, copy_header=True),
            design_matrices=pd.DataFrame(_whitened(design.to_numpy(), rho), columns=design.columns),
        )
        return {
            name: model.compute_contrast(weights, output_type=output) for name, weights in checked.items()
        }


def pooled_autocorrelation(series: NDArray, design: NDArray[np.float64]) -> float:
    """Estimate the correlation of the noise of successive volumes, one for all voxels.

    Residuals of least squares are less correlated than the noise, since the design is projected out. Their
    expected correlation is known for each correlation of the noise; the one that matches the observed mean is
    returned. One estimate per voxel would be too uncertain, and t values too large.

    Parameters
    ----------
    series : ndarray of shape (n_volumes, n_voxels)
        The series; voxels that the design explains completely are ignored.
    design : ndarray of shape (n_volumes, n_columns)
        The design matrix.
    """
    n = len(design)
    Q = scipy.linalg.orth(design)
    residuals = series - Q @ (Q.T @ series)
    sizes = np.sum(residuals**2, axis=0, dtype=np.float64)
    counted = sizes > 1e-10 * np.sum(series.astype(np.float64) ** 2, axis=0)
    if not counted.any():
        return 0.0
    products = np.sum(residuals[1:] * residuals[:-1], axis=0, dtype=np.float64)
    observed = np.mean(products[counted] / sizes[counted])

    def expected(rho: float) -> float:
        V = scipy.linalg.toeplitz(rho ** np.arange(n))
        left = V - Q @ (Q.T @ V)
        covariance = left - (left @ Q) @ Q.T
        return np.trace(covariance, offset=1) / np.trace(covariance)

    low, high = -MAX_CORRELATION, MAX_CORRELATION
    if observed <= expected(low):
        return low
    if observed >= expected(high):
        return high
    return float(scipy.optimize.brentq(lambda rho: expected(rho) - observed, low, high, xtol=1e-6))


def _design(
    events: pd.DataFrame,
    volumes: int,
    repetition_time: float,
    reference_time: float,
    high_pass: float,
    confounds: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return responses to the events, confounds, drifts and a constant, one row per volume."""
    from nilearn.glm.first_level import make_first_level_design_matrix

    with np.errstate(divide="ignore"):  # nilearn warns of a singular model itself
        return make_first_level_design_matrix(
            np.arange(volumes) * repetition_time + reference_time,
            events,
            hrf_model="spm",
            drift_model="cosine",
            high_pass=1 / high_pass,
            add_regs=None if confounds is None else confounds.to_numpy(dtype=np.float64),
            add_reg_names=None if confounds is None else [str(name) for name in confounds],
        )


def _rescale_modulation(events: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the events with the modulation of each trial type divided by a unit, and the units."""
    if "modulation" not in events:
        return events, {}
    units = {
        kind: float(_column_units(values.to_numpy(dtype=np.float64)[:, None])[0])
        for kind, values in events.groupby("trial_type")["modulation"]
    }
    return events.assign(modulation=events["modulation"] / events["trial_type"].map(units)), units


def _column_units(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return powers of two to divide the columns of the model by, 1 for those of ordinary magnitude.

    Least squares would treat columns that are much smaller than others as rounding errors.
    """
    largest = np.abs(columns).max(axis=0)
    powers = np.frexp(largest)[1] - 1
    ordinary = (largest == 0) | ((largest >= 1 / ORDINARY) & (largest <= ORDINARY))
    return np.ldexp(1.0, np.where(ordinary, 0, powers))


def _whitened(rows: NDArray, rho: float) -> NDArray:
    """Return rows of shape (n_volumes, ...) with autoregressive noise of correlation ``rho`` whitened."""
    white = rows.copy()
    white[1:] -= rho * rows[:-1]
    white[0] *= np.sqrt(1 - rho**2)
    return white


def _scaled(img: SpatialImage, mask: SpatialImage) -> SpatialImage:
    data = voxels(img)
    mean = float(data[voxels(mask) > 0].mean(dtype=np.float64))
    if not mean > 0:
        raise ValueError(f"the mean over the mask is {mean:g}: expected one above 0, or scale=False")
    return new_img_like(img, data * np.float32(GLOBAL_MEAN / mean), copy_header=True)


def check_events(events: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return the events, or raise a ValueError for invalid columns or if no event begins in the series."""
    if not isinstance(events, pd.DataFrame):
        raise ValueError(f"events is a {type(events).__name__}: expected a table with {', '.join(REQUIRED)}")
    missing = [name for name in REQUIRED if name not in events]
    unknown = [str(name) for name in events if name not in KNOWN]
    if missing or unknown:
        problems = [f"without {', '.join(missing)}"] if missing else []
        problems += [f"with unknown {', '.join(unknown)}"] if unknown else []
        raise ValueError(f"events has columns {' and '.join(problems)}: expected {', '.join(KNOWN)}")
    for name in (column for column in KNOWN if column in events and column != "trial_type"):
        values = pd.to_numeric(events[name], errors="coerce").to_numpy(dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values) | ((values < 0) & (name == "duration")))
        if len(wrong):
            found = events[name].tolist()[wrong[0]]
            raise ValueError(
                f"events, row {wrong[0]}: {name} is {found!r}: expected a finite number of seconds"
            )
        if not pd.api.types.is_numeric_dtype(events[name]):  # numbers as text
            events = events.assign(**{name: values})
    unnamed = np.flatnonzero(events["trial_type"].isna())
    if len(unnamed):
        raise ValueError(f"events, row {unnamed[0]}: no trial_type: expected a name")
    if not ((events["onset"] >= 0) & (events["onset"] < seconds)).any():
        raise ValueError(f"no event begins in the series of {seconds:g} s: expected onsets in seconds")
    return events


def _check_confounds(confounds: pd.DataFrame, n_volumes: int) -> None:
    if not isinstance(confounds, pd.DataFrame):
        raise ValueError(f"confounds is a {type(confounds).__name__}: expected a table")
    if not np.isfinite(confounds.to_numpy(dtype=np.float64)).all():
        raise ValueError("confounds has NaN or infinite values: expected finite ones")
    if len(confounds) != n_volumes:
        raise ValueError(f"confounds has {len(confounds)} rows: expected one per volume, {n_volumes}")


def _check_contrast(name: str, contrast: str | Sequence[float], columns: list[str]) -> NDArray[np.float64]:
    """Return the weight of each column, or raise a ValueError for columns that the model does not have."""
    if isinstance(contrast, str):
        unknown = sorted(_names(contrast) - set(columns))
        if unknown:
            raise ValueError(
                f"contrast {name!r} names {', '.join(unknown)}: expected of {', '.join(map(str, columns))}"
            )
        from nilearn.glm.contrasts import expression_to_contrast_vector

        weights = expression_to_contrast_vector(contrast, columns)
        if not np.isfinite(weights).all():
            raise ValueError(f"contrast {name!r} is {contrast!r}: expected finite weights")
        return weights
    weights = real_array(contrast, f"contrast {name!r}")
    if weights.ndim != 1 or len(weights) > len(columns) or not weights.any():
        raise ValueError(f"contrast {name!r} has shape {weights.shape}: expected weights of {columns}")
    if not (np.abs(weights) <= LARGEST_WEIGHT).all():
        raise ValueError(
            f"contrast {name!r} is {weights.tolist()}: expected finite weights of at most {LARGEST_WEIGHT:g}"
        )
    return np.pad(weights, (0, len(columns) - len(weights)))


def _names(expression: str) -> set[str]:
    """Return the names in an arithmetic expression."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"contrast {expression!r} is no expression of trial types ({error.msg})") from None
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
