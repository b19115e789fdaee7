"""Test errors, stops and tables of section 1.4 (rule evaluate_active_learning)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ermlab.tracking.active_learning import MEASURES
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.pipeline.job import job

#: The study that the claims speak of.
MAIN = "nuclei"
#: Tables of each study, which are joined.
TABLES = ("curve", "table", "stops", "cells")
#: Factor of the weights with which the rule is applied as it is published.
OWN_LENGTH = "1"
#: Random uncertainties say nothing about when to stop.
STOPPING = [measure for measure in MEASURES if measure != "random"]


def main(
    studies: Mapping[str, Mapping[str, str]],
    receipts: Mapping[str, str],
    folder: Path,
    *,
    threshold: float,
    window: int,
    shares: Sequence[float],
) -> None:
    """Write the numbers of the experiment.

    Parameters
    ----------
    studies
        Name to its files: the tables, summary, timings.
    receipts
        Data set to its receipt.
    threshold, window
        Of the stopping rule.
    shares
        Of the patches, at which active and combined learning are compared.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: _values(files) for name, files in studies.items()}
    main_study = found[MAIN]
    write_results(
        folder,
        {
            "enumeration_difference_max": max(
                values["summary"]["enumeration_difference"] for values in found.values()
            ),
            **{name: main_study[name] for name in ("stop_share", "test_error", "active", "combined")},
            "all_data": main_study["summary"]["all_data"],
            "threshold": threshold,
            "window": window,
            "shares": shares,
            "studies": found,
        },
        datasets={name: read_json(receipt)["kind"] for name, receipt in receipts.items()},
        timings={name: read_json(files["timings"]) for name, files in studies.items()},
    )
    for kind in TABLES:
        tables = [pd.read_csv(files[kind]).assign(study=name) for name, files in studies.items()]
        pd.concat(tables).to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")


def _values(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the numbers of one study, over seeds."""
    curve, table, stops = (pd.read_csv(files[name]) for name in ("curve", "table", "stops"))
    summary = read_json(files["summary"])
    # Where the rule does not hold before, learning ends with the last patch.
    stops = stops[stops["scale"] == OWN_LENGTH].assign(
        stop=lambda rows: rows["stop"].fillna(summary["patches"])
    )
    means = curve.groupby(["measure", "seed"])[["test_error", "averaged_error"]].mean()
    return {
        "summary": summary,
        "stop_share": {
            measure: over_seeds(stops[stops["measure"] == measure]["stop"] / summary["patches"])
            for measure in STOPPING
        },
        **{
            name: {measure: over_seeds(means.loc[measure, name]) for measure in MEASURES}
            for name in ("test_error", "averaged_error")
        },
        **{
            name: {measure: _by_share(table[table["measure"] == measure], name) for measure in MEASURES}
            for name in ("active", "averaged", "combined")
        },
    }


def _by_share(table: pd.DataFrame, name: str) -> list[dict[str, list[float]]]:
    return [over_seeds(rows[name]) for _, rows in table.groupby("share")]


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(
            {
                study: {name: inputs[f"{name}_{study}"] for name in (*TABLES, "summary", "timings")}
                for study in snakemake.params.studies
            },
            {
                name: inputs[f"receipt_{name}"]
                for names in snakemake.params.studies.values()
                for name in names
            },
            Path(snakemake.output.values).parent,
            threshold=snakemake.params.threshold,
            window=snakemake.params.window,
            shares=snakemake.params.shares,
        )
