"""What the estimators share: kernel, graph and coordinates of the samples, and the functions learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import as_number, positive_number, real_array, require_ordinary, require_room
from ermlab.semisupervised._coordinates import Deformation, KernelCoordinates, LinearCoordinates, roughness
from ermlab.semisupervised.graphs import LAPLACIANS, checked_symmetric, graph_laplacian, neighbor_graph

Matrix = NDArray[np.float64]
Kernel = str | Callable[[Matrix, Matrix], ArrayLike]
Laplacian = str | Callable[[Matrix], Any]


class LaplacianModel(SavedModel, BaseEstimator):
    """Functions ``f = h + b``, with ``h`` of a kernel and smooth on the graph of all training samples."""

    #: Whether there is a single function, whose attributes have one dimension less.
    _vector = False

    def _functions(
        self,
        X: Matrix,
        labeled: NDArray[np.bool_],
        weight: float,
        solve: Callable[[Matrix], tuple[Matrix, Matrix]],
        *,
        centered: bool,
    ) -> Matrix:
        """Learn functions from the labeled samples; return their values at all training samples.

        Parameters
        ----------
        X : ndarray of shape (m, d)
            All samples.
        labeled : ndarray of shape (m,)
            Which are labeled.
        weight : float
            Weight of ``h' L h / m`` relative to ``|h|_H^2``.
        solve : callable
            From the features ``A`` of the labeled samples, in which the penalty is ``|u|^2``, to coefficients
            ``u`` and intercepts, one column and one entry for each function.
        centered : bool
            Whether functions are centered on the labeled samples.
        """
        require_ordinary(X, "X", "features")
        with one_blas_thread():
            space = self._coordinates(X, labeled, centered=centered)
            M = np.zeros((space.Z.shape[1],) * 2)
            if weight > 0:
                M = roughness(space.Z, self._laplacian(X)) / len(X)
            deformation = Deformation(M, weight)
            U, intercepts = solve(deformation.features(space.Z[labeled]))
            V = deformation.coordinates(U)
            self._keep(X, space, V, intercepts)
            return space.Z @ V + intercepts

    @property
    def coef_(self) -> Matrix:
        """Weights of the features, for a linear kernel."""
        self._require_linear("coef_", linear=True)
        return self._weights[:, 0] if self._vector else self._weights.T

    @property
    def intercept_(self) -> float | Matrix:
        """Constant of each function, for a linear kernel."""
        self._require_linear("intercept_", linear=True)
        constants = self._offsets - self._origin @ self._weights
        return float(constants[0]) if self._vector else constants

    @property
    def dual_coef_(self) -> Matrix:
        """Coefficients of the kernel functions of all training samples, for other kernels."""
        self._require_linear("dual_coef_", linear=False)
        return self._shaped(self._dual)

    def _require_linear(self, name: str, *, linear: bool) -> None:
        """Raise an AttributeError unless the model is fitted, with a linear kernel or with another one."""
        check_is_fitted(self)
        if (self._weights is not None) != linear:
            raise AttributeError(f"{name} does not exist for the kernel {self.kernel!r}")

    def _shaped(self, values: Matrix) -> Matrix:
        return values[:, 0] if self._vector else values

    def _values(self, X: ArrayLike) -> Matrix:
        """Return the values of all functions at new samples, one column for each."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            if self._weights is not None:
                values = (X - self._origin) @ self._weights + self._offsets
            else:
                values = self._kernel(X, self._X) @ self._dual + self._offsets
        if not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(values).all(axis=1)))
            raise ValueError(
                f"the value of row {row} of X, with entries up to {np.abs(X[row]).max():.3g}, is not finite: "
                "expected entries in the units of the training samples"
            )
        return values

    def _coordinates(
        self, X: Matrix, labeled: NDArray[np.bool_], *, centered: bool
    ) -> LinearCoordinates | KernelCoordinates:
        self._origin = X.mean(axis=0) if self._is("rbf") else np.zeros(X.shape[1])
        if self._is("linear"):
            if centered:
                self._origin = X[labeled].mean(axis=0)
            if X.shape[1] <= len(X):
                return LinearCoordinates.of(X, self._origin)
        self.gamma_ = self._gamma(X)
        require_room((3 * len(X), len(X)), f"the kernel matrix of {len(X)} samples")
        K = self._kernel(X, X)
        if K.shape != (len(X), len(X)):
            raise ValueError(f"the kernel matrix has shape {K.shape}: expected {(len(X), len(X))}")
        return KernelCoordinates.of(K, labeled, centered=centered)

    def _keep(
        self, X: Matrix, space: LinearCoordinates | KernelCoordinates, V: Matrix, intercepts: Matrix
    ) -> None:
        """Keep what new samples need: weights of features, or of kernel functions."""
        self._weights, self._dual, self._X = None, None, None
        if isinstance(space, LinearCoordinates):
            self._weights, self._offsets = V, intercepts
            return
        self._dual = space.dual(V)
        self._offsets = intercepts - space.origin @ V
        if self._is("linear"):
            self._weights = (X - self._origin).T @ self._dual
        elif not self._is("precomputed"):
            self._X = X

    def _kernel(self, A: Matrix, B: Matrix | None) -> Matrix:
        if self._is("precomputed"):
            return A
        if callable(self.kernel):
            K = real_array(self.kernel(A, B), "the kernel")
        else:
            A, B = A - self._origin, B - self._origin
            K = pairwise_kernels(A, B, metric=self.kernel, filter_params=True, gamma=self.gamma_)
        if K.shape != (len(A), len(B)):
            raise ValueError(f"the kernel has shape {K.shape}: expected {(len(A), len(B))}")
        if not np.isfinite(K).all():
            raise ValueError("the kernel returned values that are not finite: expected finite numbers")
        return K

    def _gamma(self, X: Matrix) -> float:
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise ValueError(f"gamma is {self.gamma!r}: expected 'scale' or a positive number")
            variance = float(X.var())
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        return positive_number("gamma", self.gamma)

    def _laplacian(self, X: Matrix) -> csr_array:
        if callable(self.laplacian):
            return checked_symmetric(self.laplacian(X), "the Laplacian", len(X))
        if self.laplacian not in LAPLACIANS:
            raise ValueError(
                f"laplacian is {self.laplacian!r}: expected one of {LAPLACIANS}, or a function of the samples"
            )
        samples, metric = X, "euclidean"
        if self._is("precomputed"):
            norms = np.diag(X)
            samples = np.sqrt(np.maximum(norms[:, None] + norms - 2 * X, 0.0))
            metric = "precomputed"
        W = neighbor_graph(
            samples, self.n_neighbors, weights=self.weights, bandwidth=self.bandwidth, metric=metric
        )
        return graph_laplacian(W, normalized=self.laplacian == "normalized")

    def _is(self, kernel: str) -> bool:
        return isinstance(self.kernel, str) and self.kernel == kernel

    def _laplacian_alpha(self) -> float:
        number = as_number(self.laplacian_alpha)
        if not 0 <= number < np.inf:
            raise ValueError(f"laplacian_alpha is {self.laplacian_alpha!r}: expected a number of at least 0")
        return number

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        return tags
