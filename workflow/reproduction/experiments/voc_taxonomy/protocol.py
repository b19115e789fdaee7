"""Roles, score kernels and classifiers of the experiment with PASCAL VOC (thesis, section 5.2.6).

The images are divided into three parts with three roles. On the first part one classifier per class is
trained against the rest; the images of the other two parts are described by its scores. On the second part
taxonomies are learned from the scores and taxonomic SVMs are trained; the third part is the test set.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from ermlab._utils.array_files import ArrayFile
from ermlab.detection import share_images
from ermlab.features.words import n_cells
from ermlab.kernels.histogram import chi2_distances
from ermlab.taxonomy import TaxonomicSVM, Taxonomy
from reproduction.experiments.taxonomies import class_taxonomies

Matrix = NDArray[np.float64]
#: One part for each role.
N_PARTS = 3
#: Images for the test over those for scoring and training.
TEST_OVER_TRAIN = 1 / (N_PARTS - 1)
#: Folds of the training images in the cross-validation of C, and of the scoring images in that of the cells.
N_FOLDS = 3
#: The whole image and its quarters.
LEVELS = (1, 2)
#: Descriptions of an image, of which one is selected: the number of leading cells of the pyramid.
DESCRIPTIONS = {"whole image": 1, "image and quarters": n_cells(LEVELS)}


@dataclass(frozen=True)
class BagsOfImages(ArrayFile):
    """Bags of visual words of images that are divided into `N_PARTS` parts."""

    bags: Matrix  #: (parts, images, bins): histograms of the words of each part
    labels: NDArray[np.bool_]  #: (images, classes): whether an object of the class is present
    parts: NDArray[np.int64]  #: (images,) the part of each image
    classes: NDArray[np.str_]


@dataclass(frozen=True)
class Roles:
    """Kernel matrices of the scores, and labels, of training and test images."""

    K: Matrix  #: (train, train)
    K_test: Matrix  #: (test, train)
    Y: NDArray[np.bool_]  #: (train, classes)
    Y_test: NDArray[np.bool_]
    description: str  #: selected description of the images


def roles(data: BagsOfImages, order: int) -> Roles:
    """Assign the roles of scoring, training and testing to the parts in one of the six orders."""
    orders = list(permutations(range(N_PARTS)))
    if order not in range(len(orders)):
        raise ValueError(f"order is {order}: expected 0 to {len(orders) - 1}")
    score, train, test = (np.flatnonzero(data.parts == part) for part in orders[order])
    described = cells_of(data.bags[orders[order][0]])
    description = choose_description({name: X[score] for name, X in described.items()}, data.labels[score])
    X = described[description]
    scores = class_scores(X[score], data.labels[score], X[np.append(train, test)])
    K, K_test = score_kernels(scores[: len(train)], scores[len(train) :])
    return Roles(K, K_test, data.labels[train], data.labels[test], description)


def cells_of(bags: Matrix) -> dict[str, Matrix]:
    """Return the leading bins of the pyramids (images, bins) for each description."""
    n_words = bags.shape[1] // n_cells(LEVELS)
    return {name: bags[:, : n_words * cells] for name, cells in DESCRIPTIONS.items()}


def choose_description(described: Mapping[str, Matrix], Y: NDArray[np.bool_]) -> str:
    """Return the description whose classifiers have the largest mean area on held-out scoring images.

    A class counts in a fold if it has images inside and outside the fold. Among equally good descriptions,
    or without any such class, it is the first one.
    """
    folds = share_images([np.flatnonzero(row) for row in Y], N_FOLDS)

    def mean_area(X: Matrix) -> float:
        areas = np.concatenate([_areas_of_fold(X, Y, fold) for fold in folds])
        return 0.0 if np.isnan(areas).all() else float(np.nanmean(areas))

    return max(described, key=lambda name: mean_area(described[name]))


def _areas_of_fold(X: Matrix, Y: NDArray[np.bool_], held_out: NDArray[np.int64]) -> Matrix:
    rest = np.setdiff1d(np.arange(len(Y)), held_out)
    known = Y[rest].any(axis=0) & ~Y[rest].all(axis=0)
    if not known.any() or not len(held_out):
        return np.full(1, np.nan)
    scores = class_scores(X[rest], Y[np.ix_(rest, known)], X[held_out])
    return areas_under_roc(Y[np.ix_(held_out, known)], scores)


def class_scores(X: Matrix, Y: NDArray[np.bool_], X_new: Matrix) -> Matrix:
    """Return the scores (new, classes) of one-vs-rest SVMs with the exponential chi2 kernel.

    Both sides have the same total weight. C is 1: a few dozen images with hundreds of words are separable
    for any C.
    """
    distances = chi2_distances(X)
    scale = np.median(distances[np.triu_indices(len(X), k=1)])
    K, K_new = np.exp(-distances / scale), np.exp(-chi2_distances(X_new, X) / scale)
    models = (SVC(C=1.0, kernel="precomputed", class_weight="balanced").fit(K, y) for y in Y.T)
    return np.column_stack([model.decision_function(K_new) for model in models])


def score_kernels(scores: Matrix, new_scores: Matrix) -> tuple[Matrix, Matrix]:
    """Return the Gaussian kernel matrices of the scores, and of the new scores with them.

    Scores are divided by their standard deviation per class, and sigma is the median distance; neither
    depends on the new scores.
    """
    scale = scores.std(axis=0)
    if not scale.all():
        raise ValueError(f"the scores of class {int(np.argmin(scale))} are all equal: expected some variance")
    old, new = scores / scale, new_scores / scale
    distances = np.linalg.norm(old[:, None] - old[None], axis=2)
    sigma = np.median(distances[np.triu_indices(len(old), k=1)])
    new_distances = np.linalg.norm(new[:, None] - old[None], axis=2)
    return np.exp(-0.5 * (distances / sigma) ** 2), np.exp(-0.5 * (new_distances / sigma) ** 2)


def taxonomies_of(part: Roles, semantic: Taxonomy, rng: np.random.Generator) -> dict[str, Taxonomy]:
    """Return the trees of the training images: those of `class_taxonomies`, and a control.

    The control is the learned tree with permuted classes.
    """
    trees = class_taxonomies(part.K, part.Y.astype(int), semantic)
    permuted = trees["learned"].permuted(rng.permutation(semantic.n_leaves))
    return trees | {"permuted": permuted}


def held_out_area(part: Roles, B: Matrix, C: float, tol: float) -> float | None:
    """Return the mean area under the ROC curve on held-out training images.

    A class counts in a fold if it has images inside and outside the fold; None if there is no such class.
    """
    folds = share_images([np.flatnonzero(row) for row in part.Y], N_FOLDS)
    areas = np.concatenate([_held_out_areas(part, B, C, fold, tol) for fold in folds])
    return None if np.isnan(areas).all() else float(np.nanmean(areas))


def scores_of_test_images(part: Roles, B: Matrix, C: float, tol: float) -> tuple[Matrix, float]:
    """Return the scores (test images, classes) of a taxonomic SVM, and its relative gap."""
    svm = TaxonomicSVM(B, C=C, tol=tol, multilabel=True).fit(part.K, part.Y.astype(int))
    return svm.decision_function(part.K_test), svm.gap_


def areas_under_roc(Y: NDArray[np.bool_], scores: Matrix) -> Matrix:
    """Return the area under the ROC curve of each class, NaN if all images or none have it."""
    both = Y.any(axis=0) & ~Y.all(axis=0)
    return np.array([roc_auc_score(Y[:, c], scores[:, c]) if both[c] else np.nan for c in range(Y.shape[1])])


def _held_out_areas(part: Roles, B: Matrix, C: float, held_out: NDArray[np.int64], tol: float) -> Matrix:
    rest = np.setdiff1d(np.arange(len(part.K)), held_out)
    known = np.flatnonzero(part.Y[rest].any(axis=0))
    svm = TaxonomicSVM(B[np.ix_(known, known)], C=C, tol=tol, multilabel=True)
    svm.fit(part.K[np.ix_(rest, rest)], part.Y[np.ix_(rest, known)].astype(int))
    scores = svm.decision_function(part.K[np.ix_(held_out, rest)])
    return areas_under_roc(part.Y[np.ix_(held_out, known)], scores)
