"""Films at lower frame rates, and films of positions only."""

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from ermlab.tracking.films import CellFilm

#: Distance to the nearest neighbor relative to the size of a cell, as in `ermlab.tracking.film_of_points`.
SPACING = 1.7


def every_nth_frame(film: CellFilm, step: int) -> CellFilm:
    """Return every ``step``-th frame of a film, with its true tracks.

    A track that is in none of the frames is left out, and its children become those of its parent.
    """
    kept = film.frame % step == 0
    number = np.cumsum(kept) - 1
    label, begin, end, parent = film.lineage.T
    begin, end = -(-begin // step), end // step
    seen = begin <= end
    parents = dict(zip(label.tolist(), parent.tolist(), strict=True))
    known = {0, *label[seen].tolist()}

    def ancestor(track: int) -> int:
        while track not in known:
            track = parents[track]
        return track

    rows = film.tracks[kept[film.tracks[:, 0]]]
    lineage = np.column_stack([label, begin, end, [ancestor(track) for track in parent.tolist()]])
    return replace(
        film,
        frame=film.frame[kept] // step,
        position=film.position[kept],
        area=film.area[kept],
        intensity=film.intensity[kept],
        eccentricity=film.eccentricity[kept],
        n_frames=(len(film) - 1) // step + 1,
        tracks=np.column_stack([number[rows[:, 0]], rows[:, 1]]),
        lineage=lineage[seen],
    )


def positions_only(film: CellFilm) -> CellFilm:
    """Return a film whose cells differ in nothing but their positions, as those of `film_of_points`."""
    distances = [
        cKDTree(cells.position).query(cells.position, k=2)[0][:, 1]
        for cells in (film.cells(t) for t in range(len(film)))
        if len(cells) > 1
    ]
    size = float(np.median(np.concatenate(distances))) / SPACING
    same = np.ones(len(film.frame))
    return replace(film, area=size**2 * same, intensity=same, eccentricity=0 * same)
