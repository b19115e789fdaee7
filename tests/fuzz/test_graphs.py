"""Flows and inference on graphs with hostile numbers, and CRFs on graphs and grids with hostile features."""

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables, broken_tables, solvable
from hostile_weights import hostile_weights

from ermlab.segmentation import (
    GraphCRF,
    GridCRF,
    ImageSegmenter,
    Labeling,
    alpha_expansion,
    contrast_features,
    graph_cut,
    labeling_score,
    lp_relaxation,
    max_flow,
    tree_reweighted,
)
from ermlab.structured import StructuredSVM

METHODS = {"expansion": alpha_expansion, "messages": tree_reweighted, "lp": lp_relaxation}
BAD_EDGES = {
    "negative": [[0, -1]],
    "beyond": [[0, 99]],
    "largest": [[0, 2**63 - 1]],
    "loop": [[1, 1]],
    "floats": [[0.0, 1.0]],
    "text": [["a", "b"]],
    "triples": [[0, 1, 2]],
    "flat": [0, 1],
}


def random_edges(n: int) -> np.ndarray:
    """Return edges of a graph with cycles, some of them parallel."""
    if n < 2:
        return np.zeros((0, 2), dtype=np.int64)
    rng = np.random.default_rng(n)
    i = rng.integers(0, n, 2 * n)
    return np.column_stack([i, (i + rng.integers(1, n, 2 * n)) % n])


def flows() -> Cases:
    """Push flow through hostile capacities: the cut separates, and the flow stays within the capacities."""
    for n in (1, 2, 30):
        edges = random_edges(n)
        for name, weights in hostile_weights(2 * n + 2 * len(edges), np.random.default_rng(n)).items():
            sizes = np.abs(weights)
            yield f"flow, {name}, {n} nodes", lambda w=sizes, e=edges, n=n: push(w, e, n)
            if np.any(weights < 0):
                signed = f"flow, {name}, {n} nodes, negative"
                yield signed, lambda w=weights, e=edges, n=n: refused(lambda: push(w, e, n))


def push(weights: np.ndarray, edges: np.ndarray, n: int) -> dict[str, object]:
    """Return a maximum flow, after a check of its edges."""
    source, sink, forward, backward = np.split(weights, [n, 2 * n, 2 * n + len(edges)])
    found = max_flow(source, sink, edges, forward, backward)
    assert (found.edge_flow <= forward).all()
    assert (found.edge_flow >= -backward).all()
    assert found.source_side.shape == (n,)
    return vars(found)


def inference() -> Cases:
    """Label every table, with pairwise scores of its size and far from it."""
    for name, unary in all_tables(n=20).items():
        k, edges = unary.shape[1], random_edges(len(unary))
        size = np.abs(unary).max() if unary.size else 1.0
        for scale in (0.0, 1.0, size):
            pairwise = scale * np.random.default_rng(1).normal(size=(k, k))
            for method, infer in METHODS.items():
                if method == "lp" and k > 10:
                    continue  # a hundred thousand variables
                yield (
                    f"{name}, {scale:.1g}, {method}",
                    lambda f=infer, u=unary, e=edges, p=pairwise: check(f(u, e, p), u, e, p),
                )
            if k > 1:
                potts = abs(scale) * np.eye(2)
                yield (
                    f"{name}, {scale:.1g}, cut",
                    lambda u=unary[:, :2], e=edges, p=potts: check(graph_cut(u, e, p), u, e, p),
                )


def check(found: Labeling, unary: np.ndarray, edges: np.ndarray, pairwise: np.ndarray) -> dict[str, object]:
    """Return a labeling, whose score must be right and not above its bound nor below that of no choice."""
    error = 1e-9 * (np.abs(unary).max() + np.abs(pairwise).max()) * (len(unary) + len(edges))
    assert found.score <= found.bound, "the bound is below the score"
    assert abs(found.score - labeling_score(unary, edges, pairwise, found.labels)) <= error
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(0, unary.shape[1], len(unary))
        assert labeling_score(unary, edges, pairwise, labels) <= found.bound + error, "the bound is not valid"
    return vars(found)


