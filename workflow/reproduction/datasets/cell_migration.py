"""Migrating and dividing cells, tracked by hand (sample of LapTrack)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab._utils.files import broken, reading, require_file, require_folder
from ermlab.tracking.ctc import Lineage, TrackedCells, read_lineage, read_tracked_cells
from reproduction.datasets.files import as_integers, read_pages
from reproduction.datasets.simulators import migration as simulation
from reproduction.datasets.simulators.sizes import check_size

#: Steps between frames; a larger step makes tracking harder.
STEPS = (1, 2, 3, 4, 5, 6, 7)
FEATURES = ("area", "intensity_mean", "intensity_max", "eccentricity", "orientation")
#: Track of a detection that was not annotated: its events are unknown, and following it is not an error.
UNTRACKED = 0


@dataclass(frozen=True)
class Detections:
    """Segmented cells, ordered by frame."""

    frame: np.ndarray
    label: np.ndarray  #: label of the cell within its frame
    centroid: np.ndarray  #: (n, 2) row and column
    features: np.ndarray  #: (n, 5), columns `FEATURES`
    track: np.ndarray  #: label of the true track, `UNTRACKED` where not annotated

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(frozen=True)
class Sequence:
    """Input (detections) and expected output (lineage) of a tracker at one frame rate."""

    step: int
    detections: Detections
    lineage: Lineage


@dataclass(frozen=True)
class CellMigration:
    """The sequence at full frame rate with its masks, and at all frame rates as detections."""

    truth: TrackedCells  #: discs at the true places; the features of the detections have the shapes
    sequences: dict[int, Sequence]  #: by step between frames
    example_images: np.ndarray  #: (6, 200, 200) raw microscope images of a detail
    example_labels: np.ndarray  #: (6, 200, 200) their segmentation


def read_cell_migration(folder: str | Path) -> CellMigration:
    """Read the masks, the seven sequences of detections and the example images."""
    folder = require_folder(folder)
    sequences = {step: _read_sequence(folder / "organized_data" / f"Sparse{step}", step) for step in STEPS}
    return CellMigration(
        truth=read_tracked_cells(folder / "organized_data" / "Sparse1" / "02_GT" / "TRA"),
        sequences=sequences,
        example_images=read_pages(folder / "example_images.tif"),
        example_labels=read_pages(folder / "example_label.tif"),
    )


def _read_sequence(folder: Path, step: int) -> Sequence:
    """Read detections and lineage, and check that the ``track`` column matches the lineage."""
    path = folder / "regionprops.csv"
    detections = _read_detections(path)
    lineage = read_lineage(folder / "02_GT" / "TRA" / "man_track.txt")
    tracked = detections.track != UNTRACKED
    life = {label: (begin, end) for label, begin, end, _ in lineage.rows()}
    for frame, track in zip(
        detections.frame[tracked].tolist(), detections.track[tracked].tolist(), strict=True
    ):
        begin, end = life.get(track, (0, -1))
        if not begin <= frame <= end:
            raise broken(
                path, f"track {track} in frame {frame}", "tracks and frames of man_track.txt beside it"
            )
    return Sequence(step, detections, lineage)


def _read_detections(path: Path) -> Detections:
    columns = ["frame", "label", "centroid-0", "centroid-1", *FEATURES, "track"]
    with reading(path, f"columns {', '.join(columns)} of numbers"):
        table = pd.read_csv(require_file(path), usecols=columns, dtype=float).sort_values(["frame", "label"])
    table["track"] = table["track"].fillna(UNTRACKED)
    incomplete = ~np.isfinite(table).all(axis=1)
    if table.empty or incomplete.any():
        rows = (np.flatnonzero(incomplete)[:3] + 1).tolist()
        raise broken(
            path, f"no finite numbers in rows {rows}" if rows else "no rows", "numbers in all but track"
        )
    frame, label, track = (
        as_integers(path, table[name].to_numpy(), name) for name in ("frame", "label", "track")
    )
    return Detections(
        frame, label, table[["centroid-0", "centroid-1"]].to_numpy(), table[list(FEATURES)].to_numpy(), track
    )


def simulate_cell_migration(folder: str | Path, seed: int, size: str) -> None:
    """Write a film of a tissue as tables of its cells at seven frame rates, with true tracks and masks.

    As in the real data, cells at the border are detected but not tracked.
    """
    check_size(size, simulation.SIZES)
    simulation.write_tissue(Path(folder), np.random.default_rng([seed, 5]), *simulation.SIZES[size], STEPS)
