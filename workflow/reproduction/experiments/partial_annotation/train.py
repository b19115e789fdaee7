"""Train trackers on shares of the annotation of one study (rule train_partial_trackers)."""

import numpy as np

from ermlab.tracking.films import CellFilm
from reproduction.experiments.partial_annotation.protocol import StudySettings, learning_curve
from reproduction.experiments.tracking.protocol import study_of
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, seed: int, tol: float, settings: StudySettings) -> None:
    """Write losses and training times of each method, share and draw."""
    study = study_of([CellFilm.read(path) for path in inputs["films"]], settings.pairs)
    curve = learning_curve(study, settings, tol=tol, seeds=np.random.SeedSequence(seed))
    curve.to_csv(outputs["curve"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
