"""Structured output ranking (thesis, section 3.2).

- `most_violated`: the constraint of all violated pairs, in O(n log n); `Oracle`: the same for many scores;
- `RankingRisk`: the risk that `ermlab.optimize.minimize` takes;
- `RankingSVM`: the estimator;
- `pairwise_risk`: how wrong an order is.
"""

from ermlab.ranking.estimator import RankingSVM
from ermlab.ranking.oracle import Oracle, most_violated, pairwise_risk
from ermlab.ranking.risk import RankingRisk

__all__ = ["Oracle", "RankingRisk", "RankingSVM", "most_violated", "pairwise_risk"]
