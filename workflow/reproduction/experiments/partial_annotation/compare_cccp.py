"""Algorithm 1.1 with and without its two ideas (rule compare_cccp_variants)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from reproduction.experiments.partial_annotation.protocol import QUARTER, SOLVERS, descents, partly_annotated
from reproduction.experiments.tracking.protocol import study_of
from reproduction.pipeline.job import job


def main(
    films: Sequence[str],
    curve: str,
    output: str,
    *,
    laboratory: str,
    pairs: int | None,
    starts: Sequence[str],
    solvers: Sequence[str] | None,
    tol: float,
    seed: int,
) -> None:
    """Write the way of every descent on a quarter of the annotation, regularised as was chosen for that."""
    training = study_of([CellFilm.read(path) for path in films], pairs).training
    some = partly_annotated(training, QUARTER, np.random.default_rng([seed, 1]))
    chosen = pd.read_csv(curve).query("method == 'partial' and share == @QUARTER")["strength"]
    strength = float(chosen.iloc[0])
    ways = descents(some, strength, tol=tol, starts=starts, solvers=solvers or SOLVERS)
    ways.to_csv(output, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.films,
            snakemake.input.curve,
            snakemake.output.descents,
            **snakemake.params.arguments,
        )
