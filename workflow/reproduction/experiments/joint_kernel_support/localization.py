"""Object localization with pairs of image and box and windows on a grid of visual words (thesis, 3.1.7).

The structured SVM searches the windows of the training images repeatedly (`WindowRisk`); joint kernel support
estimation only needs the kernel matrix of the training pairs. Both give a scorer of windows, and `Scan`
selects the best windows of each image. `swap_boxes` adds label noise.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
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
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows

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
        return [part.linear_scores(self._weights).ravel() for part in windows]


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


class WindowRisk:
    """Mean margin-rescaled hinge loss of windows (thesis, eq. 2.13 and 2.14) for a linear kernel.

    The outputs of a pair are all windows of the size of its box. The loss of a window is 1 minus its largest
    overlap with a box of the image, each of which is a correct answer.

    Parameters
    ----------
    grids : sequence of WordGrid
        Words of each image.
    pairs : Pairs
        Training pairs.
    kernel : PairKernel
        A linear kernel.

    Attributes
    ----------
    searches : int
        Number of searches for the most violated window so far.
    search_seconds : float
        Their total duration.
    """

    def __init__(self, grids: Sequence[WordGrid], pairs: Pairs, kernel: PairKernel):
        if kernel.name != "linear":
            raise ValueError(f"kernel is {kernel.name!r}: expected 'linear', whose weights are explicit")
        _check_images(pairs, len(grids))
        self.kernel, self.dimension = kernel, kernel.dimension
        self._windows, self._rights, self._losses = [], [], []
        for image, box in zip(pairs.images, pairs.boxes, strict=True):
            grid = grids[image]
            windows = Windows(grid, grid.size_of(box), kernel)
            labels = [grid.window_of(label) for label in pairs.of_image(image)]
            left, top = grid.window_of(box)[:2].tolist()
            self._windows.append(windows)
            self._rights.append(top * windows.shape[1] + left)
            self._losses.append(1.0 - best_overlap(windows.places(), labels))
        self.searches, self.search_seconds = 0, 0.0
        self._dual: SparseBlocks | None = None

    def __len__(self) -> int:
        return len(self._windows)

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
        return self._plane(i, self._search(i, self.kernel.by_cell(w)), w)

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
        return [self._search(i, weights) for i in range(len(self))]

    def _search(self, i: int, weights: Vector) -> int:
        """Search the windows of a pair."""
        began = time.perf_counter()
        scores = self._windows[i].linear_scores(weights)
        found = int(np.argmax(self._losses[i] + scores.ravel()))
        self.searches += 1
        self.search_seconds += time.perf_counter() - began
        return found

    def feature(self, i: int, z: int) -> SparseRow:
        """Return the histogram of a window of pair ``i``, or of that of its box if ``z`` is RIGHT."""
        place = self._rights[i] if z == RIGHT else z
        return SparseRow(*self._windows[i].filled_bins(*divmod(place, self._windows[i].shape[1])))

    def loss(self, i: int, z: int) -> float:
        """Return the loss of a window of pair ``i``."""
        return float(self._losses[i][z])

    def block_dual(self, alpha: float) -> SparseBlocks:
        """Return the dual for `ermlab.optimize.minimize_blocks`, started from the last solution.

        Most windows found for one regularization strength are useful for another.
        """
        self._dual = SparseBlocks(self, alpha) if self._dual is None else self._dual.at(alpha)
        return self._dual


def train_ssvm(risk: WindowRisk, C: float, tol: float) -> Vector:
    """Return the weights that minimize ``1/2 |w|^2 + C sum_i xi_i`` up to a relative gap of ``tol``."""
    return minimize_blocks(risk, L2(1.0 / (C * len(risk))), tol=tol).w
