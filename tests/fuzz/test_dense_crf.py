"""Gaussian filters, mean field and dense CRFs on hostile features."""

from itertools import product

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables, broken_tables, solvable

from ermlab import DenseCRF, StructuredSVM
from ermlab.segmentation import ExactGaussianFilter, GaussianFilter, mean_field

#: Features of these tables extend over more widths than a lattice represents, at some of the scales.
WIDE = (
    "unscaled",
    "populations",
    "times 1e7",
    "times 1e9",
    "magnitudes mixed",
    "columns far apart",
    "one row dominates",
)


def filters() -> Cases:
    """Filter every table with every normalization."""
    for name, X in all_tables(n=32).items():
        for normalization, kind in product(
            ("symmetric", "mean", "none"), (GaussianFilter, ExactGaussianFilter)
        ):
            yield (
                f"{name}, {normalization}, {kind.__name__}",
                lambda X=X, normalization=normalization, kind=kind: smooth(X[:, :10], normalization, kind),
            )


def smooth(X: np.ndarray, normalization: str, kind: type) -> list[object]:
    """Return the filtered values of a ramp, which lie between its ends if it is a mean."""
    kernel = kind(X, normalization)
    values = np.linspace(-1, 1, len(X))
    found = kernel.apply(values)
    if normalization == "mean":
        assert np.abs(found).max() <= 1 + 1e-6, "a mean that is outside of the values"
    assert kernel.quadratic_form(values) >= -1e-12 or normalization == "mean", "not positive semidefinite"
    return [found, kernel.mass]


def fields() -> Cases:
    """Unary scores of every table, between points of a plain one."""
    kernels = {n: GaussianFilter(np.random.default_rng(0).normal(size=(n, 3))) for n in (32, 2, 1)}
    for name, X in all_tables(n=32).items():
        for weight, damping in ((0.0, 0.0), (1.0, 0.5), (1e9, 0.0), (1e140, 0.9)):
            yield (
                f"{name}, {weight:g}, {damping}",
                lambda X=X, weight=weight, damping=damping: marginals(
                    X, kernels.get(len(X), kernels[1]), weight, damping
                ),
            )


def marginals(unary: np.ndarray, kernel: GaussianFilter, weight: float, damping: float) -> np.ndarray:
    found = mean_field(unary, [kernel], [weight], damping=damping)
    assert np.abs(found.marginals.sum(axis=1) - 1).max() < 1e-9, "marginals that do not sum to 1"
    return found.marginals


def dense_crf() -> Cases:
    """Train on images whose features, or guide image, are a table."""
    for name, X in all_tables(n=32).items():
        plain = np.random.default_rng(1).normal(size=(len(X), 1, 2))
        for where in ("features", "guide"):
            yield (
                f"{name}, {where}",
                lambda X=X, plain=plain, where=where: fit(
                    *((X[:, None], plain) if where == "features" else (plain, X[:, None, :8]))
                ),
            )
    yield (
        "plain, truth of another shape",
        lambda: refused(lambda: fit(plain, plain, np.zeros((2, 2), dtype=int))),
    )


def fit(features: np.ndarray, guide: np.ndarray, y: np.ndarray | None = None) -> dict[str, object]:
    """Return what a model learned from one image."""
    if y is None:
        y = np.random.default_rng(0).integers(0, 2, features.shape[:2])
    task = DenseCRF(2, features.shape[2] or 1, [1.0, (2.0, 1.0)])
    model = StructuredSVM(task, max_iter=20).fit([(features, guide)], [y])
    assert model.coef_[-2:].min() >= 0, "a kernel of negative weight"
    return {
        "coef_": model.coef_,
        "value": model.result_.value,
        "labels": model.predict([(features, guide)])[0],
    }


SUBJECTS = {"filters": filters, "fields": fields, "dense_crf": dense_crf}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    cases = survive(__file__, subject)
    allowed = () if subject == "fields" else WIDE
    assert [case for case in cases if solvable(case) and case.split(",")[0] not in allowed] == []
    broken = broken_tables()
    assert {case.split(",")[0] for case in cases} >= set(broken) - {"no columns"}
