"""Kernels of histograms, graphs, windows and classes on hostile input."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables
from scipy.sparse import coo_array, csc_array, csr_array, dia_array

from ermlab.kernels import histogram, sparse_histogram
from ermlab.kernels.polynomial import n_features, polynomial_features, polynomial_kernel
from ermlab.kernels.pyramid import PyramidQuantizer, PyramidWL
from ermlab.kernels.slot import SlotMap, score_windows, sum_of_features, window_descriptors
from ermlab.kernels.sparse_histogram import sparse_chi2_distances
from ermlab.kernels.weisfeiler_lehman import (
    SubtreeVocabulary,
    WeisfeilerLehman,
    WeisfeilerLehmanKernel,
    subtree_features,
)
from ermlab.taxonomy import Taxonomy, four_point_violation, tree_covariance, tree_metric, unit_trace
from ermlab.taxonomy.learning import METHODS, hsic, hsic_cov, learn_edge_lengths, learn_taxonomy
from reproduction.experiments.graph_kernels.gaussian_ridge import gaussian_ridge_predictions


def broken_sparse() -> dict[str, csr_array | csc_array | coo_array | dia_array]:
    """Return sparse matrices (3, 3) whose indices scipy has not checked."""
    found: dict[str, csr_array | csc_array | coo_array | dia_array] = {}
    for kind in (csr_array, csc_array):
        for what, bad in (("indices", [0, 1, 3]), ("indices", [0, -1, 2]), ("indptr", [0, 9, 2, 3])):
            matrix = kind(np.eye(3))
            getattr(matrix, what)[:] = bad
            found[f"{matrix.format}, {what} {bad}"] = matrix
    for kind in (csr_array, csc_array):
        matrix = kind(np.eye(3))
        # Small in the other byte order only.
        matrix.indices = np.array([0, 1, 1 << 24], dtype=np.int32).astype(np.dtype(np.int32).newbyteorder())
        found[f"{matrix.format}, other byte order"] = matrix
    diagonals = dia_array(np.eye(3))
    diagonals.data = np.ones((1000, 3))
    matrix = coo_array(np.eye(3))
    matrix.coords[0][:] = [0, 1, 3]
    return {**found, "coo": matrix, "dia": diagonals}


def histograms() -> Cases:
    """All comparisons of histograms, dense and sparse, beside the definition where that is safe."""
    for name, X in all_tables(n=12).items():
        X = np.abs(X)
        yield f"kernels of {name}", lambda X=X: compare_histograms(X)
        yield f"sparse {name}", lambda X=X: sparse_histogram.sparse_chi2_kernel(csr_array(X), csr_array(X))
        yield f"frame of {name}", lambda X=X: histogram.chi2_kernel(pd.DataFrame(X), X.tolist())
        yield f"scale of {name}", lambda X=X: histogram.median_gamma(X)
        yield f"exponential of {name}", lambda X=X: histogram.exponential_chi2_kernel(X, gamma=1e300)
        yield f"Gaussian of {name}", lambda X=X: gaussian_of(X)
    yield "negative", lambda: refused(lambda: histogram.chi2_kernel([[-1.0, 2.0]]))
    yield "no rows beside some", lambda: histogram.chi2_kernel(np.empty((0, 3)), np.ones((2, 3)))
    for name, matrix in broken_sparse().items():
        eye = csr_array(np.eye(3))
        yield (
            f"sparse, {name}",
            lambda A=matrix, B=eye: refused(lambda: sparse_histogram.sparse_chi2_kernel(A, B)),
        )
        yield (
            f"sparse Y, {name}",
            lambda A=eye, B=matrix: refused(lambda: sparse_histogram.sparse_chi2_kernel(A, B)),
        )
        yield (
            f"distances, {name}",
            lambda A=matrix: refused(lambda: sparse_chi2_distances(A)),
        )
    # Sizes at the edge of a block of rows.
    for n in (sparse_histogram.BLOCK - 1, sparse_histogram.BLOCK, sparse_histogram.BLOCK + 1):
        yield (
            f"{n} rows",
            lambda n=n: sparse_chi2_distances(np.ones((2, 1)), np.ones((n, 1))),
        )


def compare_histograms(X: np.ndarray) -> list[np.ndarray]:
    """Check the dense kernels against each other: k = (sum x + sum y - D) / 2 and k(x, x) = sum x."""
    kernel, distances = histogram.chi2_kernel(X), histogram.chi2_distances(X)
    sparse, smaller = sparse_chi2_distances(csr_array(X)), histogram.intersection_kernel(X)
    sums = X.sum(axis=1)
    atol = 1e-12 * sums.max(initial=0.0) + 1e-320  # denormal numbers are rounded to whole steps
    np.testing.assert_allclose(np.diag(kernel), sums, rtol=1e-12, atol=atol)
    np.testing.assert_allclose(np.diag(smaller), sums, rtol=1e-12, atol=atol)
    np.testing.assert_allclose(distances, sums[:, None] + sums - 2 * kernel, rtol=1e-9, atol=10 * atol)
    np.testing.assert_allclose(sparse, distances, rtol=1e-9, atol=10 * atol)
    return [kernel, distances, sparse, smaller]


def gaussian_of(X: np.ndarray) -> np.ndarray:
    """Return the generalised Gaussian kernel with the median distance."""
    distances = sparse_chi2_distances(X)
    return sparse_histogram.generalized_gaussian(distances, sparse_histogram.median_distance(distances))


def slots() -> Cases:
    """Windows of grids with slots, places and weights of all kinds."""
    rng = np.random.default_rng(0)
    window = (2, 3)
    for name, X in all_tables(n=24).items():
        descriptors = np.tile(X, (1, 6))
        yield f"slots of {name}", lambda D=descriptors: assign_everywhere(D, window)
    grid, weights = rng.normal(size=(2, 5, 6, 2)).astype(np.float32), rng.normal(size=(3, 13))
    places = np.zeros((2, 4, 4), dtype=np.int64)
    scored = {
        "plain": (weights, grid, places),
        "Fortran order": (np.asfortranarray(weights), np.asfortranarray(grid), np.asfortranarray(places)),
        "read-only": (*(frozen(values) for values in (weights, grid, places)),),
        "other byte order": (weights.astype(">f8"), grid.astype(">f4"), places.astype(">i4")),
        "unsigned": (weights, grid, places.astype(np.uint64)),
        "lists": (weights.tolist(), grid.tolist(), places.tolist()),
    }
    for name, (w, cells, which) in scored.items():
        yield f"scores, {name}", lambda w=w, g=cells, q=which: score_windows(w, g, q, window)
    wrong = {
        "slot 3": (weights, grid, places + 3),
        "slot -1": (weights, grid, places - 1),
        "slots of floats": (weights, grid, places + 0.5),
        "NaN in the grid": (weights, np.where(grid > 1, np.nan, grid), places),
        "infinite weight": (weights + np.inf, grid, places),
        "no weights": (weights[:0], grid, places),
        "weights cut": (weights.ravel()[:-1], grid, places),
        "no channels": (weights, grid[..., :0], places),
        "too large for float32": (weights, 1e300 * grid.astype(np.float64), places),
    }
    for name, (w, cells, which) in wrong.items():
        yield (
            f"scores, {name}",
            lambda w=w, g=cells, q=which: refused(lambda: score_windows(w, g, q, window)),
        )
    one = [np.array([value]) for value in (1, 3, 3, 2)]
    for axis, value in ((0, 2), (0, -1), (1, 4), (1, -1), (2, 4), (2, -1), (3, 3), (3, -1)):
        bad = [np.array([value]) if i == axis else place for i, place in enumerate(one)]
        yield (
            f"sum, entry {axis} is {value}",
            lambda p=bad: refused(lambda: sum_of_features(grid, tuple(p[:3]), p[3], [1.0], 3, window)),
        )
    yield "sum", lambda: sum_of_features(grid, tuple(one[:3]), one[3], [1.0], 3, window)
    yield "sum of nothing", lambda: sum_of_features(grid, ([], [], []), [], [], 3, window)
    for rows, columns in (([4], [0]), ([-1], [0]), ([0], [4]), ([0], [-1]), ([0, 1], [0]), ([0.5], [0])):
        yield (
            f"descriptors at {rows}, {columns}",
            lambda r=rows, c=columns: refused(lambda: window_descriptors(grid[0], r, c, window)),
        )
    for bad in ((0, 3), (-1, -1), (2.5, 3), (np.nan, 1), (9, 9)):
        yield f"window {bad}", lambda b=bad: refused(lambda: score_windows(weights, grid, places, b))
        yield f"fit, window {bad}", lambda b=bad: refused(lambda: SlotMap(2, 0, b).fit(np.ones((4, 13))))


def frozen(values: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    values = values.copy()
    values.setflags(write=False)
    return values


def assign_everywhere(descriptors: np.ndarray, window: tuple[int, int]) -> list[np.ndarray]:
    """Fit slots, and assign windows of a grid: each goes to a nearest centre."""
    slots = SlotMap(min(3, max(len(descriptors), 1)), 0, window).fit(descriptors)
    n_channels = slots.centers_.shape[1] // 6
    grid = np.resize(descriptors, (4, 5, n_channels))
    found = slots.assign_windows(grid)
    own = window_descriptors(grid, *(axis.ravel() for axis in np.indices(found.shape)), window)
    distances = np.square(own[:, None].astype(np.float64) - slots.centers_).sum(axis=2)
    chosen = distances[np.arange(len(own)), found.ravel()]
    assert (chosen <= distances.min(axis=1) * (1 + 1e-9)).all(), "not the nearest centre"
    slots.set_params(n_slots=1)
    np.testing.assert_array_equal(slots.assign_windows(grid), found)
    return [slots.centers_, slots.assign(descriptors), found]


def graphs(seed: int) -> dict[str, tuple[object, Sequence[int]]]:
    """Return graphs, each with the labels of its nodes."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 40, size=(60, 2))
    complete = csr_array(np.ones((33, 33)))  # one node more than are sorted by insertion
    star = np.column_stack([np.zeros(99, dtype=np.int64), np.arange(1, 100)])
    return {
        "random": (edges, rng.integers(0, 3, 40)),
        "no nodes": (np.empty((0, 2), dtype=np.int64), []),
        "no edges": (np.empty((0, 2), dtype=np.int64), np.zeros(33, dtype=np.int64)),
        "one node": ([], [7]),
        "self loops": ([[0, 0], [1, 1], [0, 1]], [0, 0]),
        "edges twice": ([[0, 1], [0, 1], [1, 0]], [1, 0]),
        "complete": (complete, np.arange(33)),
        "star": (star, np.zeros(100, dtype=np.int64)),
        "largest labels": ([[0, 1]], [np.iinfo(np.int64).max, np.iinfo(np.int64).min]),
        "unsigned labels": ([[0, 1]], np.array([2**63 - 1, 0], dtype=np.uint64)),
        "labels of floats": ([[0, 1]], [1e18, -0.0]),
        "labels of truths": ([[0, 1]], [True, False]),
        "stored zeros": (csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2)), [0, 1]),
        "other byte order": (edges.astype(">i4"), np.zeros(40, dtype=">i8")),
        "frames": (pd.DataFrame(edges), pd.Series(np.zeros(40, dtype=np.int64))),
    }


