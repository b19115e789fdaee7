"""Evaluate the losses of the newsgroups and the times of the iterations (rule evaluate_text_taxonomy)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reproduction.claims.results import read_json, repeated, write_json, write_results
from reproduction.experiments.taxonomies import share_inside_grid
from reproduction.experiments.text_taxonomy.protocol import CONTROLS, LOSSES, PUBLISHED
from reproduction.pipeline.job import Paths, run_stage

#: The four covariances of the table, then the controls.
TITLES = {
    "identity": "I",
    "learned": "B*",
    "semantic_centred": "H V D* V' H",
    "semantic": "V D* V'",
    "learned_topology": "topology of B*, lengths D*",
    "permuted": "V D* V', classes permuted",
}
LOSS_TITLES = {"zero_one": "0-1 loss", "taxonomic": "taxonomic loss"}
#: Late iterations are the last of this many parts.
_PARTS = 5


def main(inputs: Paths, outputs: Paths) -> None:
    """Combine the splits; the files of the training rule are listed split by split."""
    trials = pd.concat(map(pd.read_csv, inputs["trials"]))
    documents = [read_json(path) for path in inputs["trees"]]
    times, forms = pd.read_csv(inputs["times"]), read_json(inputs["forms"])
    write_results(
        Path(outputs["values"]).parent,
        {
            **loss_values(trials, overlap_of_tests(documents)),
            "topology_distance": repeated((row["topology_distance"] for row in documents), "split"),
            "splits": len(documents),
            "posts": documents[0]["posts"],
            "words": [document["words"] for document in documents],
            "timed_posts": int(times["posts"].iloc[0]),
            "timed_iterations": int(times["iteration"].max()),
            "iterations_to_gap": forms["iterations_to_gap"],
        },
        datasets={"newsgroups20": read_json(inputs["receipt"])["kind"]},
        # Memory is kept with the seconds: it depends on the versions of Python and numpy.
        timings={**time_values(times), "memory": forms["memory"]},
    )
    trials.to_csv(outputs["prices"], index=False, lineterminator="\n")
    times.to_csv(outputs["times"], index=False, lineterminator="\n")
    write_json(outputs["trees"], documents)


def overlap_of_tests(documents: Sequence[Mapping[str, Any]]) -> float:
    """Return the size of a test part over the rest of the posts from which it was drawn.

    Test parts of two splits overlap by chance. The corrected t-test of random splits of a sample into
    training and test parts uses the same ratio. If each split tests all posts, it is so large that splits
    decide nothing.
    """
    n_test = float(np.mean([document["posts"][-1] for document in documents]))
    return n_test / max(documents[0]["late_posts"] - n_test, 1.0)


def loss_values(trials: pd.DataFrame, overlap: float) -> dict[str, Any]:
    """Return for each loss and covariance the losses and the chosen C of each split.

    ``overlap`` is that of `overlap_of_tests`.
    """
    chosen = trials[trials["chosen"]].sort_values("split").set_index(["loss", "covariance"])

    def per_split(names: Sequence[str], column: str) -> dict[str, dict[str, list[float]]]:
        return {
            loss: {name: chosen.loc[[(loss, name)], column].tolist() for name in names} for loss in LOSSES
        }

    def measured(names: Sequence[str], column: str) -> dict[str, dict[str, Any]]:
        found = per_split(names, column)
        return {
            loss: {name: repeated(found[loss][name], "split", overlap) for name in names} for loss in LOSSES
        }

    return {
        "loss": {loss: list(by_name.values()) for loss, by_name in measured(PUBLISHED, "test").items()},
        "controls": measured(CONTROLS, "test"),
        "validation": measured(PUBLISHED + CONTROLS, "validation"),
        "price": per_split(PUBLISHED + CONTROLS, "C"),
        "price_inside": share_inside_grid(trials, ["split", "loss", "covariance"]),
        "largest_gap": float(chosen["gap"].max()),
        "zero_weights": int(trials["zero"].sum()),
    }


def time_values(times: pd.DataFrame) -> dict[str, float]:
    """Return the growth of the seconds of both forms, and the ratio of their late iterations."""
    seconds = {form: rows["seconds"].to_numpy() for form, rows in times.groupby("form")}
    return {
        "kronecker_slope": relative_slope(seconds["kronecker"]),
        "cached_slope": relative_slope(seconds["cached"]),
        "cached_over_kronecker": late_ratio(seconds["cached"], seconds["kronecker"]),
    }


def relative_slope(seconds: ArrayLike) -> float:
    """Return the slope of a line fitted to times over iterations, relative to their mean."""
    seconds = np.asarray(seconds, dtype=np.float64)
    if seconds.ndim != 1 or len(seconds) < 2:
        raise ValueError(f"seconds of shape {seconds.shape}: expected those of at least 2 iterations")
    return float(np.polyfit(np.arange(len(seconds)), seconds, 1)[0] / seconds.mean())


def late_ratio(slow: ArrayLike, fast: ArrayLike) -> float:
    """Return the ratio of the median times of the last fifth of the iterations."""
    late = [np.median(np.asarray(times)[-max(len(times) // _PARTS, 1) :]) for times in (slow, fast)]
    return float(late[0] / late[1])


def losses_by_covariance(values: Mapping, loss: str) -> dict[str, np.ndarray]:
    """Return the losses of each split for all covariances, the controls last."""
    measured = dict(zip(PUBLISHED, values["loss"][loss], strict=True)) | values["controls"][loss]
    return {name: np.array(measured[name]["repeats"]) for name in PUBLISHED + CONTROLS}


def loss_table(values: Mapping, published: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return published and measured losses, one row per loss and covariance."""
    rows = []
    for loss in LOSSES:
        published_losses = dict(zip(PUBLISHED, published[loss], strict=True))
        for name, of_splits in losses_by_covariance(values, loss).items():
            rows.append(
                {
                    "loss": LOSS_TITLES[loss],
                    "covariance": TITLES[name],
                    "published": published_losses.get(name, np.nan),
                    "ours": of_splits.mean(),
                    "spread": of_splits.std(ddof=1) if len(of_splits) > 1 else np.nan,
                    "validation": np.mean(values["validation"][loss][name]["repeats"]),
                    "C": np.median(values["price"][loss][name]),
                }
            )
    return pd.DataFrame(rows)


def time_table(values: Mapping, timings: Mapping[str, float]) -> pd.Series:
    """Return the sizes and numbers behind figure 5.9."""
    return pd.Series(
        {
            "posts": f"{values['timed_posts']}",
            "iterations": f"{values['timed_iterations']}",
            "growth per iteration, Kronecker form": f"{100 * timings['kronecker_slope']:.2f} %",
            "growth per iteration, cached kernel values": f"{100 * timings['cached_slope']:.2f} %",
            "cached over Kronecker, late iterations": f"{timings['cached_over_kronecker']:.0f}",
        },
        name="",
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
