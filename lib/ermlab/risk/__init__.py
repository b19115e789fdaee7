"""Risks: callables ``risk(w) -> (value, subgradient)`` that `ermlab.optimize.minimize` can minimise."""
