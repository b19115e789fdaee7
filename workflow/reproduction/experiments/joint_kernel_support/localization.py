"""Object localization with pairs of image and box and windows on a grid of visual words (thesis, 3.1.7).

The structured SVM searches the windows of the training images repeatedly (`WindowRisk`); joint kernel support
estimation only needs the kernel matrix of the training pairs. Both give a scorer of windows, and `Scan`
selects the best windows of each image. `swap_boxes` adds label noise.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from ermlab.detection.boxes import as_boxes, best_overlap, suppress
from ermlab.detection.word_grids import WordGrid
from ermlab.kernels.sparse_histogram import sparse_chi2_kernel
from ermlab.optimize.blocks import minimize_blocks
from ermlab.optimize.regularizers import L2
from reproduction.experiments.joint_kernel_support.chi2_windows import Chi2Expansion
from reproduction.experiments.joint_kernel_support.sparse_blocks import RIGHT, SparseBlocks, SparseRow
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows, linear_scores

Vector = NDArray[np.float64]
Boxes = NDArray[np.int64]
#: Maximum number of random cycles to draw until no box stays in its image.
_ATTEMPTS = 10000


@dataclass(frozen=True)
class Pairs:
    """Training pairs of image and box.

    Attributes
    ----------
    images : ndarray of shape (n_pairs,)
        Index of the image of each pair.
    boxes : ndarray of shape (n_pairs, 4)
        Boxes in pixels.
    """

    images: NDArray[np.int64]
    boxes: Boxes

    @classmethod
    def of(cls, boxes: Sequence[ArrayLike]) -> "Pairs":
        """Return one pair for each box, given the boxes of each image."""
        images = np.repeat(np.arange(len(boxes)), [len(of_image) for of_image in boxes])
        return cls(images, as_boxes(np.concatenate([as_boxes(of_image) for of_image in boxes])))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, chosen: NDArray) -> "Pairs":
        return Pairs(self.images[chosen], self.boxes[chosen])

    def of_image(self, image: int) -> Boxes:
        """Return the boxes of an image."""
        return self.boxes[self.images == image]


def swap_boxes(
    pairs: Pairs, shapes: Sequence[tuple[int, int]], share: float, rng: np.random.Generator
) -> Pairs:
    """Exchange the boxes of a random share of the pairs (thesis, section 3.1.7).

    Each of them receives the box of another image, moved into its own by `nearest_inside`.

    Parameters
    ----------
    pairs : Pairs
        Pairs of image and box.
    shapes : sequence of (int, int)
        Height and width of each image.
    share : float
        Share of the pairs, 0 to 1.
    rng : numpy.random.Generator
        Source of randomness.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}: expected 0 to 1")
    n = round(share * len(pairs))
    if n == 0:
        return pairs
    for _ in range(_ATTEMPTS):
        receivers = rng.permutation(len(pairs))[: max(n, 2)]
        givers = np.roll(receivers, 1)
        if (pairs.images[givers] != pairs.images[receivers]).all():
            break
    else:
        raise ValueError(f"no exchange of {n} boxes between different images: expected fewer of one image")
    boxes = pairs.boxes.copy()
    for giver, receiver in zip(givers, receivers, strict=True):
        boxes[receiver] = nearest_inside(pairs.boxes[giver], shapes[pairs.images[receiver]])
    return Pairs(pairs.images, boxes)


def nearest_inside(box: ArrayLike, shape: tuple[int, int]) -> Boxes:
    """Return a box moved into an image by the smallest shift; sides longer than the image are clipped."""
    first, last = np.split(as_boxes([box], "box")[0], 2)
    lengths = np.minimum(last - first + 1, shape[::-1])
    first = np.clip(first, 0, np.array(shape[::-1]) - lengths)
    return np.concatenate([first, first + lengths - 1])


