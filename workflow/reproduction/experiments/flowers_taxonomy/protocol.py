"""Splits and classifiers of the experiment with Flowers 17 (thesis, section 5.2.6).

Everything that is learned, taxonomies included, comes from the training part of a split; C is selected on its
validation part. The test part is predicted once per method.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from ermlab.taxonomy import TaxonomicSVM
from reproduction.experiments.taxonomies import Trial

ONE_VS_REST = "one_vs_rest"
#: Images of a split for the test over those for training.
TEST_OVER_TRAIN = 0.5
#: The first has no covariance of the classes; the last two are controls that separate topology and lengths.
METHODS = (ONE_VS_REST, "identity", "semantic", "learned", "learned_topology", "permuted")


@dataclass(frozen=True)
class FlowerSplit:
    """Indices of the images for training, for the selection of C, and for the test."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def draw_splits(labels: ArrayLike, count: int, seed: int) -> list[FlowerSplit]:
    """Draw splits with half of the images of each class for training, a quarter each for validation and test.

    An eighth of the images of each class is in the training part of every split, so that vocabularies for all
    splits can be learned from it. The first splits do not depend on ``count``.
    """
    labels = np.asarray(labels)
    sizes = np.bincount(labels)
    if sizes.min() < 4:
        raise ValueError(f"class {sizes.argmin()} has {sizes.min()} images: expected at least 4 of each")
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(np.flatnonzero(labels == label)) for label in range(len(sizes))]
    splits = []
    for _ in range(count):
        parts: tuple[list[int], list[int], list[int]] = ([], [], [])
        for order in orders:
            always, half, quarter = len(order) // 8, len(order) // 2, len(order) // 4
            order = np.append(order[:always], rng.permutation(order[always:]))
            for part, images in zip(parts, np.split(order, [half, half + quarter]), strict=True):
                part.extend(images[:half].tolist())
        splits.append(FlowerSplit(*(np.sort(part) for part in parts)))
    return splits


def always_trained(splits: Sequence[FlowerSplit]) -> NDArray[np.int64]:
    """Return the images in the training part of every split."""
    common = set.intersection(*(set(split.train.tolist()) for split in splits))
    if not common:
        raise ValueError(f"no image is in the training part of all {len(splits)} splits: expected at least 1")
    return np.array(sorted(common))


def train_once(
    B: NDArray | None, C: float, K: NDArray, labels: NDArray, split: FlowerSplit, tol: float
) -> Trial:
    """Train the SVM with covariance ``B``, or one-vs-rest SVMs if ``B`` is None, and validate it."""
    train, validation = split.train, split.validation
    classifier = (
        OneVsRestClassifier(SVC(C=C, kernel="precomputed", tol=tol))
        if B is None
        else TaxonomicSVM(B=B, C=C, tol=tol)
    )
    classifier.fit(K[np.ix_(train, train)], labels[train])
    correct = classifier.predict(K[np.ix_(validation, train)]) == labels[validation]
    gap, n_iter = (0.0, 0) if B is None else (classifier.gap_, classifier.n_iter_)
    return Trial(C, float(correct.mean()), float(gap), int(n_iter), classifier)
