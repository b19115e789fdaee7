"""Prepare the detections in the frames that section 1.2 shows with tracks (rule prepare_tracked_frames)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.cell_detection import detect_frames
from ermlab.tracking.cells import join_frames, match_tracks
from ermlab.tracking.ctc import TrackedCells
from ermlab.tracking.films import CellFilm
from reproduction.claims.results import read_json
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.nuclei_films import BINNING, read_nuclei_films
from reproduction.experiments.tracking.scenes import cut_film, cut_middle, few_cells
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, hela_frames: int, picture: Mapping[str, int]) -> None:
    """Detect the nuclei of the test film of table 1.1 and of the HeLa film, and cut out what is shown.

    The tracks of the test film are those of the truth. In the films of `cell_films`, which trackers are
    trained and tested on, the truth is adapted to the detections.

    Parameters
    ----------
    inputs, outputs : mapping
        Receipts of the data sets; detections, frames, and images of a few cells.
    hela_frames : int
        Number of frames of the HeLa film.
    picture : mapping
        Side of the square of tracked frames (``side``), and of the one with few cells (``small``), in pixels
        of the HeLa film; the films of nuclei are binned.
    """
    nuclei = read_nuclei_films(read_json(inputs["nuclei"])["folder"])[1]
    label_images, film = _detect(nuclei.frames, nuclei.truth)
    film.write(outputs["nuclei_film"])
    side, small = picture["side"] // BINNING, picture["small"] // BINNING
    cut_middle(nuclei.frames, label_images, film, side).write(outputs["nuclei_frames"])
    t, corner = few_cells(film, small)
    cut_film(film, range(t, t + 2), corner, 2 * (small,)).write(outputs["few_cells"])
    part = tuple(slice(start, start + small) for start in corner)
    with Path(outputs["few_images"]).open("wb") as file:
        np.savez(file, images=np.stack([nuclei.frames[t + k][part] for k in (0, 1)]))
    images = read_ctc_hela02_images(read_json(inputs["hela"])["folder"]).images[:hela_frames]
    label_images, film = _detect(images)
    film.write(outputs["hela_film"])
    cut_middle(images, label_images, film, picture["side"]).write(outputs["hela_frames"])


def _detect(images: Sequence[NDArray], truth: TrackedCells | None = None) -> tuple[list[NDArray], CellFilm]:
    """Return the label images of the detected nuclei, and the film of the detections."""
    found = list(detect_frames(images))
    label_images, cells = [labels for labels, _ in found], [cells for _, cells in found]
    if truth is None:
        return label_images, join_frames(cells)
    tracks = [
        match_tracks(labels, mask) - np.array([1, 0])
        for labels, mask in zip(label_images, truth.masks, strict=True)
    ]
    return label_images, join_frames(cells, tracks, truth.lineage)


if "snakemake" in globals():
    run_stage(main, snakemake)
