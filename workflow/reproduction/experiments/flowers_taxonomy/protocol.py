"""The experiment with Flowers 17: splits, covariances of the classes, the price C (thesis, section 5.2.6).

Everything that is learned or chosen, taxonomies included, comes from the training part of a split, but for
C, which its validation part decides. The test part is looked at once for each method.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from ermlab.taxonomy import Taxonomy, centered, unit_trace
from ermlab.taxonomy.learning import learn_edge_lengths, learn_taxonomy
from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM
from reproduction.experiments.taxonomic_search import Trial

#: Without a covariance of the classes.
ONE_VS_REST = "one_vs_rest"
#: Then no taxonomy, the Linnaean and the learned one, and two controls that tell topology from lengths.
METHODS = (ONE_VS_REST, "identity", "semantic", "learned", "learned_topology", "permuted")


@dataclass(frozen=True)
class FlowerSplit:
    """Numbers of the images to learn from, to choose C by, and to test on."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def draw_splits(labels: ArrayLike, count: int, seed: int) -> list[FlowerSplit]:
    """Draw splits with half of the images of each class in training, a quarter each in validation and test.

    The first splits do not depend on ``count``.
    """
    labels = np.asarray(labels)
    sizes = np.bincount(labels)
    if sizes.min() < 4:
        raise ValueError(f"class {sizes.argmin()} has {sizes.min()} images: expected at least 4 of each")
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(count):
        parts: tuple[list[int], list[int], list[int]] = ([], [], [])
        for label in range(len(sizes)):
            order = rng.permutation(np.flatnonzero(labels == label))
            half, quarter = len(order) // 2, len(order) // 4
            for part, some in zip(parts, np.split(order, [half, half + quarter]), strict=True):
                part.extend(some[:half].tolist())
        splits.append(FlowerSplit(*(np.sort(part) for part in parts)))
    return splits


def always_trained(splits: Sequence[FlowerSplit]) -> NDArray[np.int64]:
    """Return the images in the training part of every split, whose vocabularies serve all splits."""
    common = set.intersection(*(set(split.train.tolist()) for split in splits))
    if not common:
        raise ValueError(
            f"no image is in the training part of all {len(splits)} splits: expected one at least"
        )
    return np.array(sorted(common))


def class_taxonomies(
    K: ArrayLike, y: ArrayLike, semantic: Taxonomy, names: Sequence[str]
) -> dict[str, Taxonomy]:
    """Return the taxonomies of training images: semantic, learned, and the learned topology.

    The first has the lengths of eq. 5.34, and so has the last: beside the learned tree, which has its own
    lengths, it tells what the lengths do.
    """
    learned = learn_taxonomy(K, y, names)
    return {
        "semantic": learn_edge_lengths(K, y, semantic.ordered(names)),
        "learned": learned,
        "learned_topology": learn_edge_lengths(K, y, learned),
    }


def covariance_of(taxonomy: Taxonomy | None, n_classes: int) -> NDArray[np.float64]:
    """Return the centred covariance of a taxonomy, or of none, scaled to a mean variance of 1.

    Scores of an image may all be shifted alike, so that the centred covariance gives the same classifier
    as any rooting of the tree (Theorem 5.2.5); its trace compares trees wherever their roots are.
    """
    return unit_trace(centered(np.eye(n_classes) if taxonomy is None else taxonomy.covariance()))


def train_once(
    B: NDArray | None, C: float, K: NDArray, labels: NDArray, split: FlowerSplit, tol: float
) -> Trial:
    """Train with a price, the SVM with covariance ``B`` or, without one, one SVM a class against the rest."""
    train, validation = split.train, split.validation
    classifier = (
        OneVsRestClassifier(SVC(C=C, kernel="precomputed", tol=tol))
        if B is None
        else TaxonomicSVM(B=B, C=C, tol=tol)
    )
    classifier.fit(K[np.ix_(train, train)], labels[train])
    right = classifier.predict(K[np.ix_(validation, train)]) == labels[validation]
    gap, iterations = (0.0, 0) if B is None else (classifier.gap_, classifier.n_iter_)
    return Trial(C, float(right.mean()), float(gap), int(iterations), classifier)
