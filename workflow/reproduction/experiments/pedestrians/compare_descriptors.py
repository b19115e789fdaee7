"""Compare descriptors and values of C on training sets alone (rule compare_pedestrian_descriptors)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from ermlab.features.hog_crops import HogLayout, small_hog
from reproduction.experiments.pedestrians.protocol import METHODS, error, prepared_sets, train
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    layout: HogLayout,
    other_descriptors: Sequence[Mapping[str, Any]],
    C: Mapping[str, Sequence[float]],
    tol: float,
) -> None:
    """Train a plain SVM on each training set and validate it on the two others, for each descriptor and C."""
    sets = prepared_sets(inputs["sets"])
    rows = []
    for changes in ({}, *other_descriptors):
        changed = replace(layout, **changes)
        described = {part: small_hog(prepared.crops, changed) for part, prepared in sets.items()}
        for value in C["binary"]:
            models = {
                part: train(METHODS["none"], X[:, None], sets[part].labels, value, tol)
                for part, X in described.items()
            }
            errors = [
                error(sets[held_out].labels, models[part].decision_function(described[held_out]))
                for part, held_out in permutations(sets, 2)
            ]
            rows.append(
                {
                    "levels": " + ".join(f"{rows} x {columns}" for rows, columns in changed.levels),
                    "blocks": f"{changed.blocks[0]} x {changed.blocks[1]}",
                    "orientations": changed.orientations,
                    "root": changed.root,
                    "dimension": changed.dimension,
                    "C": value,
                    "eer": np.mean(errors),
                    "chosen": not changes,
                }
            )
    pd.DataFrame(rows).to_csv(outputs["descriptors"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
