"""Tables and sentences of the page, computed from the results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.vessels.evaluate import METHODS, TITLES
from reproduction.experiments.vessels.measures import METRICS
from reproduction.experiments.vessels.train_dense import KERNELS, LEVEL

_NAMES = {"f1": "F1", "mcc": "MCC"}


def method_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the means of all metrics over the test photographs, with 95 % intervals of F1 and MCC."""
    rows = []
    for method, title in TITLES.items():
        row = {"": title}
        for metric in METRICS:
            interval = values["interval"][method][metric]
            row[_NAMES.get(metric, metric)] = f"{interval['mean']:.3f}"
            if metric in _NAMES:
                row[_NAMES[metric]] += f" ({interval['low']:.3f} to {interval['high']:.3f})"
        row["AUC"] = f"{values['auc'][method]:.3f}" if method in values["auc"] else ""
        rows.append(row)
    return pd.DataFrame(rows).set_index("")


def difference_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the paired differences of the methods from the second observer and the linear classifier."""
    rows = []
    for method in METHODS:
        row = {"": TITLES[method]}
        for key, other in (("from_second", "second observer"), ("from_linear", "linear classifier")):
            for metric, name in _NAMES.items():
                found = values[key].get(method)
                row[f"{name} minus {other}"] = signed_interval(found[metric]) if found else ""
        rows.append(row)
    return pd.DataFrame(rows).set_index("")


def selection_text(trials: pd.DataFrame) -> str:
    """Say which hyperparameters were selected inside the range of their values, and which were not varied."""
    sentences = []
    for method, rows in trials.groupby("method", sort=False):
        chosen = rows[rows["chosen"]].iloc[0]
        for column, name in (("class_weight", "weight of vessels"), ("C", "$C$")):
            values = rows[column]
            if values.nunique() == 1:
                place = "not varied"
            elif chosen[column] in (values.min(), values.max()):
                place = f"at the edge of its range, {values.min():g} to {values.max():g}"
            else:
                place = f"inside its range, {values.min():g} to {values.max():g}"
            sentences.append(f"- {TITLES[method]}, {name}: {chosen[column]:.3g}, {place}.")
    return "\n".join(sentences)


def health_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return mean F1 of photographs without and with signs of disease."""
    health = scores["pathological"].map({False: "healthy", True: "signs of disease"})
    table = scores.assign(health=health).pivot_table(index="method", columns="health", values="f1")
    counts = scores.groupby(health)["photograph"].nunique()
    table = table.loc[list(TITLES)].rename(index=TITLES).rename_axis(index=None, columns=None)
    return table.rename(columns={name: f"F1, {name} ({counts[name]})" for name in table})


def signed_interval(difference: Mapping[str, float]) -> str:
    """Return a difference with its 95 % interval as text."""
    return f"{difference['mean']:+.4f} ({difference['low']:+.4f} to {difference['high']:+.4f})"


def observer_text(values: Mapping[str, Any]) -> str:
    """Say how the dense CRF compares with the second observer."""
    n = values["photographs"]["test"]
    sentences = [
        f"On {n} test photographs the dense CRF has a mean F1 of {values['score']['dense']['f1']:.3f}, the "
        f"second observer one of {values['score']['second']['f1']:.3f}. The dense CRF is better on "
        f"{values['better_than_second']['dense']} of them."
    ]
    for metric, name in _NAMES.items():
        difference, margin = values["difference"][metric], values["margin"][metric]
        contains = difference["low"] <= 0 <= difference["high"]
        sentences.append(
            f"The paired difference of {name} is {signed_interval(difference)}; the 95 % interval "
            f"{'contains' if contains else 'does not contain'} 0, and the 90 % interval "
            f"{difference['low_90']:+.4f} to {difference['high_90']:+.4f} is "
            f"{margin_text(difference, margin)}."
        )
    return " ".join(sentences)


def margin_text(difference: Mapping[str, float], margin: float) -> str:
    """Say whether a difference is smaller than a margin: yes, no, or undecided."""
    around = f"the margin of {margin:.4f}"
    if -margin < difference["low_90"] and difference["high_90"] < margin:
        return f"within {around}: the two are equivalent in this sense"
    if difference["high_90"] < -margin or difference["low_90"] > margin:
        return f"beyond {around}: the two differ"
    return f"partly beyond {around}: whether the two are equivalent remains undecided"


def structure_text(values: Mapping[str, Any]) -> str:
    """Say what the random fields add to the linear classifier, and which kernels were used."""
    sentences = []
    for method in ("grid", "dense"):
        found = values["from_linear"][method]["f1"]
        verdict = "no clear difference"
        if found["low"] > 0 or found["high"] < 0:
            verdict = "a gain" if found["low"] > 0 else "a loss"
        sentences.append(
            f"- *{TITLES[method]}*: F1 {signed_interval(found)} over the linear classifier, {verdict}."
        )
    return "\n".join([*sentences, "", kernel_text(values["weights"]["dense"])])


def kernel_text(w: Sequence[float]) -> str:
    """Name the kernels of the dense CRF that have a weight, the largest first."""
    weights = np.asarray(w)[-len(KERNELS) :]
    used = [m for m in np.argsort(-weights, kind="stable") if weights[m] > 1e-6 * max(weights.max(), 1e-12)]
    if not used:
        return "Training gave no weight to any kernel: the dense CRF is a classifier of single pixels."
    names = ", ".join(f"{kernel_name(KERNELS[m])} ({weights[m]:.2g})" for m in used)
    return f"Training gave a weight to {len(used)} of {len(KERNELS)} kernels: {names}."


def kernel_name(kernel: float | tuple) -> str:
    """Return a kernel in words."""
    if not isinstance(kernel, tuple):
        return f"position {kernel:g}"
    position, width, channels = kernel
    return f"position {position:g} and {'gray level' if channels == LEVEL else 'score'} {width:g}"
