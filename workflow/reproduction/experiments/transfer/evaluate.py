"""Evaluate what strategies need of a target's annotation (rule evaluate_transfer)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.transfer.protocol import FIFTH, SHARED, STRATEGIES
from reproduction.pipeline.job import Paths, run_stage

#: The study that the claims are about.
MAIN = "laboratories"
#: Share beyond which the chapter finds transfer and union better than all target.
THIRD = 0.3
#: Share at which its conclusions find transfer almost as good as training on all of the target.
TWENTIETH = 0.05
#: What the runs of a study are repeated over: other films, or other draws of the annotated patches.
UNITS = {MAIN: "film"}
#: A loss matches another if it is at most this factor larger.
COMPARABLE = 1.1
#: Name of a strategy when it has all of the target.
_WHOLE = {"partial_target": "all_target"}
#: Title of each strategy, its formulation and its training data.
TITLES = {
    "all_source": ("all source", "eq. 1.4", "all of the source"),
    "all_target": ("all target", "eq. 1.4", "all of the target"),
    "partial_target": ("partial target", "eq. 1.4", "a share of the target"),
    "union": ("union", "eq. 1.4", "all of the source and a share of the target"),
    "transfer": ("transfer", "eq. 1.9", "all of the source and a share of the target"),
}
#: Columns of `loss_table` with a factor.
_COLUMNS = {
    "loss_at_fifth": ("loss at 20 %", 1.0),
    "loss_beyond_third": ("mean loss beyond 30 %", 1.0),
    "share_needed": ("share needed, %", 100.0),
}
#: Data set and frames of each part of a study.
_PARTS = {
    "laboratories": {
        "source": ("dcelliq_nuclei", "first film"),
        "target": ("mitocheck_nuclei", "first film"),
        "test": ("mitocheck_nuclei", "second film"),
    },
    "migration": {
        "source": ("ctc_sim_truth", "all frames"),
        "target": ("cell_migration", "first half"),
        "test": ("cell_migration", "second half"),
    },
}


def main(
    inputs: Paths, outputs: Paths, *, scenarios: Sequence[str], alphas: Sequence[float], rhos: Sequence[float]
) -> None:
    """Join the runs of all scenarios, and summarize each study.

    Parameters
    ----------
    inputs, outputs : mapping
        Runs, facts and timings in the order of ``scenarios``, and receipts; files of the results.
    scenarios : sequence of str
        Names of the scenarios.
    alphas, rhos : sequence of float
        Values of lambda and rho to choose from.
    """
    runs = percent(pd.concat([pd.read_csv(path) for path in inputs["runs"]], ignore_index=True))
    runs.to_csv(outputs["runs"], index=False, lineterminator="\n")
    summaries = {
        study: summarize(rows, UNITS.get(study, "draw")) for study, rows in runs.groupby("study", sort=False)
    }
    # Of a study with several films, the first.
    facts = {study: fact for path in reversed(inputs["facts"]) for study, fact in read_json(path).items()}
    write_results(
        Path(outputs["values"]).parent,
        {
            **summaries[MAIN],
            "grids": {"lam": alphas, "rho": rhos},
            "union_limit_difference": facts[MAIN]["union_limit_difference"],
            "studies": {study: {**summary, **facts[study]} for study, summary in summaries.items()},
        },
        datasets={Path(path).stem: read_json(path)["kind"] for path in inputs["receipts"]},
        timings={
            scenario: read_json(path)["seconds"]
            for scenario, path in zip(scenarios, inputs["timings"], strict=True)
        },
    )


def percent(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with their losses in percent."""
    return runs.assign(**{name: 100 * runs[name] for name in ("loss", "published_loss", "validation_loss")})


def learning_curves(runs: pd.DataFrame, strategy: str, column: str = "loss") -> pd.DataFrame:
    """Return the losses of a strategy, one row per share and one column per draw or film.

    With all of the target the loss is the same in each draw, and *partial target* is *all target*.
    """
    partial = runs[(runs.strategy == strategy) & (runs.share < 1)]
    curves = partial.pivot(index="share", columns="draw", values=column)
    name = _WHOLE.get(strategy, strategy)
    if ((runs.strategy == name) & (runs.share == 1)).any():
        curves.loc[1.0] = whole_losses(runs[runs.share == 1], name, curves.columns, column)
    return curves.sort_index()


