"""Ranking of judged web pages: better than chance, and about as good as a regression of the grades."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from ermlab.metrics.ranking import ndcg
from ermlab.ranking.estimator import RankingSVM
from ermlab.ranking.oracle import pairwise_risk
from reproduction.datasets.mslr_5k import HIGHEST_GRADE, read_mslr_5k


@pytest.fixture(scope="module")
def pages(acquired):
    data = read_mslr_5k(acquired("mslr_5k"))
    scaler = StandardScaler().fit(data.train.features)
    return [
        (scaler.transform(part.features), 1 - part.relevance / HIGHEST_GRADE, part.query)
        for part in (data.train, data.test)
    ]


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_ranks_pages_of_other_queries(pages, rescaling):
    (X, losses, query), (X_test, losses_test, query_test) = pages
    model = RankingSVM(rescaling=rescaling).fit(X, losses, query)
    scores = model.decision_function(X_test)
    ridge = -Ridge(alpha=len(X)).fit(X, losses).predict(X_test)
    chance = np.random.default_rng(0).normal(size=len(losses_test))

    def risk(scores):
        return pairwise_risk(losses_test, scores, groups=query_test)

    def top(scores):
        return ndcg(HIGHEST_GRADE * (1 - losses_test), scores, query_test)

    assert model.gap_ <= 1e-3
    assert model.score(X_test, losses_test, query_test) == pytest.approx(1 - risk(scores))
    assert risk(scores) < 0.9 * risk(chance)
    assert risk(scores) < 1.05 * risk(ridge)
    assert top(scores) > 1.5 * top(chance)
    first = model.predict_order(X_test, query_test)
    assert np.unique(query_test[first], return_index=True)[1].size == np.unique(query_test).size
    assert (np.diff(query_test[first]) >= 0).all()
