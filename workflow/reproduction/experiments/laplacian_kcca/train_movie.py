"""Run the experiments of section 4.1.3 on one scan: correlations and weight maps (rule train_movie_kcca)."""

from pathlib import Path

import numpy as np

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films, whole_films
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    TARGETS,
    film_maps,
    joined,
    study_films,
)
from reproduction.experiments.laplacian_kcca.protocol import OUTPUT_SIDE, Settings
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, stretches: int, gap: int, permuted: bool, settings: Settings
) -> None:
    """Learn all labels and sets of labels, with held-out stretches and, if asked, with permuted volumes.

    The sets are also learned with a Laplacian of the outputs.
    """
    series = MovieSeries.read(inputs["series"])
    films = cut_films(series, stretches, gap)
    fair = study_films(films, stretches, settings)
    results = {"fair": fair}
    results["output_side"] = study_films(
        films, stretches, settings, variables=False, variants=[OUTPUT_SIDE], criteria=["folds"]
    )
    if permuted:
        results["permuted"] = study_films(
            whole_films(series),
            stretches,
            settings,
            permuted=True,
            variants=PUBLISHED_EXPERIMENTS,
            criteria=["folds"],
        )
    joined(results).to_csv(outputs["table"], index=False, lineterminator="\n")
    weights = {f"{target}_{name}": values for (target, name), values in film_maps(films, fair).items()}
    targets = {f"{target}_target": series.region(*names) for target, names in TARGETS.items()}
    with Path(outputs["maps"]).open("wb") as file:
        np.savez_compressed(
            file,
            mask=series.mask,
            affine=series.affine,
            motion=series.motion,
            **{name: values.astype(np.float32) for name, values in weights.items()},
            **targets,
        )


if "snakemake" in globals():
    run_stage(main, snakemake)
