"""Every method with every price on one training set (rule train_pedestrian_classifiers)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.claims.results import write_json
from reproduction.experiments.pedestrians.protocol import METHODS, PreparedSet, layout_of, train
from reproduction.pipeline.job import job


def main(
    folders: Mapping[str, str],
    part: str,
    outputs: Mapping[str, str],
    *,
    descriptor: Mapping[str, Any],
    prices: Mapping[str, Sequence[float]],
    tol: float,
) -> None:
    """Train on a set, and score the crops of all other sets: training sets to choose C, test sets to test."""
    sets = {name: PreparedSet(folder, layout_of(descriptor)) for name, folder in folders.items()}
    bags, y = sets[part].store().bags(), sets[part].labels
    others = {name: one.store().features() for name, one in sets.items() if name != part}
    scores, seconds = {}, {}
    for name, method in METHODS.items():
        for k, C in enumerate(prices[method.kind]):
            began = time.perf_counter()
            model = train(method, bags, y, C, tol)
            seconds[f"{name}/{k}"] = time.perf_counter() - began
            scores[f"used/{name}/{k}"] = np.array(model.n_virtual_)
            for other, X in others.items():
                scores[f"{name}/{k}/{other}"] = model.decision_function(X)
            print(f"{name}, C = {C:g}: {seconds[f'{name}/{k}']:.1f} s, {model.n_virtual_} virtual samples")
    np.savez(outputs["scores"], **scores)
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    with job(snakemake):
        main(
            {name.removeprefix("set_"): folder for name, folder in snakemake.input.items()},
            snakemake.wildcards.part,
            dict(snakemake.output.items()),
            descriptor=snakemake.params.descriptor,
            prices=snakemake.params.prices,
            tol=snakemake.params.tol,
        )