class Scorer(Protocol):
    """A trained compatibility of image and box."""

    def scores(self, windows: Sequence[Windows]) -> list[Vector]:
        """Return the score of each window for each set of windows."""


class LinearScorer:
    """Scorer ``<w, histogram>``, with ``w`` ordered by cell."""

    def __init__(self, kernel: PairKernel, w: Vector):
        self._weights = kernel.by_cell(w)

    def scores(self, windows: Sequence[Windows]) -> list[Vector]:
        """Return the score of each window for each set of windows."""
        by_grid = [list(parts) for _, parts in groupby(windows, key=lambda part: id(part.grid))]
        return [scores.ravel() for parts in by_grid for scores in linear_scores(parts, self._weights)]


class Chi2Scorer:
    """Scorer ``sum_m weights[m] k(references[m], histogram)`` (thesis, eq. 3.4), see `Chi2Expansion`."""

    def __init__(self, kernel: PairKernel, references: csr_array, weights: Vector):
        self.kernel, self.references, self.weights = kernel, references, weights

    def scores(self, windows: Sequence[Windows]) -> list[Vector]:
        """Return the score of each window for each set of windows."""
        return [scores for (scores,) in _together([self]).scores(windows)]


def scores_of_each(scorers: Sequence[Scorer], windows: Sequence[Windows]) -> list[Vector]:
    """Return the scores (n_scorers, n_windows) for each set of windows; chi2 scorers share a scan."""
    if all(isinstance(scorer, Chi2Scorer) for scorer in scorers):
        return _together(scorers).scores(windows)
    by_scorer = [scorer.scores(windows) for scorer in scorers]
    return [np.stack(of_set) for of_set in zip(*by_scorer, strict=True)]


def _together(scorers: Sequence[Chi2Scorer]) -> Chi2Expansion:
    """Return one expansion of all scorers; shared references are kept once."""
    shared = list({id(scorer.references): scorer.references for scorer in scorers}.values())
    blocks = [
        [scorer.weights if scorer.references is block else np.zeros(block.shape[0]) for block in shared]
        for scorer in scorers
    ]
    return Chi2Expansion(scorers[0].kernel, csr_array(vstack(shared)), np.block(blocks))


@dataclass(frozen=True)
class Scan:
    """Windows of images with their scores by several scorers.

    Attributes
    ----------
    boxes : list of ndarray of shape (n_windows, 4)
        Windows of each image, in pixels.
    scores : list of ndarray of shape (n_scorers, n_windows)
        Their scores.
    """

    boxes: list[Boxes]
    scores: list[Vector]

    @classmethod
    def of(cls, scorers: Sequence[Scorer], images: Sequence[Sequence[Windows]]) -> "Scan":
        """Score the windows of one or more sizes of each image."""
        scores = iter(scores_of_each(scorers, [part for windows in images for part in windows]))
        return cls(
            [np.concatenate([part.boxes() for part in windows]) for windows in images],
            [np.concatenate([next(scores) for _ in windows], axis=1) for windows in images],
        )

    def detections(self, scorer: int, max_boxes: int, max_overlap: float) -> list[tuple[Boxes, Vector]]:
        """Return the best boxes of each image by a scorer, and their scores; see `suppress`."""
        found = []
        for boxes, scores in zip(self.boxes, self.scores, strict=True):
            kept = suppress(boxes, scores[scorer], max_boxes, max_overlap)
            found.append((boxes[kept], scores[scorer, kept]))
        return found


def pair_features(grids: Sequence[WordGrid], pairs: Pairs, kernel: PairKernel) -> csr_array:
    """Return the histogram of the window of each pair, one sparse row per pair."""
    _check_images(pairs, len(grids))
    of_pairs = [grids[image] for image in pairs.images]
    windows = [grid.window_of(box) for grid, box in zip(of_pairs, pairs.boxes, strict=True)]
    return kernel.features(of_pairs, windows)


