"""One solver for many risks: ``min_w regularizer(w) + risk(w)``, and its relatives.

- `minimize`: cutting planes for any convex risk, with L1 or L2, and a certificate;
- `Surrogate`: a cheap risk, such as that of a subsample, which tells `minimize` where to call the dear one;
- `minimize_blocks`: the same for sums over samples, with planes for each sample, and L2;
- `MeanInParts`: the mean over some samples as a risk of parts, for which fewer calls do;
- `cccp`: differences of convex functions, by a chain of such problems;
- `check_risk`: whether the subgradients of a risk fit its values;
- `fista`: smooth risks with a proximable penalty.
"""

from ermlab.optimize._plane_blocks import PlaneBlocks
from ermlab.optimize.blocks import BlockDual, BlockRisk, minimize_blocks
from ermlab.optimize.bundle import minimize
from ermlab.optimize.cccp import CCCPHistory, CCCPResult, cccp
from ermlab.optimize.check import check_risk
from ermlab.optimize.evaluation import Evaluation, Proposer, Risk
from ermlab.optimize.parts import MeanInParts
from ermlab.optimize.planes import Planes
from ermlab.optimize.proximal import FISTAHistory, FISTAResult, fista
from ermlab.optimize.qp import SimplexQPResult, solve_simplex_qp
from ermlab.optimize.regularizers import L1, L2
from ermlab.optimize.result import History, Result
from ermlab.optimize.surrogate import Surrogate

__all__ = [
    "L1",
    "L2",
    "BlockDual",
    "BlockRisk",
    "CCCPHistory",
    "CCCPResult",
    "Evaluation",
    "FISTAHistory",
    "FISTAResult",
    "History",
    "MeanInParts",
    "PlaneBlocks",
    "Planes",
    "Proposer",
    "Result",
    "Risk",
    "SimplexQPResult",
    "Surrogate",
    "cccp",
    "check_risk",
    "fista",
    "minimize",
    "minimize_blocks",
    "solve_simplex_qp",
]
