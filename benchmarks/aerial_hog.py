"""Sliding windows with slots: all windows of a frame scored, against computing its HOG cells, on one thread.

A simulated aerial frame of 1000 x 1000 pixels, cells of 5 x 5, windows of 7 x 7 cells, 18 slots. Scoring is
the assignment of every window to its nearest centre and one scalar product with the weights of its slot. Also
timed: the assignment by a KD-tree of the centres, window after window, and as a peer the grey HOG of
scikit-image, which has no signed orientations and no four normalisations. Each in turn, best of several
runs. Prints milliseconds and ratios to the HOG of ermlab.
"""

import argparse
import time

import numpy as np
from skimage.feature import hog as skimage_hog

from ermlab.features.hog_cells import hog
from ermlab.kernels.slot import SlotMap, score_windows, window_descriptors, windows_shape
from reproduction.datasets.simulators.aerial_scenes import draw_frame, plan_place
from reproduction.datasets.simulators.scenes.noise import Noise

SIDE, CELL, SLOTS = 1000, 5, 18


def frame():
    rng = np.random.default_rng(0)
    noise = Noise(rng)
    return draw_frame(plan_place(rng, noise, (SIDE, SIDE)), 0, noise, [0], rng)[0]


def tasks(image):
    grid = hog(image, CELL)
    rows, columns = np.indices(windows_shape(grid.shape[:2])).reshape(2, -1)
    rng = np.random.default_rng(0)
    some = rng.permutation(rows.size)[:4000]
    slots = SlotMap(SLOTS, random_state=0).fit(window_descriptors(grid, rows[some], columns[some]))
    weights = rng.normal(size=(SLOTS, 7 * 7 * 31 + 1))
    every = window_descriptors(grid, rows, columns)

    def score():
        return score_windows(weights, grid, slots.assign_windows(grid, n_jobs=1), n_jobs=1)

    return {
        "HOG": lambda: hog(image, CELL),
        "score all windows, 18 slots": score,
        "of it the slots": lambda: slots.assign_windows(grid, n_jobs=1),
        "slots by the KD-tree": lambda: slots.assign(every),
        "HOG of scikit-image, grey": lambda: skimage_hog(
            image[..., 1], pixels_per_cell=(CELL, CELL), cells_per_block=(2, 2), feature_vector=False
        ),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    jobs, best = tasks(frame()), {}
    for repeat in range(repeats + 1):
        for name, job in jobs.items():
            began = time.perf_counter()
            job()
            if repeat > 0:  # the first run compiles
                best[name] = min(best.get(name, np.inf), time.perf_counter() - began)
    print(f"{'':<28} {'ms':>8}  times the HOG")
    for name, seconds in best.items():
        print(f"{name:<28} {1000 * seconds:8.1f}  {seconds / best['HOG']:.2f}")


if __name__ == "__main__":
    main()
