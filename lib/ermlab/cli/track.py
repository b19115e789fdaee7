"""Track the cells of a film, for `make track`; say in one line what is wrong with it."""

import argparse
import sys
from pathlib import Path

import numpy as np

from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.ctc_films import read_frames
from ermlab.tracking.ctc_results import require_place_for_tracking, write_tracking


def main(film: str, result: str, model: str | None) -> None:
    """Write masks and lineage of the film in the folder ``film`` to the folder ``result``."""
    require_place_for_tracking(result)  # before the work
    tracker = CellTracker.pretrained() if model is None else CellTracker.load(model)
    masks, lineage = tracker.track_images(read_frames(film))
    write_tracking(result, masks, lineage)
    cells = [len(np.unique(mask[mask > 0])) for mask in masks]
    print(f"{Path(result)}: {len(masks)} frames, {min(cells)} to {max(cells)} cells in each")
    print(f"{len(lineage)} tracks, {len(lineage.dividing)} divisions")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("film", help="folder with t000.tif, t001.tif, ...")
    parser.add_argument("result", help="folder for mask000.tif, ... and res_track.txt")
    parser.add_argument("--model", help="a tracker of your own; by default the one that comes with ermlab")
    arguments = parser.parse_args()
    try:
        main(arguments.film, arguments.result, arguments.model)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
