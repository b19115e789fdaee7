"""Structured output ranking (thesis, section 3.2).

- `RankingSVM` and `InvariantRankingSVM`: the estimators;
- `RankingRisk`: the risk that they minimize;
- `most_violated`: the most violated constraint over all pairs in O(n log n), `Oracle` for many scores;
- `pairwise_risk`: the mean loss of wrongly ordered pairs.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
