"""A stage of a detection cascade, judged by the objects that its first windows cover (thesis, 3.2.4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import best_overlap, overlap, suppress
from ermlab.metrics.detection import best_overlap_at, recall_area
from reproduction.experiments.window_cascade.window_pool import WindowPool

#: Numbers of windows that the stage hands on (thesis, fig. 3.5 b).
COUNTS = (10, 100, 1000)
SIDES = ("left", "top", "right", "bottom")
#: How the variants are called, in the order in which they are shown, and what they are seen against.
NAMES = {
    "complete_slack": "complete, slack",
    "complete_margin": "complete, margin",
    "bipartite_slack": "bipartite, slack",
    "bipartite_margin": "bipartite, margin",
    "star_slack": "star, slack",
    "star_margin": "star, margin",
    "sosvm": "structured SVM",
    "chance": "random order",
    "all": "all initial windows",
}


def first_windows(
    pool: WindowPool, scores: ArrayLike, max_boxes: int = max(COUNTS)
) -> list[NDArray[np.int64]]:
    """Return the windows of each image that are handed on, best first, after non-maximum suppression."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(pool.windows),):
        raise ValueError(
            f"scores has shape {scores.shape}: expected ({len(pool.windows)},), one for each window"
        )
    chosen = []
    for i in range(len(pool)):
        windows = pool.windows[pool.rows(i)]
        chosen.append(windows[suppress(windows, scores[pool.rows(i)], max_boxes)])
    return chosen


def covered(pool: WindowPool, scores: ArrayLike, counts: Sequence[int] = COUNTS) -> NDArray[np.float64]:
    """Return the largest overlap of each object with the first windows of its image, (objects, counts).

    Objects marked as difficult are not counted.
    """
    windows = first_windows(pool, scores, max(counts))
    return np.concatenate([best_overlap_at(_counted(pool, i), windows[i], counts) for i in range(len(pool))])


def covered_by_any(pool: WindowPool) -> NDArray[np.float64]:
    """Return the largest overlap of each object that counts with any window of its image."""
    return np.concatenate(
        [best_overlap(_counted(pool, i), pool.windows[pool.rows(i)]) for i in range(len(pool))]
    )


def areas(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area under the recall-overlap curve of each column, from overlap .5 to 1, at most 1."""
    return np.array([recall_area(column) for column in overlaps.T])


def example_detections(pool: WindowPool, scores: ArrayLike) -> pd.DataFrame:
    """Return the best of the first windows for each object that counts, a row for each object and count.

    Columns: ``image`` (its number in the data set), ``windows`` (how many are handed on), ``overlap``, the
    sides of the box of the ``object``, and those of the ``window`` that overlaps it most.
    """
    rows = []
    for i, windows in enumerate(first_windows(pool, scores)):
        for box in _counted(pool, i):
            for count in COUNTS:
                overlaps = overlap([box], windows[:count])[0]
                best = int(overlaps.argmax())
                row = {"image": pool.images[i], "windows": count, "overlap": overlaps[best]}
                row |= {f"object_{side}": value for side, value in zip(SIDES, box, strict=True)}
                row |= {f"window_{side}": value for side, value in zip(SIDES, windows[best], strict=True)}
                rows.append(row)
    return pd.DataFrame(rows)


def area_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return mean and standard deviation over the splits of the areas in the results of the experiment.

    Columns: ``variant``, ``windows``, ``mean``, ``sd``; the variants, and what they are seen against, in the
    order of `NAMES`.
    """
    areas_of = {**values["auc"], "chance": values["auc_chance"], "all": [values["auc_all"]] * len(COUNTS)}
    return pd.DataFrame(
        {
            "variant": variant,
            "windows": count,
            "mean": np.mean(item["per_seed"]),
            "sd": np.std(item["per_seed"], ddof=1),
        }
        for variant in NAMES
        if variant in areas_of
        for count, item in zip(COUNTS, areas_of[variant], strict=True)
    )


def difference_table(values: Mapping[str, Any], reference: str) -> pd.DataFrame:
    """Return by how much the area of each variant exceeds that of ``reference``, split by split.

    A row for each other variant, by its name, a column for each number of windows; mean and standard
    deviation over the splits, as text. Differences spread less than areas: all variants have the same test
    images.
    """
    per_split = {
        variant: np.array([item["per_seed"] for item in items]) for variant, items in values["auc"].items()
    }
    rows = {
        name: [_plus_minus(row) for row in per_split[variant] - per_split[reference]]
        for variant, name in NAMES.items()
        if variant in per_split and variant != reference
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=[f"{count} windows" for count in COUNTS])


def _plus_minus(numbers: NDArray[np.float64]) -> str:
    return f"{numbers.mean():+.3f} ± {numbers.std(ddof=1):.3f}"


def _counted(pool: WindowPool, i: int) -> NDArray[np.int32]:
    rows = pool.truth_rows(i)
    return pool.truth[rows][~pool.difficult[rows]]
