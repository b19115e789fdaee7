"""Learning to localise: pairs of image and box, scored by windows on a grid of visual words (thesis, 3.1.7).

The structured SVM searches the windows of the training images again and again (`WindowRisk`); joint kernel
support estimation needs the kernel matrix of the training pairs alone. Either gives a scorer of windows, and
`detect` takes the best ones of an image. `swap_boxes` makes the label noise of the experiment.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ermlab.features.word_grids import WordGrid
from ermlab.inference.boxes import as_boxes, best_overlap, suppress
from ermlab.inference.windows import Chi2Expansion, PairKernel, Windows
from ermlab.kernels.histogram import chi2_kernel
from ermlab.optimize import L2, minimize_blocks
from ermlab.optimize._blas import one_blas_thread
from ermlab.optimize._plane_blocks import PlaneBlocks
from ermlab.optimize.sparse_planes import SparsePlanes

Vector = NDArray[np.float64]
Boxes = NDArray[np.int64]
#: Histograms compared at once: written out they take 8 bytes a bin.
_CHUNK = 100
#: Draws of a cycle in which no box stays in its image; more than one half is one as a rule.
_ATTEMPTS = 10000


@dataclass(frozen=True)
class Pairs:
    """Training pairs of image and box.

    Attributes
    ----------
    images
        For each pair the index of its image.
    boxes
        (n, 4), in pixels.
    """

    images: NDArray[np.int64]
    boxes: Boxes

    @classmethod
    def of(cls, boxes: Sequence[ArrayLike]) -> "Pairs":
        """Return a pair for each box, given the boxes of each image."""
        images = np.repeat(np.arange(len(boxes)), [len(some) for some in boxes])
        return cls(images, as_boxes(np.concatenate([as_boxes(some) for some in boxes])))

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
    """Let a share of the pairs, chosen at random, exchange their boxes (thesis, 3.1.7).

    Each of them receives the box of another image, moved as `nearest_inside` says.
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
        raise ValueError(f"no exchange of {n} boxes between different images: too many are of one image")
    boxes = pairs.boxes.copy()
    for giver, receiver in zip(givers, receivers, strict=True):
        boxes[receiver] = nearest_inside(pairs.boxes[giver], shapes[pairs.images[receiver]])
    return Pairs(pairs.images, boxes)


def nearest_inside(box: ArrayLike, shape: tuple[int, int]) -> Boxes:
    """Return a box moved into an image by the least shift; a side longer than the image is cut to it."""
    first, last = np.split(as_boxes([box], "box")[0], 2)
    lengths = np.minimum(last - first + 1, shape[::-1])
    first = np.clip(first, 0, np.array(shape[::-1]) - lengths)
    return np.concatenate([first, first + lengths - 1])


# -------------------------------------------------------------------------------------------------- scorers


class Scorer(Protocol):
    """A trained compatibility of image and box."""

    def scores(self, windows: Windows) -> Vector:
        """Return the score of each window."""


class LinearScorer:
    """``<w, histogram>``, with ``w`` cell by cell."""

    def __init__(self, kernel: PairKernel, w: Vector):
        self._by_word = by_word(w, kernel)

    def scores(self, windows: Windows) -> Vector:
        """Return the score of each window."""
        return windows.linear_scores(self._by_word)


class Chi2Scorer:
    """``sum_m weights[m] k(references[m], histogram)`` (thesis, eq. 3.4); see `Chi2Expansion`."""

    def __init__(self, kernel: PairKernel, references: csr_array, weights: Vector, most: ArrayLike):
        self.references, self.weights = references, weights
        self._expansion = Chi2Expansion(kernel, references, weights, most)

    def scores(self, windows: Windows) -> Vector:
        """Return the score of each window."""
        return windows.chi2_scores(self._expansion)


def scores_of_each(scorers: Sequence[Scorer], windows: Windows) -> Vector:
    """Return the scores (n_scorers, n_windows); chi2 kernels with the same references are evaluated once."""
    first = scorers[0]
    if isinstance(first, Chi2Scorer) and all(scorer.references is first.references for scorer in scorers):
        K = windows.chi2_similarities(first.references)
        with one_blas_thread():
            return np.stack([scorer.weights for scorer in scorers]) @ K.T
    return np.stack([scorer.scores(windows).ravel() for scorer in scorers])


def detect_with_each(
    scorers: Sequence[Scorer], windows: Sequence[Windows], max_boxes: int, max_overlap: float
) -> list[tuple[Boxes, Vector]]:
    """Return for each scorer the best boxes of an image and their scores, as `detect` does."""
    boxes = np.concatenate([some.boxes() for some in windows])
    all_scores = np.concatenate([scores_of_each(scorers, some) for some in windows], axis=1)
    kept = [suppress(boxes, scores, max_boxes, max_overlap) for scores in all_scores]
    return [(boxes[some], scores[some]) for some, scores in zip(kept, all_scores, strict=True)]


