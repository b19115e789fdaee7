"""Learn a tracker from the annotated cells of a film, for `make tracker`; say in one line what is wrong."""

import argparse
import sys
from pathlib import Path

import numpy as np

from ermlab.exceptions import DataError
from ermlab.tracking.cell_detection import film_of_images
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.ctc_films import read_annotation, read_frames
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs


def main(film: str, annotation: str, model: str) -> None:
    """Write to ``model`` what is learned from the film and annotation in two folders."""
    require_file_to_write(Path(model))
    frames = read_frames(film)
    truth = read_annotation(annotation, frames)
    detected = film_of_images(frames, truth=truth)
    tracker = CellTracker().fit(detected)
    known = [len(pair.annotation.events) for pair in frame_pairs(detected, Gates())]
    tracker.save(
        model, notes=f"learned from {sum(known)} events between {sum(map(bool, known))} pairs of frames"
    )
    print(f"{model}: learned from {sum(known)} events, finds {100 * tracker.score(detected):.1f} % of them")
    found, annotated = detected_cells(detected), sum(len(np.unique(mask[mask > 0])) for mask in truth.masks)
    print(f"{found} of {annotated} annotated cells were detected")


def require_file_to_write(path: Path) -> None:
    """Refuse a path at which no file can be, before the work."""
    if path.is_dir():
        raise DataError(f"{path}: a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent}: no such folder; expected one to write {path.name} to")


def detected_cells(film: CellFilm) -> int:
    """Return how many true cells of all frames a detection holds."""
    detection, track = film.tracks.T
    return len(np.unique(np.column_stack([film.frame[detection], track]), axis=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("film", help="folder with t000.tif, t001.tif, ...")
    parser.add_argument(
        "annotation", help="folder with man_track.txt and man_track<frame>.tif of some frames"
    )
    parser.add_argument("model", help="file to write")
    arguments = parser.parse_args()
    try:
        main(arguments.film, arguments.annotation, arguments.model)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
