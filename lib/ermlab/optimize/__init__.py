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

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "_plane_blocks": ["PlaneBlocks"],
        "blocks": ["BlockDual", "BlockRisk", "minimize_blocks"],
        "bundle": ["minimize"],
        "check": ["check_risk"],
        "concave_convex": ["CCCPHistory", "CCCPResult", "cccp"],
        "evaluation": ["Evaluation", "Proposer", "Risk"],
        "parts": ["MeanInParts"],
        "planes": ["Planes"],
        "proximal": ["FISTAHistory", "FISTAResult", "fista"],
        "qp": ["SimplexQPResult", "solve_simplex_qp"],
        "regularizers": ["L1", "L2"],
        "result": ["History", "Result"],
        "surrogate": ["Surrogate"],
    },
)
