"""Write the whole film and the Haxby slice as rows of voxels (rule prepare_ksupport_studies)."""

from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.fmri_studies.movie_series import MovieSeries, whole_films
from reproduction.experiments.fmri_studies.studies import film_study, haxby_study, reversed_labels
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the film with its target and with the target reversed in time, and the Haxby slice."""
    film = MovieSeries.read(inputs["film"])
    for name, series in (("film_whole", film), ("reversed_whole", reversed_labels(film))):
        film_study(series, whole_films(series)).write(outputs[name])
    haxby_study(HaxbySeries.read(inputs["haxby"])).write(outputs["haxby"])


if "snakemake" in globals():
    run_stage(main, snakemake)
