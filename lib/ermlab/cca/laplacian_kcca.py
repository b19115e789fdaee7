"""Semi-supervised Laplacian regularization of kernel canonical correlation analysis (thesis, section 4.1)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import safe_unit
from ermlab.cca.algebra import Laplacian, View, leading_pairs
from ermlab.cca.centered_kernels import CenteredGram, Expansion, Kernel, Rows
from ermlab.cca.laplacians import centering_laplacian, normalized_laplacian

FLOATS = (np.float64, np.float32)
LAPLACIANS = {"normalized": normalized_laplacian, "centering": centering_laplacian}
#: Entries with a relative difference below this count as equal when the largest determines a sign.
SAME_SIZE = 1e-6


class TwoViewProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedModel, BaseEstimator):
    """Base of the estimators: validation of samples, solution of eq. 4.12, projection of new samples."""

    def transform(
        self, X: ArrayLike, Y: ArrayLike | None = None
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ``f_x`` of the rows of ``X`` and, if ``Y`` is given, ``f_y`` of its rows.

        With a precomputed kernel, columns are all training samples, paired ones first.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        with one_blas_thread():
            if Y is None:
                return self._x(X)
            return self._x(X), self._y(self._columns_of_y(Y))

    def correlations(self, X: ArrayLike, Y: ArrayLike) -> NDArray[np.float64]:
        """Return the correlation of ``f_x`` and ``f_y`` over pairs of samples for each component.

        It is 0 if one of them is constant.
        """
        return column_correlations(*self.transform(X, Y))

    def score(self, X: ArrayLike, Y: ArrayLike) -> float:
        """Return the mean of the correlations over the components."""
        return float(self.correlations(X, Y).mean())

    @property
    def x_weights_(self) -> NDArray[np.float64]:
        """Weights of the columns of X, of shape (n_features, n_components), for a linear kernel."""
        check_is_fitted(self)
        with one_blas_thread():
            return self._x.weights

    @property
    def y_weights_(self) -> NDArray[np.float64]:
        """Weights of the columns of Y, of shape (n_features_y, n_components), for a linear kernel."""
        check_is_fitted(self)
        with one_blas_thread():
            return self._y.weights

    @property
    def _n_features_out(self) -> int:
        return len(self.canonical_correlations_)

    def _read(
        self, X: ArrayLike, Y: ArrayLike, X_extra: ArrayLike | None, Y_extra: ArrayLike | None
    ) -> tuple[Rows, Rows]:
        """Check the samples and the number of components."""
        if not (isinstance(self.n_components, int | np.integer) and self.n_components >= 1):
            raise ValueError(f"n_components is {self.n_components!r}: expected a positive integer")
        kernel_x, kernel_y = self._kernels()
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None: expected the second view, Y")
        Y = _two_dimensional(Y, "Y")
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} rows and Y has {len(Y)}: expected pairs")
        self.n_features_y_ = Y.shape[1]
        return _rows("X", kernel_x, X, X_extra), _rows("Y", kernel_y, Y, Y_extra)

    def _kernels(self) -> tuple[Kernel, Kernel]:
        kernel = self.kernel
        return kernel if isinstance(kernel, tuple) and len(kernel) == 2 else (kernel, kernel)

    def _laplacian(self) -> Laplacian:
        if callable(self.laplacian):
            return self.laplacian
        if self.laplacian not in LAPLACIANS:
            raise ValueError(
                f"laplacian is {self.laplacian!r}: expected one of {sorted(LAPLACIANS)}, or a function of "
                "squared distances"
            )
        return LAPLACIANS[self.laplacian]

    def _columns_of_y(self, Y: ArrayLike) -> NDArray:
        Y = _two_dimensional(Y, "Y")
        if Y.shape[1] != self.n_features_y_:
            raise ValueError(f"Y has {Y.shape[1]} columns: expected {self.n_features_y_}, as in fit")
        return Y

    def _solve(
        self,
        rows: tuple[Rows, Rows],
        views: tuple[View, View],
        eps: tuple[float, float],
        gamma: tuple[float, float],
    ) -> Self:
        """Maximize eq. 4.12 and set the fitted attributes."""
        x, y = views
        k, most = self.n_components, min(x.rank, y.rank, x.n - 1)
        if k > most:
            raise ValueError(f"n_components is {k}: expected at most {most}, the rank of the two views")
        px, py = x.penalized(gamma[0]), y.penalized(gamma[1])
        dx, dy = px.whitening(eps[0]), py.whitening(eps[1])
        correlations, left, right = leading_pairs(dx[:, None] * (px.T.T @ py.T) * dy, k)
        # With this scale the variance over the paired samples and the penalties sum to 1.
        alpha_x = np.sqrt(x.n) * x.to_dual @ (px.V @ (dx[:, None] * left))
        alpha_y = np.sqrt(y.n) * y.to_dual @ (py.V @ (dy[:, None] * right))
        signs = _signs(Expansion(rows[1], alpha_y))
        self._x, self._y = Expansion(rows[0], alpha_x * signs), Expansion(rows[1], alpha_y * signs)
        self.x_dual_coef_, self.y_dual_coef_ = alpha_x * signs, alpha_y * signs
        self.canonical_correlations_ = correlations
        self.equivalent_eps_x_ = x.equivalent_eps(eps[0], gamma[0])
        self.equivalent_eps_y_ = y.equivalent_eps(eps[1], gamma[1])
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class LaplacianKCCA(TwoViewProjection):
    """Kernel CCA with functions that are smooth along the samples of each view.

    With paired samples ``(x_i, y_i)``, ``i <= n``, and unpaired samples of either view (m_x and m_y samples
    in total), it maximizes (thesis, eq. 4.12)::

        sum_i f_x(x_i) f_y(y_i) / sqrt(Q_x(f_x) Q_y(f_y))
        Q(f) = sum_i f(x_i)^2 + eps kappa |f|^2 + gamma n / m f' L f

    where both sums run over the pairs, ``f' L f`` over all m samples of the view, and functions have mean 0
    over the paired samples: feature vectors are centered on the mean of the paired ones, also those of
    unpaired and new samples. Unpaired samples of a view with ``gamma = 0`` have no effect.

    Units: ``kappa``, the mean eigenvalue of the centered kernel matrix of the paired samples, makes ``eps``
    independent of the scale of the data; with ``gamma = 1`` the mean of the Laplacian term over all samples
    has the same weight as the variance over the paired ones. In the units of the thesis,
    ``eps_thesis = eps kappa`` and ``gamma_thesis = gamma n m``.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs of functions.
    eps_x, eps_y : float, default=1.0
        Weight of the norm of a function, at least 0.
    gamma_x : float, default=1.0
        Weight of the Laplacian of X, at least 0.
    gamma_y : float, default=0.0
        Weight of the Laplacian of Y; the thesis has none. Without both it is plain KCCA (eq. 4.9).
    kernel : str, callable, or tuple of two, default="linear"
        ``"linear"``, another name of scikit-learn's ``pairwise_kernels``, a function from two matrices to the
        kernel matrix of their rows, or ``"precomputed"``; a tuple has those of X and Y. With
        ``"precomputed"`` the rows of X and X_extra are the kernel with all samples, paired ones first.
    laplacian : {"normalized", "centering"} or callable, default="normalized"
        `normalized_laplacian`, `centering_laplacian` (a control that ignores distances), or a function from
        the squared distances of all samples in feature space to a Laplacian.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        Value of eq. 4.12 for each component, largest first.
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components)
        Weights of the columns, for a linear kernel; computed on first access.
    x_dual_coef_, y_dual_coef_ : ndarray of shape (m, n_components)
        Coefficients of the centered kernel functions of all samples.
    equivalent_eps_x_, equivalent_eps_y_ : float
        The ``eps`` at which the penalty of plain KCCA is closest, in the sense of least squares.
    n_features_in_, n_features_y_ : int
        Number of columns of X and of Y.

    Notes
    -----
    The sign of a component makes the largest weight of Y positive or, if the kernel of Y is not linear, the
    largest value of ``f_y`` at a paired sample; the first one if several are equally large.
    """

    def __init__(
        self,
        n_components: int = 1,
        eps_x: float = 1.0,
        eps_y: float = 1.0,
        gamma_x: float = 1.0,
        gamma_y: float = 0.0,
        kernel: Kernel | tuple[Kernel, Kernel] = "linear",
        laplacian: str | Laplacian = "normalized",
    ):
        self.n_components = n_components
        self.eps_x = eps_x
        self.eps_y = eps_y
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.kernel = kernel
        self.laplacian = laplacian

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        X_extra: ArrayLike | None = None,
        Y_extra: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Paired samples of the first view, kept for projections without a copy.
        Y : array-like of shape (n_samples, n_features_y) or (n_samples,)
            Paired samples of the second view.
        X_extra, Y_extra : array-like, default=None
            Unpaired samples of each view.
        """
        for name in ("eps_x", "eps_y", "gamma_x", "gamma_y"):
            require_non_negative(name, getattr(self, name))
        rows = self._read(X, Y, X_extra, Y_extra)
        with one_blas_thread():
            x, y = (View(CenteredGram.of(side), self._laplacian()) for side in rows)
            return self._solve(rows, (x, y), (self.eps_x, self.eps_y), (self.gamma_x, self.gamma_y))


