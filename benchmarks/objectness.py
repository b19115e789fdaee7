"""Six cues of 100,000 windows in a photograph: ermlab against integral images in plain numpy.

The peer looks up the same sums for all windows at once, by arrays of indices, with one integral image for
each superpixel: what one writes without a compiler. Both start from finished tables; how long these take is
printed apart, superpixels not counted. The photograph comes with scikit-image, cropped to 500 x 375. Least
times of several interleaved runs; both must find the same numbers.
"""

import argparse
import time

import numpy as np
from skimage.data import astronaut

from ermlab.detection.boxes import suppress
from reproduction.experiments.window_cascade.objectness import CUES, ImageCues, WindowPrior, initial_windows
from reproduction.experiments.window_cascade.objectness._cues_numba import (
    GRID_BE,
    GRID_WS,
    INNER_WEIGHT_WS,
    RING_WEIGHTS_BE,
    cell_start,
    expected_direction,
)

HEIGHT, WIDTH = 375, 500
TABLES = ("_edge_sums", "_line_sums", "_color_sums", "_label_sums", "_saliency_sums")
METHODS = (
    "window_symmetry",
    "boundary_edges",
    "boundary_integral",
    "color_contrast",
    "superpixel_straddling",
    "multiscale_saliency",
)


def photograph_and_windows(n, seed):
    image = astronaut()[:HEIGHT, :WIDTH]
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.integers(0, WIDTH, (500, 2))), np.sort(rng.integers(0, HEIGHT, (500, 2)))
    prior = WindowPrior.fit([np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)], [(HEIGHT, WIDTH)])
    return image, initial_windows(image, prior, n, rng)


def box_sums(sums, left, top, right, bottom):
    return sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]


class NumpyCues:
    """The cues from the tables of an `ImageCues`, with arrays of indices."""

    def __init__(self, prepared):
        self.edges, self.lines, self.colours = prepared._edge_sums, prepared._line_sums, prepared._color_sums
        self.saliency, labels = prepared._saliency_sums, prepared.labels
        planes = labels[..., None] == np.arange(labels.max() + 1)
        self.labels = np.pad(planes.astype(np.int32), [(1, 0), (1, 0), (0, 0)]).cumsum(0).cumsum(1)

    def blocks(self, windows, cells):
        left, top, right, bottom = windows.T
        cut = np.vectorize(cell_start, otypes=[np.int64])
        cuts = np.array([cut(j, cells, np.arange(max(WIDTH, HEIGHT) + 1)) for j in range(cells + 1)])
        xs, ys = left + cuts[:, right - left + 1], top + cuts[:, bottom - top + 1]
        corners = self.edges[ys[:, None], xs[None]]
        return np.maximum(np.diff(np.diff(corners, axis=0), axis=1), 0)

    def window_symmetry(self, windows):
        blocks, half = self.blocks(windows, GRID_WS), GRID_WS // 2
        weights = np.ones((GRID_WS, GRID_WS, 1))
        weights[1:-1, 1:-1] = INNER_WEIGHT_WS
        mirrored = blocks[..., [0, 3, 2, 1]]
        beside = (weights * np.minimum(blocks, mirrored[:, ::-1]).sum(axis=-1))[:, :half]
        below = (weights * np.minimum(blocks, mirrored[::-1]).sum(axis=-1))[:half]
        return beside.sum(axis=(0, 1)) + below.sum(axis=(0, 1))

    def boundary_edges(self, windows):
        blocks, total = self.blocks(windows, GRID_BE), 0.0
        for row, column in np.ndindex(GRID_BE, GRID_BE):
            ring, plane = expected_direction(row, column)
            total = total + RING_WEIGHTS_BE[ring] * blocks[row, column, :, plane]
        return total

    def boundary_integral(self, windows):
        (along_x, along_y), (left, top, right, bottom) = self.lines, windows.T
        inner = np.maximum(bottom, top + 1)
        result = along_x[top, right + 1] - along_x[top, left]
        result += np.where(bottom > top, along_x[bottom, right + 1] - along_x[bottom, left], 0)
        result += along_y[inner, left] - along_y[top + 1, left]
        return result + np.where(right > left, along_y[inner, right] - along_y[top + 1, right], 0)

    def color_contrast(self, windows):
        left, top, right, bottom = windows.T + np.array([[0], [0], [1], [1]])
        reach_x, reach_y = (right - left + 1) // 2, (bottom - top + 1) // 2
        far = np.maximum(left - reach_x, 0), np.maximum(top - reach_y, 0)
        far += np.minimum(right + reach_x, WIDTH), np.minimum(bottom + reach_y, HEIGHT)
        inside = box_sums(self.colours, left, top, right, bottom)
        ring = box_sums(self.colours, *far) - inside
        p, q = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) for counts in (inside, ring))
        distance = ((p - q) ** 2 / np.where(p + q > 0, p + q, 1)).sum(axis=1)
        return np.where(ring.any(axis=1), distance, 0.0)

    def superpixel_straddling(self, windows):
        left, top, right, bottom = windows.T + np.array([[0], [0], [1], [1]])
        inside = box_sums(self.labels, left, top, right, bottom)
        straddled = np.minimum(inside, self.labels[-1, -1] - inside).sum(axis=1)
        return 1 - straddled / ((right - left) * (bottom - top))

    def multiscale_saliency(self, windows):
        left, top, right, bottom = windows.T + np.array([[0], [0], [1], [1]])
        found = box_sums(self.saliency, left, top, right, bottom)
        half = found.shape[1] // 2
        areas = HEIGHT * WIDTH * (right - left) * (bottom - top)
        return (found[:, :half] * found[:, half:]).mean(axis=1) / areas


def least(functions, repeats):
    """Least seconds of each function; the runs are interleaved."""
    best = [np.inf] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            began = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - began)
    return best


def table_seconds(image, labels):
    def build():
        prepared = ImageCues(image, labels)
        for table in TABLES:
            getattr(prepared, table)

    build()
    return least([build], 3)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="threads of ermlab [numba's]")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    image, windows = photograph_and_windows(options.windows, options.seed)
    ours = ImageCues(image, n_jobs=options.threads)
    one = ImageCues(image, ours.labels, n_jobs=1)
    for prepared in (ours, one):
        prepared(windows[:10])  # build the tables, load the kernels
    peer = NumpyCues(ours)
    print(f"{len(windows)} windows, {ours.labels.max() + 1} superpixels, {ours._color_sums.shape[2]} colours")
    print(f"seconds: {ours.n_jobs} threads, 1 thread, numpy; numpy / threads, numpy / 1 thread")
    totals = np.zeros(3)
    for name, method in zip(CUES, METHODS, strict=True):
        np.testing.assert_allclose(getattr(ours, method)(windows), getattr(peer, method)(windows), atol=1e-9)
        runs = [getattr(cues, method) for cues in (ours, one, peer)]
        seconds = np.array(least([lambda run=run: run(windows) for run in runs], options.repeats))
        totals += seconds
        print_row(name, seconds)
    print_row("all", totals)
    print(f"tables from the image and its superpixels: {table_seconds(image, ours.labels):.3f} s")
    scores = ours(windows).sum(axis=1)
    print(f"suppression to 1000 windows: {least([lambda: suppress(windows, scores, 1000)], 3)[0]:.3f} s")


def print_row(name, seconds):
    own, single, peer = seconds
    print(f"{name:4} {own:7.4f} {single:7.4f} {peer:7.4f} {peer / own:6.1f} {peer / single:6.1f}", flush=True)


if __name__ == "__main__":
    main()
