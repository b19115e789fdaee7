"""How well cells were detected."""

import numpy as np

from ermlab.tracking.films import CellFilm


def detection_errors(film: CellFilm) -> dict[str, float]:
    """Return how often detection went wrong in a film whose truth is complete, as shares of the true cells.

    ``missed``
        true cells that no detection holds;
    ``cut``
        true cells that several detections hold;
    ``joined``
        true cells in a detection that holds others, too;
    ``spurious``
        detections that hold no true cell.

    A true cell counts once for each frame of its track that is in the film.
    """
    begin, end = np.maximum(film.lineage[:, 1], 0), np.minimum(film.lineage[:, 2], len(film) - 1)
    cells = int(np.sum(np.maximum(end - begin + 1, 0)))
    if not cells:
        raise ValueError("the film has no true cells: expected at least one track")
    detection, track = film.tracks.T
    frames = film.frame[detection]
    holders = np.unique(np.column_stack([frames, track]), axis=0, return_counts=True)[1]
    held = np.bincount(detection, minlength=len(film.frame))
    return {
        "missed": 1 - len(holders) / cells,
        "cut": float(np.sum(holders > 1)) / cells,
        "joined": float(held[held > 1].sum()) / cells,
        "spurious": float(np.sum(held == 0)) / cells,
    }
