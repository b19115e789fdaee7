"""Figure and tables of transfer between laboratories: losses against annotation, settings, controls."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREY, ORANGE, SKY
from reproduction.experiments.transfer.measures import FIFTH, learning_curves
from reproduction.experiments.transfer.protocol import Strategy
from reproduction.plotting.style import PUBLISHED

#: What a strategy is called, its formulation, and what it is trained on.
TITLES = {
    "all_source": ("all source", "eq. 1.4", "all of the source"),
    "all_target": ("all target", "eq. 1.4", "all of the target"),
    "partial_target": ("partial target", "eq. 1.4", "a share of the target"),
    "union": ("union", "eq. 1.4", "all of the source and a share of the target"),
    "transfer": ("transfer", "eq. 1.9", "all of the source and a share of the target"),
}
#: Strategies with a curve, their colours and marks.
CURVES = {"partial_target": (SKY, "^"), "union": (ORANGE, "s"), "transfer": (BLUE, "o")}
LINES = {"all_source": (GREY, "--"), "all_target": ("black", "-")}


def plot_transfer(runs: pd.DataFrame, studies: Mapping[str, str], column: str = "loss") -> Figure:
    """Draw figure 1.10, a panel for each study: test loss against the share of the target that is annotated.

    Parameters
    ----------
    runs
        All runs, losses in percent.
    studies
        Names of studies and their titles.
    column
        ``"loss"``, with settings chosen by cross-validation, or ``"published_loss"``.
    """
    fig, axes = plt.subplots(1, len(studies), figsize=(5.4 * len(studies), 4.2), squeeze=False)
    for ax, (name, title) in zip(axes.flat, studies.items(), strict=True):
        _plot_study(ax, runs[runs.study == name], column)
        ax.set(
            title=title, xlabel="target patches annotated (%)", ylabel="true events missed in the test (%)"
        )
    axes.flat[0].legend(fontsize=8)
    return fig


def _plot_study(ax: Axes, runs: pd.DataFrame, column: str) -> None:
    for name, (color, style) in LINES.items():
        loss = float(runs.loc[runs.strategy == name, column].iloc[0])
        ax.axhline(loss, color=color, linestyle=style, linewidth=1.2, label=TITLES[name][0])
    for name, (color, mark) in CURVES.items():
        curves = learning_curves(runs, name, column)
        x = 100 * curves.index
        ax.fill_between(x, curves.min(axis=1), curves.max(axis=1), color=color, alpha=0.15, linewidth=0)
        ax.plot(x, curves.mean(axis=1), color=color, marker=mark, markersize=5, label=TITLES[name][0])
    ax.axvline(100 * FIFTH, **PUBLISHED, label="published: transfer meets all target")
    ax.set_xscale("log")
    shares = 100 * np.unique(runs.share[runs.share > 0])
    ax.set_xticks(shares, [f"{share:g}" for share in shares])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)


def plot_controls(runs: pd.DataFrame, studies: Mapping[str, str]) -> Figure:
    """Draw the losses at a fifth of the annotation with the true source and with those of the controls."""
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    for k, study in enumerate(studies):
        some = runs[runs.study == study]
        for j, (name, (color, mark)) in enumerate(CURVES.items()):
            losses = some[(some.strategy == name) & (some.share == FIFTH)].loss
            x = k + 0.2 * (j - 1)
            label = TITLES[name][0] if k == 0 else None
            ax.plot(np.full(len(losses), x), losses, mark, color=color, alpha=0.45, markersize=4)
            ax.plot(x, losses.mean(), mark, color=color, markersize=9, label=label)
        whole = float(some[some.strategy == "all_target"].loss.iloc[0])
        label = TITLES["all_target"][0] if k == 0 else None
        ax.plot([k - 0.35, k + 0.35], [whole, whole], color="black", linewidth=1.2, label=label)
    ax.set_xticks(range(len(studies)), list(studies.values()))
    ax.set(ylabel="true events missed in the test (%)", ylim=(0, None))
    ax.legend(fontsize=8, ncols=2)
    return fig


def curve_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return what figure 1.10 shows: for each study, strategy and share the mean and range over draws."""
    groups = runs.groupby(["study", "strategy", "share"], sort=False)
    table = groups.loss.agg(loss="mean", least="min", most="max", draws="count")
    return table.assign(loss_published_setting=groups.published_loss.mean()).reset_index()


