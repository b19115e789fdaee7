"""Evaluate learning from partial annotations: losses, times and bounds (rule evaluate_partial_annotation)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.partial_annotation.protocol import QUARTER, SOLVERS, TWENTIETH, VARIANTS
from reproduction.pipeline.job import Paths, run_stage

#: Study and start of the descents that the claims are about: those of the source.
MAIN, START = "nuclei", "guess"
TITLES = {
    "nuclei": "nuclei, another laboratory",
    "migration_1": "migrating cells, every frame",
    "migration_2": "migrating cells, every 2nd frame",
    "migration_4": "migrating cells, every 4th frame",
}
VARIANT_TITLES = {
    "plain": "plain",
    "recycling": "recycling",
    "adaptive": "adaptive precision",
    "both": "both",
}
_START_TITLES = {"guess": "from a guess", "faint": "from nearly 0", "zero": "from 0"}


def main(inputs: Paths, outputs: Paths, *, studies: Sequence[str], descended: Sequence[str]) -> None:
    """Write the tables of losses and of descents of all studies, and the numbers of the claims.

    Parameters
    ----------
    inputs, outputs : mapping
        Learning curves in the order of ``studies``, descents in that of ``descended``, and receipts; files
        of the results.
    studies, descended : sequence of str
        Names of the runs: a study, with the number of a film after a hyphen if it has several.
    """
    tables = {
        name: _join([pd.read_csv(path) for path in inputs[name]], runs)
        for name, runs in (("curves", studies), ("descents", descended))
    }
    curve, paths = (table[table["study"] == MAIN] for table in tables.values())
    shares = sorted(curve.loc[curve["method"] == "partial", "share"].unique())
    # The perceptron is trained on some of the films; the comparison is paired.
    compared = curve[curve["film"].isin(_of(curve, "perceptron")["film"])]
    as_printed = paths[(paths["solver"] == SOLVERS[0]) & (paths["start"] == START)]
    ends = as_printed.groupby(["variant", "film"]).last()
    first = as_printed[(as_printed["variant"] == "plain") & (as_printed["iteration"] == 1)]
    by_study = dict(list(tables["curves"].groupby("study", sort=False)))
    write_results(
        Path(outputs["values"]).parent,
        {
            "shares": shares,
            "test_loss": {
                method: [_losses(compared, method, share) for share in shares]
                for method in ("partial", "perceptron")
            },
            "loss_at_twentieth": _losses(curve, "partial", TWENTIETH),
            "loss_at_quarter": _losses(curve, "partial", QUARTER),
            "loss_full": _losses(curve, "full"),
            "objective": {variant: repeated(ends["objective"][variant], "film") for variant in VARIANTS},
            "bounds": {variant: repeated(ends["bounds"][variant], "film") for variant in VARIANTS},
            "bounds_plain_first": repeated(first["bounds"], "film"),
            "controls": {study: _controls(table) for study, table in by_study.items()},
            "strengths_inside": {study: _share_inside(table) for study, table in by_study.items()},
        },
        datasets={Path(path).stem: read_json(path)["kind"] for path in inputs["receipts"]},
        timings={
            "partial_over_full": repeated(
                [_partial_over_full(of_film) for _, of_film in curve.groupby("film")], "film"
            ),
            "perceptron_over_partial": repeated(
                [_perceptron_over_partial(of_film) for _, of_film in compared.groupby("film")], "film"
            ),
            "plain_over_both": repeated(ends["seconds"]["plain"] / ends["seconds"]["both"], "film"),
        },
    )
    for name, table in zip(("losses", "descents"), tables.values(), strict=True):
        table.to_csv(outputs[name], index=False, lineterminator="\n")


def _join(tables: Sequence[pd.DataFrame], runs: Sequence[str]) -> pd.DataFrame:
    """Join the tables of runs: studies, with the number of a film after a hyphen if there are several."""
    parts = []
    for run, table in zip(runs, tables, strict=True):
        study, _, film = run.partition("-")
        parts.append(table.assign(study=study, film=int(film or 1)))
    joined = pd.concat(parts, ignore_index=True)
    return joined[["study", "film", *joined.columns.drop(["study", "film"])]]


def _losses(curve: pd.DataFrame, method: str, share: float | None = None) -> dict[str, Any]:
    """Return the losses of a method over films."""
    return repeated(_of(curve, method, share).groupby("film")["loss"].mean(), "film")


def _of(curve: pd.DataFrame, method: str, share: float | None = None) -> pd.DataFrame:
    """Return the rows of a method, those of one share if it is given."""
    return curve[(curve["method"] == method) & ((share is None) | (curve["share"] == share))]


def _controls(curve: pd.DataFrame) -> dict[str, float]:
    """Return the losses with all events, with full and with wrong annotation, and without training."""
    return {
        "all_events": float(_of(curve, "partial", 1.0)["loss"].mean()),
        **{name: float(_of(curve, name)["loss"].mean()) for name in ("full", "guess", "wrong")},
    }


def _share_inside(curve: pd.DataFrame) -> float:
    """Return the share of chosen strengths that are not at the border of the grid."""
    chosen = curve[(curve["film"] == curve["film"].min()) & curve["method"].isin(["partial", "full"])]
    return float(chosen.drop_duplicates(["method", "share"])["inside"].astype(bool).mean())


def _median_time(curve: pd.DataFrame, method: str) -> float:
    """Return the median training time over shares above a fifth."""
    rows = _of(curve, method)
    return float(rows.loc[rows["share"] > 0.2, "seconds"].median())


def _perceptron_over_partial(curve: pd.DataFrame) -> float:
    """Return the training time of the perceptron over that of the bridge loss."""
    return _median_time(curve, "perceptron") / _median_time(curve, "partial")


def _partial_over_full(curve: pd.DataFrame) -> float:
    """Return the mean over shares above a fifth of the median training time, relative to full annotation."""
    rows = _of(curve, "partial")
    medians = rows[rows["share"] > 0.2].groupby("share")["seconds"].median()
    return float(medians.mean() / _of(curve, "full")["seconds"].item())


def control_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the losses of the controls, one row per study."""
    columns = {
        "all_events": "bridge loss, all events",
        "full": "full annotation (hinge loss)",
        "guess": "initial weights, not trained",
        "wrong": "wrong annotation",
    }
    losses = {
        title: values["controls"][study] for study, title in TITLES.items() if study in values["controls"]
    }
    table = pd.DataFrame(losses).T[list(columns)].rename(columns=columns).round(2)
    return table.rename_axis("events missed (%)")


