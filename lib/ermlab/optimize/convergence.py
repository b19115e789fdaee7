"""The warning of estimators whose solver stopped early."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from ermlab.optimize.result import Result


def warn_unless_converged(result: Result, max_iter: int, max_time: float | None = None) -> None:
    """Warn the caller of the calling ``fit`` if the relative gap is above ``tol``."""
    if result.converged:
        return
    limits = "max_iter" if max_time is None else "max_iter, max_time"
    warnings.warn(
        f"stopped after {result.n_iter} of at most {max_iter} iterations with a relative gap of "
        f"{result.relative_gap:.2g}: raise {limits} or tol, or scale the features, for example with "
        "sklearn.preprocessing.StandardScaler",
        ConvergenceWarning,
        stacklevel=3,
    )
