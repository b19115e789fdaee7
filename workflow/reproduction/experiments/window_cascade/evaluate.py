"""Recall against overlap of the windows that each variant ranks first (rule evaluate_window_cascade)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.metrics.detection import recall_overlap
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.experiments.window_cascade.measures import (
    COUNTS,
    areas,
    covered,
    covered_by_any,
    example_detections,
)
from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.protocol import VARIANTS, score_windows
from reproduction.experiments.window_cascade.window_pool import INITIAL_COUNTS, WindowPool
from reproduction.pipeline.job import job

#: What the variants are seen against: the windows in random order, and all of them at once.
CHANCE, ALL = "chance", "all"
OVERLAPS = np.linspace(0.5, 1, 51)
#: The detections shown are those in the first test images of the first split, whatever they look like.
SHOWN_VARIANT, SHOWN_IMAGES = "complete_slack", 8


def main(receipt: str, tests: list[str], models: list[str], folder: Path, seed: int) -> None:
    """Evaluate the weights of every split on its test images."""
    pools = [WindowPool.read(path) for path in tests]
    trained = [read_json(path) for path in models]
    overlaps = [
        _overlaps(pool, model["variants"], np.random.default_rng([seed, split]))
        for split, (pool, model) in enumerate(zip(pools, trained, strict=True))
    ]
    reached = [(pool.reachable[~pool.difficult] >= 0.5).mean(axis=0) for pool in pools]
    write_results(
        folder,
        {
            "auc": {variant: _areas_over_splits(overlaps, variant) for variant in VARIANTS},
            "auc_chance": _areas_over_splits(overlaps, CHANCE),
            "auc_all": _areas_over_splits(overlaps, ALL)[0],
            "initial_recall": over_seeds(shares[-1] for shares in reached),
            "initial_recall_by_count": [over_seeds(shares) for shares in np.transpose(reached)],
            "initial_counts": INITIAL_COUNTS,
            "splits": len(pools),
            "train_images": trained[0]["images"],
            "test_images": len(pools[0]),
            "windows_per_image": int(np.diff(pools[0].starts).max()),
            "train_samples": trained[0]["samples"],
            "share_of_misses": over_seeds(model["share_of_misses"] for model in trained),
            "test_objects": over_seeds((~pool.difficult).sum() for pool in pools),
        },
        datasets={"voc2007_sample": read_json(receipt)["kind"]},
    )
    tables = {
        "curves": _curves(overlaps),
        "weights": _weights(trained),
        "examples": _examples(pools[0], trained[0]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def _overlaps(pool: WindowPool, variants: dict, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the largest overlap of each object with the first windows of each order, (objects, counts)."""
    scores = {name: score_windows(pool, variants[name]["weights"]) for name in VARIANTS}
    scores[CHANCE] = rng.random(len(pool.windows))
    overlaps = {name: covered(pool, order) for name, order in scores.items()}
    return overlaps | {ALL: np.repeat(covered_by_any(pool)[:, None], len(COUNTS), axis=1)}


def _areas_over_splits(overlaps: list[dict[str, np.ndarray]], name: str) -> list[dict]:
    return [over_seeds(column) for column in np.transpose([areas(split[name]) for split in overlaps])]


def _curves(overlaps: list[dict[str, np.ndarray]]) -> pd.DataFrame:
    """Return mean and standard deviation over the splits of the recall at each overlap."""
    tables = []
    for name in overlaps[0]:
        for k, count in enumerate(COUNTS):
            recalls = [recall_overlap(split[name][:, k], OVERLAPS) for split in overlaps]
            tables.append(
                pd.DataFrame(
                    {
                        "variant": name,
                        "windows": count,
                        "overlap": OVERLAPS,
                        "recall": np.mean(recalls, axis=0),
                        "recall_sd": np.std(recalls, axis=0, ddof=1),
                    }
                )
            )
    return pd.concat(tables)


def _weights(trained: list[dict]) -> pd.DataFrame:
    """Return the chosen C and the weights, in deviations of the cues, of each split and variant."""
    return pd.DataFrame(
        {"split": split, "variant": name, "C": model["variants"][name]["C"]}
        | dict(zip(CUES, model["variants"][name]["weights_in_deviations"], strict=True))
        for split, model in enumerate(trained)
        for name in VARIANTS
    )


def _examples(pool: WindowPool, model: dict) -> pd.DataFrame:
    shown = pool.take(range(min(SHOWN_IMAGES, len(pool))))
    return example_detections(shown, score_windows(shown, model["variants"][SHOWN_VARIANT]["weights"]))


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.tests,
            snakemake.input.models,
            Path(snakemake.output.values).parent,
            snakemake.params.seed,
        )