def broken_edges() -> Cases:
    """Every list of edges is to be refused."""
    unary, pairwise, x = np.zeros((5, 2)), np.zeros((2, 2)), np.zeros((5, 1))
    for name, edges in BAD_EDGES.items():
        for method, infer in {**METHODS, "cut": graph_cut}.items():
            yield f"{method}, {name}", lambda e=edges, f=infer: refused(lambda: f(unary, e, pairwise))
        yield f"flow, {name}", lambda e=edges: refused(lambda: max_flow(np.ones(5), np.ones(5), e, [1.0]))
        yield f"task, {name}", lambda e=edges: refused(lambda: GraphCRF(2, 1).predict(np.zeros(5), (x, e)))


def grid_crf() -> Cases:
    """Fit images made of the rows of every table."""
    settings = (
        {"n_states": 2},
        {"n_states": 3, "connectivity": 8, "inference": "messages"},
        {"n_states": 2, "submodular": False, "directed": True},
        {"n_states": 2, "n_edge_features": 2, "class_weight": [0.0, 1e9]},
    )
    for setting in settings:
        for name, X in all_tables().items():
            yield f"{name}, {setting}", lambda X=X, setting=setting: fit_images(X, setting)


def fit_images(X: np.ndarray, setting: dict) -> dict[str, object]:
    """Return what a grid CRF learns from images of different sizes."""
    rng = np.random.default_rng(0)
    task = GridCRF(n_features=max(X.shape[1], 1), **setting)
    images, labels = [], []
    for width in (1, 3, 5):
        height = max(min(len(X) // width, 5), 0)
        image = X[: height * width].reshape(height, width, X.shape[1])
        images.append((image, contrast_features(image[:, :, :1])) if task.n_edge_features else image)
        labels.append(rng.integers(0, task.n_states, (height, width)))
        if len(X) < 15:
            break  # single rows are enough for one image only
    model = StructuredSVM(task, max_iter=20).fit(images, labels)
    assert model.result_.lower_bound <= model.result_.value
    bounds = [task.violation_bound(model.coef_, x, y, "margin") for x, y in zip(images, labels, strict=True)]
    return {"coef_": model.coef_, "score": model.score(images, labels), "bounds": bounds}


def broken_samples() -> Cases:
    """Every broken image and weight vector is to be refused."""
    task = GridCRF(2, 4)
    for name, X in broken_tables().items():
        image = X.reshape(len(X), -1, X.shape[1]) if X.size else X[:, np.newaxis]
        yield name, lambda x=image: refused(lambda: task.predict(np.zeros(task.dimension), x))
    image = np.zeros((3, 3, 4))
    weights = {"NaN": np.full(11, np.nan), "short": np.zeros(3), "text": "w", "none": None}
    for name, w in weights.items():
        yield f"w, {name}", lambda w=w: refused(lambda: task.predict(w, image))
    for name, x in {"none": None, "text": "image", "complex": 1j * image, "object": [image, {}]}.items():
        yield f"x, {name}", lambda x=x: refused(lambda: task.predict(np.zeros(11), x))


def segmenter() -> Cases:
    """Fit and apply segmenters to every table as a gray image, and to the image of a single pixel."""
    for name, X in {**all_tables(), "pixel": np.ones((1, 1)), "row": np.arange(9.0)[np.newaxis]}.items():
        for model in ("grid", "dense", "unary"):
            yield f"{name}, {model}", lambda X=X, m=model: segment(X, m)


def segment(X: np.ndarray, model: str) -> dict[str, object]:
    """Return what a segmenter learns from two images with random labels."""
    labels = np.random.default_rng(0).integers(-1, 3, (2, *X.shape))
    labels.flat[:2] = 0, 1
    found = ImageSegmenter(model, max_iter=20).fit([X, X], labels)
    return {"coef_": found.coef_, "labels": found.predict([X]), "scores": found.decision_function([X])}


SUBJECTS = {
    "segmenter": segmenter,
    "flows": flows,
    "inference": inference,
    "broken_edges": broken_edges,
    "grid_crf": grid_crf,
    "broken_samples": broken_samples,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused_cases = survive(__file__, subject)
    assert "flow, plain, 30 nodes" not in refused_cases
    assert [case for case in refused_cases if solvable(case)] == []
