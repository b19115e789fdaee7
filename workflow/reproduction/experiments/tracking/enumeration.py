"""All assignments of a small pair of frames: the truth that exact inference is compared with."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.assignment import EVENTS, NONE, Candidates, Hypotheses


def all_assignments(hypotheses: Hypotheses) -> NDArray[np.bool_]:
    """Return every assignment of some hypotheses, (assignments, events); their number grows exponentially.

    The first cell without a fate or past is given each one in turn that is still possible.
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
    """Return all events that appear or disappear and a share of the others, with normal features."""
    candidates = {}
    for name, (before, after) in EVENTS.items():
        sources, targets = _choices(n_sources, before), _choices(n_targets, after)
        i, j = np.indices((len(sources), len(targets))).reshape(2, -1)
        kept = (rng.random(len(i)) < share) | (before * after == 0)
        features = rng.normal(size=(int(kept.sum()), n_features))
        candidates[name] = Candidates(sources[i[kept]], targets[j[kept]], features)
    return Hypotheses(n_sources, n_targets, candidates)


def _choices(n: int, count: int) -> NDArray[np.int64]:
    """Return all choices of so many of n cells, as rows of two."""
    chosen = [(*cells, NONE, NONE)[:2] for cells in combinations(range(n), count)]
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)
