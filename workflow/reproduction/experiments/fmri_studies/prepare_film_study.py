"""A film with its target, cut into stretches, and with the target reversed (rule prepare_film_study)."""

from collections.abc import Mapping

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films
from reproduction.experiments.fmri_studies.sparse_studies import film_study, reversed_labels
from reproduction.pipeline.job import job


def main(film: str, outputs: Mapping[str, str], *, stretches: int, gap: int) -> None:
    """Write both studies; labels are reversed before the film is cut, so that no stretch has drifts."""
    series = MovieSeries.read(film)
    for name, some in (("film", series), ("reversed", reversed_labels(series))):
        film_study(some, cut_films(some, stretches, gap)).write(outputs[name])


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.film, dict(snakemake.output.items()), **snakemake.params.arguments)
