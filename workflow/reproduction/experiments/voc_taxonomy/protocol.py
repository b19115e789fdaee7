"""Taxonomies of the classes of photographs, from scores of classifiers (thesis, section 5.2.6, PASCAL VOC).

The images are shared out to three parts with three roles. On the first, a classifier of each class against
the rest is trained, and gives the images of the other two a vector of scores. On the second, taxonomies are
learned from these and taxonomic SVMs are trained; on the third they are tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from ermlab._utils.array_files import ArrayFile
from ermlab.detection.box_words import share_images
from ermlab.kernels.histogram import chi2_distances
from ermlab.taxonomy.learning import learn_edge_lengths, learn_taxonomy
from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM
from ermlab.taxonomy.tree import Taxonomy, centered, unit_trace

Matrix = NDArray[np.float64]
#: One part for each role.
PARTS = 3
#: Folds of the training images in which the price is chosen.
FOLDS = 3


@dataclass(frozen=True)
class BagsOfImages(ArrayFile):
    """Bags of visual words of images that are shared out to `PARTS` parts."""

    bags: Matrix  #: (parts, images, bins): histograms in the words of each part
    labels: NDArray[np.bool_]  #: (images, classes): whether an object of the class is there
    parts: NDArray[np.int64]  #: (images,) the part of each
    classes: NDArray[np.str_]


@dataclass(frozen=True)
class Roles:
    """Kernel matrices of scores and labels, of training images and of test images."""

    K: Matrix  #: (train, train)
    K_test: Matrix  #: (test, train)
    Y: NDArray[np.bool_]  #: (train, classes)
    Y_test: NDArray[np.bool_]


def roles(data: BagsOfImages, order: int) -> Roles:
    """Let the parts take the roles of scoring, training and testing in one of the six orders."""
    orders = list(permutations(range(PARTS)))
    if order not in range(len(orders)):
        raise ValueError(f"order is {order}: expected 0 to {len(orders) - 1}")
    score, train, test = (np.flatnonzero(data.parts == part) for part in orders[order])
    X = data.bags[orders[order][0]]
    scores = class_scores(X[score], data.labels[score], X[np.append(train, test)])
    K, K_test = score_kernels(scores[: len(train)], scores[len(train) :])
    return Roles(K, K_test, data.labels[train], data.labels[test])


def class_scores(X: Matrix, Y: NDArray[np.bool_], X_new: Matrix) -> Matrix:
    """Return the scores (new, classes) of SVMs of one class against the rest, with the exp chi2 kernel.

    Both sides weigh the same. The price is 1: a few dozen images of hundreds of words are apart at any price.
    """
    distances = chi2_distances(X)
    scale = np.median(distances[np.triu_indices(len(X), k=1)])
    K, K_new = np.exp(-distances / scale), np.exp(-chi2_distances(X_new, X) / scale)
    models = (SVC(C=1.0, kernel="precomputed", class_weight="balanced").fit(K, y) for y in Y.T)
    return np.column_stack([model.decision_function(K_new) for model in models])


def score_kernels(scores: Matrix, new_scores: Matrix) -> tuple[Matrix, Matrix]:
    """Return the Gaussian kernel of scores and of new with old ones.

    The scores of each class have unit variance and sigma is the median distance, both over the old ones.
    """
    scale = scores.std(axis=0)
    if not scale.all():
        raise ValueError(f"the scores of class {int(np.argmin(scale))} are all alike: expected some variance")
    old, new = scores / scale, new_scores / scale
    distances = np.linalg.norm(old[:, None] - old[None], axis=2)
    sigma = np.median(distances[np.triu_indices(len(old), k=1)])
    apart = np.linalg.norm(new[:, None] - old[None], axis=2)
    return np.exp(-0.5 * (distances / sigma) ** 2), np.exp(-0.5 * (apart / sigma) ** 2)


def taxonomies_of(part: Roles, semantic: Taxonomy, rng: np.random.Generator) -> dict[str, Taxonomy]:
    """Return the trees to compare, all of the training images alone.

    ``semantic`` has the given topology and lengths by eq. 5.34, ``learned`` its own topology and lengths;
    the controls are the learned topology with lengths by eq. 5.34 and the learned tree with shuffled classes.
    """
    learned = learn_taxonomy(part.K, part.Y.astype(int), semantic.names)
    return {
        "semantic": learn_edge_lengths(part.K, part.Y.astype(int), semantic),
        "learned": learned,
        "learned_topology": learn_edge_lengths(part.K, part.Y.astype(int), learned),
        "permuted": learned.permuted(rng.permutation(learned.n_leaves)),
    }


def comparable(B: Matrix) -> Matrix:
    """Return a covariance centred and with a mean variance of 1.

    A taxonomic SVM compares the classes of an image, so its scores may all rise by a number for each image:
    it depends on the root of the tree and would show in curves over images. With a centred covariance the
    scores of an image sum to 0, as they do without a taxonomy.
    """
    return unit_trace(centered(B))


def held_out_areas(part: Roles, B: Matrix, prices: Sequence[float], tol: float) -> dict[float, float]:
    """Return the mean area under the ROC curve on held-out training images for each price.

    A class counts in a fold if it has images in it and outside of it. Without any, the result is empty.
    """
    folds = share_images([np.flatnonzero(row) for row in part.Y], FOLDS)
    areas = {C: np.concatenate([_held_out_areas(part, B, C, fold, tol) for fold in folds]) for C in prices}
    return {C: float(np.nanmean(area)) for C, area in areas.items() if not np.isnan(area).all()}


def scores_of_test_images(part: Roles, B: Matrix, C: float, tol: float) -> tuple[Matrix, float]:
    """Return the scores (test images, classes) of a taxonomic SVM, and its relative gap."""
    svm = TaxonomicSVM(B, C=C, tol=tol, multilabel=True).fit(part.K, part.Y.astype(int))
    return svm.decision_function(part.K_test), svm.gap_


def areas_under_roc(Y: NDArray[np.bool_], scores: Matrix) -> Matrix:
    """Return the area under the ROC curve of each class, NaN where all images or none have it."""
    both = Y.any(axis=0) & ~Y.all(axis=0)
    return np.array([roc_auc_score(Y[:, c], scores[:, c]) if both[c] else np.nan for c in range(Y.shape[1])])


def _held_out_areas(part: Roles, B: Matrix, C: float, held_out: NDArray[np.int64], tol: float) -> Matrix:
    rest = np.setdiff1d(np.arange(len(part.K)), held_out)
    known = np.flatnonzero(part.Y[rest].any(axis=0))
    svm = TaxonomicSVM(B[np.ix_(known, known)], C=C, tol=tol, multilabel=True)
    svm.fit(part.K[np.ix_(rest, rest)], part.Y[np.ix_(rest, known)].astype(int))
    scores = svm.decision_function(part.K[np.ix_(held_out, rest)])
    return areas_under_roc(part.Y[np.ix_(held_out, known)], scores)
