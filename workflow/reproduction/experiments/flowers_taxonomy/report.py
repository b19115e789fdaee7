"""Sentences about the flowers, computed from the results."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.claims.uncertainty import estimate
from reproduction.experiments.flowers_taxonomy.evaluate import validation_curves
from reproduction.experiments.taxonomies import difference_text

#: A loss below this many points is not divided into shares.
SMALLEST_LOSS = 1.0


def accuracy_text(values: Mapping[str, Any]) -> str:
    """Compare the methods with one-vs-rest and with their controls, in points of accuracy."""
    accuracy = values["accuracy"]

    def difference(first: str, second: str) -> str:
        return difference_text(accuracy[first], accuracy[second], ".1f")

    lines = [
        f"- The learned taxonomy differs from one-vs-rest by {difference('learned', 'one_vs_rest')} points, "
        f"from no taxonomy by {difference('learned', 'identity')}, and from the same tree with shuffled "
        f"classes by {difference('learned', 'permuted')}.",
        f"- The Linnaean taxonomy differs from one-vs-rest by {difference('semantic', 'one_vs_rest')} "
        f"points, and from no taxonomy by {difference('semantic', 'identity')}.",
        "- The learned topology with the lengths of eq. 5.34 differs from no taxonomy by "
        f"{difference('learned_topology', 'identity')} points. {lengths_text(accuracy)}",
    ]
    return "\n".join(lines)


def lengths_text(accuracy: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how much of the loss of the Linnaean taxonomy another topology with the same rule loses, too."""
    identity, semantic, topology = (
        float(estimate(accuracy[name])[0]) for name in ("identity", "semantic", "learned_topology")
    )
    if identity - semantic < SMALLEST_LOSS:
        return "The Linnaean taxonomy loses too little to say where a loss comes from."
    share = (identity - topology) / (identity - semantic)
    return f"That is {100 * share:.0f} % of what the Linnaean taxonomy loses."


def validation_text(trials: pd.DataFrame, published: float) -> str:
    """Say how low the validation accuracy of the Linnaean taxonomy is, over all values of C."""
    curves = validation_curves(trials)
    rows = curves[curves["method"] == "semantic"]
    worst = rows.loc[rows["validation"].idxmin()]
    side = "not" if worst["validation"] > published else "even"
    return (
        "The lowest mean accuracy of the Linnaean taxonomy on validation images is "
        f"{worst['validation']:.1f} %, at C = {worst['C']:.3g}: {side} as low as the published {published} % "
        "on test images."
    )