def wrong_graphs() -> dict[str, tuple[object, object]]:
    """Return graphs and labels that are to be refused."""
    found: dict[str, tuple[object, object]] = {
        "node out of range": ([[0, 2]], [0, 0]),
        "node below 0": ([[0, -1]], [0, 0]),
        "one way": (csr_array(([1.0], ([0], [1])), shape=(2, 2)), [0, 0]),
        "NaN": (csr_array(([np.nan, np.nan], ([0, 1], [1, 0])), shape=(2, 2)), [0, 0]),
        "complex": (csr_array(np.ones((2, 2), dtype=np.complex128)), [0, 0]),
        "label too large": ([[0, 1]], [1e300, 2e300]),
        "label NaN": ([[0, 1]], [np.nan, 0]),
        "label infinite": ([[0, 1]], [np.inf, 0]),
        "labels a number": ([[0, 1]], 3),
        "labels too few": (csr_array(np.ones((2, 2))), [0]),
        "edges of floats": ([[0.0, 1.0]], [0, 0]),
    }
    return {**found, **{name: (matrix, [0, 0, 0]) for name, matrix in broken_sparse().items()}}


def weisfeiler_lehman() -> Cases:
    """Features of graphs, alone and all together; counts of a height sum to the nodes."""
    for seed in range(4):
        everything = list(graphs(seed).values())
        yield f"all, seed {seed}", lambda X=everything: count_patterns(X)
        yield (
            f"kernel, seed {seed}",
            lambda X=everything: WeisfeilerLehmanKernel(2, True).fit(X).transform(X[::-1]),
        )
    for name, sample in graphs(0).items():
        yield name, lambda X=[sample]: count_patterns(X)
        yield f"{name}, unknown", lambda X=[sample]: WeisfeilerLehman(3).fit([([], [5])]).transform(X)
    for name, sample in wrong_graphs().items():
        yield name, lambda X=[sample]: refused(lambda: WeisfeilerLehman(1).fit(X))
        yield f"pyramid, {name}", lambda X=[sample]: PyramidWL(1).fit_transform(X)
    unsigned = ([[0, 1]], np.array([2**64 - 1, 0], dtype=np.uint64))
    yield "labels of 64 bits", lambda: count_patterns([unsigned])
    yield "labels of 64 bits and below 0", lambda: refused(lambda: count_patterns([unsigned, ([], [-1])]))
    vocabulary, _ = SubtreeVocabulary.learn([[[0, 1]]], [[0, 1]], 1)
    yield "other graphs than labels", lambda: refused(lambda: vocabulary.count([[[0, 1]]], [[0, 1], [2]]))
    for h in (-1, 1.5, None, True):
        yield f"h={h}", lambda h=h: refused(lambda: WeisfeilerLehman(h).fit([([[0, 1]], [0, 0])]))


