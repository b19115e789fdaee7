"""Run Algorithm 1.1 with and without its two ideas (rule train_cccp_variants)."""

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from reproduction.experiments.partial_annotation.protocol import (
    QUARTER,
    SOLVERS,
    StudySettings,
    descents,
    partly_annotated,
)
from reproduction.experiments.tracking.protocol import study_of
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, seed: int, tol: float, film: int | None, settings: StudySettings
) -> None:
    """Write descents on a quarter of the annotation, with the regularization strength chosen for it.

    Of a study with several films, the first has all starts and solvers, and the others those of the source.
    """
    study = study_of([CellFilm.read(path) for path in inputs["films"]], settings.pairs)
    n = min(settings.descent_pairs or len(study.training), len(study.training))
    spaced = [study.training[i] for i in np.linspace(0, len(study.training) - 1, n).astype(int)]
    pairs = partly_annotated(spaced, QUARTER, np.random.default_rng([seed, 1]))
    curve = pd.read_csv(inputs["curve"])
    # The source sums the losses of pairs (eq. 1.5), ours is their mean: fewer pairs need a larger strength.
    fewer = len(study.training) / n
    alpha = fewer * float(curve.query("method == 'partial' and share == @QUARTER")["strength"].iloc[0])
    others = film is not None and film > 1
    starts, solvers = (["guess"], SOLVERS[:1]) if others else (settings.starts, settings.solvers)
    table = descents(pairs, alpha, tol=tol, starts=starts, solvers=solvers)
    table.to_csv(outputs["descents"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
