"""Real HeLa nuclei, tracked by a tracker that never saw them, without truth (rule prepare_hela_tracks)."""

import numpy as np

from ermlab.tracking.cell_tracker import CellTracker
from reproduction.claims.results import read_json
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.experiments.tracking.scenes import cut_middle
from reproduction.pipeline.job import job


def main(receipt: str, weights: str, output: str, *, frames: int, side: int) -> None:
    """Detect and track the nuclei of the first frames, and write the middle of the view.

    Parameters
    ----------
    weights
        Of trackers trained on another laboratory.
    side
        Pixels of the square that is written.
    """
    images = read_ctc_hela02_images(read_json(receipt)["folder"]).images[:frames]
    tracker = CellTracker()
    with np.load(weights) as trained:
        tracker.coef_ = trained["l2"]
    masks, lineage = tracker.track_images(images)
    cut_middle(images, masks, lineage, side).write(output)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.weights,
            snakemake.output.tracks,
            frames=snakemake.params.frames,
            side=snakemake.params.side,
        )
