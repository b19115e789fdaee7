"""Thresholds of weight maps in standard deviations, and the share of the weight inside a region."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import largest_magnitude, real_array, safe_unit


def threshold_level(weights: ArrayLike, sd: float = 2.0) -> float:
    """Return ``sd`` standard deviations of the weights of all voxels, including zeros."""
    weights = _check(weights)
    if not (isinstance(sd, Real) and 0 <= sd < np.inf):
        raise ValueError(f"sd is {sd!r}: expected a number of at least 0")
    unit = safe_unit(weights)
    level = float(sd) * (unit * float((weights / unit if unit != 1 else weights).std()))
    if not np.isfinite(level):
        raise ValueError(
            f"{sd} deviations of weights up to {largest_magnitude(weights):.3g} are infinite: scale them down"
        )
    return level


def threshold_weights(weights: ArrayLike, sd: float = 2.0) -> NDArray[np.float64]:
    """Return the weights with those of magnitude up to ``sd`` standard deviations set to 0."""
    weights = _check(weights)
    return np.where(np.abs(weights) > threshold_level(weights, sd), weights, 0.0)


def target_share(weights: ArrayLike, target: ArrayLike, sd: float = 2.0) -> float:
    """Return the share of the absolute thresholded weights inside a target region.

    The share is 0 without any weight above the threshold, and ``np.mean(target)`` by chance.

    Parameters
    ----------
    weights : array-like
        The weights of all voxels.
    target : array-like of bool
        Mask of the region, of the shape of the weights.
    sd : float, default=2.0
        Threshold in standard deviations.
    """
    weights, target = _check(weights), np.asarray(target, dtype=bool)
    if target.shape != weights.shape:
        raise ValueError(f"target of shape {target.shape}: expected that of the weights, {weights.shape}")
    if not target.any():
        raise ValueError("the target has no voxel: expected at least one")
    kept = np.abs(threshold_weights(weights, sd))
    kept /= safe_unit(kept)  # a share does not depend on it, and sums stay finite
    total = kept.sum()
    return float(kept[target].sum() / total) if total > 0 else 0.0


def _check(weights: ArrayLike) -> NDArray[np.float64]:
    weights = real_array(weights, "weights")
    if not weights.size:
        raise ValueError("no weights: expected at least one")
    if not np.isfinite(weights).all():
        raise ValueError(
            f"{np.count_nonzero(~np.isfinite(weights))} weights are NaN or infinite: expected none"
        )
    return weights
