"""What estimators say when a solver stopped too early."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from ermlab.optimize.bundle import Result


def warn_unless_converged(result: Result, max_calls: int) -> None:
    """Warn the caller of ``fit``, from which this is called, if the relative gap is above ``tol``."""
    if not result.converged:
        warnings.warn(
            f"stopped after {max_calls} passes with a relative gap of {result.relative_gap:.2g}: raise "
            "max_calls or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
