"""Train trackers on shares of the annotation of one study (rule train_partial_trackers)."""

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from reproduction.experiments.partial_annotation.protocol import StudySettings, learning_curve
from reproduction.experiments.tracking.protocol import study_of
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, seed: int, tol: float, film: int | None, settings: StudySettings
) -> None:
    """Write losses and training times of each method, share and draw.

    ``film`` is the number of the film of a study with several. Its regularization strengths are those of the
    curve ``inputs["chosen"]`` of the first film, if there is one.
    """
    study = study_of([CellFilm.read(path) for path in inputs["films"]], settings.pairs)
    seeds = np.random.SeedSequence(seed if film is None else [seed, film])
    chosen = pd.read_csv(inputs["chosen"]) if "chosen" in inputs else None
    curve = learning_curve(study, settings, tol=tol, seeds=seeds, film=film, chosen=chosen)
    curve.to_csv(outputs["curve"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
