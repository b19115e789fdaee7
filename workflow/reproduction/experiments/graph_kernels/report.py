"""Sentences of section 4.3 that depend on the results of a run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.graph_kernels.evaluate import TITLES


def accuracies_text(values: Mapping[str, Any], datasets: Mapping[str, str]) -> str:
    """Return the range of the accuracies in both studies, and the smallest p-value of permutation tests."""
    lines = []
    for name, title in GROUP_TITLES.items():
        study = values["studies"][name]
        accuracies = [study["methods"][method]["mean"] for method in TITLES]
        p = min(study["permuted"][method]["p"] for method in TITLES)
        lines.append(
            f"- *{title}* ({datasets[name]} data): the four methods are right in {min(accuracies):.0f} to "
            f"{max(accuracies):.0f} % of the cases; the smallest $p$ of a label-permutation test is {p:.2f}."
        )
    return "\n".join(lines)


def leak_text(values: Mapping[str, Any]) -> str:
    """Return what the selection of voxels on all subjects gains with permuted labels."""
    lines = []
    for name, title in GROUP_TITLES.items():
        permuted = values["studies"][name]["permuted"]
        listed = ", ".join(
            f"{TITLES[method]} {row['permuted']:.0f} to {row['leak']:.0f} %"
            for method, row in permuted.items()
        )
        lines.append(f"- *{title}*: {listed}.")
    return "\n".join(lines)


def sizes_text(values: Mapping[str, Any]) -> str:
    """Return the number of voxels in the graphs of the drug Stroop study, and the least non-zero share."""
    study = values["studies"]["drug_stroop"]
    net = study["sizes"]["elastic_net"]
    subjects = sum(study["people"])
    training = subjects - round(0.2 * subjects)
    return (
        f"The graphs of the drug Stroop study have {net['voxels']:.0f} voxels on average, from "
        f"{net['least_voxels']:.0f} to {net['most_voxels']:.0f}. A pattern is counted if one of the "
        f"{training} training subjects has it, so the share of non-zero entries cannot fall below "
        f"1/{training}, {100 / training:.1f} %."
    )


def effects_text(values: Mapping[str, Any]) -> str:
    """Return where the elastic net works, and where the pyramid is ahead of it by two standard errors."""
    effects = values["effects"]
    net, pyramid = (
        [np.asarray(row["repeats"]) for row in effects["accuracy"][method]]
        for method in ("elastic_net", "wl_pyramid")
    )
    works = [effect for effect, row in zip(effects["sizes"], net, strict=True) if row.mean() >= 70]
    ahead = [
        effect
        for effect, one, other in zip(effects["sizes"], pyramid, net, strict=True)
        if _ahead(one - other)
    ]
    first = f"from {works[0]:g} % on" if works else "at no difference of the sweep"
    text = f"The elastic net on voxels is right in at least 70 % of the cases {first}."
    if ahead:
        listed = ", ".join(f"{effect:g}" for effect in ahead)
        return f"{text} The WL pyramid is ahead of it by more than two standard errors at {listed} %."
    return f"{text} At no difference is the WL pyramid ahead of it by more than two standard errors."


def _ahead(gains: np.ndarray) -> bool:
    return bool(len(gains) > 1 and gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)))
