"""Structured output support vector machines (thesis, section 2.3.1).

A `Task` defines the outputs; `StructuredRisk` is the mean of the rescaled hinge losses over a training set;
`StructuredSVM` minimizes it with a regularizer. `MultiClassTask` is the simplest task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, positive_number, regularization_strength
from ermlab.optimize import L1, L2, Result, minimize, minimize_blocks
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.task import (
    BatchTask,
    BlockTask,
    PlanesTask,
    Task,
    is_exact,
    mean_loss,
    note_features,
    predict_all,
    weight_bounds,
)

PENALTIES = {"l1": L1, "l2": L2}
SOLVERS = ("auto", "bundle", "blocks")
# Passes after which "auto" changes from blocks to bundle.
AUTO_ITER = 100


class StructuredSVM(SavedModel, BaseEstimator):
    """Structured output SVM: ``1/2 |w|^2 + C sum_i xi_i``, or ``|w|_1 + C sum_i xi_i``.

    Weights stay within the ``bounds`` of the task, if it has any. If its inference is approximate (``exact``
    is false), the slacks ``xi_i`` are those of the outputs that were found, and the optimum of the true
    objective lies in ``objective_bounds_``.

    Parameters
    ----------
    task : Task
        The prediction problem.
    C : float, default=1.0
        Inverse regularization strength; the ``lambda`` of the thesis is ``1 / (C n)``.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling of the hinge loss.
    penalty : {"l2", "l1"}, default="l2"
        The regularizer.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of passes over the training set.
    solver : {"auto", "bundle", "blocks"}, default="auto"
        ``"bundle"`` keeps planes of the whole risk (`ermlab.optimize.minimize`), ``"blocks"`` planes of each
        sample (`ermlab.optimize.minimize_blocks`; ``"l2"`` without bounds of the weights only). ``"auto"``
        uses blocks if it can and ``w`` has at least as many entries as there are samples, and bundle
        otherwise, or if blocks have not converged after a hundred passes, for example because features have
        very different scales. It also uses bundle if the task is fast for the whole training set only
        (a `BatchTask` that has neither ``block_dual`` nor ``batch_planes``).
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    coef_ : ndarray
        The weights ``w``.
    result_ : ermlab.optimize.Result
        Objective and lower bound (divided by ``C n``), planes, and history. If inference is approximate, the
        objective is that of the outputs that were found, which is a lower bound of the true one at ``w``.
    exact_ : bool
        Whether inference was exact.
    objective_bounds_ : tuple of float
        Interval that contains the minimum of the true objective (divided by ``C n``): the lower bound and the
        value of ``result_`` if inference is exact. If not, the upper end comes from the ``violation_bound``
        of the task at ``coef_``, and is infinite without such a method.
    virtual_samples_ : list of tuple
        Pairs of a sample and the name of a version of it that the optimizer used; empty unless the task has
        transformations (`ermlab.structured.EquivariantTask`).
    n_features_in_ : int
        Number of columns, if ``X`` is a table; not set for inputs of other kinds.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    def __init__(
        self,
        task: Task,
        C: float = 1.0,
        rescaling: str = "margin",
        penalty: str = "l2",
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.task = task
        self.C = C
        self.rescaling = rescaling
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: Sequence, y: Sequence) -> Self:
        """Fit ``w`` to inputs ``X`` and true outputs ``y``."""
        self._check_options()
        risk = StructuredRisk(self.task, X, y, self.rescaling)
        note_features(self, X)
        regularizer = PENALTIES[self.penalty](regularization_strength(self.C, len(X)))
        with progress(self):
            self.result_ = self._minimize(risk, regularizer)
        warn_unless_converged(self.result_, self.max_iter, self.max_time)
        self.coef_ = self.result_.w
        self.exact_ = risk.exact and is_exact(self.task)
        upper = self.result_.value if self.exact_ else regularizer(self.coef_) + risk.upper_bound(self.coef_)
        self.objective_bounds_ = self.result_.lower_bound, upper
        self.virtual_samples_ = sorted(risk.virtual_samples)
        return self

    def _check_options(self) -> None:
        check_choice("penalty", self.penalty, tuple(PENALTIES))
        positive_number("C", self.C)
        check_choice("solver", self.solver, SOLVERS)
        if self.solver == "blocks" and self.penalty != "l2":
            raise ValueError(f"solver is 'blocks' and penalty {self.penalty!r}: expected 'l2' with it")
        if self.solver == "blocks" and weight_bounds(self.task) is not None:
            raise ValueError("solver is 'blocks' and the task bounds its weights: expected 'bundle'")

    def _minimize(self, risk: StructuredRisk, regularizer: L1 | L2) -> Result:
        """Minimize with the chosen solver; ``"auto"`` changes it if the first has not converged."""
        options = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        if not self._in_blocks(risk):
            return minimize(risk, regularizer, bounds=weight_bounds(self.task), **options)
        if self.solver == "blocks" or self.max_iter <= AUTO_ITER:
            return minimize_blocks(risk, regularizer, **options)
        first = minimize_blocks(risk, regularizer, **{**options, "max_iter": AUTO_ITER})
        if first.converged or (self.max_time is not None and first.seconds >= self.max_time):
            return first
        options["max_iter"] -= first.n_iter
        if self.max_time is not None:
            options["max_time"] -= first.seconds
        return minimize(risk, regularizer, planes=first.planes, start=first.best, **options).after(first)

    def _in_blocks(self, risk: StructuredRisk) -> bool:
        """Whether to keep planes of each sample."""
        if self.solver == "auto":
            whole = isinstance(self.task, BatchTask) and not isinstance(self.task, BlockTask | PlanesTask)
            unbounded = weight_bounds(self.task) is None
            return self.penalty == "l2" and unbounded and not whole and risk.dimension >= len(risk)
        return self.solver == "blocks"

    def predict(self, X: Sequence) -> Sequence:
        """Return the prediction for each input: an array if the task works in batches, else a list."""
        check_is_fitted(self)
        return predict_all(self.task, self.coef_, X)

    def score(self, X: Sequence, y: Sequence) -> float:
        """Return 1 minus the mean loss, which is the accuracy for the 0-1 loss."""
        return 1.0 - mean_loss(self.task, y, self.predict(X))
