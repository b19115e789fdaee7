"""Compute the features of all pixels in the fields of view (rule prepare_vessel_features)."""

import numpy as np

from ermlab._utils.parallel import map_in_threads
from reproduction.claims.results import read_json
from reproduction.datasets.drive_vessels import read_drive_vessels
from reproduction.experiments.vessels.features import NAMES, pixel_features
from reproduction.experiments.vessels.retinas import Retinas
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, n_images: int) -> None:
    """Take at most ``n_images`` photographs of each part.

    Half precision is enough for features of unit variance, and the file is half as large.
    """
    retinas = Retinas.select(read_drive_vessels(read_json(inputs["receipt"])["folder"]), n_images)
    features = np.empty((retinas.n_pixels, len(NAMES)), dtype=np.float16)

    def compute(i: int) -> None:
        field = retinas.fields[i]
        features[retinas.pixels(i)] = pixel_features(retinas.images[i], field)[field]

    map_in_threads(compute, range(len(retinas)))
    retinas.write(outputs["retinas"])
    np.save(outputs["features"], features)


if "snakemake" in globals():
    run_stage(main, snakemake)