def count_patterns(X: list[tuple[object, object]]) -> list[object]:
    """Return the counts, by one and by several threads."""
    counts = subtree_features([graph for graph, _ in X], [labels for _, labels in X], 3, 1)
    threads = subtree_features([graph for graph, _ in X], [labels for _, labels in X], 3, 4)
    assert (counts != threads).nnz == 0, "the result depends on the number of threads"
    np.testing.assert_array_equal(counts.sum(axis=1), [4 * len(labels) for _, labels in X])
    return [counts, WeisfeilerLehman(2, normalize=True).fit_transform(X)]


def pyramids() -> Cases:
    """Nested quantisations: bins of a level are all used, and each level refines the one before."""
    for name, X in all_tables(n=40).items():
        for standardize in (False, True):
            for columns in (1, X.shape[1]):
                yield (
                    f"{name}, {columns} columns, standardize={standardize}",
                    lambda X=X[:, :columns], s=standardize: quantise(X, standardize=s),
                )
        yield f"{name}, thinned out", lambda X=X: quantise(X, max_values=5, nested=False)
    # With the last seeds rounding makes a chain of nearest neighbours meet itself.
    for d, more in ((3, ()), (9, (1255,)), (14, (144,)), (20, (386,))):
        for seed in (*range(20), *more):
            rng = np.random.default_rng(seed)
            # Points of equal distance: every pair costs the same, but for rounding.
            corners = np.vstack([np.eye(d), -np.eye(d)]) * rng.random() + rng.random(d)
            yield f"corners in {d}, seed {seed}", lambda X=corners: quantise(X)
    grid = np.array(np.meshgrid(*[np.arange(4)] * 3)).reshape(3, -1).T / 3
    yield "grid", lambda: quantise(grid)
    for n in (2047, 2048, 2049, 4097):
        line = np.column_stack([np.arange(n) % 64, np.arange(n) // 64]).astype(np.float64)
        yield f"{n} points in blocks", lambda X=line: quantise(X, max_values=16, nested=False)


def quantise(
    X: np.ndarray, *, standardize: bool = False, max_values: int = 4096, nested: bool = True
) -> object:
    """Check that level l has min(2^l, D) bins, and what is not one of the training values."""
    model = PyramidQuantizer(max_values, standardize).fit(X)
    n_points = model.bins_[-1].max() + 1
    for level, (bins, finer) in enumerate(zip(model.bins_, [*model.bins_[1:], model.bins_[-1]], strict=True)):
        expected = min(2**level, n_points)
        assert set(bins.tolist()) == set(range(expected)), f"level {level} has not {expected} bins"
        assert not nested or len(set(zip(bins, finer, strict=True))) == finer.max() + 1, (
            f"level {level} is cut"
        )
    with np.errstate(over="ignore"):
        between = X / 2 + X[::-1] / 2
    return [model.centroids_, model.transform(X), model.transform(between)]


def taxonomies() -> Cases:
    """Trees learned from kernels and fitted to distances."""
    for name, X in all_tables(n=12).items():
        y = np.arange(len(X)) % 4
        with np.errstate(over="ignore", invalid="ignore"):
            K = X @ X.T
        for method in METHODS:
            yield f"{name}, {method}", lambda K=K, y=y, method=method: learn_tree(K, y, method)
        yield f"{name}, frame", lambda K=K, y=y: learn_tree(pd.DataFrame(K), pd.Series(y), "projection")
        yield f"{name}, criterion", lambda K=K, y=y: [hsic(K, K), hsic_cov(K, y, np.eye(4))]
        yield f"{name}, distances", lambda K=K: [tree_metric(K), four_point_violation(K), unit_trace(K)]
        yield (
            f"{name}, polynomials",
            lambda X=X: [polynomial_kernel(X, X, 3), polynomial_features(X[:, :4], 3)],
        )
        yield (
            f"{name}, ridge",
            lambda X=X: gaussian_ridge_predictions(
                X, np.arange(len(X)), X[::-1], [1e-3, 1.0, 1e3], [1e-9, 1.0]
            ),
        )
    for k in (1, 2, 3, 8):
        for kind, M in (
            ("zeros", np.zeros((k, k))),
            ("equal", 1.0 - np.eye(k)),
            ("tiny", 5e-324 * (1 - np.eye(k))),
        ):
            for method, fitted in METHODS.items():
                names = [f"c{i}" for i in range(k)]
                yield f"{k} leaves, {kind}, {method}", lambda M=M, n=names, f=fitted: f(M, n).metric()
    for text in (
        "",
        ";",
        "(",
        "(a,b",
        "(a,b));",
        "((((",
        "a:nan;",
        "(a:inf,b);",
        "(a:1e308,b:1e308);",
        "('a,b);",
        "[",
        "(a,a);",
    ):
        yield f"newick {text!r}", lambda text=text: refused(lambda: Taxonomy.from_newick(text))
    deep = "(" * 3000 + "a" + ",b)" * 3000 + ";"
    yield "newick, deep and not named well", lambda: refused(lambda: Taxonomy.from_newick(deep))
    yield "monomials of 3000 columns", lambda: n_features(3000, 2)
    yield "features of 1500 columns", lambda: polynomial_features(np.ones((1, 1500)), 2)
    yield "too many monomials", lambda: refused(lambda: polynomial_features(np.ones((1, 1000)), 5))
    yield "degree too high", lambda: refused(lambda: polynomial_features(np.ones((1, 1)), 3000))
    yield "root out of range", lambda: refused(lambda: tree_covariance(np.zeros((2, 2)), 2))


def learn_tree(K: np.ndarray, y: np.ndarray, method: str) -> list[object]:
    """Return the tree and the lengths of its edges."""
    tree = learn_taxonomy(K, y, ["a", "b", "c", "d"], method)
    return [tree.lengths, tree.metric(), learn_edge_lengths(K, y, tree).lengths]


# Few child processes, as each takes seconds to start.
SUBJECTS = {
    "vectors": lambda: chain(histograms(), slots()),
    "graphs": lambda: chain(weisfeiler_lehman(), pyramids()),
    "taxonomies": taxonomies,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
