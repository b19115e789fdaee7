"""Fluo-N2DH-SIM+ 01 of the Cell Tracking Challenge: ground truth of a simulated sequence of nuclei."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ermlab._utils.files import require_folder
from ermlab.tracking.ctc import TrackedCells, read_tracked_cells
from reproduction.datasets.nuclei_films import MITOCHECK
from reproduction.datasets.simulators.nuclei import Tracks, save_image, take_film
from reproduction.datasets.simulators.sizes import check_size


def read_ctc_sim_truth(folder: str | Path) -> TrackedCells:
    """Read the 65 label images and the lineage of ``TRA``."""
    return read_tracked_cells(require_folder(folder) / "TRA")


#: Frames of the film, and the pixels of a frame.
SIZES = {"smoke": (6, (300, 300)), "demo": (65, (690, 628)), "paper": (65, (690, 628))}
#: HL60 nuclei at the magnification of the challenge: about 1700 pixels each, 40 per frame.
_HL60 = replace(
    MITOCHECK,
    number=3,
    culture=replace(MITOCHECK.culture, spacing=600, area=105, area_spread=0.15, ratio=1.2),
    microscope=replace(MITOCHECK.microscope, pixel=0.25),
)


def simulate_ctc_sim_truth(folder: str | Path, seed: int, size: str) -> None:
    """Write the ground truth of a film of nuclei of the size and density of the challenge."""
    check_size(size, SIZES)
    masks = Path(folder) / "TRA"
    masks.mkdir(parents=True, exist_ok=True)
    tracks = Tracks()
    film = take_film(_HL60, np.random.default_rng([seed, _HL60.number]), *SIZES[size], tracks)
    for frame, (_, mask) in enumerate(film):
        save_image(mask, masks / f"man_track{frame:03d}.tif")
    (masks / "man_track.txt").write_text("".join(tracks.lines()))
