"""Every image of the UIUC cars as visual words on a grid (rule prepare_car_words)."""

from collections.abc import Sequence
from pathlib import Path

from ermlab.detection.word_grids import learn_words, save_word_grids, word_grid
from reproduction.claims.results import read_json
from reproduction.experiments.joint_kernel_support.protocol import read_cars
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    scenes: int | None,
    crops: int | None,
    n_words: int,
    sample: int,
    step: int,
    scales: Sequence[float],
) -> None:
    """Learn the vocabulary from the multi-scale training scenes, and assign words to all images."""
    data = read_cars(read_json(inputs["receipt"])["folder"], scenes=scenes, crops=crops)
    dense = {"step": step, "scales": tuple(scales)}
    vocabulary = learn_words(data.multi_scale.images, n_words=n_words, sample=sample, seed=seed, **dense)
    images = {
        "train": data.multi_scale.images,
        "test": data.single_scale.images,
        "cars": data.cars,
        "others": data.others,
    }
    grids = {
        name: [word_grid(image, vocabulary, **dense) for image in subset] for name, subset in images.items()
    }
    Path(outputs["words"]).parent.mkdir(parents=True, exist_ok=True)
    save_word_grids(outputs["words"], grids)


if "snakemake" in globals():
    run_stage(main, snakemake)
