"""Structured output support vector machines and related methods.

- `StructuredSVM` and `StructuredRisk` for any `Task`; `MultiClassTask` is the simplest one;
- `TransferSVM` and `minimize_transfer`: learning from several data sets;
- `InvariantSVM` and `EquivariantTask`: invariance and equivariance under transformations of the inputs;
- `JKSE` and `LinearJKSE`: joint kernel support estimation;
- `BridgeRisk`: learning from partial annotations;
- losses, generalization bounds, and vicinal risks as functions.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
