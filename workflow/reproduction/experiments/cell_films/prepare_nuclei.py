"""Prepare the nuclei of the films of a laboratory, with their true tracks (rule prepare_nuclei_films)."""

import numpy as np

from ermlab.exceptions import DataError
from ermlab.tracking.cell_detection import film_of_images
from ermlab.tracking.cells import settle_tracks
from ermlab.tracking.films import CellFilm
from reproduction.claims.results import read_json
from reproduction.datasets.nuclei_films import read_nuclei_films
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the detections of each film, and log the detection errors."""
    films = read_nuclei_films(read_json(inputs["receipt"])["folder"])
    if len(films) < len(outputs["films"]):
        raise DataError(
            f"{inputs['receipt']}: {len(films)} films: expected {len(outputs['films'])}, as nuclei_films of "
            "the configuration says"
        )
    for data, path in zip(films, outputs["films"], strict=False):
        film = film_of_images(data.frames, truth=data.truth)
        print(f"film {data.name}: {len(film.frame)} detections; errors in percent of the true cells:")
        print({name: round(100 * share, 2) for name, share in detection_errors(film).items()})
        # The truth of these films is complete.
        settle_tracks(film).write(path)


def detection_errors(film: CellFilm) -> dict[str, float]:
    """Return the detection errors in a film with complete truth, as shares of the true cells.

    Each true cell counts once per frame of its track.

    Returns
    -------
    dict
        ``missed``: true cells in no detection; ``cut``: true cells in several detections; ``joined``: true
        cells that share a detection; ``spurious``: detections without a true cell.
    """
    begin, end = np.maximum(film.lineage[:, 1], 0), np.minimum(film.lineage[:, 2], len(film) - 1)
    n_cells = int(np.sum(np.maximum(end - begin + 1, 0)))
    if not n_cells:
        raise ValueError("the film has no true cells: expected at least one track")
    detection, track = film.tracks.T
    frames = film.frame[detection]
    holders = np.unique(np.column_stack([frames, track]), axis=0, return_counts=True)[1]
    held = np.bincount(detection, minlength=len(film.frame))
    return {
        "missed": 1 - len(holders) / n_cells,
        "cut": float(np.sum(holders > 1)) / n_cells,
        "joined": float(held[held > 1].sum()) / n_cells,
        "spurious": float(np.sum(held == 0)) / n_cells,
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
