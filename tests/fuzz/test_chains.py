"""Inference on chains and forests with hostile scores, and chain and tree CRFs on hostile features."""

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables, broken_tables, solvable

from ermlab.segmentation import (
    ChainCRF,
    TreeCRF,
    chain_marginals,
    max_sum_chain,
    max_sum_tree,
    tree_marginals,
)
from ermlab.structured import StructuredSVM

BAD_EDGES = {
    "negative": [[0, -1]],
    "beyond": [[0, 99]],
    "largest": [[0, 2**63 - 1]],
    "loop": [[1, 1]],
    "cycle": [[0, 1], [1, 2], [2, 0]],
    "twice": [[0, 1], [0, 1]],
    "floats": [[0.0, 1.0]],
    "text": [["a", "b"]],
    "triples": [[0, 1, 2]],
    "flat": [0, 1],
}


def random_edges(n: int) -> np.ndarray:
    """Return a random tree."""
    rng = np.random.default_rng(n)
    return np.array([[i, rng.integers(i)] for i in range(1, n)], dtype=np.int64).reshape(-1, 2)


def inference() -> Cases:
    """Label every table and find its marginals, with pairwise scores of its size and far from it."""
    for name, unary in all_tables(n=24).items():
        k, edges = unary.shape[1], random_edges(len(unary))
        size = np.abs(unary).max() if unary.size else 1.0
        for scale in (0.0, 1.0, size):
            pairwise = scale * np.random.default_rng(1).normal(size=(k, k))
            case = f"{name}, {scale:.1g}"
            yield f"{case}, chain", lambda u=unary, p=pairwise: vars(max_sum_chain(u, p))
            yield f"{case}, chain marginals", lambda u=unary, p=pairwise: check(chain_marginals(u, p))
            yield f"{case}, tree", lambda u=unary, e=edges, p=pairwise: vars(max_sum_tree(u, e, p))
            yield (
                f"{case}, tree marginals",
                lambda u=unary, e=edges, p=pairwise: check(tree_marginals(u, e, p)),
            )


def check(marginals) -> dict[str, object]:
    """Return the marginals, which must be distributions."""
    np.testing.assert_allclose(marginals.nodes.sum(axis=1), 1.0)
    np.testing.assert_allclose(marginals.edges.sum(axis=(1, 2)), 1.0)
    return vars(marginals)


def broken_edges() -> Cases:
    """Every list of edges is to be refused."""
    unary, pairwise, x = np.zeros((5, 2)), np.zeros((2, 2)), np.zeros((5, 1))
    for name, edges in BAD_EDGES.items():
        yield f"tree, {name}", lambda e=edges: refused(lambda: max_sum_tree(unary, e, pairwise))
        yield f"marginals, {name}", lambda e=edges: refused(lambda: tree_marginals(unary, e, pairwise))
        yield f"task, {name}", lambda e=edges: refused(lambda: TreeCRF(2, 1).predict(np.zeros(6), (x, e)))


def chain_crf() -> Cases:
    """Fit chains cut from every table, by every solver and rescaling."""
    settings = (
        {"solver": "bundle"},
        {"solver": "blocks", "max_iter": 15},
        {"rescaling": "slack"},
        {"penalty": "l1"},
        {"C": 1e9},
        {"C": 1e-9},
    )
    for setting in settings:
        for name, X in all_tables().items():
            yield f"{name}, {setting}", lambda X=X, setting=setting: fit_chains(X, setting)


def fit_chains(X: np.ndarray, setting: dict) -> dict[str, object]:
    """Return what a chain CRF learns from rows in groups of different lengths."""
    y = np.random.default_rng(0).integers(0, 3, len(X))
    cuts = [cut for cut in (1, 2, 9, 20) if cut < len(X)]
    chains, labels = np.split(X, cuts), np.split(y, cuts)
    task = ChainCRF(3, max(X.shape[1], 1))
    model = StructuredSVM(task, **{"max_iter": 100, **setting}).fit(chains, labels)
    assert model.result_.lower_bound <= model.result_.value
    marginals = task.marginals(model.coef_, chains[-1])
    return {"coef_": model.coef_, "score": model.score(chains, labels), "nodes": marginals.nodes}


def tree_crf() -> Cases:
    """Fit a random tree on the rows of every table."""
    for name, X in all_tables(n=12).items():
        yield name, lambda X=X: fit_trees(X)


def fit_trees(X: np.ndarray) -> dict[str, object]:
    """Return what a tree CRF learns."""
    y, sample = np.random.default_rng(0).integers(0, 3, len(X)), (X, random_edges(len(X)))
    model = StructuredSVM(TreeCRF(3, max(X.shape[1], 1)), max_iter=50).fit([sample, sample], [y, y])
    assert model.result_.lower_bound <= model.result_.value
    return {"coef_": model.coef_, "score": model.score([sample], [y])}


def broken_samples() -> Cases:
    """Every broken table is to be refused, also for prediction."""
    task = ChainCRF(2, 4)
    for name, X in broken_tables().items():
        yield name, lambda X=X: refused(lambda: task.predict(np.zeros(task.dimension), X))
    for name, w in {"NaN": np.full(12, np.nan), "short": np.zeros(3), "text": "w", "none": None}.items():
        yield f"w, {name}", lambda w=w: refused(lambda: task.predict(w, np.zeros((2, 4))))


SUBJECTS = {
    "inference": inference,
    "broken_edges": broken_edges,
    "chain_crf": chain_crf,
    "tree_crf": tree_crf,
    "broken_samples": broken_samples,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused_cases = survive(__file__, subject)
    assert [case for case in refused_cases if solvable(case)] == []