def detect(
    scorer: Scorer, windows: Sequence[Windows], max_boxes: int, max_overlap: float
) -> tuple[Boxes, Vector]:
    """Return the best boxes of an image and their scores, among windows of one or more sizes."""
    boxes = np.concatenate([some.boxes() for some in windows])
    scores = np.concatenate([scorer.scores(some).ravel() for some in windows])
    kept = suppress(boxes, scores, max_boxes, max_overlap)
    return boxes[kept], scores[kept]


# ------------------------------------------------------------------------------------------------- training


def pair_features(grids: Sequence[WordGrid], pairs: Pairs, kernel: PairKernel) -> csr_array:
    """Return the histogram of each pair's window, a sparse row each."""
    of_pairs = [grids[image] for image in pairs.images]
    windows = [grid.window_of(box) for grid, box in zip(of_pairs, pairs.boxes, strict=True)]
    return kernel.features(of_pairs, windows)


def kernel_matrix(kernel: PairKernel, rows: csr_array, columns: csr_array) -> Vector:
    """Return the kernel of histograms, sparse rows, with others."""
    if kernel.name == "linear":
        return (rows @ columns.T).toarray()
    others = columns.toarray()
    parts = [rows[start : start + _CHUNK].toarray() for start in range(0, rows.shape[0], _CHUNK)]
    return np.concatenate([chi2_kernel(part, others, n_threads=1) for part in parts])


class WindowRisk:
    """The mean margin-rescaled hinge loss of windows (thesis, eq. 2.13 and 2.14), for a linear kernel.

    The outputs of a pair are all windows of the size of its box. The loss of a window is 1 minus its largest
    overlap with a box of the image: where there are several, each is a right answer.

    Parameters
    ----------
    grids
        The words of each image.
    pairs
        The training pairs.
    kernel
        A linear one.

    Attributes
    ----------
    searches, search_seconds
        Searches for the most violated window so far, and the time that they took.
    """

    def __init__(self, grids: Sequence[WordGrid], pairs: Pairs, kernel: PairKernel):
        if kernel.name != "linear":
            raise ValueError(f"kernel is {kernel.name!r}: expected 'linear', whose weights are explicit")
        self.kernel, self.dimension = kernel, kernel.dimension
        self._truths = pair_features(grids, pairs, kernel).toarray()
        self._windows, self._losses = [], []
        for image, box in zip(pairs.images, pairs.boxes, strict=True):
            grid = grids[image]
            windows = Windows(grid, grid.size_of(box), kernel)
            right = [grid.window_of(label) for label in pairs.of_image(image)]
            self._windows.append(windows)
            self._losses.append(1.0 - best_overlap(windows.places(), right))
        self.searches, self.search_seconds = 0, 0.0
        self._dual: PlaneBlocks | None = None

    def __len__(self) -> int:
        return len(self._windows)

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``."""
        total, subgradient = 0.0, np.zeros(self.dimension)
        for i in range(len(self)):
            a, b = self.plane(i, w)
            total += float(np.sum(a * w)) + b
            subgradient += a
        return total / len(self), subgradient / len(self)

    def plane(self, i: int, w: Vector) -> tuple[Vector, float]:
        """Return slope and offset of the largest violation of pair ``i`` at ``w``, 0 if it is negative."""
        found = self.most_violated(i, w)
        a = self._windows[i].histogram(*divmod(found, self._windows[i].shape[1])) - self._truths[i]
        loss = float(self._losses[i][found])
        return (a, loss) if loss + np.sum(a * w) > 0 else (np.zeros(self.dimension), 0.0)

    def most_violated(self, i: int, w: Vector) -> int:
        """Return the index of the window with the largest sum of loss and score: a MAP call."""
        began = time.perf_counter()
        scores = self._windows[i].linear_scores(by_word(w, self.kernel))
        found = int(np.argmax(self._losses[i] + scores.ravel()))
        self.searches += 1
        self.search_seconds += time.perf_counter() - began
        return found

    def block_dual(self, lam: float) -> PlaneBlocks:
        """Return the dual for `ermlab.optimize.minimize_blocks`; it begins where the last one ended.

        The windows found for one regularisation are most of what another one needs.
        """
        self._dual = PlaneBlocks(self, lam, SparsePlanes) if self._dual is None else self._dual.at(lam)
        return self._dual


def train_ssvm(risk: WindowRisk, C: float, tol: float) -> Vector:
    """Return the weights that minimise ``1/2 |w|^2 + C sum_i xi_i`` up to a relative gap."""
    return minimize_blocks(risk, L2(1.0 / (C * len(risk))), tol=tol).w


def by_word(w: Vector, kernel: PairKernel) -> Vector:
    """Return weights of all bins, cell by cell, as the matrix (words, cells)."""
    return np.ascontiguousarray(np.reshape(w, (-1, kernel.n_words)).T)
