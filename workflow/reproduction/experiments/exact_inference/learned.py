"""Binary fields learned with and without the constraint that keeps them submodular."""

import numpy as np
import pandas as pd

from ermlab.segmentation import GraphCRF, graph_cut, grid_edges
from ermlab.structured import StructuredSVM
from reproduction.experiments.exact_inference.fields import Field, is_submodular

_SIDE, _IMAGES, _NOISE, _C, _TOL = 3, 20, 1.0, 10.0, 1e-2


def learned_fields(n_fields: int, seed: int) -> pd.DataFrame:
    """Learn fields from labels whose neighbors prefer to agree or to differ, with a random strength.

    Returns
    -------
    DataFrame
        One row per field: the coupling of the labels, whether training was constrained, whether the learned
        potentials are submodular, and the share of training images whose graph cut has the best score (of
        constrained fields).
    """
    rows = []
    for number in range(n_fields):
        rng = np.random.default_rng([seed, number])
        coupling = float(rng.normal())
        X, y = draw_images(coupling, rng)
        for constrained in (False, True):
            # Message passing labels these small fields whatever their potentials.
            inference = "cut" if constrained else "messages"
            task = GraphCRF(2, 2, submodular=constrained, inference=inference)
            w = StructuredSVM(task, C=_C, tol=_TOL).fit(X, y).coef_
            pairwise = pairwise_scores(w)
            rows.append(
                {
                    "number": number,
                    "coupling": coupling,
                    "constrained": constrained,
                    "submodular": is_submodular(pairwise),
                    "exact_share": exact_share(w, X) if constrained else np.nan,
                }
            )
    return pd.DataFrame(rows)


def draw_images(
    coupling: float, rng: np.random.Generator
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
    """Draw labels of small grids from an Ising model, by enumeration, and noisy measurements of them."""
    edges = grid_edges((_SIDE, _SIDE))
    n_nodes = _SIDE**2
    agreement = np.broadcast_to(coupling * np.eye(2), (len(edges), 2, 2))
    ising = Field(np.zeros((n_nodes, 2)), edges, agreement)
    labelings = ising.labelings()
    probabilities = np.exp(ising.scores(labelings) - ising.best_score())
    chosen = rng.choice(len(labelings), size=_IMAGES, p=probabilities / probabilities.sum())
    X, y = [], []
    for labels in labelings[chosen]:
        measured = labels + rng.normal(scale=_NOISE, size=n_nodes)
        X.append((np.column_stack([measured, np.ones(n_nodes)]), edges))
        y.append(labels)
    return X, y


def pairwise_scores(w: np.ndarray) -> np.ndarray:
    """Return the scores of pairs of states from the weights of the pairs (0, 0), (0, 1) and (1, 1)."""
    return w[[-3, -2, -2, -1]].reshape(2, 2)


def exact_share(w: np.ndarray, X: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the share of images whose graph cut has the best score of all labelings."""
    exact = []
    for features, edges in X:
        pairwise = pairwise_scores(w)
        field = Field(features @ w[:4].reshape(2, 2).T, edges, np.tile(pairwise, (len(edges), 1, 1)))
        labels = graph_cut(field.unary, edges, pairwise).labels
        gap = field.best_score() - field.scores(labels[None])[0]
        exact.append(gap <= 1e-9 * max(field.magnitude, 1e-300))
    return float(np.mean(exact))
