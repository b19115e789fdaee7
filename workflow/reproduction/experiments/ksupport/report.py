"""Sentences of section 4.2 that depend on the results of a run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.ksupport.evaluate import PROTOCOLS, STUDIES, TITLES


def control_text(values: Mapping[str, Any]) -> str:
    """Return how well the target and the reversed target of the film are predicted, by protocol."""
    lines = []
    for protocol in ("fair", "permuted"):
        target = np.mean([values["correlations"][f"film_{protocol}"][method]["best"] for method in TITLES])
        control = np.mean([np.mean(values[f"reversed_{protocol}"][method]["repeats"]) for method in TITLES])
        lines.append(
            f"- *{PROTOCOLS['film', protocol]}*: the best models of the three methods reach {target:.2f} in "
            f"the mean for the target, and {control:.2f} for the reversed one, unrelated to the scan."
        )
    return "\n".join(lines)


def order_text(values: Mapping[str, Any]) -> str:
    """Return the order of the methods in each study, with parameters chosen inside the training part."""
    lines = []
    for study, title in STUDIES.items():
        means = {
            TITLES[method]: np.mean(row["repeats"])
            for method, row in values["nested_correlation"][study].items()
        }
        ordered = sorted(means, key=means.get, reverse=True)
        splits = len(values["nested_correlation"][study]["lasso"]["repeats"])
        listed = ", ".join(f"{name} {means[name]:.2f}" for name in ordered)
        lines.append(f"- *{title}* ({splits} splits): {listed}.")
    return "\n".join(lines)


def edges_text(values: Mapping[str, Any]) -> str:
    """Return which of the best models lie at an edge of their grid of regularization strengths."""
    found = [
        f"{STUDIES[study]}, {title}: {TITLES[method]}"
        for (study, protocol), title in PROTOCOLS.items()
        for method in TITLES
        if values["correlations"][f"{study}_{protocol}"][method]["best_at_edge"]
    ]
    if not found:
        return "No best model lies at an edge of its grid of regularization strengths."
    return (
        f"Of {len(PROTOCOLS) * len(TITLES)} best models, {len(found)} lie at an edge of their grid of "
        f"regularization strengths ({'; '.join(found)}): strengths beyond it might perform better there."
    )


def clusters_text(values: Mapping[str, Any]) -> str:
    """Return the chosen k and the mean size of clusters over the splits in each study of two groups."""
    lines = []
    for name, title in GROUP_TITLES.items():
        maps = values["maps"][name]
        lasso, ksupport = (np.mean(maps["mean_size"][method]["repeats"]) for method in ("lasso", "ksupport"))
        lines.append(
            f"- *{title}*: k = {maps['chosen']['ksupport']['shape']:.0f} is chosen. Clusters in the maps of "
            f"the training parts have {ksupport:.1f} voxels in the mean, those of the LASSO {lasso:.1f}; "
            f"the models have a correlation of {np.mean(maps['correlation']['ksupport']['repeats']):.2f} and "
            f"{np.mean(maps['correlation']['lasso']['repeats']):.2f} with the groups."
        )
    return "\n".join(lines)
