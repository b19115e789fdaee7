"""The k-support norm (thesis, section 4.2): the norm itself, and linear models that it regularises."""

from ermlab.sparse.ksupport_estimators import (
    KSupportClassifier,
    KSupportPath,
    KSupportRegressor,
    ksupport_path,
)
from ermlab.sparse.ksupport_norm import dual_norm, norm, prox

__all__ = [
    "KSupportClassifier",
    "KSupportPath",
    "KSupportRegressor",
    "dual_norm",
    "ksupport_path",
    "norm",
    "prox",
]