def column_correlations(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of the columns of ``A`` and ``B``, 0 where one of them is constant."""
    (a, a_varies), (b, b_varies) = _standardized(A), _standardized(B)
    return np.where(a_varies & b_varies, np.sum(a * b, axis=0), 0.0)


def require_non_negative(name: str, value: float) -> None:
    """Raise ValueError unless the value is a finite number of at least 0."""
    if not (np.isscalar(value) and np.isreal(value) and 0 <= value < np.inf):
        raise ValueError(f"{name} is {value!r}: expected a number of at least 0")


def _standardized(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the centered columns scaled to length 1, and which of them vary by more than rounding."""
    units = np.array([safe_unit(column) for column in A.T])
    A = A / units if (units != 1).any() else A  # correlations do not depend on the unit
    centered = A - A.mean(axis=0)
    lengths = np.sqrt(np.sum(centered**2, axis=0))
    varies = lengths > len(A) * np.finfo(np.float64).eps * np.sqrt(np.sum(A**2, axis=0))
    return centered / np.where(varies, lengths, 1.0), varies


def _two_dimensional(A: ArrayLike, name: str) -> NDArray:
    A = check_array(A, dtype=FLOATS, ensure_2d=False, allow_nd=True, input_name=name)
    if A.ndim > 2:
        raise ValueError(f"{name} has {A.ndim} dimensions: expected 1 or 2")
    return A.reshape(len(A), -1)


def _rows(name: str, kernel: Kernel, paired: NDArray, extra: ArrayLike | None) -> Rows:
    """Return the samples of a view, with the unpaired ones checked against the paired ones."""
    if extra is not None:
        extra = _two_dimensional(extra, f"{name}_extra")
        if extra.shape[1] != paired.shape[1]:
            raise ValueError(
                f"{name}_extra has {extra.shape[1]} columns: expected {paired.shape[1]}, like {name}"
            )
    rows = Rows(name, kernel, paired, extra)
    if isinstance(kernel, str) and kernel == "precomputed" and paired.shape[1] != rows.size:
        raise ValueError(
            f"the precomputed kernel of {name} has {paired.shape[1]} columns: "
            f"expected {rows.size}, one for each sample"
        )
    return rows


def _signs(f_y: Expansion) -> NDArray[np.float64]:
    """Return the sign of each component's leading entry."""
    entries = f_y.weights if f_y.rows.is_linear else f_y(f_y.rows.paired)
    sizes = np.abs(entries)
    leading = np.argmax(sizes >= (1 - SAME_SIZE) * sizes.max(axis=0), axis=0)
    return np.where(entries[leading, np.arange(entries.shape[1])] < 0, -1.0, 1.0)
