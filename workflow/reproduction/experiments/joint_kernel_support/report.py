"""Text of section 3.1 that depends on the results of a run."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.joint_kernel_support.train import METHODS


def ssvm_text(values: Mapping[str, Any], published: Mapping[str, list[float]]) -> str:
    """Return how the error of the structured SVM and its C change with the noise."""
    noise, errors = values["noise"], _means(values["eer"]["ssvm"])
    low, half = noise.index(0.3), noise.index(0.5)
    rise, theirs = (100 * (row[half] - row[low]) for row in (errors, published["ssvm"]))
    chosen = [f"{np.median(item['repeats']):g}" for item in values["parameter"]["ssvm"]]
    return (
        f"From 30 to 50 % wrong boxes the error of the S-SVM changes by {rise:+.0f} points (published "
        f"{theirs:+.0f}). The medians over seeds of the chosen $C$ are {', '.join(chosen)} at "
        f"$r$ = {', '.join(f'{r:g}' for r in noise)}."
    )


def random_labels_text(values: Mapping[str, Any], published: Mapping[str, list[float]]) -> str:
    """Return how wrong labels and detections are if all boxes have been exchanged."""
    (on_a_car,) = _means([values["labels_on_a_car"][-1]])
    errors = [f"{_means(values['eer'][method])[-1]:.2f}" for method in METHODS]
    theirs = {published[method][-1] for method in METHODS}
    return (
        f"With all boxes exchanged, {on_a_car:.0%} of them still overlap a car by half or more. The equal "
        f"error rates are then {', '.join(errors)} for S-SVM, linear JKSE and JKSE with the χ² kernel "
        "(published "
        f"{' and '.join(f'{error:g}' for error in sorted(theirs))})."
    )


def times_text(values: Mapping[str, Any], timings: Mapping[str, float]) -> str:
    """Return what the training time of the structured SVM consists of."""
    calls = np.mean(values["map_calls_per_training"]["repeats"])
    share = timings["map_share"]
    rest = (
        "the quadratic programs between the searches take the larger part"
        if share < 0.5
        else "they take the larger part of the training time"
    )
    return (
        f"One training of the S-SVM takes {calls:,.0f} MAP calls on average, of "
        f"{1e3 * timings['map_call_seconds']:.1f} ms each. They are {share:.0%} of its training time: "
        f"{rest}. The longest training with all values of $C$ took "
        f"{timings['ssvm_training_seconds']:.1f} s, the longest of JKSE with all values of $\\nu$ "
        f"{timings['jkse_training_seconds']:.1f} s."
    )


def settings_text(variants: pd.DataFrame) -> str:
    """Return whether held-out training images agree with the settings, on average over the methods.

    The first rows of ``variants`` have the settings of the experiment.
    """
    names = ["normalisation", "levels", "max_overlap"]
    known = variants[variants["search"] == "known"]
    errors = known.groupby(names, sort=False)["held_out_error"].mean()
    used, others = errors.iloc[0], errors.iloc[1:]
    better = others[others < used]
    if better.empty:
        verdict = f"no alternative has a lower one (from {others.min():.2f} on)"
    else:
        listed = "; ".join(
            f"scaling {scaling}, levels {levels}, overlap {overlap:g}: {error:.2f}"
            for (scaling, levels, overlap), error in better.items()
        )
        verdict = f"lower ones are those of {listed}"
    return (
        f"Averaged over the three methods, the settings of this page have a held-out error of {used:.2f} "
        f"with windows of known size; {verdict}."
    )


def _means(items: list[Mapping[str, list[float]]]) -> list[float]:
    return [float(np.mean(item["repeats"])) for item in items]
