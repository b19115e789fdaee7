"""Initial windows and their cues, for every split of the images (rule prepare_windows)."""

from pathlib import Path

from ermlab._utils.parallel import map_in_threads
from reproduction.claims.results import read_json
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.experiments.window_cascade.window_pool import WindowPool, describe_windows, split_images
from reproduction.pipeline.job import job


def main(
    receipt: str,
    train: list[str],
    test: list[str],
    seed: int,
    images: int,
    windows: int,
    threads: int,
) -> None:
    """Draw and describe the windows of all images, and write those of each split's two halves."""
    data = read_voc2007_sample(read_json(receipt)["folder"])
    numbers = range(min(images, len(data.images)))
    shapes = [data.images[i].shape[:2] for i in numbers]
    splits = split_images([data.boxes[i] for i in numbers], shapes, len(train), seed)

    def describe(i: int) -> list[WindowPool]:
        return describe_windows(i, data.images[i], data.boxes[i], data.difficult[i], splits, windows)

    described = map_in_threads(describe, numbers, threads)
    for k, split in enumerate(splits):
        for path, chosen in ((train[k], split.train), (test[k], split.test)):
            WindowPool.join([described[i][k] for i in chosen]).write(Path(path))


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.train,
            snakemake.output.test,
            snakemake.params.seed,
            snakemake.params.images,
            snakemake.params.windows,
            snakemake.threads,
        )
