"""What accuracies over random splits say of methods, beside those of permuted labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ermlab.metrics.resampling import corrected_t_test, permutation_result, wilcoxon_test


def accuracy_summary(splits: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return for each method mean and standard error of its accuracy, in per cent.

    The error is the deviation over the root of the number of splits, as published. Splits overlap, so it is
    too small.
    """
    found = {}
    for method, some in splits.groupby("method", sort=False):
        values = 100 * some["accuracy"]
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        found[method] = {"mean": float(values.mean()), "standard_error": float(error)}
    return found


def compare_methods(splits: pd.DataFrame, method: str, peer: str, share: float) -> dict[str, float]:
    """Compare two methods on the same splits: mean difference in per cent, and p of both tests."""
    wide = splits.pivot(index="split", columns="method", values="accuracy")
    for name in (method, peer):
        if name not in wide:
            raise ValueError(f"method {name!r} has no scores: expected one of {', '.join(wide)}")
    return {
        "difference": float(100 * (wide[method] - wide[peer]).mean()),
        "better": int((wide[method] > wide[peer]).sum()),
        "worse": int((wide[method] < wide[peer]).sum()),
        "wilcoxon_p": wilcoxon_test(wide[method], wide[peer]).p,
        "corrected_t_p": corrected_t_test(wide[method], wide[peer], share).p,
    }


def compare_with_permuted(
    splits: pd.DataFrame, permuted: pd.DataFrame, methods: Sequence[str], count: int
) -> dict[str, dict[str, Any]]:
    """Return for each method its mean accuracy over the first splits, that with permuted labels, and p.

    Both are means over the same ``count`` splits; ``leak`` is the mean with permuted labels and voxels
    selected beforehand, by the labels of all people. In per cent.
    """
    first = splits[splits["split"] < count]
    if sorted(set(first["split"])) != sorted(set(permuted["split"])):
        raise ValueError(
            f"permuted labels were scored on splits {sorted(set(permuted['split']))}: "
            f"expected the first {count}"
        )
    found = {}
    for method in methods:
        truth = 100 * first[first["method"] == method]["accuracy"].mean()
        rows = permuted[permuted["method"] == method]
        scores = 100 * rows.groupby(["selection", "permutation"])["accuracy"].mean()
        result = permutation_result(truth, scores["inside"].to_numpy())
        found[method] = {
            "accuracy": truth,
            "p": result.p,
            "permuted": float(scores["inside"].mean()),
            "permuted_deviation": float(scores["inside"].std(ddof=0)),
            "leak": float(scores["beforehand"].mean()),
            "leak_deviation": float(scores["beforehand"].std(ddof=0)),
        }
    return found
