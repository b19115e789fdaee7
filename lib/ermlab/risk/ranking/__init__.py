"""Structured output ranking (thesis, section 3.2): the oracle, the risk, and an estimator.

- `most_violated`: the cutting plane of all violated pairs, in O(n log n);
- `pairwise_risk`: how wrong an order is;
- `Oracle`: both, prepared for the same losses and many scores.
"""

from ermlab.risk.ranking.oracle import Oracle, most_violated, pairwise_risk

__all__ = ["Oracle", "most_violated", "pairwise_risk"]
