"""Fully connected conditional random fields, learned by a structured SVM.

Every pixel of an image is joined to every other by Gaussian kernels of position and of a guide image
(Kraehenbuehl and Koltun, 2011); weights are learned as by Orlando and Blaschko (2014), [OB14] of the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import map_in_threads
from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import positive_number, real_array, whole_number
from ermlab.segmentation._dense_kernels import DenseSample, FilterCache, Kernel, build_filter, dense_sample
from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation._joint_features_numba import add_nodes
from ermlab.segmentation._labeling_task import LabelingTask
from ermlab.segmentation.dense_bound import dense_bound
from ermlab.segmentation.gaussian_filter import GaussianFilter
from ermlab.segmentation.mean_field import MeanField, different_pairs, mean_field
from ermlab.segmentation.potentials import LARGEST_POTENTIAL, check_labels
from ermlab.structured.task import by_position

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
#: First and last temperature at which labels are found, in units of the sum of the weights of kernels.
ANNEALING = 0.25, 0.1


@dataclass(frozen=True)
class DenseTruth:
    """True labels of the nodes, the loss of a wrong label at each of them, and joint features."""

    labels: Labels
    node_weights: Vector
    feature: Vector


@remembers_arguments
class DenseCRF(LabelingTask):
    """Segmentation with a fully connected random field, as a `Task` of `ermlab.structured.StructuredSVM`.

    A sample ``x`` is one of

    - ``features``, an array (height, width, n_features) or (depth, height, width, n_features);
    - ``(features, guide)`` with an image (height, width) or (height, width, n_channels), on whose values
      kernels may depend, for example gray values or colors;
    - ``(features, guide, mask)`` with a boolean image: pixels where it is False are not part of the random
      field, are labeled 0, and their true label must be 0. ``guide`` may be None.

    The labels ``y`` are an integer array of the shape of the image. Images may have different sizes.

    The weights ``w`` are ``n_states x n_features`` unary weights, one row per state (thesis, eq. 2.19), and
    one weight of at least 0 for each kernel. The joint features are means over pixels, such that scores of
    images of different size can be compared: of the features of the pixels of each label, and for each kernel
    ``-sum_{i<j} k(i, j) [y_i != y_j] / n_pixels``, where ``k(i, j)`` is the Gaussian, symmetrically
    normalized (`GaussianFilter`). Inference is by mean field, hence approximate.

    Parameters
    ----------
    n_states, n_features : int
        Number of states, at least 2, and of features of a pixel. One feature should be constant, as the
        intercept.
    kernels : sequence
        Each kernel is a width, the standard deviation of positions in pixels (smoothness), or
        ``(width, guide_width)`` with that of the values of the guide image too (appearance), or
        ``(width, guide_width, channels)`` for some of its channels. Give several widths, and training chooses
        among them by their weights.
    spacing : float or sequence of float, default=1.0
        Distance of neighboring pixels along each axis.
    class_weight : array-like of shape (n_states,), optional
        Weight of errors at pixels of each true label, by default 1. The loss is
        ``sum_i class_weight[y_i] [y_i != z_i] / n_pixels``: the fraction of wrong labels without weights.
    ignore_label : int, optional
        Pixels with this true label do not count in the loss, nor in its number of pixels.
    max_iter : int, default=10
        Number of updates of mean field. With more, 30 for example, temperatures sink more slowly and labels
        have higher scores, which matters most in training.
    tol : float, default=1e-3
        Change of all marginals below which mean field stops; see `mean_field`.
    temperature : float, optional
        Number by which scores per pixel are divided in mean field; at low temperatures marginals are closer
        to 0 and 1. By default 1 for `marginals`. Labels are then found at temperatures that sink from 1/4 to
        1/10 of the sum of the weights of kernels, such that they do not depend on the scale of the weights,
        and that their scores are closer to the highest one.
    cache_size : float, default=2e9
        Bytes of the filters of training samples that are kept from one pass to the next.

    Notes
    -----
    *Choice of kernels.* A smoothness kernel removes isolated errors; its width is the size of the smallest
    structure to keep, 1 to 3 pixels for thin vessels. The position width of an appearance kernel is the
    distance over which equal values mean equal labels, 10 to 80 pixels; its guide width is the size of
    differences within a region, for example once and three times the standard deviation of noise.
    Kernels whose weights become 0 take no time in prediction. Time and memory grow with the number of
    vertices of the lattice, hence as widths shrink: a kernel of more than about five dimensions, or with
    widths below the noise, has few pixels per vertex and is slow and inaccurate.

    Slack rescaling (thesis, eq. 2.18) is not available: the product of loss and score joins all pixels, and
    its maximum is no longer approximated by mean field.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab import DenseCRF, StructuredSVM
    >>> rng = np.random.default_rng(0)
    >>> labels = np.zeros((4, 16, 16), dtype=int)
    >>> labels[:, 4:12, 4:12] = 1
    >>> noisy = labels + 0.5 * rng.normal(size=labels.shape)
    >>> X = [(np.stack([image, np.ones_like(image)], axis=-1), image) for image in noisy]
    >>> task = DenseCRF(2, 2, kernels=[1.0, 2.0, (4.0, 0.5)])
    >>> model = StructuredSVM(task, C=100).fit(X[:3], labels[:3])
    >>> bool(model.score(X[3:], labels[3:]) > 0.9)
    True
    """

    exact = False

    def __init__(
        self,
        n_states: int,
        n_features: int,
        kernels: Sequence = (3.0,),
        *,
        spacing: float | Sequence[float] = 1.0,
        class_weight: ArrayLike | None = None,
        ignore_label: int | None = None,
        max_iter: int = 10,
        tol: float = 1e-3,
        temperature: float | None = None,
        cache_size: float = 2e9,
    ):
        self.n_states = whole_number("n_states", n_states, 2)
        self.n_features = whole_number("n_features", n_features, 1)
        self.kernels = [Kernel.parse(m, kernel) for m, kernel in enumerate(kernels)]
        self.spacing = np.atleast_1d(real_array(spacing, "spacing"))
        if self.spacing.ndim != 1 or not ((self.spacing > 0) & (self.spacing < np.inf)).all():
            raise ValueError(f"spacing is {spacing}: expected positive numbers")
        self.max_iter = whole_number("max_iter", max_iter, 0)
        self.tol = tol
        self.temperature = None if temperature is None else positive_number("temperature", temperature)
        self._loss = HammingLoss(self.n_states, class_weight, ignore_label)
        self._filters = FilterCache(positive_number("cache_size", cache_size, infinite=True))

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.n_states * self.n_features + len(self.kernels)

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """Bounds of the weights: those of kernels are at least 0."""
        lower, upper = np.full(self.dimension, -np.inf), np.full(self.dimension, np.inf)
        lower[self.n_states * self.n_features :] = 0.0
        return lower, upper

    def joint_feature(self, x: Any, y: ArrayLike) -> Vector:
        """Return ``phi(x, y)`` (thesis, eq. 2.26)."""
        sample = self.sample(x)
        return self.truth(sample, y).feature

    def predict(self, w: ArrayLike, x: Any) -> Labels:
        """Return the most probable label of each pixel, by mean field."""
        return self._predict(self.check_weights(w), self.sample(x))

    def marginals(self, w: ArrayLike, x: Any) -> Vector:
        """Return the approximate probability of each label, of the shape of the image and ``n_states``.

        It is 0 for all labels outside of the mask. A structured SVM does not estimate probabilities, so that
        these are a relative measure of confidence only.
        """
        sample = self.sample(x)
        w = self.check_weights(w)
        return sample.image(
            self._mean_field(w, sample, self._unary(w, sample), self.temperature or 1.0).marginals
        )

    def most_violated(self, w: ArrayLike, x: Any, y: ArrayLike, rescaling: str) -> Labels:
        """Return labels with a large violation, by mean field with the loss added to the unary scores."""
        self.check_rescaling(rescaling)
        sample = self.sample(x)
        return sample.image(self._violate(self.check_weights(w), sample, self.truth(sample, y), None))

    def violation_bound(self, w: ArrayLike, x: Any, y: ArrayLike, rescaling: str) -> float:
        """Return an upper bound of the largest violation of a sample, by `dense_bound`."""
        self.check_rescaling(rescaling)
        w, sample = self.check_weights(w), self.sample(x)
        truth, weights = self.truth(sample, y), self._kernel_weights(w)
        used = np.flatnonzero(weights)
        kernels = [self._filter(sample, m, None, keep=True) for m in used]
        highest = dense_bound(self._augmented(w, sample, truth), kernels, weights[used])
        return highest / sample.n_pixels - float(np.sum(w * truth.feature))

    def batch_planes(
        self, w: Vector, X: list[DenseSample], Y: list[DenseTruth], rescaling: str
    ) -> tuple[Vector, Vector]:
        """Return slopes and offsets of a large violation of each sample."""
        self.check_rescaling(rescaling)
        w = self.check_weights(w)
        n_jobs = _threads_within(X)

        def plane(i: int) -> tuple[Vector, float]:
            labels = self._violate(w, X[i], Y[i], n_jobs)
            loss = float(np.sum(Y[i].node_weights[labels != Y[i].labels]))
            return self._joint(X[i], labels, n_jobs) - Y[i].feature, loss

        with one_blas_thread():
            planes = map_in_threads(plane, range(len(X)))
        return np.array([slope for slope, _ in planes]), np.array([offset for _, offset in planes])

    def batch_predict(self, w: ArrayLike, X: Sequence) -> list[Labels]:
        """Return the predicted labels of each sample."""
        w, samples = self.check_weights(w), [self.sample(x) for x in by_position(X)]
        n_jobs = _threads_within(samples)
        with one_blas_thread():
            return map_in_threads(lambda sample: self._predict(w, sample, n_jobs), samples)

    def check_weights(self, w: ArrayLike) -> Vector:
        """Return the weights as an array, or raise a ValueError."""
        w = real_array(w, "w")
        if w.shape != (self.dimension,) or not np.isfinite(w).all():
            raise ValueError(f"w has shape {w.shape}: expected ({self.dimension},), finite numbers")
        weights = self._kernel_weights(w)
        if (weights < 0).any():
            m = int(np.argmax(weights < 0))
            raise ValueError(f"weight {weights[m]} of kernel {m}: expected at least 0")
        return w

    def sample(self, x: Any) -> DenseSample:
        """Return a checked sample, or raise a ValueError."""
        sample = dense_sample(x, self.n_features, self.kernels)
        if len(self.spacing) not in (1, len(sample.shape)):
            raise ValueError(f"{len(self.spacing)} spacings for an image of {len(sample.shape)} axes")
        return sample

    def truth(self, sample: DenseSample, y: ArrayLike) -> DenseTruth:
        """Return checked true labels, or raise a ValueError."""
        y = self.check_shape(y, sample.shape).ravel()
        everywhere = check_labels(y, y.size, self.n_states)
        if sample.nodes is not None:
            outside = everywhere.copy()
            outside[sample.nodes] = 0
            if outside.any():
                place = tuple(int(index) for index in np.unravel_index(np.argmax(outside != 0), sample.shape))
                raise ValueError(f"label {outside.max()} at pixel {place}, outside of the mask: expected 0")
        labels = sample.at_nodes(everywhere)
        weights = sample.at_nodes(self._loss.node_weights(everywhere))
        return DenseTruth(labels, weights, self._joint(sample, labels))

    def _kernel_weights(self, w: Vector) -> Vector:
        return w[self.n_states * self.n_features :]

    def _unary(self, w: Vector, sample: DenseSample) -> Vector:
        """Return the score of each label of each node, times the number of pixels."""
        weights = w[: self.n_states * self.n_features].reshape(self.n_states, self.n_features)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = np.ascontiguousarray(sample.features @ weights.T)
        if not max(scores.max(), -scores.min()) <= LARGEST_POTENTIAL:
            raise ValueError(
                f"features up to {np.abs(sample.features).max():.3g} have scores that overflow: scale the "
                "features, for example with sklearn.preprocessing.StandardScaler"
            )
        return scores

    def _augmented(self, w: Vector, sample: DenseSample, truth: DenseTruth) -> Vector:
        """Return unary scores plus the loss of each label, times the number of pixels (thesis, eq. 2.17)."""
        scores = self._unary(w, sample)
        nodes = np.arange(len(scores))
        right = scores[nodes, truth.labels]
        scores += (sample.n_pixels * truth.node_weights)[:, np.newaxis]
        scores[nodes, truth.labels] = right
        return scores

    def _predict(self, w: Vector, sample: DenseSample, n_jobs: int | None = None) -> Labels:
        temperature = self._label_temperature(w)
        unary = self._unary(w, sample)
        return sample.image(self._mean_field(w, sample, unary, temperature, n_jobs).labels)

    def _violate(self, w: Vector, sample: DenseSample, truth: DenseTruth, n_jobs: int | None) -> Labels:
        """Return labels of a high sum of score and loss (thesis, eq. 2.17)."""
        temperature = self._label_temperature(w)
        unary = self._augmented(w, sample, truth)
        return self._mean_field(w, sample, unary, temperature, n_jobs, keep=True).labels

    def _label_temperature(self, w: Vector) -> float | Vector:
        """Return the temperatures at which labels are found."""
        total = float(np.sum(self._kernel_weights(w)))
        if self.temperature is not None or total == 0:
            return self.temperature or 1.0
        return total * np.geomspace(*ANNEALING, max(self.max_iter, 1))

    def _mean_field(
        self,
        w: Vector,
        sample: DenseSample,
        unary: Vector,
        temperature: float | Vector,
        n_jobs: int | None = None,
        *,
        keep: bool = False,
    ) -> MeanField:
        weights = self._kernel_weights(w)
        used = np.flatnonzero(weights)
        return mean_field(
            unary,
            [self._filter(sample, m, n_jobs, keep=keep) for m in used],
            weights[used],
            max_iter=self.max_iter,
            tol=self.tol,
            temperature=temperature,
            n_jobs=n_jobs,
        )

    def _joint(self, sample: DenseSample, labels: Labels, n_jobs: int | None = None) -> Vector:
        """Return joint features of the labels of nodes."""
        phi = np.zeros(self.dimension)
        n_unary = self.n_states * self.n_features
        add_nodes(phi[:n_unary].reshape(self.n_states, self.n_features), sample.features, labels)
        for m in range(len(self.kernels)):
            kernel = self._filter(sample, m, n_jobs, keep=True)
            phi[n_unary + m] = -different_pairs(kernel, labels, self.n_states)
        return phi / sample.n_pixels

    def _filter(self, sample: DenseSample, m: int, n_jobs: int | None, *, keep: bool) -> GaussianFilter:
        """Return the filter of a kernel, from the cache if it is there."""
        kernel = self._filters(
            sample.keys[m], lambda: build_filter(sample, self.kernels[m], self.spacing, n_jobs), keep
        )
        kernel.n_jobs = n_jobs  # results do not depend on it
        return kernel


def _threads_within(samples: Sequence) -> int | None:
    """Return the number of threads for each of several samples that are treated in parallel."""
    return 1 if len(samples) > 1 else None
