"""Train every method with every C on one training set (rule train_pedestrian_classifiers)."""

from collections.abc import Mapping, Sequence

import numpy as np

from ermlab.features.hog_crops import HogLayout
from reproduction.experiments.pedestrians.crop_versions import VERSIONS
from reproduction.experiments.pedestrians.protocol import (
    GROUPED,
    METHODS,
    count_used_pedestrians,
    prepared_sets,
    train,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    part: str,
    layout: HogLayout,
    C: Mapping[str, Sequence[float]],
    tol: float,
) -> None:
    """Train on set ``part`` and score the crops of all other sets.

    The scores of training sets serve to select C, those of test sets to test.
    """
    sets = prepared_sets(inputs["sets"])
    bags, y = sets[part].store(layout).bags(), sets[part].labels
    others = {name: prepared.store(layout).features() for name, prepared in sets.items() if name != part}
    scores = {}
    for name, method in METHODS.items():
        for k, value in enumerate(C[method.kind]):
            model = train(method, bags, y, value, tol)
            scores[f"used/{name}/{k}"] = np.array(model.n_virtual_)
            if name in GROUPED.values():
                scores[f"pedestrians/{name}/{k}"] = np.array(count_used_pedestrians(model, y, len(VERSIONS)))
            for other, X in others.items():
                scores[f"{name}/{k}/{other}"] = model.decision_function(X)
            print(f"{name}, C = {value:g}: {model.n_virtual_} virtual samples")
    np.savez(outputs["scores"], **scores)


if "snakemake" in globals():
    run_stage(main, snakemake)
