"""Structured output support vector machines (thesis, section 2.3.1).

A `Task` defines the outputs; `StructuredRisk` is the mean of the rescaled hinge losses over a training set;
`StructuredSVM` minimizes it with a regularizer. `MultiClassTask` is the simplest task.
"""

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import check_choice, positive_number, real_array, regularization_strength
from ermlab.optimize import L1, L2, BlockDual, PlaneBlocks, Result, minimize, minimize_blocks
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.structured._multiclass_dual import MultiClassDual
from ermlab.structured._multiclass_numba import most_violated, risk_and_subgradient

RESCALINGS = ("margin", "slack")
PENALTIES = {"l1": L1, "l2": L2}
SOLVERS = ("auto", "bundle", "blocks")
# Losses up to this size can be multiplied with margins and weights, and summed, without overflow.
LARGEST_LOSS = 1e150
# Passes after which "auto" changes from blocks to bundle.
AUTO_ITER = 100
Vector = NDArray[np.float64]


@runtime_checkable
class Task(Protocol):
    """A structured prediction problem with compatibility ``<w, joint_feature(x, y)>`` (thesis, eq. 2.12)."""

    @property
    def dimension(self) -> int:
        """Length of ``w`` and of each joint feature."""

    def joint_feature(self, x: Any, y: Any) -> Vector:
        """Return ``phi(x, y)``."""

    def loss(self, y: Any, z: Any) -> float:
        """Return the loss of predicting ``z`` where ``y`` is true: non-negative, 0 for ``y`` itself."""

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the output of the highest compatibility (thesis, eq. 2.11)."""

    def most_violated(self, w: Vector, x: Any, y: Any, rescaling: str) -> Any:
        """Return the output that maximizes the violation (thesis, eq. 2.17 for margin, 2.18 for slack)."""


@runtime_checkable
class BatchTask(Task, Protocol):
    """A task with faster methods for all samples at once."""

    def prepare_batch(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Check a training set and return it as arguments of ``batch_risk``; called once."""

    def batch_risk(self, w: Vector, X: Any, Y: Any, rescaling: str) -> tuple[float, Vector]:
        """Return the mean of the rescaled hinge losses and a subgradient."""

    def batch_predict(self, w: Vector, X: Any) -> Sequence:
        """Return the prediction for each sample."""


@runtime_checkable
class BlockTask(BatchTask, Protocol):
    """A task with a faster dual than that of explicit planes."""

    def block_dual(self, X: Any, Y: Any, rescaling: str, alpha: float) -> BlockDual:
        """Return the dual at 0 for a prepared training set and the regularizer ``alpha/2 |w|^2``."""


