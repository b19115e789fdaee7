"""Select C of each method on training sets (rule select_pedestrian_C)."""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from reproduction.claims.results import write_json
from reproduction.datasets.daimler_pedestrians import TRAIN
from reproduction.experiments.pedestrians.protocol import METHODS, error, prepared_sets
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, C: Mapping[str, Sequence[float]]) -> None:
    """Select the C with the smallest mean error over the six pairs of different training sets.

    Writes the index of the selected C of each method, and the error of each C.
    """
    learned = {part: np.load(path) for part, path in zip(TRAIN, inputs["scores"], strict=True)}
    labels = {part: prepared.labels for part, prepared in prepared_sets(inputs["sets"]).items()}
    rows, selected = [], {}
    for name, method in METHODS.items():
        errors = [
            np.mean(
                [
                    error(labels[held_out], learned[part][f"{name}/{k}/{held_out}"])
                    for part, held_out in permutations(TRAIN, 2)
                ]
            )
            for k in range(len(C[method.kind]))
        ]
        selected[name] = int(np.argmin(errors))
        rows += [
            {"method": name, "C": value, "eer": eer, "chosen": k == selected[name]}
            for k, (value, eer) in enumerate(zip(C[method.kind], errors, strict=True))
        ]
    pd.DataFrame(rows).to_csv(outputs["validated"], index=False, lineterminator="\n")
    write_json(outputs["selected"], selected)


if "snakemake" in globals():
    run_stage(main, snakemake)
