"""Taxonomic prediction: a multi-class SVM whose classes have a covariance (thesis, section 5.2).

With the kernel ``K`` of the samples and the covariance ``B`` of the classes, such as that of a tree
(`ermlab.taxonomy.tree`), the joint kernel is ``K (x) B``. Only ``K`` and ``B`` are ever stored.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, positive_number, real_array, regularization_strength
from ermlab.structured.task import RESCALINGS
from ermlab.taxonomy._blocks import minimize_with_blocks
from ermlab.taxonomy._joint_kernel import JointKernel, scores_of
from ermlab.taxonomy.cutting_planes import LINE_EVALUATIONS, minimize_with_planes
from ermlab.taxonomy.problem import Labels, Problem

Matrix = NDArray[np.float64]
SOLVERS = ("auto", "blocks", "planes")
KERNELS = ("precomputed", "linear")
#: Constraints store classes as 16-bit integers.
MAX_CLASSES = 2**15
#: Sums and differences of two entries of a matrix do not overflow.
LARGEST_ENTRY = np.finfo(np.float64).max / 4
#: A line search goes at most this many times as far as the minimizer of the model.
LONGEST_STEP = 2.0**LINE_EVALUATIONS
#: Rounding allowed in a symmetric matrix, relative to its largest entry.
_ROUNDING = 1e-8


class TaxonomicSVM(ClassifierMixin, SavedModel, BaseEstimator):
    """Structured SVM with the joint kernel ``K (x) B``: ``1/2 |w|^2 + C sum_i xi_i`` (thesis, eq. 5.16).

    ``xi_i`` is the largest violation by a wrong class z, ``loss(y, z) + F(x, z) - F(x, y)`` for margin and
    ``loss(y, z) (1 + F(x, z) - F(x, y))`` for slack rescaling, or 0, where ``F = K alpha B`` are the scores.
    ``B = I`` with the 0-1 loss is the multi-class SVM of Crammer and Singer.

    Parameters
    ----------
    B : array-like of shape (n_classes, n_classes), default=None
        Positive semidefinite covariance of the classes in the order of the sorted labels, by default the
        identity. Its scale acts like that of C; covariances are comparable if they have the same trace.
    B_loss : array-like of shape (n_classes, n_classes), default=None
        Loss of predicting column for row, non-negative with a diagonal of 0; by default the 0-1 loss.
    C : float, default=1.0
        Inverse regularization strength: factor of the sum of the slacks.
    rescaling : {"margin", "slack"}, default="margin"
        Rescaling by the loss.
    kernel : {"precomputed", "linear"}, default="precomputed"
        With ``"precomputed"``, ``fit`` takes the kernel matrix of the training samples and ``predict`` that
        of new samples (rows) with the training samples (columns). With ``"linear"`` both take features, or a
        low-rank factor of a kernel.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound, relative to the objective or to its difference
        from that of ``w = 0``, whichever is less.
    max_iter : int, default=5000
        Maximum number of iterations.
    multilabel : bool, default=False
        Whether a sample has any number of classes: ``y`` is then an indicator matrix, and the violation is
        the largest over pairs of a true and a wrong class, or 0 without such a pair.
    solver : {"auto", "blocks", "planes"}, default="auto"
        ``"planes"``: cutting planes with one slack (thesis, section 5.2.4). ``"blocks"``: ascent sample by
        sample, with far fewer products with ``K``; needs a precomputed kernel and one class per sample.
        ``"auto"`` uses blocks if possible. Both bound the optimum from both sides.
    n_jobs : int, default=None
        Number of threads of the products with ``K``, one per core by default; the result does not depend on
        it.
    max_time : float, default=None
        Time limit of the optimization in seconds, checked before each iteration.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, or the numbers of the columns if ``multilabel``.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients alpha of ``w = sum_iy alpha_iy phi(x_i, y)`` (thesis, eq. 5.26).
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the features; only with the linear kernel.
    objective_ : float
        Value of the objective.
    gap_ : float
        Its relative gap, see ``tol``.
    n_iter_ : int
        Number of iterations.
    iteration_seconds_ : ndarray of shape (n_iter,)
        Duration of each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.
    """

    def __init__(
        self,
        B: ArrayLike | None = None,
        B_loss: ArrayLike | None = None,
        C: float = 1.0,
        rescaling: str = "margin",
        kernel: str = "precomputed",
        tol: float = 1e-3,
        max_iter: int = 5000,
        multilabel: bool = False,
        solver: str = "auto",
        n_jobs: int | None = None,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.B = B
        self.B_loss = B_loss
        self.C = C
        self.rescaling = rescaling
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.multilabel = multilabel
        self.solver = solver
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.classifier_tags.multi_label = self.multilabel
        return tags

    def fit(self, K: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples) or (n_samples, n_features)
            Kernel matrix, or features, see ``kernel``.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Classes, or indicators if ``multilabel``.
        """
        self._check_options()
        in_blocks = self._in_blocks()
        K, y = validate_data(self, K, y, dtype=np.float64, order="C", multi_output=self.multilabel)
        if self.kernel == "precomputed":
            _check_kernel(K)
        labels = self._labels(y)
        B, loss = self._covariance(), self._losses()
        self._check_samples(labels)
        lam = regularization_strength(self.C, len(K))
        self._check_scale(K, B, loss)
        problem = Problem(
            kernel=JointKernel(K, B, factor=self.kernel == "linear", n_jobs=self.n_jobs),
            labels=labels,
            loss=loss,
            slack=self.rescaling == "slack",
            lam=lam,
        )
        minimize = minimize_with_blocks if in_blocks else minimize_with_planes
        with progress(self):
            solution = minimize(problem, self.tol, self.max_iter, self.max_time)
        self.dual_coef_ = solution.point.alpha
        self.objective_ = solution.value / problem.lam
        self.gap_ = solution.relative_gap
        self.iteration_seconds_ = np.array(solution.seconds)
        self.n_iter_ = len(solution.seconds)
        if self.kernel == "linear":
            self.coef_ = scores_of(K.T, self.dual_coef_, B, self.n_jobs).T
        self._warn(solution.point.norm2)
        return self

    def decision_function(self, K: ArrayLike) -> Matrix:
        """Return the scores ``F = K alpha B`` of shape (n_samples, n_classes), also for two classes."""
        check_is_fitted(self)
        K = validate_data(self, K, dtype=np.float64, order="C", reset=False)
        if self.kernel == "linear":
            return scores_of(K, self.coef_.T, np.eye(len(self.classes_)), self.n_jobs)
        return scores_of(K, self.dual_coef_, self._covariance(), self.n_jobs)

    def predict(self, K: ArrayLike) -> NDArray:
        """Return the class of the highest score for each sample."""
        scores = self.decision_function(K)
        return self.classes_[scores.argmax(axis=1)]

    def _check_options(self) -> None:
        check_choice("rescaling", self.rescaling, RESCALINGS)
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("solver", self.solver, SOLVERS)
        positive_number("C", self.C)
        positive_number("tol", self.tol, infinite=True)
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter is {self.max_iter}: expected at least 1")
        if self.max_time is not None and not self.max_time > 0:
            raise ValueError(f"max_time is {self.max_time}: expected a positive number of seconds, or None")

    def _in_blocks(self) -> bool:
        possible = self.kernel == "precomputed" and not self.multilabel
        if self.solver == "blocks" and not possible:
            raise ValueError("solver is 'blocks': expected a precomputed kernel and one class per sample")
        return possible and self.solver != "planes"

    def _labels(self, y: NDArray) -> Labels:
        """Set ``classes_`` and return the true classes of the samples."""
        if not self.multilabel:
            check_classification_targets(y)
            self.classes_, numbers = np.unique(y, return_inverse=True)
            self._check_class_count()
            return Labels(np.arange(len(y) + 1), numbers.astype(np.int64))
        if y.ndim != 2 or not np.isin(y, (0, 1)).all():
            raise ValueError(f"y of shape {y.shape}: expected a matrix (n, k) of 0 and 1 if multilabel")
        self.classes_ = np.arange(y.shape[1])
        self._check_class_count()
        return Labels.from_indicators(y.astype(np.bool_))

    def _check_class_count(self) -> None:
        if (k := len(self.classes_)) > MAX_CLASSES:
            raise ValueError(f"y has {k} classes: expected at most {MAX_CLASSES}")

    def _check_scale(self, K: Matrix, B: Matrix, loss: Matrix) -> None:
        """Raise a ValueError if a squared norm of ``w`` could overflow."""
        n, C = len(K), float(self.C)
        lengths = float(np.abs(K).max())
        if self.kernel == "linear":
            lengths = lengths * lengths * K.shape[1]
        # The sum of the coefficients of a sample is at most C times the largest factor of a constraint.
        weight = 2.0 * n * C * max(1.0, float(loss.max()))
        if not weight * weight * lengths * float(np.abs(B).max()) * LONGEST_STEP**2 < np.inf:
            raise ValueError(
                f"the kernel of the samples has entries up to {lengths:.3g}, B up to {np.abs(B).max():.3g}, "
                f"and C is {C}: expected numbers for which the squared norm of w cannot overflow"
            )

    def _check_samples(self, labels: Labels) -> None:
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"y has {k} class: expected at least 2 classes")
        counts = np.bincount(labels.classes, minlength=k)
        if not counts.all():
            raise ValueError(f"class {int(np.argmin(counts))} has no sample: expected one for each class")

    def _covariance(self) -> Matrix:
        k = len(self.classes_)
        if self.B is None:
            return np.eye(k)
        B = self._class_matrix("B", self.B)
        allowed = _ROUNDING * np.abs(B).max()
        if np.abs(B - B.T).max() > allowed:
            i, j = np.unravel_index(np.argmax(np.abs(B - B.T)), B.shape)
            raise ValueError(
                f"B is {B[i, j]} at ({i}, {j}), {B[j, i]} at ({j}, {i}): expected a symmetric matrix"
            )
        B = (B + B.T) / 2
        smallest = np.linalg.eigvalsh(B)[0]
        if smallest < -k * allowed:
            raise ValueError(f"B has the eigenvalue {smallest:.3g}: expected it to be positive semidefinite")
        return B

    def _losses(self) -> Matrix:
        if self.B_loss is None:
            return 1.0 - np.eye(len(self.classes_))
        loss = self._class_matrix("B_loss", self.B_loss)
        if (loss < 0).any() or np.diag(loss).any():
            raise ValueError(
                f"B_loss has entries down to {loss.min()}, a diagonal up to {np.abs(np.diag(loss)).max()}: "
                "expected losses of at least 0 and a diagonal of 0"
            )
        return loss

    def _class_matrix(self, name: str, matrix: ArrayLike) -> Matrix:
        matrix, k = np.ascontiguousarray(real_array(matrix, name)), len(self.classes_)
        if matrix.shape != (k, k):
            raise ValueError(
                f"{name} has shape {matrix.shape} and y {k} classes: expected ({k}, {k}) and a sample for "
                "each class"
            )
        if not np.isfinite(matrix).all():
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise ValueError(f"{name} is {matrix[i, j]} for classes {i} and {j}: expected finite numbers")
        if np.abs(matrix).max() > LARGEST_ENTRY:
            raise ValueError(
                f"{name} goes up to {np.abs(matrix).max():.3g}: expected at most {LARGEST_ENTRY:.3g}"
            )
        return matrix

    def _warn(self, norm2: float) -> None:
        if self.gap_ > self.tol:
            limits = "max_iter" if self.max_time is None else "max_iter, max_time"
            warnings.warn(
                f"stopped after {self.n_iter_} iterations with a relative gap of {self.gap_:.2g}: raise "
                f"{limits} or tol, or scale the features, for example with "
                "sklearn.preprocessing.StandardScaler",
                ConvergenceWarning,
                stacklevel=3,
            )
        if norm2 == 0:
            warnings.warn(
                "w is 0 and all classes have the same score: the kernel or B does not distinguish them",
                ConvergenceWarning,
                stacklevel=3,
            )


def _check_kernel(K: Matrix) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"the kernel matrix has shape {K.shape}: expected as many columns as rows")
    if (largest := np.abs(K).max()) > LARGEST_ENTRY:
        raise ValueError(f"the kernel has entries up to {largest:.3g}: expected at most {LARGEST_ENTRY:.3g}")
    if (np.diagonal(K) < 0).any():
        i = int(np.argmin(np.diagonal(K)))
        raise ValueError(f"K is {K[i, i]} at ({i}, {i}): expected a positive semidefinite matrix")
    allowed = _ROUNDING * np.abs(K).max()
    for start in range(0, len(K), 1024):
        rows = slice(start, start + 1024)
        difference = np.abs(K[rows] - K[:, rows].T)
        if difference.max() > allowed:
            i, j = np.unravel_index(np.argmax(difference), difference.shape)
            raise ValueError(
                f"the kernel is not symmetric: {K[start + i, j]} for samples {start + i} and {j}, "
                f"{K[j, start + i]} the other way round"
            )
