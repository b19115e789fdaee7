"""Ranking on hostile tables."""

import numpy as np
import pytest
from harness import Cases, survive
from hostile_data import all_tables, solvable

from ermlab.ranking import RankingSVM


def ranking_svm() -> Cases:
    """Fit on every table, by either rescaling."""
    for rescaling in ("slack", "margin"):
        for seed in range(3):
            for name, X in all_tables(seed=seed).items():
                losses = np.random.default_rng(seed).permutation(len(X)) / max(len(X), 1)
                yield (
                    f"{name}, {rescaling}, seed {seed}",
                    lambda X=X, losses=losses, rescaling=rescaling: fit(X, losses, rescaling),
                )


def fit(X: np.ndarray, losses: np.ndarray, rescaling: str) -> dict[str, object]:
    """Return what the model learned."""
    model = RankingSVM(rescaling=rescaling, max_iter=200).fit(X, losses)
    return {"coef_": model.coef_, "objective_": model.objective_, "scores": model.decision_function(X)}


SUBJECTS = {"ranking_svm": ranking_svm}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused = survive(__file__, subject)
    assert [case for case in refused if solvable(case)] == []
