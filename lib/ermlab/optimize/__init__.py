"""Solvers for regularized risk minimization, ``min_w regularizer(w) + risk(w)``, with certificates.

- `minimize`: cutting planes for any convex risk, with L1 or L2 regularization;
- `minimize_blocks`: the same for means over samples, with planes for each sample and L2;
- `Surrogate`: a cheap risk, such as that of a subsample, that proposes where to evaluate an expensive one;
- `MeanInParts`: a mean over samples as a sum of parts, which needs fewer evaluations;
- `cccp`: differences of convex functions, solved as a sequence of convex problems;
- `fista`: smooth risks with a penalty whose proximal operator is known;
- `solve_simplex_qp`: quadratic programs on the simplex;
- `check_risk`: whether the subgradients of a risk agree with its values.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
