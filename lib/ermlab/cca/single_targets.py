"""Laplacian KCCA of X with many single targets at once.

With a target of one column, the function of X that maximizes eq. 4.12 is linear in the target: that of ridge
regression, with the Laplacian in the penalty. One decomposition of X then serves all targets, such as
permutations of one.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ermlab.cca.algebra import Laplacian, View
from ermlab.cca.centered_kernels import CenteredGram
from ermlab.cca.laplacians import normalized_laplacian


class SingleTargets:
    """Functions of X for targets of one column each.

    Parameters
    ----------
    gram : CenteredGram
        Kernel matrix of the training samples.
    eps, gamma : sequence of float
        As in `LaplacianKCCACV`.
    laplacian : callable, default=normalized_laplacian
        As in `LaplacianKCCA`.

    Attributes
    ----------
    view : View
        Coordinates of X.
    """

    def __init__(
        self,
        gram: CenteredGram,
        eps: Sequence[float],
        gamma: Sequence[float],
        laplacian: Laplacian = normalized_laplacian,
    ):
        self.view = View(gram, laplacian)
        self.eps, self.gamma = eps, gamma

    def predictions(
        self, K_test: NDArray[np.float64], Y: NDArray[np.float64]
    ) -> Iterator[tuple[tuple[int, int], NDArray[np.float64]]]:
        """Yield the positions of ``eps`` and ``gamma`` and the predictions (n_test, n_targets).

        Parameters
        ----------
        K_test : ndarray of shape (n_test, m)
            Kernel of the test samples with all training samples, as of `CenteredGram.split`.
        Y : ndarray of shape (n, n_targets)
            Targets of the paired training samples. Predictions are differences from their mean.
        """
        Z, centered = K_test @ self.view.to_dual, Y - Y.mean(axis=0)
        for j, gamma in enumerate(self.gamma):
            penalized = self.view.penalized(gamma)
            T, cross = Z @ penalized.V, penalized.T.T @ centered
            for i, eps in enumerate(self.eps):
                yield (i, j), T @ (penalized.whitening(eps)[:, None] ** 2 * cross)

    def dual_coef(self, index: tuple[int, int], Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of the centered kernel functions of all samples (m, n_targets)."""
        penalized = self.view.penalized(self.gamma[index[1]])
        scales = penalized.whitening(self.eps[index[0]])[:, None] ** 2
        return self.view.to_dual @ (penalized.V @ (scales * (penalized.T.T @ (Y - Y.mean(axis=0)))))