def _check_images(pairs: Pairs, n_images: int) -> None:
    wrong = pairs.images[(pairs.images < 0) | (pairs.images >= n_images)]
    if len(wrong):
        raise ValueError(f"pairs of images {wrong[:5].tolist()}: expected 0 to {n_images - 1}")


def kernel_matrix(kernel: PairKernel, rows: csr_array, columns: csr_array) -> Vector:
    """Compute the kernel matrix of sparse histograms."""
    if kernel.name == "linear":
        return (rows @ columns.T).toarray()
    return sparse_chi2_kernel(rows, columns)


class WindowPool:
    """Windows of images, made once for each image and size.

    Parameters
    ----------
    grids : sequence of WordGrid
        Words of each image.
    kernel : PairKernel
        Definition of the histograms.
    stride : int, default=1
        Places between windows.
    """

    def __init__(self, grids: Sequence[WordGrid], kernel: PairKernel, stride: int = 1):
        self.grids, self.kernel, self.stride = grids, kernel, stride
        self._known: dict[tuple[int, int, int], Windows] = {}

    def of(self, image: int, sizes: Sequence[tuple[int, int]]) -> list[Windows]:
        """Return the windows of an image that have one of ``sizes`` and fit on its grid."""
        return [self._of_size(image, size) for size in sizes if self.grids[image].fits(size)]

    def _of_size(self, image: int, size: tuple[int, int]) -> Windows:
        key = image, *size
        if key not in self._known:
            self._known[key] = Windows(self.grids[image], size, self.kernel, self.stride)
        return self._known[key]


class _Outputs:
    """The windows that are searched for a pair, numbered size by size, with their losses."""

    def __init__(self, parts: Sequence[Windows], labels: Sequence[Boxes]):
        places = np.concatenate([part.places() for part in parts])
        self.losses = 1.0 - best_overlap(places, labels)
        self._parts, self._ends = parts, np.cumsum([np.prod(part.shape) for part in parts])

    def search(self, weights: Vector) -> int:
        """Return the window with the largest sum of loss and score."""
        scores = np.concatenate([part.ravel() for part in linear_scores(self._parts, weights)])
        return int(np.argmax(self.losses + scores))

    def feature(self, z: int) -> SparseRow:
        """Return the histogram of a window."""
        number = int(np.searchsorted(self._ends, z, side="right"))
        part = self._parts[number]
        place = z - (int(self._ends[number - 1]) if number else 0)
        return SparseRow(*part.filled_bins(*divmod(place, part.shape[1])))