def describe_strengths(losses: pd.DataFrame) -> str:
    """Say which of the regularization strengths, chosen on the first film, are at an end of their grid."""
    chosen = losses[(losses["film"] == 1) & losses["method"].isin(["partial", "full"])]
    chosen = chosen.drop_duplicates(["study", "method", "share"])
    at_end = [
        f"{row.strength:g} with "
        f"{'full annotation' if row.method == 'full' else f'{row.share:.0%} of the annotation'} "
        f"({TITLES[row.study]})"
        for row in chosen[~chosen["inside"].astype(bool)].itertuples()
    ]
    if not at_end:
        return "All values of $\\lambda$ are chosen inside their grids."
    return f"At an end of the grid, extended as far as it may be: {', '.join(at_end)}."


def problems_of(descents: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each study and start by its title, of the first film."""
    return {
        f"{TITLES[study]}, {_START_TITLES[start]}": rows
        for (study, start), rows in descents[descents["film"] == 1].groupby(["study", "start"], sort=False)
    }


def bounds_table(problems: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return bounds, outer iterations, objective and seconds at the end of every descent.

    Parameters
    ----------
    problems : mapping
        Result of `problems_of`.
    """
    tables = []
    for problem, rows in problems.items():
        paths = rows.groupby(["solver", "variant"], sort=False)
        last = paths.last()
        table = pd.DataFrame(
            {
                "bounds": last["bounds"],
                "of these in the first iteration": paths["bounds"].nth(1).to_numpy(),
                "iterations": last["iteration"],
                "objective": last["objective"].round(5),
                "seconds": last["seconds"].round(2),
            }
        )
        for column in ("bounds", "seconds"):
            plain = last.xs("plain", level="variant")[column]
            ratio = table.index.get_level_values("solver").map(plain) / last[column]
            table[f"{column}, plain / this"] = ratio.round(2)
        tables.append(table.reset_index().assign(problem=problem))
    joined = pd.concat(tables, ignore_index=True)
    return joined[["problem", *joined.columns.drop("problem")]]


def variant_table(problems: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the bounds of each variant, and what both ideas save, one row per problem and solver."""
    rows = {}
    for problem, descents in problems.items():
        for solver, paths in descents.groupby("solver", sort=False):
            last = paths.groupby("variant").last()
            bounds, seconds, objective = (last[name] for name in ("bounds", "seconds", "objective"))
            rows[problem, solver] = {
                **{f"bounds, {title}": f"{bounds[name]:g}" for name, title in VARIANT_TITLES.items()},
                "bounds, plain / both": f"{bounds['plain'] / bounds['both']:.1f}",
                "time, plain / both": f"{seconds['plain'] / seconds['both']:.1f}",
                "objectives, largest / smallest": f"{objective.max() / objective.min():.3f}",
            }
    return pd.DataFrame(rows).T


if "snakemake" in globals():
    run_stage(main, snakemake)
