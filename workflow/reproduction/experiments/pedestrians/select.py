"""The price C of each method, chosen on training sets (rule choose_pedestrian_prices)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from reproduction.claims.results import write_json
from reproduction.datasets.daimler_pedestrians import TRAIN
from reproduction.experiments.pedestrians.protocol import METHODS, error
from reproduction.pipeline.job import job


def main(
    scores: Sequence[str],
    crops: Sequence[str],
    outputs: Mapping[str, str],
    prices: Mapping[str, Sequence[float]],
) -> None:
    """Take the price with the least error over the six pairs of different training sets."""
    learned = {part: np.load(path) for part, path in zip(TRAIN, scores, strict=True)}
    labels = {part: _labels(path) for part, path in zip(TRAIN, crops, strict=True)}
    rows, chosen = [], {}
    for name, method in METHODS.items():
        errors = [
            np.mean(
                [
                    error(labels[tried], learned[part][f"{name}/{k}/{tried}"])
                    for part in TRAIN
                    for tried in TRAIN
                    if tried != part
                ]
            )
            for k in range(len(prices[method.kind]))
        ]
        chosen[name] = int(np.argmin(errors))
        rows += [
            {"method": name, "C": C, "eer": one, "chosen": k == chosen[name]}
            for k, (C, one) in enumerate(zip(prices[method.kind], errors, strict=True))
        ]
    pd.DataFrame(rows).to_csv(outputs["validated"], index=False, lineterminator="\n")
    write_json(outputs["prices"], chosen)


def _labels(folder: str) -> np.ndarray:
    with np.load(f"{folder}/crops.npz") as crops:
        return np.repeat([1, -1], [len(crops["pedestrians"]), len(crops["others"])])


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.scores,
            snakemake.input.crops,
            dict(snakemake.output.items()),
            snakemake.params.prices,
        )
