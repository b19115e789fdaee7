"""What a map of weights puts where: levels in standard deviations, and the share inside a region."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import largest_magnitude, real_array, safe_unit


def threshold_level(weights: ArrayLike, sd: float = 2.0) -> float:
    """Return ``sd`` standard deviations of the weights of all voxels, those that are 0 included."""
    weights = _checked(weights)
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
    """Return the weights with those of at most ``sd`` standard deviations, in size, set to 0."""
    weights = _checked(weights)
    return np.where(np.abs(weights) > threshold_level(weights, sd), weights, 0.0)


def target_share(weights: ArrayLike, target: ArrayLike, sd: float = 2.0) -> float:
    """Return the share of the thresholded weight, by size, that lies on the target's voxels.

    A map without any weight above the threshold has the share 0. By chance the share is that of the target's
    voxels among all (``np.mean(target)``).
    """
    weights, target = _checked(weights), np.asarray(target, dtype=bool)
    if target.shape != weights.shape:
        raise ValueError(f"target of shape {target.shape}: expected that of the weights, {weights.shape}")
    if not target.any():
        raise ValueError("the target has no voxel: expected at least one")
    kept = np.abs(threshold_weights(weights, sd))
    kept /= safe_unit(kept)  # a share does not depend on it, and sums stay finite
    total = kept.sum()
    return float(kept[target].sum() / total) if total > 0 else 0.0


def _checked(weights: ArrayLike) -> NDArray[np.float64]:
    weights = real_array(weights, "weights")
    if not weights.size:
        raise ValueError("no weights: expected at least one")
    if not np.isfinite(weights).all():
        raise ValueError(
            f"{np.count_nonzero(~np.isfinite(weights))} weights are NaN or infinite: expected none"
        )
    return weights
