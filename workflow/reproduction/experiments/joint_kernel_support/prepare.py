"""Describe the UIUC cars by visual words on a grid (rule prepare_car_words)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ermlab.detection.word_grids import learn_words, save_word_grids, word_grid
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.uiuc_cars import CarScenes, read_uiuc_cars
from reproduction.pipeline.job import Paths, run_stage

#: Numbers of example pictures: the first scenes with several cars, and the first ones with one.
SEVERAL, SINGLE = 2, 4


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    scenes: int,
    crops: int,
    n_words: int,
    max_samples: int,
    step: int,
    scales: Sequence[float],
) -> None:
    """Learn a vocabulary from the multi-scale scenes, and assign words to all images.

    The multi-scale scenes are for training, those of a single scale for testing. The first ``scenes`` of
    either kind are taken, and the first ``crops`` with and without a car.
    """
    data = read_uiuc_cars(read_json(inputs["receipt"])["folder"])
    parts = {
        name: CarScenes(part.images[:scenes], part.boxes[:scenes])
        for name, part in (("train", data.multi_scale), ("test", data.single_scale))
    }
    images = {name: part.images for name, part in parts.items()}
    images |= {"cars": data.cars[:crops], "others": data.others[:crops]}

    dense = {"step": step, "scales": tuple(scales)}
    vocabulary = learn_words(
        images["train"], n_words=n_words, max_samples=max_samples, random_state=seed, **dense
    )
    grids = {
        name: [word_grid(image, vocabulary, **dense) for image in subset] for name, subset in images.items()
    }
    save_word_grids(outputs["words"], grids)
    described = {name: _describe(part) for name, part in parts.items()}
    write_json(outputs["scenes"], {**described, "crops": len(images["cars"]) + len(images["others"])})
    pictures = {
        f"{name}_{number}": part.images[number] for name, part in parts.items() for number in _shown(part)
    }
    np.savez_compressed(outputs["pictures"], **pictures)


def _describe(scenes: CarScenes) -> dict[str, Any]:
    """Return what is known of scenes besides their pixels: height and width, and the boxes of cars."""
    return {
        "shapes": [image.shape for image in scenes.images],
        "boxes": [boxes.tolist() for boxes in scenes.boxes],
    }


def _shown(scenes: CarScenes) -> list[int]:
    """Return the numbers of the scenes whose pictures are kept."""
    counts = np.array([len(boxes) for boxes in scenes.boxes])
    return [*np.flatnonzero(counts > 1)[:SEVERAL], *np.flatnonzero(counts == 1)[:SINGLE]]


if "snakemake" in globals():
    run_stage(main, snakemake)
