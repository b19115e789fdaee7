"""ermlab: regularized risk minimization with structured outputs, for visual data.

Every method minimizes ``alpha * Omega(w) + R(w)``: `ermlab.optimize` has the solvers, the other packages have
the risks, estimators and tools of each domain. Modules are loaded when one of their names is first used.
"""

from ermlab._utils.lazy import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
