"""Groups of near-identical pedestrians as samples, at each degree (rule train_pedestrian_groups)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.claims.results import read_json, write_json
from reproduction.datasets.daimler_pedestrians import TEST
from reproduction.experiments.pedestrians.crop_versions import VERSIONS
from reproduction.experiments.pedestrians.natural_groups import natural_groups
from reproduction.experiments.pedestrians.protocol import (
    GROUPED,
    METHODS,
    PreparedSet,
    group_training,
    grouping_counts,
    layout_of,
    train,
    used_pedestrians,
)
from reproduction.pipeline.job import job


def main(
    folders: Mapping[str, str],
    chosen: str,
    part: str,
    kind: str,
    outputs: Mapping[str, str],
    *,
    descriptor: Mapping[str, Any],
    prices: Mapping[str, Sequence[float]],
    shares: Sequence[float],
    tol: float,
) -> None:
    """Train with the representatives of the groups alone, and with all their members as versions of them."""
    sets = {name: PreparedSet(folder, layout_of(descriptor)) for name, folder in folders.items()}
    bags, labels = sets[part].store().bags(), sets[part].labels
    pedestrians = len(sets[part].pedestrians)
    C = prices[kind][read_json(chosen)[GROUPED[kind]]]
    groups, thresholds = natural_groups(bags[:pedestrians, 0], grouping_counts(pedestrians, shares))
    results = {"groups": np.stack(groups), "thresholds": np.array(thresholds)}
    seconds = {}
    for k, one in enumerate(groups):
        for natural in (False, True):
            if natural and one.max() + 1 == pedestrians:
                continue  # every image alone: there are no members but the representatives
            key = f"{'natural' if natural else 'alone'}/{k}"
            training = group_training(labels, one, natural=natural)
            began = time.perf_counter()
            model = train(METHODS[GROUPED[kind]], bags[training.crops], training.y, C, tol, training.groups)
            seconds[key] = time.perf_counter() - began
            results[f"virtual/{key}"] = np.array(model.n_virtual_)
            results[f"used/{key}"] = np.array(used_pedestrians(model, training, len(VERSIONS)))
            for other in TEST:
                results[f"{key}/{other}"] = model.decision_function(sets[other].store().features())
            print(f"{kind}, {key}: {seconds[key]:.1f} s, {model.n_virtual_} virtual samples")
    np.savez(outputs["scores"], **results)
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    with job(snakemake):
        main(
            {
                name.removeprefix("set_"): folder
                for name, folder in snakemake.input.items()
                if name.startswith("set_")
            },
            snakemake.input.prices,
            snakemake.wildcards.part,
            snakemake.wildcards.kind,
            dict(snakemake.output.items()),
            descriptor=snakemake.params.descriptor,
            prices=snakemake.params.prices,
            shares=snakemake.params.shares,
            tol=snakemake.params.tol,
        )
