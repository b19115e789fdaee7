"""Train joint kernel support estimation on many pairs as a two-class SVM (rule evaluate_support_at_scale).

Pairs are histograms of visual words with one of several classes as output; the joint feature has the
histogram at the place of the class, so that the kernel of two pairs is that of their histograms if they have
the same class, and 0 otherwise. No kernel value is negative, as section 3.1.4 asks.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import OneClassSVM

from ermlab.structured.jkse import mirrored_svm, one_class_weights
from reproduction.claims.results import write_results
from reproduction.pipeline.job import Paths, run_stage

Vector = NDArray[np.float64]
N_CLASSES, N_WORDS = 10, 30
#: Words in a histogram, and pairs held out.
LENGTH, HELD_OUT = 10, 2000
#: C is this number over the number of pairs, so that the corresponding nu hardly depends on it.
TOTAL_C = 30.0
TOL = 1e-3
#: Numbers of pairs with which the one-class SVM of libSVM is timed.
LIBSVM_SIZES = (1_000, 3_000, 10_000)
#: Pairs, and values of C times their number, for which both hyperplanes are compared.
COMPARED, COMPARED_C = 300, (15.0, 30.0, 60.0, 240.0)


@dataclass(frozen=True)
class PairsOfClasses:
    """Histograms of unit length, and the class of each."""

    histograms: Vector
    classes: NDArray[np.int64]

    def features(self) -> csr_array:
        """Return the joint feature of each pair, one sparse row per pair."""
        n, d = self.histograms.shape
        columns = (self.classes[:, None] * d + np.arange(d)).astype(np.int32)
        starts = np.arange(0, n * d + 1, d, dtype=np.int32)
        return csr_array((self.histograms.ravel(), columns.ravel(), starts), shape=(n, N_CLASSES * d))

    def accuracy(self, v: Vector) -> float:
        """Return the share of histograms whose best output is their class (thesis, eq. 3.4)."""
        scores = self.histograms @ v.reshape(N_CLASSES, -1).T
        return float(np.mean(scores.argmax(axis=1) == self.classes))


def main(inputs: Paths, outputs: Paths, *, seed: int, sizes: Sequence[int]) -> None:
    """Compare the hyperplanes of both SVMs on few pairs, and train on each of ``sizes``."""
    differences, nus = compare_hyperplanes(draw_pairs(COMPARED, seed))
    mirrored_svm(draw_pairs(10, seed).features(), TOTAL_C / 10)  # compiled before it is timed
    held_out = draw_pairs(HELD_OUT, seed + 1)
    rows = [_train(draw_pairs(n, seed), held_out) for n in sizes]
    gaps, passes, accuracies, nus_at_sizes, seconds = (list(column) for column in zip(*rows, strict=True))
    libsvm = [_libsvm_seconds(draw_pairs(n, seed), nus_at_sizes[0]) for n in LIBSVM_SIZES]
    write_results(
        Path(outputs["values"]).parent,
        {
            "compared_nu": nus,
            "hyperplane_difference_max": max(differences),
            "sizes": sizes,
            "largest": {"pairs": sizes[-1], "gap": gaps[-1]},
            "gaps": gaps,
            "passes": passes,
            "accuracy": accuracies,
            "nu": nus_at_sizes,
            "libsvm_sizes": LIBSVM_SIZES,
        },
        timings={"seconds": seconds, "libsvm_seconds": libsvm},
    )


def draw_pairs(n: int, seed: int) -> PairsOfClasses:
    """Draw ``n`` pairs; the frequencies of words in each class are the same for all seeds."""
    frequencies = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.5), size=N_CLASSES)
    rng = np.random.default_rng([seed, n])
    classes = rng.integers(N_CLASSES, size=n)
    counts = rng.poisson(LENGTH * frequencies[classes]).astype(np.float64)
    counts[counts.sum(axis=1) == 0, 0] = 1.0
    return PairsOfClasses(counts / np.linalg.norm(counts, axis=1, keepdims=True), classes)


def compare_hyperplanes(pairs: PairsOfClasses) -> tuple[list[float], list[float]]:
    """Return the distances of the unit normals of the two-class and the one-class SVM, and each nu.

    For each C the one-class SVM has the nu to which it corresponds (section 3.1.4).
    """
    features = pairs.features()
    K = (features @ features.T).toarray()
    differences, nus = [], []
    for total in COMPARED_C:
        two_class = mirrored_svm(features, total / len(K), tol=1e-10, max_iter=100_000)
        nu = min(float(two_class.alpha.sum()) / total, 1.0)
        w = features.T @ one_class_weights(K, nu, tol=1e-10)[0]
        differences.append(
            float(np.linalg.norm(two_class.v / np.linalg.norm(two_class.v) - w / np.linalg.norm(w)))
        )
        nus.append(nu)
    return differences, nus


def _train(pairs: PairsOfClasses, held_out: PairsOfClasses) -> tuple[float, int, float, float, float]:
    """Return relative gap, passes, accuracy on held-out pairs, nu and processor seconds of training."""
    features = pairs.features()
    began = time.process_time()
    model = mirrored_svm(features, TOTAL_C / len(pairs.classes), tol=TOL)
    seconds = time.process_time() - began
    return model.gap, model.passes, held_out.accuracy(model.v), float(model.alpha.sum()) / TOTAL_C, seconds


def _libsvm_seconds(pairs: PairsOfClasses, nu: float) -> float:
    model = OneClassSVM(kernel="linear", nu=nu, tol=TOL)
    features = csr_matrix(pairs.features())
    began = time.process_time()
    model.fit(features)
    return time.process_time() - began


if "snakemake" in globals():
    run_stage(main, snakemake)
