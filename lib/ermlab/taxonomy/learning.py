"""Taxonomies learned from samples by the Hilbert-Schmidt independence criterion (thesis, section 5.2.5).

The classes ``y`` of n samples are integers 0 to k - 1, names of leaves, or an indicator matrix (n, k) for
samples with several classes or none. With ``Pi`` (k, n) the indicators and ``H = I - 11'/n``, the criterion
depends on the kernel matrix only through ``S = Pi H K H Pi'``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ermlab._utils.validation import check_choice
from ermlab.taxonomy.tree import Taxonomy
from ermlab.taxonomy.tree_fitting import average_linkage, nearest_tree, neighbor_joining
from ermlab.taxonomy.tree_matrices import LARGEST, Matrix, checked_symmetric, tree_metric

METHODS = {
    "projection": nearest_tree,
    "neighbor_joining": neighbor_joining,
    "average_linkage": average_linkage,
}
_BLOCK = 1024
#: Largest asymmetry of a kernel matrix, relative to its largest entry; single precision has 6e-8.
_ASYMMETRY = 1e-5
#: Numbers smaller than this, relative to those they are computed from, count as 0.
_NOTHING = 1e-10


def hsic(K: ArrayLike, L: ArrayLike) -> float:
    """Compute ``Tr[H K H L]`` (eq. 5.31), n^2 times the squared norm of the cross-covariance operator."""
    K, L = _checked_kernel(K), _checked_kernel(L, "L")
    if len(K) != len(L):
        raise ValueError(f"K has {len(K)} samples and L {len(L)}: expected the same number")
    with np.errstate(over="ignore", invalid="ignore"):
        rows = K - K.mean(axis=0)
        value = float(np.sum((rows - rows.mean(axis=1, keepdims=True)) * L))
    return _finite(value, "Tr[H K H L]")


def hsic_cov(K: ArrayLike, y: ArrayLike, B: ArrayLike) -> float:
    """Compute ``Tr[H K H Pi' B Pi]`` (eq. 5.32), the dependence on classes of covariance B."""
    B = checked_symmetric(B, "B")
    S = class_covariance(K, y, n_classes=len(B))
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.sum(S * B))
    return _finite(value, "Tr[S B]")


def class_covariance(K: ArrayLike, y: ArrayLike, n_classes: int | None = None) -> Matrix:
    """Compute ``S = Pi H K H Pi'`` (k, k), inner products of the class sums in centered feature space."""
    return _between(K, _indicators(y, n_classes=n_classes))


def learn_edge_lengths(K: ArrayLike, y: ArrayLike, taxonomy: Taxonomy) -> Taxonomy:
    """Learn the edge lengths that maximize HSIC for a given norm of the lengths.

    They are ``D* ~ diag[V' Pi H K H Pi' V]`` (eq. 5.34, with ``Pi`` transposed so that the dimensions match),
    scaled to a mean variance of 1 of the classes.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.
    y : array-like of shape (n_samples,) or (n_samples, n_classes)
        Classes: indices or names of leaves of the tree, or indicators.
    taxonomy : Taxonomy
        The tree.

    Returns
    -------
    Taxonomy
        The same tree with other edge lengths.
    """
    V = taxonomy.partition_matrix()
    K = np.asarray(K)
    S = _between(K, _indicators(y, taxonomy.names))
    # Rounding may make the length of the edge above the root, which is 0, negative.
    lengths = np.maximum(np.einsum("cm,cd,dm->m", V, S, V), 0)
    mean_variance = (V @ lengths).mean()
    if not mean_variance > _NOTHING * np.abs(K).max():
        raise ValueError("all edge lengths are 0: expected a kernel that depends on the classes")
    return taxonomy.with_lengths(lengths / mean_variance)


def optimal_covariance(K: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None) -> Matrix:
    """Compute the covariance of the classes that maximizes HSIC relative to the norm of the output kernel.

    The maximizer of ``Tr[S B] / sqrt(Tr[G B G B])`` with ``G = Pi H Pi'`` is ``G^+ S G^+`` (Blaschko and
    Gretton, 2009). For samples with one class each its entries are inner products of the centered class
    means, and its distances are the squared distances of the class means.
    """
    Pi = _indicators(y, names)
    A = Pi - Pi.mean(axis=1, keepdims=True)
    # Singular if each sample has one class, as the indicators then sum to 1.
    inverse = np.linalg.pinv(A @ A.T, rcond=_NOTHING, hermitian=True)
    B = inverse @ _between(K, Pi) @ inverse
    return (B + B.T) / 2


def learn_taxonomy(
    K: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None, method: str = "projection"
) -> Taxonomy:
    """Learn a taxonomy of the classes from a kernel matrix of samples.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.
    y : array-like of shape (n_samples,) or (n_samples, n_classes)
        Classes of the samples, or indicators; each class has at least one sample.
    names : sequence of str, default=None
        Names of the classes in the order of their numbers. By default the columns of ``y`` if it is a
        DataFrame, or the sorted distinct classes of ``y`` if these are names.
    method : {"projection", "neighbor_joining", "average_linkage"}, default="projection"
        Fit of a tree to the distances of `optimal_covariance`, see `ermlab.taxonomy.tree_fitting`. The error
        of ``"projection"`` is at most three times the smallest possible one.

    Returns
    -------
    Taxonomy
    """
    check_choice("method", method, METHODS)
    K, names = np.asarray(K), _class_names(y) if names is None else list(names)
    M = tree_metric(optimal_covariance(K, y, names))
    if not M.max() > _NOTHING * np.abs(K).max():
        raise ValueError("all classes have the same mean: expected a kernel that depends on the classes")
    np.fill_diagonal(M, 0)
    return METHODS[method](np.maximum(M, 0), names)


