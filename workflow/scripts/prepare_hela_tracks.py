"""Real HeLa nuclei, tracked by a tracker that never saw them, without truth (rule prepare_hela_tracks)."""

import numpy as np

from ermlab.datasets.ctc_hela02_images import read_ctc_hela02_images
from ermlab.evaluation.results import read_json
from ermlab.features.cell_detection import film_of_images
from ermlab.features.cell_scenes import cut_tracks
from ermlab.risk.tracking_protocol import track_by_weights
from ermlab.workflow.job import job


def main(receipt: str, weights: str, output: str, *, frames: int, side: int) -> None:
    """Detect the nuclei of the first frames, join them to tracks, and write those in the middle of the view.

    Parameters
    ----------
    weights
        Of a tracker trained on another laboratory.
    side
        Pixels of the square that is written.
    """
    images = read_ctc_hela02_images(read_json(receipt)["folder"]).images[:frames]
    film = film_of_images(images)
    with np.load(weights) as trained:
        w = trained["l2"]
    cut_tracks(film, track_by_weights(film, w), images, side).write(output)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.weights,
            snakemake.output.tracks,
            frames=snakemake.params.frames,
            side=snakemake.params.side,
        )
