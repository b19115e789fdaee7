"""Structured SVM for several data sets (cheap data, section 1.5)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.task import Task, by_position, mean_loss, note_features, predict_all, weight_bounds
from ermlab.structured.transfer import minimize_transfer


class TransferSVM(SavedModel, BaseEstimator):
    """Structured SVM for several data sets with weights close to shared ones (cheap data, eq. 1.9).

    Parameters
    ----------
    task : Task
        The prediction problem, the same for all data sets.
    alpha, rho : float, default=1.0
        Regularization strength of the shared weights and of the differences. Infinite ``rho`` gives the union
        of the data sets, infinite ``alpha`` separate training.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling of the hinge loss.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of passes over the training sets.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    domains_ : list
        Names of the data sets.
    coef_ : ndarray of shape (n_domains, dimension)
        Weights of each data set.
    shared_coef_ : ndarray of shape (dimension,)
        The shared weights, for unseen data sets.
    result_ : TransferResult
        Objective, bounds and planes.
    n_features_in_ : int
        Number of columns, if ``X`` is a table; not set for inputs of other kinds.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    def __init__(
        self,
        task: Task,
        alpha: float = 1.0,
        rho: float = 1.0,
        rescaling: str = "margin",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.task = task
        self.alpha = alpha
        self.rho = rho
        self.rescaling = rescaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: Sequence, y: Sequence, domains: Sequence[Hashable]) -> Self:
        """Fit the model to inputs, true outputs, and the data set name of each sample."""
        note_features(self, X)
        X, y = by_position(X), by_position(y)
        if not len(X) == len(y) == len(domains):
            raise ValueError(
                f"{len(X)} inputs, {len(y)} outputs, {len(domains)} domains: expected equal numbers"
            )
        if weight_bounds(self.task) is not None:
            raise ValueError("the task bounds its weights: expected a task without bounds for transfer")
        self.domains_ = list(dict.fromkeys(domains))
        members = [[i for i, name in enumerate(domains) if name == domain] for domain in self.domains_]
        parts = [(_take(X, rows), _take(y, rows)) for rows in members]
        risks = [StructuredRisk(self.task, *part, self.rescaling) for part in parts]
        with progress(self):
            self.result_ = minimize_transfer(
                risks,
                alpha=self.alpha,
                rho=self.rho,
                sizes=[len(rows) for rows in members],
                tol=self.tol,
                max_iter=self.max_iter,
                max_time=self.max_time,
            )
        warn_unless_converged(self.result_.result, self.max_iter, self.max_time)
        self.coef_, self.shared_coef_ = self.result_.weights, self.result_.shared
        return self

    def predict(self, X: Sequence, domain: Hashable | None = None) -> Sequence:
        """Return the prediction for each input with the weights of ``domain``, by default the shared ones."""
        return predict_all(self.task, self._weights(domain), X)

    def score(self, X: Sequence, y: Sequence, domain: Hashable | None = None) -> float:
        """Return 1 minus the mean loss, which is the accuracy for the 0-1 loss."""
        return 1.0 - mean_loss(self.task, y, self.predict(X, domain))

    def _weights(self, domain: Hashable | None) -> NDArray[np.float64]:
        check_is_fitted(self)
        if domain is None:
            return self.shared_coef_
        if domain not in self.domains_:
            raise ValueError(f"domain is {domain!r}: expected one of {self.domains_}, or None")
        return self.coef_[self.domains_.index(domain)]


def _take(samples: Any, rows: list[int]) -> Any:
    """Return the chosen entries of an array as an array, and of other sequences as a list."""
    return samples[rows] if isinstance(samples, np.ndarray) else [samples[i] for i in rows]