@runtime_checkable
class VirtualTask(Task, Protocol):
    """A task that also has constraints for transformed versions of a sample, its virtual samples."""

    def virtual_plane(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[int | float, Vector, float]:
        """Return the name of the worst version of a sample, and slope and offset of its violation."""


class StructuredRisk:
    """The mean over samples of the largest violation, ``(1/n) sum_i xi_i`` (thesis, eq. 2.13 to 2.16).

    Margin rescaling: ``xi = max_z loss(y, z) + <w, phi(x, z) - phi(x, y)>``; slack rescaling:
    ``xi = max_z loss(y, z) (1 + <w, phi(x, z) - phi(x, y)>)``; at least 0.

    Parameters
    ----------
    task : Task
        The prediction problem.
    X, Y : sequence
        Inputs and true outputs.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling.
    """

    def __init__(self, task: Task, X: Sequence, Y: Sequence, rescaling: str = "margin"):
        check_choice("rescaling", rescaling, RESCALINGS)
        if len(X) != len(Y) or len(X) == 0:
            raise ValueError(f"{len(X)} inputs and {len(Y)} outputs: expected the same number, at least 1")
        self.task, self.rescaling = task, rescaling
        self.dimension = task.dimension
        self._virtual_samples: set[tuple[int, int | float]] = set()
        self._in_batches, self._virtual = isinstance(task, BatchTask), isinstance(task, VirtualTask)
        self._X, self._Y = task.prepare_batch(X, Y) if self._in_batches else (by_position(X), by_position(Y))

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``."""
        if self._in_batches:
            return self.task.batch_risk(w, self._X, self._Y, self.rescaling)
        total, subgradient = 0.0, np.zeros(self.dimension)
        with np.errstate(over="ignore", invalid="ignore"):  # the solver rejects NaN and infinity
            for i in range(len(self)):
                a, b = self.plane(i, w)
                total += float(np.sum(a * w)) + b
                subgradient += a
        return total / len(self), subgradient / len(self)

    def __len__(self) -> int:
        return len(self._X)

    @property
    def virtual_samples(self) -> set[tuple[int, int | float]]:
        """Pairs of a sample and the name of a version of it that was the worst, and violated, in any call.

        A task that works in batches keeps them itself, in an attribute of the same name.
        """
        return getattr(self.task, "virtual_samples", self._virtual_samples)

    def plane(self, i: int, w: Vector) -> tuple[Vector, float]:
        """Return slope and offset of the largest violation of sample ``i`` at ``w``, 0 if it is negative."""
        x, y = self._X[i], self._Y[i]
        if self._virtual:
            version, a, b = self.task.virtual_plane(w, x, y, self.rescaling)
        else:
            version, z = None, self.task.most_violated(w, x, y, self.rescaling)
            a, b = violation_plane(self.task, x, y, z, self.rescaling)
        if not b + np.sum(a * w) > 0:
            return np.zeros(self.dimension), 0.0
        if version is not None:
            self._virtual_samples.add((i, version))
        return a, b

    def block_dual(self, alpha: float) -> BlockDual:
        """Return the dual for `ermlab.optimize.minimize_blocks`, that of the task if it has one."""
        if isinstance(self.task, BlockTask):
            return self.task.block_dual(self._X, self._Y, self.rescaling, alpha)
        return PlaneBlocks(self, alpha)


def by_position(samples: Sequence) -> Sequence:
    """Return a pandas object as an array, and other samples unchanged.

    Indexing a pandas series looks up a label, not a position, and indexing a data frame a column.
    """
    return samples.to_numpy() if hasattr(samples, "iloc") else samples


def violation_plane(
    task: Task, x: Any, y: Any, z: Any, rescaling: str, weight: float = 1.0
) -> tuple[Vector, float]:
    """Return slope and offset of the violation by output ``z``, with ``weight`` times the task's loss."""
    loss, a = weight * task.loss(y, z), task.joint_feature(x, z) - task.joint_feature(x, y)
    return (loss * a if rescaling == "slack" else a), loss


def predict_all(task: Task, w: Vector, X: Sequence) -> Sequence:
    """Return the prediction for each input: an array if the task works in batches, else a list."""
    return (
        task.batch_predict(w, X)
        if isinstance(task, BatchTask)
        else [task.predict(w, x) for x in by_position(X)]
    )


def mean_loss(task: Task, truths: Sequence, outputs: Sequence) -> float:
    """Return the mean loss of predictions."""
    return float(np.mean([task.loss(y, z) for y, z in zip(truths, outputs, strict=True)]))


class MultiClassTask:
    """Classes ``0 .. n_classes - 1``, with ``phi(x, y)`` the features ``x`` in the block of class ``y``.

    Parameters
    ----------
    n_classes, n_features : int
        Sizes; ``w`` is the flattened matrix with one row of weights per class.
    losses : array-like of shape (n_classes, n_classes), optional
        Loss of predicting the column for the row, by default 0 on the diagonal and 1 elsewhere.
    """

    def __init__(self, n_classes: int, n_features: int, losses: ArrayLike | None = None):
        if n_classes < 2 or n_features < 1:
            raise ValueError(f"{n_classes} classes, {n_features} features: expected at least 2 and 1")
        self.n_classes, self.n_features = n_classes, n_features
        self.losses = 1.0 - np.eye(n_classes) if losses is None else np.array(real_array(losses, "losses"))
        shape = (n_classes, n_classes)
        if self.losses.shape != shape or not (self.losses >= 0).all() or np.diag(self.losses).any():
            raise ValueError(
                f"losses of shape {self.losses.shape}: expected {shape}, non-negative, 0 on the diagonal"
            )
        if self.losses.max() > LARGEST_LOSS:
            raise ValueError(f"losses up to {self.losses.max()}: expected at most {LARGEST_LOSS:.3g}")

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.n_classes * self.n_features

    def joint_feature(self, x: Vector, y: int) -> Vector:
        """Return ``x`` in the block of class ``y``, 0 elsewhere."""
        if not isinstance(y, (int, np.integer)) or not 0 <= y < self.n_classes:
            raise ValueError(f"class {y!r}: expected a whole number from 0 to {self.n_classes - 1}")
        x = real_array(x, "x")
        if x.shape != (self.n_features,):
            raise ValueError(f"features of shape {x.shape}: expected ({self.n_features},)")
        feature = np.zeros((self.n_classes, self.n_features))
        feature[y] = x
        return feature.ravel()

    def loss(self, y: int, z: int) -> float:
        """Return the loss of predicting ``z`` for ``y``."""
        return float(self.losses[y, z])

    def predict(self, w: Vector, x: Vector) -> int:
        """Return the class of the highest score."""
        return int(self.batch_predict(w, np.atleast_2d(x))[0])

    def most_violated(self, w: Vector, x: Vector, y: int, rescaling: str) -> int:
        """Return the most violated class, ``y`` itself if none is violated."""
        X, Y = self.prepare_batch(np.atleast_2d(x), [y])
        return int(most_violated(self.scores(w, X), Y, self.losses, rescaling == "slack")[0][0])

    def prepare_batch(self, X: ArrayLike, Y: ArrayLike) -> tuple[Vector, NDArray[np.int64]]:
        """Return features and classes as arrays, or raise a ValueError."""
        X, Y = self._features(X), np.asarray(Y)
        if Y.shape != (len(X),) or not np.issubdtype(Y.dtype, np.integer):
            raise ValueError(f"classes of type {Y.dtype}, shape {Y.shape}: expected {len(X)} integers")
        if Y.min() < 0 or Y.max() >= self.n_classes:
            raise ValueError(f"classes from {Y.min()} to {Y.max()}: expected 0 to {self.n_classes - 1}")
        return X, Y.astype(np.int64)

    def batch_risk(self, w: Vector, X: Vector, Y: NDArray[np.int64], rescaling: str) -> tuple[float, Vector]:
        """Return the mean hinge loss and a subgradient."""
        scores = self.scores(w, X)
        value, subgradient = risk_and_subgradient(X, Y, scores, self.losses, rescaling == "slack")
        return value, subgradient.ravel()

    def batch_predict(self, w: Vector, X: ArrayLike) -> NDArray[np.int64]:
        """Return the class of the highest score for each row of ``X``."""
        return self.scores(w, self._features(X)).argmax(axis=0)

    def block_dual(self, X: Vector, Y: NDArray[np.int64], rescaling: str, alpha: float) -> MultiClassDual:
        """Return the dual, which solves for all classes of a sample by sorting."""
        return MultiClassDual(self, X, Y, rescaling, alpha)

    def scores(self, w: Vector, X: Vector) -> Vector:
        """Return the scores, one row per class and one column per sample."""
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = np.ascontiguousarray(w.reshape(self.n_classes, self.n_features) @ X.T)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"features up to {np.abs(X).max():.3g} have scores that overflow: scale the features, for "
                "example with sklearn.preprocessing.StandardScaler"
            )
        return scores

    def _features(self, X: ArrayLike) -> Vector:
        X = np.ascontiguousarray(real_array(X, "X"))
        if X.ndim != 2 or X.shape[1] != self.n_features or not np.isfinite(X).all():
            raise ValueError(f"features of shape {X.shape}: expected (n, {self.n_features}), finite")
        return X


