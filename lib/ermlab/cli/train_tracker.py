"""Train a tracker on annotated cells: ``python -m ermlab.cli.train_tracker FILM ANNOTATION MODEL``."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from ermlab import tracking
from ermlab.cli import run
from ermlab.exceptions import DataError


def main(film: str, annotation: str, model: str) -> None:
    """Train on the film and the annotation in two folders, and write the tracker to the file ``model``."""
    _check_writable(Path(model))
    frames = tracking.read_frames(film)
    truth = tracking.read_annotation(annotation, frames)
    detected = tracking.film_of_images(frames, truth=truth)
    tracker = tracking.CellTracker().fit(detected)
    known = [len(pair.annotation.events) for pair in tracking.frame_pairs(detected, tracking.Gates())]
    tracker.save(
        model, notes=f"learned from {sum(known)} events between {sum(map(bool, known))} pairs of frames"
    )
    print(f"{model}: learned from {sum(known)} events, finds {100 * tracker.score(detected):.1f} % of them")
    n_annotated = sum(len(np.unique(mask[mask > 0])) for mask in truth.masks)
    print(f"{_n_detected(detected)} of {n_annotated} annotated cells were detected")


def _check_writable(path: Path) -> None:
    """Raise a DataError if no file can be written to the path, before anything is computed."""
    if path.is_dir():
        raise DataError(f"{path}: a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent}: no such folder; expected one to write {path.name} to")


def _n_detected(film: tracking.CellFilm) -> int:
    """Return the number of true cells in all frames that a detection holds."""
    detection, track = film.tracks.T
    return len(np.unique(np.column_stack([film.frame[detection], track]), axis=0))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("film", help="folder with t000.tif, t001.tif, ...")
    parser.add_argument(
        "annotation", help="folder with man_track.txt and man_track<frame>.tif of some frames"
    )
    parser.add_argument("model", help="file to write")
    run(main, parser)
