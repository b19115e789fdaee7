"""What the claims of section 5.1 rest on, with its uncertainty over the test images.

The best strategy of a class is that for the costs in all images together, which is no mean over images.
So images are resampled with replacement, and everything is computed again on the sums of each resample.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reproduction.claims.results import repeated, resampled
from reproduction.experiments.detection_strategies.measures import measure_strategies, over_classes

#: Number of resamples, and decimal places of what is computed on them.
N_RESAMPLES, DECIMALS = 200, 4
UNIT = "image"
#: Level of the tests in single classes, divided by their number.
LEVEL = 0.05


def resampled_values(splits: NDArray[np.float64], present: NDArray[np.bool_], seed: int) -> dict[str, Any]:
    """Return the values of the claims about strategies.

    Parameters
    ----------
    splits
        Costs ``(gammas, classes, images, n, n)``.
    present
        Whether an image contains the class, ``(classes, images)``.
    seed
        Seed of the resamples.
    """
    n_images = splits.shape[2]
    counts = draw_counts(present, np.random.default_rng(seed))
    # The first row is that of the images as they are.
    counts = np.vstack([np.ones(n_images, dtype=np.int64), counts])
    cells = cells_of(np.nan_to_num(np.tensordot(counts, splits, axes=(1, 2))))
    ratios = presence_ratios(splits, present, counts)
    return {
        **{
            name: _resampled(of_draws, n_images)
            for name, of_draws in {**statistics_of(cells), "presence_ratio": ratios}.items()
        },
        "reset_first_rejected": rejected(cells["reset_first"][1:]),
        "never_beats_always_rejected": rejected(cells["never_beats_always"][1:]),
        "reset_cost": reset_costs(splits),
        "reset_cost_falls": significant_falls(splits),
    }


def draw_counts(present: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how often each image is in each resample, ``(N_RESAMPLES, images)``.

    A resample has at least one class that is in some of its images and not in others.
    """
    n_images = present.shape[1]
    counts = rng.multinomial(n_images, np.full(n_images, 1 / n_images), size=20 * N_RESAMPLES)
    with_it = (counts[:, None] * present).any(axis=2)
    without_it = (counts[:, None] * ~present).any(axis=2)
    usable = counts[(with_it & without_it).any(axis=1)]
    if len(usable) < N_RESAMPLES:
        raise ValueError(
            f"{len(usable)} of {len(counts)} resamples have a class that is in some images and not in all: "
            f"expected {N_RESAMPLES}, use more images"
        )
    return usable[:N_RESAMPLES]


def cells_of(costs: NDArray[np.float64]) -> dict[str, NDArray]:
    """Return what is asked of each class and gamma, for sums of costs ``(draws, gammas, classes, n, n)``."""
    # One draw after the other: the costs of all strategies take much memory.
    found = [measure_strategies(of_draw) for of_draw in costs]
    stacked = {name: np.stack([of_draw[name] for of_draw in found]) for name in found[0]}
    after_reset = np.diagonal(costs, axis1=-2, axis2=-1)[..., 1:]
    return stacked | {
        "never_beats_always": stacked["no_reset"] < stacked["all_reset"],
        "increasing": (np.diff(after_reset, axis=-1) > 0).all(axis=-1),
    }


def statistics_of(cells: dict[str, NDArray]) -> dict[str, Any]:
    """Return the statistics over classes for each draw, gammas in the next axis."""
    return {
        "resets": over_classes(cells["resets"]),
        "all_reset_ratio": over_classes(cells["all_reset"]),
        "no_reset_excess": over_classes(cells["no_reset"] - 1),
        **{
            f"{name}_share": cells[name].mean(axis=(1, 2))
            for name in ("reset_first", "never_beats_always", "increasing")
        },
    }


def _resampled(draws: Any, n: int) -> Any:
    """Mark statistics as resampled; the first entry of the first axis is the estimate."""
    if isinstance(draws, dict):
        return {name: _resampled(part, n) for name, part in draws.items()}
    if draws.ndim > 1:
        return [_resampled(column, n) for column in draws.T]
    return resampled(draws[0], np.round(draws[1:], DECIMALS), UNIT, n)


def rejected(holds: NDArray[np.bool_]) -> int:
    """Return in how many cells of ``(draws, ...)`` hardly any draw holds, corrected for their number."""
    shares = holds.mean(axis=0)
    return int((shares <= LEVEL / shares.size).sum())


def presence_ratios(
    splits: NDArray[np.float64], present: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean splits with the object over those without it, ``(draws, gammas)``.

    The mean is over all points of the curves of figure 5.4, over the images of a class, and then over the
    classes that are in some images of the draw and not in others.
    """
    rows, columns = np.triu_indices(splits.shape[-1])
    of_images = splits[..., rows, columns].mean(axis=-1)
    sums = [np.einsum("di,ci,gci->dgc", counts, group, of_images) for group in (present, ~present)]
    numbers = [np.einsum("di,ci->dc", counts, group)[:, None] for group in (present, ~present)]
    both = (numbers[0] > 0) & (numbers[1] > 0)
    with_it, without_it = (
        (total / np.maximum(number, 1)).mean(axis=2, where=both)
        for total, number in zip(sums, numbers, strict=True)
    )
    return with_it / without_it


def reset_costs(splits: NDArray[np.float64]) -> list[list[dict[str, Any]]]:
    """Return the splits of the first detection after a reset, the mean over classes of each image.

    The lists are over gammas and over detections, from the second to the last.
    """
    return [[repeated(images, UNIT) for images in after_reset.T] for after_reset in _after_reset(splits)]


def significant_falls(splits: NDArray[np.float64]) -> int:
    """Return how many steps of `reset_costs` are significantly below 0, corrected for their number."""
    steps = np.moveaxis(np.diff(_after_reset(splits), axis=-1), 1, 2)
    columns = steps.reshape(-1, steps.shape[-1])
    return sum(_is_below_zero(column, LEVEL / len(columns)) for column in columns)


def _is_below_zero(differences: NDArray[np.float64], level: float) -> bool:
    """Return whether the mean of differences is significantly negative; equal ones have no spread."""
    if differences.mean() >= 0 or np.ptp(differences) == 0:
        return bool(differences.mean() < 0)
    return bool(stats.ttest_1samp(differences, 0, alternative="less").pvalue <= level)


def _after_reset(splits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means over classes ``(gammas, images, n - 1)``."""
    return np.diagonal(splits, axis1=-2, axis2=-1).mean(axis=1)[..., 1:]