class StructuredSVM(BaseEstimator):
    """Structured output SVM: ``1/2 |w|^2 + C sum_i xi_i``, or ``|w|_1 + C sum_i xi_i``.

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
        sample (`ermlab.optimize.minimize_blocks`; ``"l2"`` only). ``"auto"`` uses blocks for ``"l2"`` if
        ``w`` has at least as many entries as there are samples, and bundle otherwise, or if blocks have not
        converged after a hundred passes, for example because features have very different scales.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.

    Attributes
    ----------
    coef_ : ndarray
        The weights ``w``.
    result_ : ermlab.optimize.Result
        Objective and lower bound (divided by ``C n``), planes, and history.
    virtual_samples_ : list of tuple
        Pairs of a sample and the name of a version of it that the optimizer used; empty unless the task has
        transformations (`ermlab.structured.EquivariantTask`).
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
    ):
        self.task = task
        self.C = C
        self.rescaling = rescaling
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.max_time = max_time

    def fit(self, X: Sequence, y: Sequence) -> Self:
        """Fit ``w`` to inputs ``X`` and true outputs ``y``."""
        self._check_options()
        risk = StructuredRisk(self.task, X, y, self.rescaling)
        self.result_ = self._minimize(risk, PENALTIES[self.penalty](regularization_strength(self.C, len(X))))
        warn_unless_converged(self.result_, self.max_iter, self.max_time)
        self.coef_ = self.result_.w
        self.virtual_samples_ = sorted(risk.virtual_samples)
        return self

    def _check_options(self) -> None:
        check_choice("penalty", self.penalty, tuple(PENALTIES))
        positive_number("C", self.C)
        check_choice("solver", self.solver, SOLVERS)
        if self.solver == "blocks" and self.penalty != "l2":
            raise ValueError(f"solver is 'blocks' and penalty {self.penalty!r}: expected 'l2' with it")

    def _minimize(self, risk: StructuredRisk, regularizer: L1 | L2) -> Result:
        """Minimize with the chosen solver; ``"auto"`` changes it if the first has not converged."""
        options = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        if not self._in_blocks(risk):
            return minimize(risk, regularizer, **options)
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
            return self.penalty == "l2" and risk.dimension >= len(risk)
        return self.solver == "blocks"

    def predict(self, X: Sequence) -> Sequence:
        """Return the prediction for each input: an array if the task works in batches, else a list."""
        check_is_fitted(self)
        return predict_all(self.task, self.coef_, X)

    def score(self, X: Sequence, y: Sequence) -> float:
        """Return 1 minus the mean loss, which is the accuracy for the 0-1 loss."""
        return 1.0 - mean_loss(self.task, y, self.predict(X))
