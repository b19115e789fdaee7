"""Structured output ranking (thesis, section 3.2).

- `RankingSVM` and `InvariantRankingSVM`: the estimators;
- `RankingRisk`: the risk that they minimize;
- `most_violated`: the most violated constraint over all pairs in O(n log n), `Oracle` for many scores;
- `pairwise_risk`: the mean loss of wrongly ordered pairs.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "estimator": ["RankingSVM"],
        "invariant_ranking": ["InvariantRankingRisk", "InvariantRankingSVM"],
        "oracle": ["Oracle", "most_violated", "pairwise_risk"],
        "risk": ["RankingRisk"],
    },
)
