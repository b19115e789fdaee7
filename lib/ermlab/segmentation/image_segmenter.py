"""A trainable segmenter of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.parallel import map_in_threads
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, real_array
from ermlab.segmentation.dense_crf import DenseCRF
from ermlab.segmentation.graph_crf import GraphCRF
from ermlab.segmentation.grid_crf import contrast_features, grid_edges
from ermlab.segmentation.pixel_features import image_values, pixel_features
from ermlab.structured import MultiClassTask, StructuredSVM

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
MODELS = ("grid", "dense", "unary")
UNLABELED = -1
# Kernels of the dense model: widths in pixels, and in standard deviations of the values of the image.
KERNELS = (1.0, 3.0, (10.0, 0.5), (30.0, 0.5))


class ImageSegmenter(SavedModel, BaseEstimator):
    """Segmentation of images, learned from a few labeled ones.

    Images are arrays (height, width) or (height, width, n_channels), as scikit-image reads them, and may have
    different sizes. Labels are integer arrays (height, width); -1 marks pixels whose class is unknown, which
    training leaves out. Features of pixels are standardized; scores are linear in them.

    Parameters
    ----------
    model : {"grid", "dense", "unary"}, default="grid"
        ``"grid"`` joins neighboring pixels, more strongly where they look alike, and labels images by graph
        cuts (`GraphCRF`); this is exact for two classes. ``"dense"`` joins all pixels, and labels images by
        mean field (`DenseCRF`). ``"unary"`` labels each pixel by its own features.
    features : "default" or callable, default="default"
        A function that returns the features (height, width, n_features) of an image, by default
        `pixel_features`. A constant need not be among them.
    C : float, default=100.0
        Inverse regularization strength. The loss of an image is the fraction of its labeled pixels that are
        wrong.
    class_weight : None, "balanced" or array-like of shape (n_classes,), default=None
        Weights of errors at pixels of each class, in ascending order of the classes. ``"balanced"`` gives all
        classes the same total weight.
    connectivity : {4, 8}, default=8
        Number of neighbors of a pixel in the grid model.
    tol : float, default=1e-2
        Relative gap at which training ends.
    max_iter : int, default=300
        Maximum number of passes over the training images.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of int
        The labels, in ascending order.
    coef_ : ndarray
        Weights of the task: one row of weights of features per class, the last that of the intercept,
        followed by the weights of pairs of classes or of kernels.
    mean_, scale_ : ndarray
        Mean and standard deviation of the features of labeled training pixels.
    n_channels_ : int
        Number of channels of the training images.
    result_ : ermlab.optimize.Result
        Objective and lower bound of the training.
    objective_bounds_ : tuple of float
        Interval that contains the minimum of the objective, also if labeling is approximate.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab import ImageSegmenter
    >>> rng = np.random.default_rng(0)
    >>> labels = np.zeros((3, 32, 32), dtype=int)
    >>> labels[:, 8:24, 8:24] = 1
    >>> images = labels + rng.normal(size=labels.shape)
    >>> segmenter = ImageSegmenter().fit(images[:2], labels[:2])
    >>> bool(segmenter.score(images[2:], labels[2:]) > 0.9)
    True
    """

    def __init__(
        self,
        model: str = "grid",
        features: str | Callable[[NDArray], ArrayLike] = "default",
        C: float = 100.0,
        class_weight: str | ArrayLike | None = None,
        connectivity: int = 8,
        tol: float = 1e-2,
        max_iter: int = 300,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.model = model
        self.features = features
        self.C = C
        self.class_weight = class_weight
        self.connectivity = connectivity
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, images: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> Self:
        """Learn from images and the labels of their pixels, -1 where they are unknown."""
        check_choice("model", self.model, MODELS)
        if len(images) != len(labels) or len(images) == 0:
            raise ValueError(
                f"{len(images)} images, {len(labels)} label images: expected as many, at least 1"
            )
        features = self._all_features(images)
        labels = [
            _label_image(y, i, x.shape[:2]) for i, (y, x) in enumerate(zip(labels, features, strict=True))
        ]
        known = np.concatenate([x[y != UNLABELED] for x, y in zip(features, labels, strict=True)])
        truth = np.concatenate([y[y != UNLABELED] for y in labels])
        self.classes_ = np.unique(truth)
        if len(self.classes_) < 2:
            raise ValueError(
                f"labels {self.classes_.tolist()}: expected at least 2 classes of labeled pixels"
            )
        self.n_channels_ = image_values(images[0]).shape[2]
        self.mean_, self.scale_ = known.mean(axis=0), known.std(axis=0)
        # A constant feature has a standard deviation of rounding errors.
        self.scale_[self.scale_ <= 1e-12 * np.abs(self.mean_)] = 1.0
        self.scale_[self.scale_ == 0] = 1.0
        if not (np.isfinite(self.mean_).all() and np.isfinite(self.scale_).all()):
            raise ValueError(f"features up to {np.abs(known).max():.3g} overflow: expected smaller numbers")
        weights = self._class_weights(truth)
        if self.model == "unary":
            n_images = sum((y != UNLABELED).any() for y in labels)
            y = np.searchsorted(self.classes_, truth)
            # The loss of an image is a mean over its pixels, whereas every pixel is a sample here.
            model = self._fit_pixels(self._standardized(known), y, weights, self.C * n_images / len(y))
        else:
            model = self._fit_images(images, features, labels, weights)
        self.coef_, self.result_, self.objective_bounds_ = model.coef_, model.result_, model.objective_bounds_
        return self

    def predict(self, images: Sequence[ArrayLike]) -> list[Labels]:
        """Return the label image of each image."""
        check_is_fitted(self)
        if self.model == "unary":
            return [self.classes_[scores.argmax(axis=2)] for scores in self.decision_function(images)]
        features = self._checked_features(images)
        samples = [
            self._sample(image, self._standardized(x), np.ones(x.shape[:2], dtype=bool), 1.0)
            for image, x in zip(images, features, strict=True)
        ]
        labels = self._task(None).batch_predict(self.coef_, samples)
        return [self.classes_[y].reshape(x.shape[:2]) for y, x in zip(labels, features, strict=True)]

    def decision_function(self, images: Sequence[ArrayLike]) -> list[Vector]:
        """Return the score (height, width, n_classes) of each class at each pixel, without its neighbors."""
        check_is_fitted(self)
        n_classes = len(self.classes_)
        weights = self.coef_[: n_classes * (len(self.mean_) + 1)].reshape(n_classes, -1)
        return [self._standardized(x) @ weights.T for x in self._checked_features(images)]

    def score(self, images: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
        """Return the share of the labeled pixels of all images that are right."""
        found = self.predict(images)
        if len(found) != len(labels):
            raise ValueError(f"{len(found)} images, {len(labels)} label images: expected as many")
        truth = [_label_image(y, i, z.shape) for i, (y, z) in enumerate(zip(labels, found, strict=True))]
        n_known = sum(np.count_nonzero(y != UNLABELED) for y in truth)
        if n_known == 0:
            raise ValueError("no pixel is labeled: expected labels other than -1")
        n_right = sum(
            np.count_nonzero((y == z) & (y != UNLABELED)) for y, z in zip(truth, found, strict=True)
        )
        return n_right / n_known

    def _after_load(self) -> None:
        if not hasattr(self, "coef_"):
            return
        check_choice("model", self.model, MODELS)
        expected = self._task(None).dimension
        if self.coef_.shape != (expected,) or self.mean_.shape != self.scale_.shape:
            raise ValueError(f"weights of shape {self.coef_.shape}: expected {expected}")

    def _fit_pixels(self, X: Vector, y: Labels, weights: Vector | None, C: float) -> StructuredSVM:
        """Fit a linear classifier of pixels."""
        k = len(self.classes_)
        losses = 1.0 - np.eye(k) if weights is None else weights[:, np.newaxis] * (1.0 - np.eye(k))
        return self._svm(MultiClassTask(k, X.shape[1], losses), C).fit(X, y)

    def _fit_images(
        self,
        images: Sequence[ArrayLike],
        features: list[Vector],
        labels: list[Labels],
        weights: Vector | None,
    ) -> StructuredSVM:
        """Fit a random field to all images with at least one labeled pixel."""
        used = [i for i, y in enumerate(labels) if (y != UNLABELED).any()]
        # Scores of the grid model are sums over pixels: divided by their mean number, the weights and the
        # meaning of C do not depend on the size of images.
        n_pixels = float(np.mean([np.count_nonzero(labels[i] != UNLABELED) for i in used]))
        samples, truths = [], []
        for i in used:
            known = labels[i] != UNLABELED
            samples.append(self._sample(images[i], self._standardized(features[i]), known, n_pixels))
            truth = np.searchsorted(self.classes_, np.where(known, labels[i], self.classes_[0]))
            truths.append(truth if self.model == "dense" else truth[known])
        return self._svm(self._task(weights), self.C).fit(samples, truths)

    def _svm(self, task: Any, C: float) -> StructuredSVM:
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        return StructuredSVM(task, C=C, **limits, verbose=self.verbose)

    def _task(self, weights: Vector | None) -> Any:
        """Return the task of the model."""
        k, n_features = len(self.classes_), len(self.mean_) + 1
        if self.model == "dense":
            return DenseCRF(k, n_features, KERNELS, class_weight=weights)
        if self.model == "grid":
            return GraphCRF(k, n_features, 2, submodular=True, class_weight=weights)
        return MultiClassTask(k, n_features)

    def _sample(self, image: ArrayLike, x: Vector, known: NDArray[np.bool_], n_pixels: float) -> Any:
        """Return a sample of the task that consists of the known pixels."""
        values = image_values(image)
        if self.model == "dense":
            spread = values.std()
            return x, values / spread if spread > 0 else values, known
        edges = grid_edges(known.shape, self.connectivity)
        similarity = contrast_features(values, self.connectivity)
        ends = known.ravel()[edges]
        inside = ends.all(axis=1)
        number = np.cumsum(known.ravel()) - 1
        # Edges between known pixels stand for all edges of these pixels, as many as there are in prediction.
        share = 2 * np.count_nonzero(inside) / max(np.count_nonzero(ends), 1)
        similarity = similarity[inside] / (n_pixels * share) if share > 0 else similarity[inside]
        return x[known] / n_pixels, number[edges[inside]], similarity

    def _all_features(self, images: Sequence[ArrayLike]) -> list[Vector]:
        """Return the features of all images, which must be equally many."""
        compute = pixel_features if self.features == "default" else self.features
        if not callable(compute):
            raise ValueError(f"features is {self.features!r}: expected 'default' or a function")
        values = [image_values(image, f"image {i}") for i, image in enumerate(images)]
        if len({value.shape[2] for value in values}) > 1:
            raise ValueError(
                f"images have {sorted({value.shape[2] for value in values})} channels: expected equally many"
            )
        if self.features == "default":
            features = map_in_threads(compute, values)
        else:
            features = [real_array(compute(np.asarray(image)), "features") for image in images]
        for i, (x, value) in enumerate(zip(features, values, strict=True)):
            if x.ndim != 3 or x.shape[:2] != value.shape[:2] or x.shape[2] != features[0].shape[2]:
                raise ValueError(
                    f"features of image {i} have shape {x.shape}: expected {value.shape[:2]} and as many "
                    "features for all images"
                )
            if not np.isfinite(x).all():
                raise ValueError(f"features of image {i} hold NaN or infinity: expected finite numbers")
        return features

    def _checked_features(self, images: Sequence[ArrayLike]) -> list[Vector]:
        """Return the features of images like those of the training."""
        features = self._all_features(images)
        if len(images) and image_values(images[0]).shape[2] != self.n_channels_:
            raise ValueError(
                f"images have {image_values(images[0]).shape[2]} channels: expected {self.n_channels_}, as "
                "in training"
            )
        if features and features[0].shape[2] != len(self.mean_):
            raise ValueError(f"{features[0].shape[2]} features: expected {len(self.mean_)}, as in training")
        return features

    def _standardized(self, x: Vector) -> Vector:
        """Return standardized features and a constant."""
        return np.concatenate([(x - self.mean_) / self.scale_, np.ones((*x.shape[:-1], 1))], axis=-1)

    def _class_weights(self, truth: Labels) -> Vector | None:
        """Return the weight of each class."""
        k = len(self.classes_)
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
            return len(truth) / (k * np.unique(truth, return_counts=True)[1])
        weights = real_array(self.class_weight, "class_weight")
        if weights.shape != (k,) or not ((weights >= 0) & np.isfinite(weights)).all():
            raise ValueError(
                f"class_weight is {self.class_weight}: expected {k} finite numbers of at least 0"
            )
        return weights


def _label_image(y: ArrayLike, i: int, shape: tuple[int, ...]) -> Labels:
    """Return the labels of an image, or raise a ValueError."""
    y = np.asarray(y)
    if y.shape != shape or y.dtype.kind not in "iub":
        raise ValueError(f"labels {i} of type {y.dtype}, shape {y.shape}: expected integers of shape {shape}")
    y = y.astype(np.int64)
    if y.min() < UNLABELED:
        raise ValueError(f"labels {i} hold {y.min()}: expected at least 0, or -1 for unlabeled pixels")
    return y
