"""Nuclei found on the frames of a laboratory's films, with their true tracks (rule prepare_nuclei_films)."""

from collections.abc import Sequence

from ermlab.tracking.cell_detection import film_of_images
from ermlab.tracking.cells import settle_tracks
from reproduction.claims.results import read_json
from reproduction.datasets.nuclei_films import read_nuclei_films
from reproduction.experiments.cell_films.measures import detection_errors
from reproduction.pipeline.job import job


def main(receipt: str, films: Sequence[str]) -> None:
    """Write the detections of each film to its file, and to the log how many are wrong."""
    for data, path in zip(read_nuclei_films(read_json(receipt)["folder"]), films, strict=True):
        film = film_of_images(data.frames, truth=data.truth)
        print(f"film {data.name}: {len(film.frame)} detections; errors in percent of true cells:")
        print({name: round(100 * share, 2) for name, share in detection_errors(film).items()})
        # The truth of these films names every cell.
        settle_tracks(film).write(path)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.films)
