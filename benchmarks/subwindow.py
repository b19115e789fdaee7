"""Subwindow search: splits a second against sorting, and whole searches against exhaustive search.

Fixed images of 640 x 480 with 5000 points and 1000 words: a planted object, zero-mean noise, and an image
without the object, whose words are negative on average. Each is searched with the tight and with the
classical bound; the time includes the integral images. The seconds of the original C++ program on images of
these kinds are given beside (24 ms, .5 s, 2 s). The exhaustive peer goes through all boxes of an image of 320
x 240 with integral images, in numba. All run on one thread, repeats interleaved; least times are compared.
"""

import argparse
import time

import numpy as np
from numba import njit

from ermlab.detection import detect, search

SHAPE = (480, 640)
N_POINTS, N_WORDS = 5000, 1000
OBJECT = (200, 150, 399, 329)
ORIGINAL_SECONDS = {"planted": 0.024, "noise": 0.5, "absent": 2.0}
SORTED = 1_000_000


def image(kind, shape=SHAPE, n_points=N_POINTS, seed=0):
    """Points, their weights, and the shape."""
    rng = np.random.default_rng(seed)
    height, width = shape
    points = np.column_stack([rng.integers(width, size=n_points), rng.integers(height, size=n_points)])
    words, weights = rng.integers(N_WORDS, size=n_points), rng.normal(size=N_WORDS)
    if kind == "planted":
        weights -= 0.5
        inside = ((points >= OBJECT[:2]) & (points <= OBJECT[2:])).all(axis=1)
        typical = rng.choice(np.flatnonzero(weights > 0), size=n_points)
        words = np.where(inside & (rng.random(n_points) < 0.7), typical, words)
    if kind == "absent":
        weights -= 0.2
    return points, weights[words], shape


@njit(cache=True)
def exhaustive_search(table):
    """Return the largest sum over all boxes, from the integral image."""
    height, width = table.shape[0] - 1, table.shape[1] - 1
    best = -np.inf
    for top in range(height):
        for bottom in range(top + 1, height + 1):
            upper, lower = table[top], table[bottom]
            for left in range(width):
                before = lower[left] - upper[left]
                for right in range(left + 1, width + 1):
                    best = max(best, lower[right] - upper[right] - before)
    return best


def integral_image(points, weights, shape):
    table = np.zeros((shape[0] + 1, shape[1] + 1))
    np.add.at(table, (points[:, 1] + 1, points[:, 0] + 1), weights)
    return table.cumsum(axis=0).cumsum(axis=1)


def timed(function, *arguments):
    began = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - began, result


def compare_searches(repeats):
    """Seconds and splits of each search, and splits in the time of a sort."""
    numbers = np.random.default_rng(0).random(SORTED)
    inputs = {kind: image(kind) for kind in ORIGINAL_SECONDS}
    seconds, splits = {}, {}
    sorting = np.inf
    for _ in range(repeats):
        for kind, arguments in inputs.items():
            sorting = min(sorting, timed(np.argsort, numbers, -1, "stable")[0])
            for bound in ("tight", "classical"):
                taken, found = timed(search, *arguments, bound)
                seconds[kind, bound] = min(taken, seconds.get((kind, bound), np.inf))
                splits[kind, bound] = found.splits
    print(f"stable argsort of {SORTED} doubles: {1e3 * sorting:.0f} ms")
    for (kind, bound), taken in seconds.items():
        rate = splits[kind, bound] / taken * sorting
        print(
            f"{kind:8} {bound:10} {1e3 * taken:8.2f} ms  {splits[kind, bound]:8} splits, "
            f"{rate:8.0f} in the time of the sort; original / ours {ORIGINAL_SECONDS[kind] / taken:.1f}"
        )


def compare_exhaustive(repeats):
    """All boxes one after the other, once, against branch and bound."""
    for kind in ORIGINAL_SECONDS:
        points, weights, shape = image(kind, (240, 320), 1250)
        table = integral_image(points, weights, shape)
        exhaustive_search(table[:9, :9])
        exhaustive, best = timed(exhaustive_search, table)
        ours, found = min(
            (timed(search, points, weights, shape) for _ in range(repeats)), key=lambda run: run[0]
        )
        if not np.isclose(found.score, best, rtol=1e-9):
            raise AssertionError(f"branch and bound finds {found.score}, exhaustive search {best}")
        ratio = exhaustive / ours
        print(f"{kind:8} exhaustive {exhaustive:6.2f} s, ours {1e3 * ours:6.2f} ms: ratio {ratio:.0f}")


def compare_detections():
    """Ten detections with the queue always kept and always reset."""
    for kind in ORIGINAL_SECONDS:
        arguments = image(kind)
        for name, reset in (("kept", "0" * 9), ("reset", "1" * 9)):
            taken, found = timed(detect, *arguments, 10, 0.5, reset)
            total = sum(detection.splits for detection in found)
            print(f"{kind:8} 10 detections, queue {name:5} {1e3 * taken:8.2f} ms  {total:8} splits")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for bound in ("tight", "classical"):  # compile or load the kernels
        detect([[0, 0]], [1.0], (4, 4), 2, 0.5, "0", bound)
    compare_searches(options.repeats)
    compare_detections()
    compare_exhaustive(options.repeats)


if __name__ == "__main__":
    main()
