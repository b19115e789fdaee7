"""The crops of all sets and the descriptors of their versions (rule prepare_pedestrian_features)."""

from collections.abc import Mapping
from typing import Any

from reproduction.claims.results import read_json
from reproduction.datasets.daimler_pedestrians import TRAIN, read_crop_set
from reproduction.experiments.pedestrians.crop_versions import BORDERS, SHIFTS
from reproduction.experiments.pedestrians.protocol import PreparedSet, layout_of
from reproduction.pipeline.job import job


def main(
    receipt: str, folders: Mapping[str, str], *, size: Mapping[str, int], descriptor: Mapping[str, Any]
) -> None:
    """Describe all versions of training sets and the crops of test sets as they are, for both borders."""
    for part, folder in folders.items():
        crops = read_crop_set(read_json(receipt)["folder"], part)
        prepared = PreparedSet.prepare(folder, crops, layout_of(descriptor), **size)
        for border in BORDERS:
            store = prepared.store(border)
            for down, right in SHIFTS if part in TRAIN else SHIFTS[:1]:
                store.features(down, right)
            print(f"{part}, {border}: {store.computed} shifts described")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            {name.removeprefix("set_"): folder for name, folder in snakemake.output.items()},
            size=snakemake.params.size,
            descriptor=snakemake.params.descriptor,
        )