def whole_losses(
    runs: pd.DataFrame, strategy: str, draws: Sequence[int], column: str = "loss"
) -> list[float]:
    """Return the loss of a strategy that is trained once, for each film or, the same, for each draw."""
    losses = runs[runs.strategy == strategy].set_index("draw")[column]
    return [float(losses.get(draw, losses.iloc[0])) for draw in draws]


def share_needed(shares: Sequence[float], losses: Sequence[float], level: float) -> float:
    """Return the first share at which the interpolated curve is at most ``level``, 1 if there is none."""
    shares, losses = np.asarray(shares, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    low = np.flatnonzero(losses <= level)
    if not len(low):
        return 1.0
    k = int(low[0])
    if k == 0:
        return float(shares[0])
    part = (losses[k - 1] - level) / (losses[k - 1] - losses[k])
    return float(shares[k - 1] + part * (shares[k] - shares[k - 1]))


def summarize(runs: pd.DataFrame, unit: str) -> dict[str, Any]:
    """Return the losses of a study, only those at `FIFTH` if it has no larger shares than `THIRD`.

    Parameters
    ----------
    runs : DataFrame
        Columns ``strategy``, ``draw``, ``share`` and ``loss``.
    unit : str
        What a draw is: ``"film"`` or ``"draw"``.
    """
    curves = {name: learning_curves(runs, name) for name in SHARED}
    draws = curves["transfer"].columns
    target = whole_losses(runs, "all_target", draws)

    def of_shares(chosen: Callable[[pd.DataFrame], pd.Series]) -> dict[str, dict]:
        return {name: repeated(chosen(curve), unit) for name, curve in curves.items()}

    found = {
        "loss_all_source": repeated(whole_losses(runs, "all_source", draws), unit),
        "loss_all_target": repeated(target, unit),
        "loss_at_fifth": of_shares(lambda curve: curve.loc[FIFTH]),
    }
    if TWENTIETH in curves["transfer"].index:
        found["loss_at_twentieth"] = of_shares(lambda curve: curve.loc[TWENTIETH])
    if curves["transfer"].index.max() <= THIRD:
        return found
    return {
        **found,
        "loss_beyond_fifth": of_shares(lambda curve: curve[curve.index > FIFTH].mean()),
        "loss_beyond_third": of_shares(lambda curve: curve[curve.index > THIRD].mean()),
        "share_needed": {
            name: repeated(
                (
                    share_needed(curve.index, curve[draw], COMPARABLE * loss)
                    for draw, loss in zip(draws, target, strict=True)
                ),
                unit,
            )
            for name, curve in curves.items()
        },
    }


def describe_controls(values: Mapping[str, Any]) -> str:
    """Say what a wrong source and one from the same film do to union and transfer."""
    losses = {
        study: {
            name: float(np.mean(found["repeats"]))
            for name, found in values["studies"][study]["loss_at_fifth"].items()
        }
        for study in ("shuffled", "same")
    }
    wrong, same = losses["shuffled"], losses["same"]
    return (
        f"In this run a wrong source leads to a loss of {wrong['union']:.2f} % with union and of "
        f"{wrong['transfer']:.2f} % with transfer, where the patches alone have "
        f"{wrong['partial_target']:.2f} %. With halves of one film union has {same['union']:.2f} %, transfer "
        f"{same['transfer']:.2f} % and the patches alone {same['partial_target']:.2f} %."
    )


def curve_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of figure 1.10: mean and range over draws, for each study, strategy and share."""
    groups = runs.groupby(["study", "strategy", "share"], sort=False)
    table = groups.loss.agg(loss="mean", least="min", most="max", draws="count")
    return table.assign(loss_published_setting=groups.published_loss.mean()).reset_index()


def settings_table(runs: pd.DataFrame, study: str, sizes: Mapping[str, Any]) -> pd.DataFrame:
    """Return table 1.4: formulation, published and chosen settings, and training data of each strategy.

    Of the settings chosen for each film, the most frequent one is given with the range of all.

    Parameters
    ----------
    runs : DataFrame
        All runs.
    study : str
        Name of the study.
    sizes : mapping
        Numbers of patches of ``"source"`` and ``"target"``.
    """
    rows = []
    for name, (title, formulation, trained_on) in TITLES.items():
        chosen = runs[(runs.study == study) & (runs.strategy == name)].drop_duplicates("draw")
        published = STRATEGIES[name].published
        rows.append(
            {
                "strategy": title,
                "formulation": formulation,
                "trained on": trained_on,
                "patches": _patches(name, sizes),
                "published lambda": published.alpha,
                "our lambda": _chosen(chosen.lam),
                "published rho": published.rho if name == "transfer" else None,
                "our rho": _chosen(chosen.rho) if name == "transfer" else None,
            }
        )
    return pd.DataFrame(rows)


def describe_settings(runs: pd.DataFrame, study: str, grids: Mapping[str, Sequence[float]]) -> str:
    """Say which of the settings that were chosen for the films are at an end of their grid.

    Parameters
    ----------
    runs : DataFrame
        All runs.
    study : str
        Name of the study.
    grids : mapping
        Values of ``lam`` and ``rho`` to choose from.
    """
    chosen = runs[runs.study == study].drop_duplicates(["strategy", "draw"])
    found = []
    for name, (title, _, _) in TITLES.items():
        rows = chosen[chosen.strategy == name]
        for column, grid in grids.items():
            if column == "rho" and name != "transfer":
                continue
            for end, label in ((min(grid), "lowest"), (max(grid), "highest")):
                if count := int((rows[column] == end).sum()):
                    symbol = {"lam": "lambda", "rho": "rho"}[column]
                    found.append(
                        f"$\\{symbol}$ of {title} is the {label} value tried, {end:g}, for {count} of "
                        f"{len(rows)} films"
                    )
    if not found:
        return "None of the chosen values is at an end of its grid."
    return "At an end of its grid: " + "; ".join(found) + "."


def _patches(strategy: str, sizes: Mapping[str, Any]) -> str:
    source, target = (sizes[part]["patches"] for part in ("source", "target"))
    return {
        "all_source": f"{source}",
        "all_target": f"{target}",
        "partial_target": f"up to {target}",
    }.get(strategy, f"{source} + up to {target}")


def _chosen(values: pd.Series) -> str:
    """Return the most frequent value and, if there are others, their range."""
    most_frequent = f"{values.mode().iloc[0]:g}"
    if values.nunique() == 1:
        return most_frequent
    return f"{most_frequent} ({values.min():g} to {values.max():g})"


def loss_table(values: Mapping[str, Any], studies: Mapping[str, str]) -> pd.DataFrame:
    """Return the losses of the strategies in the comparisons of the claims, mean and range."""
    rows = []
    for study, title in studies.items():
        found = values["studies"][study]
        for strategy in SHARED:
            rows.append(
                {
                    "study": title,
                    "strategy": TITLES[strategy][0],
                    **{
                        label: _mean_and_range(found[key][strategy]["repeats"], factor)
                        for key, (label, factor) in _COLUMNS.items()
                        if key in found
                    },
                    "all source": _mean_and_range(found["loss_all_source"]["repeats"], 1.0),
                    "all target": _mean_and_range(found["loss_all_target"]["repeats"], 1.0),
                }
            )
    return pd.DataFrame(rows)


def _mean_and_range(values: Sequence[float], factor: float) -> str:
    scaled = factor * np.array(values)
    if scaled.min() == scaled.max():
        return f"{scaled.mean():.2f}"
    return f"{scaled.mean():.2f} ({scaled.min():.2f} to {scaled.max():.2f})"


def size_table(
    facts: Mapping[str, Any], studies: Mapping[str, str], datasets: Mapping[str, str]
) -> pd.DataFrame:
    """Return the training and test data of each study."""
    rows = []
    for study, title in studies.items():
        for part, (dataset, frames) in _PARTS[study].items():
            size = facts[study][part]
            rows.append(
                {
                    "study": title,
                    "part": part,
                    "film": f"{dataset} ({datasets[dataset]}), {frames}",
                    "patches": size["patches"],
                    "true events": size["events"],
                    "completely known": size["complete"],
                }
            )
    return pd.DataFrame(rows)


if "snakemake" in globals():
    run_stage(main, snakemake)
