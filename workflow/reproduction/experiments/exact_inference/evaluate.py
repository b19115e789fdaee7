"""Compare every inference method with enumeration on small fields (rule evaluate_exact_inference)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from ermlab.segmentation import (
    ExactGaussianFilter,
    Labeling,
    alpha_expansion,
    chain_marginals,
    graph_cut,
    lp_relaxation,
    max_sum_chain,
    max_sum_tree,
    mean_field,
    tree_marginals,
    tree_reweighted,
)
from reproduction.claims.results import write_results
from reproduction.experiments.exact_inference.fields import (
    Field,
    draw_chain,
    draw_cyclic,
    draw_submodular,
    draw_tree,
)
from reproduction.experiments.exact_inference.learned import learned_fields
from reproduction.pipeline.job import Paths, run_stage

Method = Callable[[Field], Labeling]
#: Fields that each method is for, and the method itself.
METHODS: dict[str, tuple[Callable[[np.random.Generator], Field], Method]] = {
    "chain": (draw_chain, lambda field: max_sum_chain(field.unary, field.pairwise)),
    "tree": (draw_tree, lambda field: max_sum_tree(field.unary, field.edges, field.pairwise)),
    "graph_cut": (draw_submodular, lambda field: graph_cut(field.unary, field.edges, field.pairwise)),
    "alpha_expansion": (
        draw_cyclic,
        lambda field: alpha_expansion(field.unary, field.edges, field.pairwise),
    ),
    "tree_reweighted": (
        draw_cyclic,
        lambda field: tree_reweighted(field.unary, field.edges, field.pairwise),
    ),
    "lp_relaxation": (draw_cyclic, lambda field: lp_relaxation(field.unary, field.edges, field.pairwise)),
}
TITLES = {
    "chain": ("max-sum", "chains"),
    "tree": ("max-sum", "trees"),
    "graph_cut": ("graph cut", "binary, submodular"),
    "alpha_expansion": ("alpha-expansion", "three states, cycles"),
    "tree_reweighted": ("tree-reweighted messages", "three states, cycles"),
    "lp_relaxation": ("LP relaxation, rounded", "three states, cycles"),
    "mean_field": ("mean field", "fully connected, Potts"),
}
EXACT = ("chain", "tree", "graph_cut")
#: Relative difference of scores below which they count as equal.
ROUNDING = 1e-9


def main(inputs: Paths, outputs: Paths, *, fields: int, learned: int, seed: int) -> None:
    """Draw ``fields`` fields for each method, and learn ``learned`` fields with and without constraints."""
    trials = pd.concat(
        [try_method(name, fields, seed) for name in METHODS] + [try_mean_field(fields, seed)],
        ignore_index=True,
    )
    fits = learned_fields(learned, seed)
    values = {
        **summarize(trials),
        "augmented_difference_max": {name: augmented_difference(name, fields, seed) for name in EXACT},
        "marginals_difference_max": marginals_difference(fields, seed),
        **summarize_learned(fits),
        "fields": fields,
        "learned": learned,
    }
    write_results(Path(outputs["values"]).parent, values)
    trials.to_csv(outputs["trials"], index=False, lineterminator="\n")
    fits.to_csv(outputs["learned"], index=False, lineterminator="\n")


def try_method(name: str, n_fields: int, seed: int) -> pd.DataFrame:
    """Return gap and excess of each field, relative to its magnitude.

    The gap is the best score minus that of the labeling, the excess the best score minus the bound.
    """
    draw, label = METHODS[name]
    rows = []
    for number in range(n_fields):
        field = draw(_generator(seed, draw.__name__, number))
        best, found = field.best_score(), label(field)
        gap = best - float(field.scores(found.labels[None])[0])
        rows.append(
            {
                "method": name,
                "gap": gap / field.magnitude,
                "excess": (best - found.bound) / field.magnitude,
                "certified": found.exact,
            }
        )
    return pd.DataFrame(rows)


def try_mean_field(n_fields: int, seed: int) -> pd.DataFrame:
    """Return the gaps of the most probable labels of mean field, in fully connected Potts models.

    Mean field has no bound on the score of the best labeling.
    """
    rows = []
    for number in range(n_fields):
        rng = _generator(seed, "mean_field", number)
        n_nodes = int(rng.integers(4, 8))
        unary, kernel = rng.normal(size=(n_nodes, 3)), ExactGaussianFilter(rng.normal(size=(n_nodes, 2)))
        weight = float(rng.uniform(0.5, 2))
        field = _potts(unary, weight * kernel.apply(np.eye(n_nodes)))
        labels = mean_field(unary, [kernel], [weight], max_iter=100).labels
        gap = field.best_score() - float(field.scores(labels[None])[0])
        rows.append({"method": "mean_field", "gap": gap / field.magnitude})
    return pd.DataFrame(rows)


def _potts(unary: np.ndarray, weights: np.ndarray) -> Field:
    """Return the field in which different labels of nodes i and j cost ``weights[i, j]``."""
    edges = np.column_stack(np.triu_indices(len(unary), k=1))
    different = np.eye(unary.shape[1]) - 1
    return Field(unary, edges, weights[tuple(edges.T)][:, None, None] * different)


def summarize(trials: pd.DataFrame) -> dict[str, Any]:
    """Return share of exact labelings, largest gap and largest violation of a bound, for each method."""
    exact, gaps, violations, certified = {}, {}, {}, {}
    for method, rows in trials.groupby("method", sort=False):
        exact[method] = float((rows["gap"] <= ROUNDING).mean())
        gaps[method] = float(max(rows["gap"].max(), 0))
        if rows["excess"].notna().all():
            violations[method] = float(max(rows["excess"].max(), 0))
            certified[method] = float(rows["certified"].astype(bool).mean())
    return {
        "exact_share": exact,
        "gap_max": gaps,
        "bound_violation_max": violations,
        "certified_share": certified,
    }


def summarize_learned(fits: pd.DataFrame) -> dict[str, Any]:
    """Return how many fields learned with and without constraints are submodular, and cut exactly."""
    free, bounded = fits[~fits["constrained"]], fits[fits["constrained"]]
    return {
        "nonsubmodular_share": float(1 - free["submodular"].mean()),
        "constrained": {
            "submodular_share": float(bounded["submodular"].mean()),
            "exact_share": float(bounded["exact_share"].mean()),
        },
    }


def augmented_difference(name: str, n_fields: int, seed: int) -> float:
    """Return the largest difference of the loss-augmented maximum and enumeration, for random truths."""
    draw, label = METHODS[name]
    largest = 0.0
    for number in range(n_fields):
        rng = _generator(seed, draw.__name__, number)
        field = draw(rng)
        truth = rng.integers(field.unary.shape[1], size=len(field.unary))
        labelings = field.labelings()
        # The loss is counted here as it is defined, and not as a part of the unary scores.
        best = (field.scores(labelings) + (labelings != truth).mean(axis=1)).max()
        labels = label(field.augmented(truth)).labels
        found = float(field.scores(labels[None])[0]) + (labels != truth).mean()
        largest = max(largest, float(abs(best - found)))
    return largest


def marginals_difference(n_fields: int, seed: int) -> dict[str, float]:
    """Return the largest difference of the marginals of nodes and enumeration, on chains and trees."""
    largest = {"chain": 0.0, "tree": 0.0}
    for number in range(n_fields):
        for name in largest:
            draw = METHODS[name][0]
            field = draw(_generator(seed, draw.__name__, number))
            found = (
                chain_marginals(field.unary, field.pairwise)
                if name == "chain"
                else tree_marginals(field.unary, field.edges, field.pairwise)
            )
            difference = np.abs(found.nodes - enumerated_marginals(field)).max()
            largest[name] = max(largest[name], float(difference))
    return largest


def enumerated_marginals(field: Field) -> np.ndarray:
    """Return the probability of each state of each node (thesis, eq. 2.21)."""
    labelings = field.labelings()
    scores = field.scores(labelings)
    probabilities = np.exp(scores - logsumexp(scores))
    states = np.arange(field.unary.shape[1])
    return np.array([[probabilities[labels == state].sum() for state in states] for labels in labelings.T])


def _generator(seed: int, name: str, number: int) -> np.random.Generator:
    """Return the generator of a field, the same for all methods that are for the same kind of fields."""
    return np.random.default_rng([seed, *name.encode(), number])


def method_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per method: the fields it is for, and how exact it is on them."""
    rows = []
    for method, (title, kind) in TITLES.items():
        violation = values["bound_violation_max"].get(method)
        rows.append(
            {
                "method": title,
                "random fields": kind,
                "exact": values["exact_share"][method],
                "largest gap": values["gap_max"][method],
                "proven exact by the bound": values["certified_share"].get(method),
                "bound below the best score": None if violation is None else violation > ROUNDING,
            }
        )
    return pd.DataFrame(rows)


if "snakemake" in globals():
    run_stage(main, snakemake)
