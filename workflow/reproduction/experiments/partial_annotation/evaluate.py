"""Losses, times and bounds of learning from partial annotations (rule evaluate_partial_annotation)."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.experiments.partial_annotation.protocol import QUARTER, SOLVERS, VARIANTS
from reproduction.pipeline.job import job

#: The study and the descents that the claims are about: those of the source.
STUDY, START = "nuclei", "guess"


def main(
    receipts: Mapping[str, str], curves: Mapping[str, str], ways: Mapping[str, str], folder: Path
) -> None:
    """Put the studies together: one table of losses, one of descents, and the numbers of the claims."""
    losses = {study: pd.read_csv(path) for study, path in curves.items()}
    descents = {study: pd.read_csv(path) for study, path in ways.items()}
    curve = losses[STUDY]
    shares = sorted(curve.loc[curve["method"] == "partial", "share"].unique())
    ways_of_study = descents[STUDY]
    ways_as_printed = ways_of_study[
        (ways_of_study["solver"] == SOLVERS[0]) & (ways_of_study["start"] == START)
    ]
    ends = ways_as_printed.groupby("variant").last()
    plain = ways_as_printed[ways_as_printed["variant"] == "plain"]
    write_results(
        folder,
        {
            "shares": shares,
            "test_loss": {
                # Means: of all events there is one draw, of a share there are several.
                method: [float(_of(curve, method, share)["loss"].mean()) for share in shares]
                for method in ("partial", "perceptron", "averaged")
            },
            "loss_at_quarter": over_seeds(_of(curve, "partial", QUARTER)["loss"]),
            "loss_full": float(_of(curve, "full")["loss"].item()),
            "objective": {variant: float(ends["objective"][variant]) for variant in VARIANTS},
            "bounds": {variant: int(ends["bounds"][variant]) for variant in VARIANTS},
            "bounds_plain_first": int(plain["bounds"].iloc[1]),
            "controls": {study: _controls(table) for study, table in losses.items()},
            "strengths_inside": {study: _inside(table) for study, table in losses.items()},
        },
        datasets={name: read_json(path)["kind"] for name, path in receipts.items()},
        timings={
            "partial_over_full": _partial_over_full(curve),
            "plain_over_both": float(ends["seconds"]["plain"] / ends["seconds"]["both"]),
            "studies": {
                study: {
                    "partial_over_full": _partial_over_full(table),
                    "perceptron_over_partial": _median(table, "perceptron") / _median(table, "partial"),
                }
                for study, table in losses.items()
            },
        },
    )
    for name, tables in (("losses", losses), ("descents", descents)):
        joined = pd.concat(tables, names=["study", None]).reset_index("study")
        joined.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def _of(curve: pd.DataFrame, method: str, share: float | None = None) -> pd.DataFrame:
    """Return the rows of a method, of one share if it is given."""
    return curve[(curve["method"] == method) & ((share is None) | (curve["share"] == share))]


def _controls(curve: pd.DataFrame) -> dict[str, float]:
    """Return losses that tell whether the others can be trusted."""
    everything = _of(curve, "partial", 1.0)["loss"]
    return {
        "all_events": float(everything.mean()),
        **{name: float(_of(curve, name)["loss"].item()) for name in ("full", "guess", "wrong")},
    }


def _inside(curve: pd.DataFrame) -> float:
    """Return the share of choices of a strength that had a weaker and a stronger neighbour."""
    chosen = curve[(curve["draw"] == 0) & curve["method"].isin(["partial", "full"])]
    return float(chosen["inside"].astype(bool).mean())


def _median(curve: pd.DataFrame, method: str) -> float:
    """Return the median time of a method over shares above a fifth."""
    rows = _of(curve, method)
    return float(rows.loc[rows["share"] > 0.2, "seconds"].median())


def _partial_over_full(curve: pd.DataFrame) -> float:
    """Return the mean over shares above a fifth of the median time, over that of full annotation."""
    rows = _of(curve, "partial")
    medians = rows[rows["share"] > 0.2].groupby("share")["seconds"].median()
    return float(medians.mean() / _of(curve, "full")["seconds"].item())


if "snakemake" in globals():
    with job(snakemake):
        studies = snakemake.params.studies
        main(
            dict(zip(snakemake.params.datasets, snakemake.input.receipts, strict=True)),
            dict(zip(studies, snakemake.input.curves, strict=True)),
            dict(zip(studies, snakemake.input.descents, strict=True)),
            Path(snakemake.output.values).parent,
        )
