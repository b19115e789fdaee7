"""Track the cells of a film: ``python -m ermlab.cli.track FILM RESULT``."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from ermlab import tracking
from ermlab.cli import run


def main(film: str, result: str, model: str | None = None) -> None:
    """Write masks and lineage of the film in the folder ``film`` to the folder ``result``."""
    tracking.check_result_folder(result)  # before anything is computed
    tracker = tracking.CellTracker.pretrained() if model is None else tracking.CellTracker.load(model)
    masks, lineage = tracker.track_images(tracking.read_frames(film))
    tracking.write_tracking(result, masks, lineage)
    cells = [len(np.unique(mask[mask > 0])) for mask in masks]
    print(f"{Path(result)}: {len(masks)} frames, {min(cells)} to {max(cells)} cells in each")
    print(f"{len(lineage)} tracks, {len(lineage.dividing)} divisions")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("film", help="folder with t000.tif, t001.tif, ...")
    parser.add_argument("result", help="folder for mask000.tif, ... and res_track.txt")
    parser.add_argument("--model", help="file of a trained tracker, by default the bundled one")
    run(main, parser)
