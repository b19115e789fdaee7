"""Cut a film into stretches, with its target and with the target reversed (rule prepare_film_study)."""

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films
from reproduction.experiments.fmri_studies.studies import film_study, reversed_labels
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, stretches: int, gap: int) -> None:
    """Write both studies; labels are reversed before the film is cut, so that no stretch has drifts."""
    film = MovieSeries.read(inputs["film"])
    for name, series in (("film", film), ("reversed", reversed_labels(film))):
        film_study(series, cut_films(series, stretches, gap)).write(outputs[name])


if "snakemake" in globals():
    run_stage(main, snakemake)
