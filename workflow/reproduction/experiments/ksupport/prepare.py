"""The studies of section 4.2 as rows of voxels with a target (rule prepare_ksupport_studies)."""

from collections.abc import Mapping

from reproduction.claims.results import read_json
from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts
from reproduction.experiments.fmri_studies.movie_series import MovieSeries, whole_films
from reproduction.experiments.fmri_studies.sparse_studies import (
    film_study,
    haxby_study,
    reversed_labels,
    wager_study,
)
from reproduction.pipeline.job import job


def main(inputs: Mapping[str, str], outputs: Mapping[str, str], *, pool: int) -> None:
    """Write the whole film with its target and with it reversed, Haxby and Wager."""
    film = MovieSeries.read(inputs["film"])
    for name, some in (("film", film), ("reversed", reversed_labels(film))):
        film_study(some, whole_films(some)).write(outputs[f"{name}_whole"])
    haxby_study(read_haxby2001_slice(read_json(inputs["haxby"])["folder"])).write(outputs["haxby"])
    wager = wager_study(read_wager2008_contrasts(read_json(inputs["wager"])["folder"]), pool)
    wager.write(outputs["wager"])


if "snakemake" in globals():
    with job(snakemake):
        main(dict(snakemake.input.items()), dict(snakemake.output.items()), pool=snakemake.params.pool)
