"""Train on cropped versions, which repeat no pixels (rule train_pedestrian_controls)."""

from collections.abc import Mapping, Sequence

import numpy as np

from ermlab.features.hog_crops import HogLayout
from reproduction.claims.results import read_json
from reproduction.datasets.daimler_pedestrians import TEST, TRAIN
from reproduction.experiments.pedestrians.protocol import CROPPED, METHODS, prepared_sets, train
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, layout: HogLayout, C: Mapping[str, Sequence[float]], tol: float
) -> None:
    """Train on cropped versions with the C of the full ones, and score cropped test crops."""
    sets, selected = prepared_sets(inputs["sets"]), read_json(inputs["selected"])
    tests = {part: sets[part].store(layout, "crop").features() for part in TEST}
    for part, output in zip(TRAIN, outputs["scores"], strict=True):
        bags, labels = sets[part].store(layout, "crop").bags(), sets[part].labels
        scores = {}
        for name in CROPPED:
            method = METHODS[name]
            model = train(method, bags, labels, C[method.kind][selected[name]], tol)
            scores |= {f"{name}/{test}": model.decision_function(X) for test, X in tests.items()}
        np.savez(output, **scores)


if "snakemake" in globals():
    run_stage(main, snakemake)
