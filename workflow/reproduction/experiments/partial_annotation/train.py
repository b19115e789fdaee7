"""Trackers from shares of the annotation of one study (rule train_partial_trackers)."""

from collections.abc import Sequence

import numpy as np

from ermlab.tracking.films import CellFilm
from reproduction.experiments.partial_annotation.protocol import learning_curve
from reproduction.experiments.tracking.protocol import study_of
from reproduction.pipeline.job import job


def main(
    films: Sequence[str],
    output: str,
    *,
    laboratory: str,
    pairs: int | None,
    shares: Sequence[float],
    draws: int,
    strengths: Sequence[float],
    folds: int,
    tol: float,
    seed: int,
) -> None:
    """Write losses and seconds of each method, share and draw."""
    curve = learning_curve(
        study_of([CellFilm.read(path) for path in films], pairs),
        shares,
        draws,
        strengths,
        tol=tol,
        folds=folds,
        seeds=np.random.SeedSequence(seed),
    )
    curve.to_csv(output, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.films, snakemake.output.curve, **snakemake.params.arguments)