class WindowRisk:
    """Mean margin-rescaled hinge loss of windows (thesis, eq. 2.13 and 2.14) for a linear kernel.

    The outputs of a pair are all windows of its image that have one of the given sizes, or that of its box.
    The loss of a window is 1 minus its largest overlap with a box of the image, each of which is a correct
    answer. Pairs with the same outputs share a search.

    Parameters
    ----------
    pool : WindowPool
        Windows of the images, with a linear kernel.
    pairs : Pairs
        Training pairs.
    sizes : sequence of (int, int), optional
        Columns and rows of the windows, in places; by default those of the box of each pair.

    Attributes
    ----------
    searches : int
        Number of searches for the most violated window so far.
    search_seconds : float
        Their total duration.
    """

    def __init__(self, pool: WindowPool, pairs: Pairs, sizes: Sequence[tuple[int, int]] | None = None):
        kernel, grids = pool.kernel, pool.grids
        if kernel.name != "linear":
            raise ValueError(f"kernel is {kernel.name!r}: expected 'linear', whose weights are explicit")
        self._rights = pair_features(grids, pairs, kernel)
        self.kernel, self.dimension = kernel, kernel.dimension
        self._outputs: list[_Outputs] = []
        known: dict[tuple, _Outputs] = {}
        for image, box in zip(pairs.images.tolist(), pairs.boxes, strict=True):
            key = image, (grids[image].size_of(box),) if sizes is None else tuple(sizes)
            if key not in known:
                labels = [grids[image].window_of(label) for label in pairs.of_image(image)]
                known[key] = _Outputs(_some(pool.of(*key), image), labels)
            self._outputs.append(known[key])
        self.searches, self.search_seconds = 0, 0.0
        self._dual: SparseBlocks | None = None

    def __len__(self) -> int:
        return len(self._outputs)

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``."""
        total, subgradient = 0.0, np.zeros(self.dimension)
        for i, z in enumerate(self.most_violated(w)):
            a, b = self._plane(i, z, w)
            total += float(np.sum(a * w)) + b
            subgradient += a
        return total / len(self), subgradient / len(self)

    def plane(self, i: int, w: Vector) -> tuple[Vector, float]:
        """Return slope and offset of the largest violation of pair ``i`` at ``w``, or 0 if it is negative."""
        return self._plane(i, self._search(self._outputs[i], self.kernel.by_cell(w)), w)

    def _plane(self, i: int, z: int, w: Vector) -> tuple[Vector, float]:
        a = np.zeros(self.dimension)
        for output, sign in ((z, 1.0), (RIGHT, -1.0)):
            row = self.feature(i, output)
            a[row.columns] += sign * row.values
        loss = self.loss(i, z)
        return (a, loss) if loss + np.sum(a * w) > 0 else (np.zeros(self.dimension), 0.0)

    def most_violated(self, w: Vector) -> list[int]:
        """Return the index of the window with the largest sum of loss and score for each pair."""
        weights = self.kernel.by_cell(w)
        found = {outputs: self._search(outputs, weights) for outputs in dict.fromkeys(self._outputs)}
        return [found[outputs] for outputs in self._outputs]

    def _search(self, outputs: _Outputs, weights: Vector) -> int:
        began = time.perf_counter()
        found = outputs.search(weights)
        self.searches += 1
        self.search_seconds += time.perf_counter() - began
        return found

    def feature(self, i: int, z: int) -> SparseRow:
        """Return the histogram of a window of pair ``i``, or of its box if ``z`` is RIGHT."""
        if z != RIGHT:
            return self._outputs[i].feature(z)
        part = slice(*self._rights.indptr[i : i + 2])
        return SparseRow(self._rights.indices[part], self._rights.data[part])

    def loss(self, i: int, z: int) -> float:
        """Return the loss of a window of pair ``i``."""
        return float(self._outputs[i].losses[z])

    @property
    def separates(self) -> bool:
        """Whether the last solution has a part of each pair's weight left, so that all margins are kept."""
        return self._dual is not None and self._dual.all_free

    def block_dual(self, alpha: float) -> SparseBlocks:
        """Return the dual for `ermlab.optimize.minimize_blocks`, started from the last solution.

        Most windows found for one regularization strength are useful for another.
        """
        self._dual = SparseBlocks(self, alpha) if self._dual is None else self._dual.at(alpha)
        return self._dual


def _some(windows: list[Windows], image: int) -> list[Windows]:
    """Return the windows, or raise a ValueError if there are none."""
    if not windows:
        raise ValueError(f"image {image} has no window: expected a size that fits on its grid")
    return windows


def train_ssvm(risk: WindowRisk, values: Sequence[float], tol: float) -> list[Vector]:
    """Return the weights that minimize ``1/2 |w|^2 + C sum_i xi_i`` up to a relative gap, for each C.

    Parameters
    ----------
    risk : WindowRisk
        The risk.
    values : sequence of float
        Values of C in ascending order. Once no pair is at its bound C, larger values have the same solution.
    tol : float
        Relative gap.
    """
    weights: list[Vector] = []
    for C in values:
        if weights and risk.separates:
            weights.append(weights[-1])
        else:
            weights.append(minimize_blocks(risk, L2(1.0 / (C * len(risk))), tol=tol).w)
    return weights
