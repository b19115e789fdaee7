"""Enumeration of all assignments of small pairs of frames, which exact inference is checked against."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.assignment import EVENTS, NONE, Assigner, Candidates, Hypotheses


def all_assignments(hypotheses: Hypotheses) -> NDArray[np.bool_]:
    """Return every assignment of the hypotheses as an array (n_assignments, n_events).

    Their number grows exponentially with the number of cells. The first cell that no chosen event contains
    gets each of the events that are still possible in turn.
    """
    taken = hypotheses.incidence.toarray().astype(bool)
    n_cells, n_events = taken.shape

    def completed(chosen: list[int], covered: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        if covered.all():
            return [np.isin(np.arange(n_events), chosen)]
        fitting = np.flatnonzero(taken[np.argmin(covered)] & ~(taken & covered[:, None]).any(axis=0))
        return [y for e in fitting for y in completed([*chosen, e], covered | taken[:, e])]

    return np.array(completed([], np.zeros(n_cells, dtype=bool)))


def random_hypotheses(
    rng: np.random.Generator, n_sources: int, n_targets: int, share: float = 1.0, n_features: int = 2
) -> Hypotheses:
    """Return all appearances and disappearances and a random share of the other events.

    Their features are normally distributed.
    """
    candidates = {}
    for name, (before, after) in EVENTS.items():
        sources, targets = _choices(n_sources, before), _choices(n_targets, after)
        i, j = np.indices((len(sources), len(targets))).reshape(2, -1)
        kept = (rng.random(len(i)) < share) | (before * after == 0)
        features = rng.normal(size=(int(kept.sum()), n_features))
        candidates[name] = Candidates(sources[i[kept]], targets[j[kept]], features)
    return Hypotheses(n_sources, n_targets, candidates)


def _choices(n_cells: int, size: int) -> NDArray[np.int64]:
    """Return all subsets of ``size`` cells, padded to rows of two."""
    chosen = [(*cells, NONE, NONE)[:2] for cells in combinations(range(n_cells), size)]
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def enumeration_difference(problems: int, largest: int, seed: int) -> dict[str, float]:
    """Compare the best assignments of random pairs of frames with those found by enumeration.

    Parameters
    ----------
    problems : int
        Number of pairs of frames.
    largest : int
        Maximum number of cells of a frame.
    seed : int
        Seed of the random pairs.

    Returns
    -------
    dict
        The largest difference of scores, and the number of enumerated assignments.
    """
    rng = np.random.default_rng(seed)
    worst, total = 0.0, 0
    for _ in range(problems):
        m, n = rng.integers(largest + 1, size=2).tolist()
        hypotheses = random_hypotheses(rng, m, n, share=float(rng.choice([0.3, 1.0])))
        scores = rng.normal(size=len(hypotheses))
        assignments = all_assignments(hypotheses)
        found = Assigner(hypotheses).best(scores)
        difference = abs(float(scores[found].sum()) - max(float(scores[y].sum()) for y in assignments))
        worst = max(worst, difference if hypotheses.is_assignment(found) else np.inf)
        total += len(assignments)
    return {"enumeration_difference_max": worst, "enumerated_assignments": total}
