"""Descriptors and prices, compared on training sets alone (rule compare_pedestrian_descriptors)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.features.hog_crops import small_hog
from reproduction.experiments.pedestrians.protocol import METHODS, PreparedSet, error, layout_of, train
from reproduction.pipeline.job import job


def main(
    folders: Mapping[str, str],
    output: str,
    *,
    descriptor: Mapping[str, Any],
    changes: Sequence[Mapping[str, Any]],
    prices: Sequence[float],
    tol: float,
) -> None:
    """Train a plain SVM on each training set and try it on the two others, for each descriptor and price."""
    sets = {part: PreparedSet(folder, layout_of(descriptor)) for part, folder in folders.items()}
    rows = []
    for change in ({}, *changes):
        layout = layout_of({**descriptor, **change})
        described = {part: small_hog(one.crops, layout) for part, one in sets.items()}
        for C in prices:
            errors = []
            for part, X in described.items():
                model = train(METHODS["none"], X[:, None], sets[part].labels, C, tol)
                errors += [
                    error(sets[other].labels, model.decision_function(described[other]))
                    for other in sets
                    if other != part
                ]
            rows.append(
                {
                    "levels": " + ".join(f"{rows} x {columns}" for rows, columns in layout.levels),
                    "blocks": f"{layout.blocks[0]} x {layout.blocks[1]}",
                    "orientations": layout.orientations,
                    "root": layout.root,
                    "dimension": layout.dimension,
                    "C": C,
                    "eer": np.mean(errors),
                    "chosen": not change,
                }
            )
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(output, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            {name.removeprefix("set_"): folder for name, folder in snakemake.input.items()},
            snakemake.output[0],
            descriptor=snakemake.params.descriptor,
            changes=snakemake.params.changes,
            prices=snakemake.params.prices,
            tol=snakemake.params.tol,
        )
