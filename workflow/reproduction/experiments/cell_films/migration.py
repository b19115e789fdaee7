"""Films of the migrating cells, as the trackers take them."""

import numpy as np

from ermlab.tracking.films import CellFilm
from reproduction.datasets.cell_migration import FEATURES, UNTRACKED, Sequence


def film_of_migration(sequence: Sequence, shape: tuple[int, int]) -> CellFilm:
    """Return the migrating cells at one frame rate; untracked detections stay, of which nothing is known."""
    found = sequence.detections
    tracked = np.flatnonzero(found.track != UNTRACKED)
    measured = dict(zip(FEATURES, found.features.T, strict=True))
    return CellFilm(
        frame=found.frame,
        position=found.centroid,
        area=measured["area"],
        intensity=measured["intensity_mean"],
        eccentricity=measured["eccentricity"],
        shape=np.array(shape),
        n_frames=int(found.frame.max()) + 1,
        tracks=np.column_stack([tracked, found.track[tracked]]),
        lineage=np.array(sequence.lineage.rows()),
    )
