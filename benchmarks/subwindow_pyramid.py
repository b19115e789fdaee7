"""Subwindow search with spatial pyramids: the tight against the classical bound, and structured training.

The training images are those of the UIUC scenes with cars of any size that show one car, described by words
of dense SURF descriptors. The best box is searched in a synthetic image of 219 x 453 pixels with a planted
object, and in training images with the weights that the training finds. Prints splits and processor time; a
search with the classical bound that exceeds the largest queue is reported as such.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from ermlab.detection import BagOfWords, BoxTask, best_box, pyramid
from ermlab.features import Vocabulary, dense_surf
from ermlab.structured import StructuredSVM
from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry
from reproduction.datasets.uiuc_cars import read_uiuc_cars

SHAPE, OBJECT, STEP = (219, 453), (150, 60, 309, 149), 4


def planted_image(n_cells, seed=0):
    """Return points on a lattice and normal weights, with a positive mean inside of the object."""
    rng = np.random.default_rng(seed)
    height, width = SHAPE
    points = np.array([(x, y) for y in range(0, height, STEP) for x in range(0, width, STEP)])
    inside = ((points >= OBJECT[:2]) & (points <= OBJECT[2:])).all(axis=1)
    weights = rng.normal(size=(len(points), n_cells))
    return points, weights + np.where(inside, 0.3, -0.1)[:, None]


def read_scenes(mirror):
    registry = load_registry(Path(__file__).parents[1] / "data/registry.yaml")
    with tempfile.TemporaryDirectory() as folder:
        acquire("uiuc_cars", Path(folder), policy="real", mirror=mirror, registry=registry)
        return read_uiuc_cars(Path(folder) / "uiuc_cars").multi_scale


def training_set(scenes, n_words, step):
    """Return words and boxes, cut to the image, of the scenes with one car."""
    single = [i for i, boxes in enumerate(scenes.boxes) if len(boxes) == 1]
    images = [np.asarray(scenes.images[i], dtype=float) for i in single]
    descriptors = np.concatenate([dense_surf(image, step=2 * step)[1] for image in images])
    vocabulary = Vocabulary(n_words, random_state=0).fit(descriptors)
    X = [BagOfWords.from_image(image, vocabulary, step=step) for image in images]
    last = [(image.shape[1] - 1, image.shape[0] - 1) * 2 for image in images]
    return X, [np.clip(scenes.boxes[i][0], 0, end) for i, end in zip(single, last, strict=True)]


def timed(function, *arguments):
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def compare(name, points, weights, shape, grids, bounds, repeats):
    """Print the splits and the least time of a search with each bound, tables included."""
    for bound in bounds:

        def search(bound=bound):
            return best_box(pyramid(points, weights, shape, grids, bound))

        try:
            taken, found = min((timed(search) for _ in range(repeats)), key=lambda run: run[0])
        except ValueError as error:
            print(f"{name:12} {bound:10} {error}")
            continue
        box, splits = found.box.tolist(), found.splits
        print(f"{name:12} {bound:10} {1e3 * taken:10.2f} ms {splits:10} splits, box {box}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--grids", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--step", type=int, default=8)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of the training")
    parser.add_argument("--bounds", nargs="+", default=["tight", "classical"])
    options = parser.parse_args()
    grids = tuple(options.grids)
    n_cells = sum(grid**2 for grid in grids)
    for bound in options.bounds:  # compile or load the kernels
        best_box(pyramid([[0, 0]], np.ones((1, n_cells)), (4, 4), grids, bound))
    compare("planted", *planted_image(n_cells), SHAPE, grids, options.bounds, options.repeats)

    X, Y = training_set(read_scenes(os.environ[MIRROR_VARIABLE]), options.words, options.step)
    task = BoxTask(options.words, grids)
    taken, model = timed(StructuredSVM(task, C=options.C, max_time=options.seconds).fit, X, Y)
    low, high = model.objective_bounds_
    print(
        f"training on {len(X)} images, {options.words} words, step {options.step}, C = {options.C}: "
        f"{taken:.1f} s of the processor, {len(model.result_.history.value)} passes, "
        f"relative gap {(high - low) / high:.2g}"
    )
    largest = max(range(len(X)), key=lambda i: np.prod(X[i].shape))
    weights = model.coef_.reshape(-1, options.words)[:, X[largest].words].T
    name = "{} x {}".format(*X[largest].shape)
    compare(name, X[largest].points, weights, X[largest].shape, grids, options.bounds, options.repeats)


if __name__ == "__main__":
    main()
