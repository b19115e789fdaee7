"""Structured SVM with latent variables, trained by the concave-convex procedure."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import (
    check_choice,
    positive_number,
    regularization_strength,
    whole_number,
)
from ermlab.optimize import L1, L2, CCCPResult, cccp
from ermlab.structured.latent_risk import LatentRisk
from ermlab.structured.latent_task import LatentTask
from ermlab.structured.structured_svm import PENALTIES
from ermlab.structured.task import by_position, is_exact, mean_loss, note_features, weight_bounds

Vector = NDArray[np.float64]
# Largest number of parts of the risk with planes of their own.
MAX_PARTS = 16
# Precision of the first outer iteration.
FIRST_TOL = 0.5


class LatentSVM(SavedModel, BaseEstimator):
    """Structured SVM with latent variables.

    Minimizes ``1/2 |w|^2 + C sum_i xi_i`` with the slacks
    ``xi_i = max_{z,h} (loss(y_i, z) + <w, phi(x_i, z, h)>) - max_h <w, phi(x_i, y_i, h)>``. This is a
    difference of convex functions: the concave-convex procedure (cheap data, Algorithm 1.1) fixes the best
    latent values of the true outputs, solves the convex problem that remains, and repeats both. The objective
    never increases, and the result is a stationary point, in general not the global minimum: use ``n_init``
    and good first latent values.

    Parameters
    ----------
    task : LatentTask
        The prediction problem.
    C : float, default=1.0
        Inverse regularization strength.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling of the hinge loss.
    penalty : {"l2", "l1"}, default="l2"
        The regularizer; ``"l1"`` replaces ``1/2 |w|^2`` by ``|w|_1``.
    tol : float, default=1e-3
        Relative gap of the last convex problem, and relative decrease of the objective below which the
        descent ends.
    max_iter : int, default=100
        Maximum number of outer iterations of each descent.
    n_init : int, default=1
        Number of descents; the best result is kept. The first begins with the latent values of
        ``initial_latent`` if the task has this method, the others with those that are best for random
        weights.
    random_state : int, optional
        Seed of the random weights.
    max_time : float, optional
        Limit in seconds on the optimization.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    coef_ : ndarray
        The weights ``w``.
    latent_ : list
        The best latent value of each true output.
    objective_ : ndarray
        The objective at the beginning and after each outer iteration of the best descent.
    objectives_ : ndarray
        The last objective of each descent.
    converged_ : bool
        Whether the best descent ended before a limit was reached.
    n_iter_ : int
        Number of its outer iterations.
    exact_ : bool
        Whether the inference of the task is exact. If not, objectives are those of the outputs that were
        found, which can grow.
    result_ : ermlab.optimize.CCCPResult
        The best descent, with objectives divided by ``C n``.
    n_features_in_ : int
        Number of columns, if ``X`` is a table; not set for inputs of other kinds.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    _optional = ("latent_",)

    def __init__(
        self,
        task: LatentTask,
        C: float = 1.0,
        rescaling: str = "margin",
        penalty: str = "l2",
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        random_state: int | None = None,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.task = task
        self.C = C
        self.rescaling = rescaling
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: Sequence, y: Sequence, coef_init: ArrayLike | None = None) -> Self:
        """Fit ``w`` to inputs ``X`` and true outputs ``y``.

        ``coef_init`` are the first weights of the first descent, by default 0.
        """
        self._check_options()
        risk = LatentRisk(self.task, X, y, self.rescaling, n_parts=1 if self.penalty == "l1" else MAX_PARTS)
        note_features(self, X)
        strength = regularization_strength(self.C, len(X))
        with progress(self):
            results = list(self._descents(risk, PENALTIES[self.penalty](strength), coef_init))
        self.objectives_ = np.array([result.value for result in results]) / strength
        self.result_ = results[int(np.argmin(self.objectives_))]
        self.coef_ = self.result_.w
        self.objective_ = np.array(self.result_.history.objective) / strength
        self.latent_ = risk.complete(self.coef_)
        self.converged_, self.n_iter_ = self.result_.converged, self.result_.n_iter
        self.exact_ = is_exact(self.task)
        if not self.converged_:
            warnings.warn(
                f"stopped after {self.n_iter_} of at most {self.max_iter} outer iterations: raise max_iter, "
                "max_time or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_options(self) -> None:
        if not isinstance(self.task, LatentTask):
            raise ValueError(f"task is {self.task!r}: expected a `LatentTask`")
        check_choice("penalty", self.penalty, tuple(PENALTIES))
        positive_number("C", self.C)
        positive_number("tol", self.tol)
        whole_number("max_iter", self.max_iter, 1)
        whole_number("n_init", self.n_init, 1)
        if self.max_time is not None:
            positive_number("max_time", self.max_time)

    def _descents(
        self, risk: LatentRisk, regularizer: L1 | L2, coef_init: ArrayLike | None
    ) -> Iterator[CCCPResult]:
        """Run the descents one after the other; planes below the convex part are passed on."""
        rng, began, planes = np.random.default_rng(self.random_state), time.perf_counter(), None
        for descent in range(self.n_init):
            left = self.max_time
            if descent and left is not None:
                left -= time.perf_counter() - began
                if left <= 0:
                    return
            if descent:
                risk.start_with(risk.complete(rng.standard_normal(risk.dimension)))
            result = cccp(
                risk.convex,
                risk.reward,
                regularizer,
                w0=np.zeros(risk.dimension) if descent or coef_init is None else coef_init,
                eps=max(FIRST_TOL, self.tol),
                eps_min=self.tol,
                eta=self.tol,
                max_iter=self.max_iter,
                planes=planes,
                bounds=weight_bounds(self.task),
                max_time=left,
            )
            planes = result.planes
            yield result

    def complete(self, X: Sequence, y: Sequence) -> list:
        """Return the best latent value of each pair of an input and an output."""
        check_is_fitted(self)
        pairs = zip(by_position(X), by_position(y), strict=True)
        return [self.task.complete(self.coef_, x, output) for x, output in pairs]

    def predict(self, X: Sequence) -> list[Any]:
        """Return the prediction for each input."""
        check_is_fitted(self)
        return [self.task.predict(self.coef_, x) for x in by_position(X)]

    def score(self, X: Sequence, y: Sequence) -> float:
        """Return 1 minus the mean loss, which is the accuracy for the 0-1 loss."""
        return 1.0 - mean_loss(self.task, y, self.predict(X))
