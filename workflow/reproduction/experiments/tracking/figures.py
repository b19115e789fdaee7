"""Losses and errors of trackers: the table and its picture (C-tab-1.1)."""

from ast import literal_eval
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY
from ermlab.tracking.assignment import EVENTS
from reproduction.plotting.style import PUBLISHED

TITLES = {
    "graph_matching": "graph matching, no learning",
    "max_flow": "ILP as max-flow, no learning",
    "hand_tuned": "weights set by hand",
    "random_forest": "random forest on single events",
    "l1": "structured learning, L1",
    "l2": "structured learning, L2",
    "laptrack": "LapTrack (peer), no learning",
}
STUDIES = {
    "dcelliq": "simulated nuclei",
    "migration_1": "migrating cells, every frame",
    "migration_2": "every 2nd frame",
    "migration_4": "every 4th frame",
}
_LEARNED = {"random_forest": GREEN, "l1": BLUE, "l2": BLUE}


def tracker_table(values: Mapping[str, Any], published: Mapping[str, float]) -> pd.DataFrame:
    """Return each tracker's loss in percent on each film, with what 95 % of the draws of frames span."""
    rows = {}
    for method, title in TITLES.items():
        row: dict[str, Any] = {"published": f"{published[method]:.2f}" if method in published else ""}
        for study, found in values["studies"].items():
            low, high = found["interval"][method]
            row[STUDIES[study]] = f"{found['loss'][method]:.2f} ({low:.2f} to {high:.2f})"
        rows[title] = row
    return pd.DataFrame(rows).T


def table_data(values: Mapping[str, Any], published: Mapping[str, float]) -> pd.DataFrame:
    """Return the numbers of `tracker_table` and `measure_table`, a row for each film and tracker."""
    return pd.DataFrame(
        [
            {
                "film": study,
                "tracker": method,
                "published_loss": published.get(method) if study == "dcelliq" else None,
                "loss": found["loss"][method],
                "low": found["interval"][method][0],
                "high": found["interval"][method][1],
                "above_l2_low": found["above_l2_interval"][method][0],
                "above_l2_high": found["above_l2_interval"][method][1],
                **found["measures"][method],
            }
            for study, found in values["studies"].items()
            for method in TITLES
        ]
    )


def measure_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the measures of the Cell Tracking Challenge, in percent."""
    columns = {"TRA": "TRA", "DET": "DET", "LNK": "LNK", "edge_f1": "edge F1"}
    rows = {
        TITLES[method]: {
            (STUDIES[study], shown): f"{100 * found['measures'][method][name]:.2f}"
            for study, found in values["studies"].items()
            for name, shown in columns.items()
            if study == "dcelliq" or name in ("LNK", "edge_f1")
        }
        for method in TITLES
    }
    return pd.DataFrame(rows).T


def error_table(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return for each tracker how many events of each kind it misses, and how many it finds wrongly."""
    known, missed, false = (found[name] for name in ("events", "missed", "false"))
    kinds = [kind for kind in EVENTS if known[kind] or any(row[kind] for row in false.values())]
    table = {"known": {kind: str(known[kind]) for kind in kinds}} | {
        title: {kind: f"{missed[method][kind]} / {false[method][kind]}" for kind in kinds}
        for method, title in TITLES.items()
    }
    return pd.DataFrame(table).T


def count_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return what there is in each film."""
    rows = {}
    for study, found in values["studies"].items():
        events = found["events"]
        rows[STUDIES[study]] = {
            "pairs to train on": found["pairs"]["training"],
            "pairs to test on": found["pairs"]["test"],
            "cells a frame": round(found["cells"]),
            "divisions to train on": found["training_events"]["division"],
            "events to test on": sum(events.values()),
            "of them moves": events["move"],
            "divisions": events["division"],
            "merges and splits": events["merge"] + events["split"],
            "appearances and disappearances": events["appearance"] + events["disappearance"],
            "lost by gating": found["lost_by_gating"],
            "untracked detections": f"{found['untracked']} of {found['detections']}",
        }
    return pd.DataFrame(rows)


def tuning_table(tuning: pd.DataFrame) -> pd.DataFrame:
    """Return how many held-out events were missed with each parameter, the chosen one marked."""
    sums = tuning.groupby(["method", "parameter", "study"], sort=False).agg(
        missed=("missed", "sum"), chosen=("chosen", "any")
    )
    shown = sums["missed"].astype(str) + np.where(sums["chosen"], " *", "")
    table = shown.unstack("study", fill_value="").rename(columns=STUDIES)
    table = table.loc[sorted(table.index, key=_largest_first)]
    table.index = table.index.set_levels(
        [TITLES[method] for method in table.index.levels[0]], level="method"
    ).set_names(["tracker", "lam, or (leaf, share)"])
    return table


def _largest_first(row: tuple[str, str]) -> tuple[int, list[float]]:
    """Return the place of a method and parameter in the table."""
    method, parameter = row
    return list(TITLES).index(method), [-number for number in np.atleast_1d(literal_eval(parameter))]


def time_table(timings: Mapping[str, Any]) -> pd.DataFrame:
    """Return seconds of training, and milliseconds of tracking a pair of frames."""
    return pd.DataFrame(
        {
            (STUDIES[study], shown): {
                TITLES[method]: f"{factor * found[method][name]:.1f}" for method in TITLES
            }
            for study, found in timings.items()
            for name, shown, factor in (
                ("training_seconds", "training, s", 1),
                ("seconds_per_pair", "a pair, ms", 1000),
            )
        }
    )


def plot_losses(values: Mapping[str, Any], published: Mapping[str, float]) -> Figure:
    """Draw the loss of each tracker on each film with its spread, beside the published ones."""
    studies = values["studies"]
    fig, axes = plt.subplots(1, len(studies), figsize=(2.2 + 2.5 * len(studies), 3.3), sharey=True)
    places = np.arange(len(TITLES))[::-1]
    for ax, (study, found) in zip(np.atleast_1d(axes), studies.items(), strict=True):
        for place, method in zip(places, TITLES, strict=True):
            color = _LEARNED.get(method, GREY)
            ax.plot(
                found["interval"][method], [place] * 2, color=color, linewidth=2.5, solid_capstyle="round"
            )
            ax.plot(found["loss"][method], place, "o", color=color)
            if study == "dcelliq" and method in published:
                ax.plot(published[method], place, "D", mfc="none", mec=PUBLISHED["color"], ms=6)
        ax.set(title=STUDIES[study], xlabel="events missed, %", yticks=places, yticklabels=TITLES.values())
        ax.set_xlim(left=0)
        ax.grid(visible=False, axis="y")
    first = np.atleast_1d(axes)[0]
    first.plot([], [], "D", mfc="none", mec=PUBLISHED["color"], label="published (DCellIQ)")
    first.plot([], [], "o-", color=GREY, linewidth=2.5, label="ours, 95 % of draws of frames")
    fig.legend(loc="outside lower center", ncols=2)
    return fig