def _class_names(y: ArrayLike) -> list[str]:
    """Return the names of the classes in ``y``, or raise a ValueError if there are none."""
    if np.ndim(y) == 2 and hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    classes = _text(np.asarray(y))
    if classes.ndim != 1 or classes.dtype.kind != "U":
        raise ValueError(f"y is of type {classes.dtype} and has no names of classes: expected names")
    return np.unique(classes).tolist()


def _text(y: np.ndarray) -> np.ndarray:
    """Return an array of objects that are all strings, as in pandas, as an array of strings."""
    is_text = y.dtype.kind in "OT" and y.size and all(isinstance(name, str) for name in y.ravel().tolist())
    return y.astype(str) if is_text else y


def _between(K: ArrayLike, Pi: Matrix) -> Matrix:
    """Compute ``Pi H K H Pi'`` without a centered copy of K."""
    K = _checked_kernel(K)
    if len(K) != Pi.shape[1]:
        raise ValueError(f"K has {len(K)} samples and y {Pi.shape[1]}: expected the same number")
    A = Pi - Pi.mean(axis=1, keepdims=True)
    products = np.zeros_like(A)
    for start in range(0, len(K), _BLOCK):
        rows = slice(start, start + _BLOCK)
        products += A[:, rows] @ K[rows].astype(np.float64, copy=False)
    S = products @ A.T
    return (S + S.T) / 2


def _indicators(y: ArrayLike, names: Sequence[str] | None = None, n_classes: int | None = None) -> Matrix:
    """Return Pi (k, n), with at least one sample of each class."""
    y = _text(np.asarray(y))
    n_classes = len(names) if names is not None else n_classes
    if y.ndim == 2:
        try:
            Pi = np.asarray(y, dtype=np.float64).T
        except TypeError as error:
            raise ValueError(f"y: {error}; expected indicators (n, k)") from error
        if not np.isin(Pi, (0, 1)).all():
            raise ValueError("y is a matrix with other entries than 0 and 1: expected indicators (n, k)")
    elif y.ndim == 1 and len(y):
        labels = _numbers(y, names)
        # More classes than samples are a mistake, and would need a large matrix.
        if n_classes is None and labels.max() >= len(labels):
            raise ValueError(f"y goes up to {labels.max()}: expected at most {len(labels) - 1}")
        Pi = np.eye(n_classes or int(labels.max()) + 1)
        if labels.min() < 0 or labels.max() >= len(Pi):
            raise ValueError(f"y goes from {labels.min()} to {labels.max()}: expected 0 to {len(Pi) - 1}")
        Pi = Pi[:, labels]
    else:
        raise ValueError(f"y has shape {y.shape}: expected (n,) classes or (n, k) indicators")
    if n_classes not in (None, len(Pi)):
        raise ValueError(f"y has {len(Pi)} classes: expected {n_classes}")
    empty = np.flatnonzero(Pi.sum(axis=1) == 0)
    if len(empty):
        which = empty.tolist() if names is None else [names[c] for c in empty]
        raise ValueError(f"classes {which} have no sample: expected at least one of each")
    return Pi


def _numbers(y: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Return the classes as numbers."""
    if np.issubdtype(y.dtype, np.integer):
        return y
    if y.dtype.kind == "U" and names is not None:
        unknown = sorted(set(y.tolist()) - set(names))
        if unknown:
            raise ValueError(f"y has the classes {unknown}: expected those of {', '.join(names)}")
        places = {name: number for number, name in enumerate(names)}
        return np.array([places[name] for name in y.tolist()])
    raise ValueError(f"y is of type {y.dtype}: expected whole numbers, or names of classes")


def _checked_kernel(K: ArrayLike, name: str = "K") -> Matrix:
    """Return a square symmetric matrix of finite numbers, checked in blocks as kernel matrices are large."""
    K = np.asarray(K)
    if K.dtype.kind not in "biufO":
        raise ValueError(f"{name} is of type {K.dtype}: expected real numbers")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise ValueError(f"{name} has shape {K.shape}: expected a square kernel matrix")
    if K.dtype not in (np.float32, np.float64):
        try:
            K = K.astype(np.float64)
        except TypeError as error:
            raise ValueError(f"{name}: {error}; expected real numbers") from error
    largest = max(float(K.max()), -float(K.min()))
    if LARGEST < largest < np.inf:
        raise ValueError(f"{name} has entries up to {largest:.3g}: expected at most {LARGEST:g}")
    for start in range(0, len(K), _BLOCK):
        rows = slice(start, start + _BLOCK)
        if not np.isfinite(K[rows]).all():
            row, column = np.argwhere(~np.isfinite(K[rows]))[0]
            place = (start + int(row), int(column))
            raise ValueError(f"{name} is {K[place]} at {place}: expected finite numbers")
        with np.errstate(over="ignore"):  # single precision
            gap = np.abs(K[rows] - K[:, rows].T).max()
        if gap > _ASYMMETRY * largest:
            raise ValueError(f"{name} differs from its transpose by {gap:.3g}: expected a symmetric matrix")
    return K


def _finite(value: float, name: str) -> float:
    if not np.isfinite(value):
        raise ValueError(f"{name} is {value}: expected kernels whose products are finite, scale them down")
    return value
