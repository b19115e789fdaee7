"""Learn a tracker from the annotated cells of a film, for `make tracker`; say in one line what is wrong."""

import argparse
import sys

from ermlab.datasets.ctc_films import read_annotation, read_frames
from ermlab.features.cell_detection import film_of_images
from ermlab.features.cell_events import Gates
from ermlab.features.cell_films import frame_pairs
from ermlab.risk.cell_tracker import CellTracker


def main(film: str, annotation: str, model: str) -> None:
    """Write to ``model`` what is learned from the film and annotation in two folders."""
    frames = read_frames(film)
    detected = film_of_images(frames, truth=read_annotation(annotation, frames))
    tracker = CellTracker().fit(detected)
    known = [len(pair.annotation.events) for pair in frame_pairs(detected, Gates())]
    tracker.save(
        model, notes=f"learned from {sum(known)} events between {sum(map(bool, known))} pairs of frames"
    )
    print(f"{model}: learned from {sum(known)} events, finds {100 * tracker.score(detected):.1f} % of them")


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
