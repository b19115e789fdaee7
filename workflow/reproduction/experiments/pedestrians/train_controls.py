"""Versions that invent no pixels: every crop cut a pixel smaller (rule train_pedestrian_controls)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.claims.results import read_json
from reproduction.datasets.daimler_pedestrians import TEST, TRAIN
from reproduction.experiments.pedestrians.protocol import CROPPED, METHODS, PreparedSet, layout_of, train
from reproduction.pipeline.job import job


def main(
    folders: Mapping[str, str],
    chosen: str,
    outputs: Sequence[str],
    *,
    descriptor: Mapping[str, Any],
    prices: Mapping[str, Sequence[float]],
    tol: float,
) -> None:
    """Train on cut versions with the prices of the uncut ones, and score cut test crops."""
    sets = {name: PreparedSet(folder, layout_of(descriptor)) for name, folder in folders.items()}
    tests = {part: sets[part].store("crop").features() for part in TEST}
    for part, output in zip(TRAIN, outputs, strict=True):
        bags, labels = sets[part].store("crop").bags(), sets[part].labels
        scores = {}
        for name in CROPPED:
            method = METHODS[name]
            model = train(method, bags, labels, prices[method.kind][read_json(chosen)[name]], tol)
            scores |= {f"{name}/{other}": model.decision_function(X) for other, X in tests.items()}
        np.savez(output, **scores)


if "snakemake" in globals():
    with job(snakemake):
        main(
            {
                name.removeprefix("set_"): folder
                for name, folder in snakemake.input.items()
                if name.startswith("set_")
            },
            snakemake.input.prices,
            snakemake.output,
            descriptor=snakemake.params.descriptor,
            prices=snakemake.params.prices,
            tol=snakemake.params.tol,
        )
