"""Sentences of section 4.1 that depend on the results of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.laplacian_kcca.protocol import MATCHED
from reproduction.experiments.laplacian_kcca.tables import Correlations, sweep_gains


def sizes_text(values: Mapping[str, Any], published: Sequence[float]) -> str:
    """Return how large the correlations are, beside the published ones and those without signal."""
    ours = _means(values["correlation_cv"], "exp1")
    text = (
        f"**Size of the correlations.** The labels have mean correlations of {min(ours):.2f} to "
        f"{max(ours):.2f} in experiment 1; the published ones reach {min(published):.2f} to "
        f"{max(published):.2f} in experiment 3."
    )
    if "no_signal" in values:
        silent = values["no_signal"]["exp1"]["repeats"]
        text += (
            f" In a simulated scan without a response to the films the mean is {np.mean(silent):.2f} over "
            f"{len(silent)} stretches, with a standard deviation of {np.std(silent, ddof=1):.2f}."
        )
    return text


def experiments_text(values: Mapping[str, Any]) -> str:
    """Return how much the experiments and their controls differ, for films and pictures."""
    lines = ["**Differences between the experiments**, as means over the labels or categories:\n"]
    for name, correlations in (
        ("films", values["correlation_cv"]),
        ("pictures", values["haxby"]["correlation_cv"]),
    ):
        one, two, three = (
            np.mean(_means(correlations, experiment)) for experiment in ("exp1", "exp2", "exp3")
        )
        lines.append(
            f"- *{name}*: {one:.3f}, {two:.3f} and {three:.3f} in experiments 1, 2 and 3. Experiment 2 "
            "differs from plain KCCA at the equivalent ε by at most "
            f"{_largest(correlations, 'exp2', MATCHED):.3f} "
            "for any label, and experiment 3 from the centering matrix by at most "
            f"{_largest(correlations, 'exp3', 'exp3_centred'):.3f}."
        )
    return "\n".join(lines)


def choices_text(values: Mapping[str, Any]) -> str:
    """Return how often the smallest weight of the Laplacian is chosen."""
    shares = {
        (criterion, experiment): 100 * values["at_edge"][criterion][experiment]["gamma at its least"]
        for criterion in ("folds", "spectrum")
        for experiment in ("exp2", "exp3")
    }
    return (
        "**Hardly any Laplacian?** The smallest $\\gamma$ of the grid, which amounts to none, is chosen in "
        f"{shares['folds', 'exp2']:.0f} % (experiment 2) and {shares['folds', 'exp3']:.0f} % (experiment 3) "
        f"of the choices by cross-validation, and in {shares['spectrum', 'exp2']:.0f} % and "
        f"{shares['spectrum', 'exp3']:.0f} % of those by the spectral criterion."
    )


def permuted_text(values: Mapping[str, Any]) -> str:
    """Return the correlations with permuted volumes beside those of stretches or runs."""
    films, pictures = (
        (
            np.mean(_means(part["correlation_permuted"], "exp1")),
            np.mean(_means(part["correlation_cv"], "exp1")),
        )
        for part in (values, values["haxby"])
    )
    return (
        "**The way of holding out volumes decides the result.** With random volumes the mean correlation of "
        f"experiment 1 is {films[0]:.2f} for the films instead of {films[1]:.2f}, and {pictures[0]:.2f} for "
        f"the pictures instead of {pictures[1]:.2f}."
    )


def sweep_text(sweep: pd.DataFrame) -> str:
    """Return the gains of experiment 3 over experiment 1 in all scenarios."""
    gains = sweep_gains(sweep).query("experiment == 'exp3'").groupby("scenario", sort=False)["gain"].mean()
    listed = ", ".join(f"{gain:+.3f} ({scenario})" for scenario, gain in gains.items())
    return f"Gain of experiment 3 over experiment 1 in the mean over labels, by scenario: {listed}."


def maps_text(values: Mapping[str, Any]) -> str:
    """Return the share of the weight in the targets, in units of that by chance."""
    ratios = [
        np.mean(share["repeats"]) / values["target_chance"][target]
        for target, shares in values["target_share"].items()
        for share in shares
    ]
    return (
        f"The share of the weight above the threshold that lies in the target is {min(ratios):.1f} to "
        f"{max(ratios):.1f} times the share of its voxels, over all maps and experiments."
    )


def _means(correlations: Correlations, experiment: str) -> list[float]:
    return [float(np.mean(value["repeats"])) for value in correlations[experiment]]


def _largest(correlations: Correlations, one: str, other: str) -> float:
    """Return the largest difference of two experiments over the outputs."""
    return float(np.max(np.abs(np.subtract(_means(correlations, one), _means(correlations, other)))))
