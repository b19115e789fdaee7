"""Examples of the flowers: the central square of the first image of each class."""

import numpy as np

from reproduction.datasets.flowers17 import CLASSES, Flowers17
from reproduction.experiments.flowers_taxonomy.prepare import EXAMPLE_SIDE, example_images


def test_examples_are_central_squares_of_first_images():
    images = []
    for label in range(len(CLASSES)):
        wide = np.zeros((100, 140, 3), dtype=np.uint8)
        wide[:, 20:120] = 10 * (label + 1)  # black outside of the central square
        images += [wide, np.full_like(wide, 255)]
    examples = example_images(Flowers17(images, np.repeat(np.arange(len(CLASSES)), 2)))
    assert examples.shape == (len(CLASSES), EXAMPLE_SIDE, EXAMPLE_SIDE, 3)
    assert [np.unique(example).tolist() for example in examples] == [
        [10 * (label + 1)] for label in range(len(CLASSES))
    ]
