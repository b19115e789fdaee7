"""Write the crops of all sets and the descriptors of their versions (rule prepare_pedestrian_features)."""

from ermlab.features.hog_crops import HogLayout
from reproduction.claims.results import read_json
from reproduction.datasets.daimler_pedestrians import TRAIN, read_crop_set
from reproduction.experiments.pedestrians.crop_versions import BORDERS, SHIFTS
from reproduction.experiments.pedestrians.protocol import prepared_sets
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, pedestrians: int, others: int, layout: HogLayout) -> None:
    """Describe all versions of training sets and the original crops of test sets, for both borders.

    At most ``pedestrians`` base images and ``others`` other crops of each set are used.
    """
    folder = read_json(inputs["receipt"])["folder"]
    for part, prepared in prepared_sets(outputs["sets"]).items():
        crops = read_crop_set(folder, part)
        prepared.write(crops.base[:pedestrians], crops.others[:others])
        for border in BORDERS:
            store = prepared.store(layout, border)
            for down, right in SHIFTS if part in TRAIN else SHIFTS[:1]:
                store.features(down, right)
            print(f"{part}, {border}: {store.computed} shifts described")


if "snakemake" in globals():
    run_stage(main, snakemake)
