"""Fluo-N2DH-SIM+ 01 of the Cell Tracking Challenge: the truth of a simulated sequence of nuclei."""

from pathlib import Path

from ermlab.datasets._files import require_folder
from ermlab.datasets.ctc import TrackedCells, read_tracked_cells


def read_ctc_sim_truth(folder: str | Path) -> TrackedCells:
    """Read the 65 label images and the lineage of ``TRA``."""
    return read_tracked_cells(require_folder(folder) / "TRA")
