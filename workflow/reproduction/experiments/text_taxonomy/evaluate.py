"""Losses of the newsgroups for all covariances, and times (rule evaluate_text_taxonomy)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.claims.results import over_seeds, read_json, write_json, write_results
from reproduction.experiments.text_taxonomy.protocol import CONTROLS, LOSSES, PUBLISHED
from reproduction.experiments.text_taxonomy.timing import late_ratio, relative_slope
from reproduction.pipeline.job import job


def main(
    receipt: str,
    folder: Path,
    *,
    times: str,
    trials: Sequence[str],
    trees: Sequence[str],
    timings: Sequence[str],
) -> None:
    """Put the splits together; the files of the training rule come split by split."""
    tried = pd.concat(map(pd.read_csv, trials))
    chosen = tried[tried["chosen"]].sort_values("split")
    ends = tried.groupby(["split", "loss", "covariance"])["C"].agg(["min", "max"])
    places = ends.join(chosen.set_index(["split", "loss", "covariance"])["C"])
    documents = [read_json(path) for path in trees]
    measured = pd.read_csv(times)
    seconds = {form: rows["seconds"].to_numpy() for form, rows in measured.groupby("form")}
    spent = [read_json(path) for path in timings]
    write_results(
        folder,
        {
            "loss": {
                loss: [_over_splits(chosen, loss, name, "test") for name in PUBLISHED] for loss in LOSSES
            },
            "controls": {
                loss: {name: _over_splits(chosen, loss, name, "test") for name in CONTROLS} for loss in LOSSES
            },
            "validation": {
                loss: {name: _over_splits(chosen, loss, name, "validation") for name in PUBLISHED + CONTROLS}
                for loss in LOSSES
            },
            "price": {
                loss: {name: _rows(chosen, loss, name)["C"].tolist() for name in PUBLISHED + CONTROLS}
                for loss in LOSSES
            },
            "price_inside": float(((places["min"] < places["C"]) & (places["C"] < places["max"])).mean()),
            "largest_gap": float(chosen["gap"].max()),
            "zero_weights": int(tried["zero"].sum()),
            "topology_distance": over_seeds(some["topology_distance"] for some in documents),
            "splits": len(documents),
            "posts": documents[0]["posts"],
            "words": [some["words"] for some in documents],
            "timed_posts": int(measured["posts"].iloc[0]),
            "timed_iterations": int(measured["iteration"].max()),
        },
        datasets={"newsgroups20": read_json(receipt)["kind"]},
        timings={
            "kronecker_slope": relative_slope(seconds["kronecker"]),
            "cached_slope": relative_slope(seconds["cached"]),
            "cached_over_kronecker": late_ratio(seconds["cached"], seconds["kronecker"]),
            "kernels_seconds": float(np.mean([some["kernels"] for some in spent])),
            "training_seconds": float(np.mean([some["training"] for some in spent])),
        },
    )
    tried.to_csv(folder / "prices.csv", index=False, lineterminator="\n")
    measured.to_csv(folder / "times.csv", index=False, lineterminator="\n")
    write_json(folder / "trees.json", documents)


def _rows(chosen: pd.DataFrame, loss: str, covariance: str) -> pd.DataFrame:
    return chosen[(chosen["loss"] == loss) & (chosen["covariance"] == covariance)]


def _over_splits(chosen: pd.DataFrame, loss: str, covariance: str, column: str) -> dict[str, list[float]]:
    """Return a column of the chosen trials, one number for each split."""
    return over_seeds(_rows(chosen, loss, covariance)[column])


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(inputs.pop("receipt"), Path(snakemake.output.values).parent, **inputs)