def settings_table(
    runs: pd.DataFrame, study: str, sizes: Mapping[str, Any], strategies: Mapping[str, Strategy]
) -> pd.DataFrame:
    """Return table 1.4: formulation, published and chosen settings, and what a strategy is trained on.

    Where a setting is chosen anew for each share and draw, the most frequent is named with all that were.

    Parameters
    ----------
    sizes
        Patches of ``"source"`` and ``"target"``.
    strategies
        As in `reproduction.experiments.transfer.protocol`, with the settings of the chapter.
    """
    rows = []
    for name, (title, formulation, trained_on) in TITLES.items():
        chosen = runs[(runs.study == study) & (runs.strategy == name)]
        rows.append(
            {
                "strategy": title,
                "formulation": formulation,
                "trained on": trained_on,
                "patches": _patches(name, sizes),
                "published lambda": strategies[name].published.lam,
                "our lambda": _chosen(chosen.lam),
                "published rho": strategies[name].published.rho if name == "transfer" else None,
                "our rho": _chosen(chosen.rho) if name == "transfer" else None,
            }
        )
    return pd.DataFrame(rows)


def _patches(name: str, sizes: Mapping[str, Any]) -> str:
    source, target = (sizes[part]["patches"] for part in ("source", "target"))
    return {
        "all_source": f"{source}",
        "all_target": f"{target}",
        "partial_target": f"up to {target}",
    }.get(name, f"{source} + up to {target}")


def _chosen(values: pd.Series) -> str:
    """Return the most frequent value and, if there are others, their range."""
    most = f"{values.mode().iloc[0]:g}"
    return most if values.nunique() == 1 else f"{most} ({values.min():g} to {values.max():g})"


def loss_table(values: Mapping[str, Any], studies: Mapping[str, str]) -> pd.DataFrame:
    """Return the losses of each strategy where it is compared, mean and range over draws."""
    rows = []
    for name, title in studies.items():
        study = values["studies"][name]
        for strategy in CURVES:
            rows.append(
                {
                    "study": title,
                    "strategy": TITLES[strategy][0],
                    **{
                        label: _spread(study[key][strategy]["per_seed"], factor)
                        for key, (label, factor) in _COLUMNS.items()
                        if key in study
                    },
                    "all source": f"{study['loss_all_source']:.2f}",
                    "all target": f"{study['loss_all_target']:.2f}",
                }
            )
    return pd.DataFrame(rows)


_COLUMNS = {
    "loss_at_fifth": ("loss at 20 %", 1.0),
    "loss_beyond_third": ("mean loss beyond 30 %", 1.0),
    "share_needed": ("share needed, %", 100.0),
}


def _spread(values: list[float], factor: float) -> str:
    values = factor * np.array(values)
    return f"{values.mean():.2f} ({values.min():.2f} to {values.max():.2f})"


def size_table(
    facts: Mapping[str, Any], studies: Mapping[str, str], datasets: Mapping[str, str]
) -> pd.DataFrame:
    """Return what each study learns from and is tested on."""
    rows = []
    for name, title in studies.items():
        for part, (dataset, frames) in _PARTS[name].items():
            size = facts[name][part]
            rows.append(
                {
                    "study": title,
                    "part": part,
                    "film": f"{dataset} ({datasets[dataset]}), {frames}",
                    "samples": size.get("patches", size.get("pairs")),
                    "true events": size["events"],
                    "all is known of": size.get("complete"),
                }
            )
    return pd.DataFrame(rows).astype({"all is known of": "Int64"})


#: Data set and frames of each part of a study.
_PARTS = {
    "laboratories": {
        "source": ("dcelliq_nuclei", "film 1"),
        "target": ("mitocheck_nuclei", "film 1"),
        "test": ("mitocheck_nuclei", "film 2"),
    },
    "migration": {
        "source": ("ctc_sim_truth", "all frames"),
        "target": ("cell_migration", "first half"),
        "test": ("cell_migration", "second half"),
    },
}
