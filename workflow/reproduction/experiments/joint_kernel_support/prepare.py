"""Every image of the UIUC cars as visual words on a grid (rule prepare_car_words)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ermlab.detection.word_grids import learn_words, save_word_grids, word_grid
from reproduction.claims.results import read_json
from reproduction.experiments.joint_kernel_support.protocol import read_cars
from reproduction.pipeline.job import job


def main(
    receipt: str,
    words: str,
    size: Mapping[str, int],
    *,
    seed: int,
    n_words: int,
    sample: int,
    step: int,
    scales: Sequence[float],
) -> None:
    """Learn the vocabulary from the training images, the scenes of many scales, and name the words of all."""
    data = read_cars(read_json(receipt)["folder"], **size)
    dense = {"step": step, "scales": tuple(scales)}
    vocabulary = learn_words(data.multi_scale.images, n_words=n_words, sample=sample, seed=seed, **dense)
    images = {
        "train": data.multi_scale.images,
        "test": data.single_scale.images,
        "cars": data.cars,
        "others": data.others,
    }
    grids = {name: [word_grid(image, vocabulary, **dense) for image in some] for name, some in images.items()}
    Path(words).parent.mkdir(parents=True, exist_ok=True)
    save_word_grids(words, grids)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.words,
            snakemake.params.size,
            seed=snakemake.params.seed + int(snakemake.wildcards.seed),
            **snakemake.params.features,
        )
