"""Detection of objects, learned from images with boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.parallel import map_in_threads
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import positive_number, real_array, whole_number
from ermlab.detection.boxes import as_boxes_inside, suppress
from ermlab.detection.hog_windows import NOWHERE, WindowPyramid, WindowTask, nearest_window
from ermlab.structured import StructuredSVM

#: Ratio of the sizes of windows at neighboring scales, and the largest number of scales.
SCALE_STEP = 1.15
MAX_SCALES = 24
#: Fewest rows and columns of cells in a window.
FEWEST = 3
N_CHANNELS = 31


class BoxDetector(SavedModel, BaseEstimator):
    """Detector of objects of one class in gray images, learned from images with boxes around the objects.

    A linear score of the HOG cells in a window is learned by a structured SVM whose outputs are all windows
    of an image, at many scales, or none. The loss is ``1 - overlap`` (thesis, section 3.1). All windows
    have the aspect ratio of the median training box.

    Parameters
    ----------
    n_cells : int, default=48
        Approximate number of HOG cells in a window.
    cell : int, default=8
        Side of a cell in pixels.
    C : float, default=1000.0
        Inverse regularization strength, for descriptors scaled to a mean squared norm of 1 and a mean in
        place of the sum over samples.
    tol : float, default=1e-2
        Relative gap at which training ends.
    max_iter : int, default=300
        Maximum number of passes over the training images.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    window_ : tuple of int
        Rows and columns of cells in a window.
    zooms_ : ndarray
        Factors by which images are shrunk.
    coef_ : ndarray of shape (n_features,)
        Weights of the cells, by row, column and channel.
    intercept_ : float
        Score of an empty window.
    result_ : ermlab.optimize.Result
        Objective and lower bound of the training.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab.detection import BoxDetector
    >>> rng = np.random.default_rng(0)
    >>> images, boxes = rng.normal(size=(4, 80, 100)), []
    >>> for k, image in enumerate(images):
    ...     image[20:52, 10 + 8 * k : 50 + 8 * k] += 9.0
    ...     boxes.append([[10 + 8 * k, 20, 49 + 8 * k, 51]])
    >>> detector = BoxDetector(n_cells=20).fit(images, boxes)
    >>> found, scores = detector.predict(images)
    >>> [len(of_image) for of_image in found]
    [1, 1, 1, 1]
    """

    def __init__(
        self,
        n_cells: int = 48,
        cell: int = 8,
        C: float = 1000.0,
        tol: float = 1e-2,
        max_iter: int = 300,
        max_time: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_cells = n_cells
        self.cell = cell
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, images: Sequence[ArrayLike], boxes: Sequence[ArrayLike]) -> Self:
        """Learn from images and their boxes.

        Parameters
        ----------
        images : sequence of array-like of shape (height, width)
            Gray images, of any sizes.
        boxes : sequence of array-like of shape (n_boxes, 4)
            Boxes (left, top, right, bottom) of the objects of each image, in pixels from 0, all sides
            inclusive. Images without boxes are examples of the background.
        """
        positive_number("C", self.C)
        if len(images) != len(boxes):
            raise ValueError(f"{len(images)} images and boxes of {len(boxes)}: expected as many")
        images = [_gray(image, i) for i, image in enumerate(images)]
        boxes = [
            as_boxes_inside(of_image, image.shape, f"boxes of image {i}")
            for i, (image, of_image) in enumerate(zip(images, boxes, strict=True))
        ]
        if not sum(map(len, boxes)):
            raise ValueError("no boxes: expected at least one to learn from")
        self.window_, self.zooms_ = self._layout(np.concatenate(boxes))
        X, y = self._samples(images, boxes)
        n_objects = sum(int(output[0] >= 0) for output in y)
        if not n_objects:
            raise ValueError(
                "no box is overlapped by half by a window: expected boxes of similar shapes, or fewer cells"
            )
        task = WindowTask(self.window_[0] * self.window_[1] * N_CHANNELS)
        norms = [np.sum(task.joint_feature(x, z) ** 2) for x, z in zip(X, y, strict=True) if z[0] >= 0]
        svm = StructuredSVM(
            task,
            C=self.C / float(np.mean(norms)) / len(X),
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            verbose=self.verbose,
        ).fit(X, y)
        self.coef_, self.intercept_ = svm.coef_[:-1], float(svm.coef_[-1])
        self.result_ = svm.result_
        return self

    def predict(
        self,
        images: Sequence[ArrayLike],
        n_detections: int = 10,
        max_overlap: float = 0.3,
        min_score: float = 0.0,
    ) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]]]:
        """Return the boxes that are found in each image, best first, and their scores.

        Parameters
        ----------
        images : sequence of array-like of shape (height, width)
            Gray images.
        n_detections : int, default=10
            Largest number of boxes in an image.
        max_overlap : float, default=0.3
            Largest overlap of two boxes of an image.
        min_score : float, default=0.0
            Boxes have a higher score. An object is more likely than none above 0.

        Returns
        -------
        boxes : list of ndarray of int, of shape (n_boxes, 4)
            Boxes (left, top, right, bottom), inside of the image.
        scores : list of ndarray of shape (n_boxes,)
            Their scores.
        """
        check_is_fitted(self)
        n_detections = whole_number("n_detections", n_detections, 1)
        weights = np.append(self.coef_, self.intercept_)
        boxes, scores = [], []
        for i, image in enumerate(images):
            pyramid = self._pyramid(_gray(image, i))
            of_windows = pyramid.scores(weights)
            high = np.flatnonzero(of_windows > min_score)
            height, width = np.shape(image)
            inside = np.clip(pyramid.boxes[high], 0, [width - 1, height - 1, width - 1, height - 1])
            kept = suppress(inside, of_windows[high], n_detections, max_overlap)
            boxes.append(inside[kept])
            scores.append(of_windows[high][kept])
        return boxes, scores

    def _layout(self, boxes: NDArray[np.int64]) -> tuple[tuple[int, int], NDArray[np.float64]]:
        """Return the rows and columns of a window, and the factors by which images are shrunk."""
        n_cells, cell = whole_number("n_cells", self.n_cells, 1), whole_number("cell", self.cell, 1)
        width, height = (boxes[:, 2:] - boxes[:, :2] + 1).T.astype(np.float64)
        aspect = float(np.exp(np.median(np.log(width / height))))
        rows = max(round(float(np.sqrt(n_cells / aspect))), FEWEST)
        columns = max(round(float(np.sqrt(n_cells * aspect))), FEWEST)
        sizes = np.sqrt(width * height / (rows * columns)) / cell
        first, last = np.quantile(sizes, [0.02, 0.98])
        n_scales = int(np.ceil(np.log(last / first) / np.log(SCALE_STEP))) + 1
        return (rows, columns), np.geomspace(first, last, min(n_scales, MAX_SCALES))

    def _samples(
        self, images: Sequence[NDArray], boxes: Sequence[NDArray[np.int64]]
    ) -> tuple[list[WindowPyramid], list[NDArray[np.int64]]]:
        """Return each object, without the others of its image, and the background of each image."""
        X, y = [], []
        for pyramid, of_image in zip(map_in_threads(self._pyramid, images, self.n_jobs), boxes, strict=True):
            for number, box in enumerate(of_image):
                others = np.delete(of_image, number, axis=0)
                output = nearest_window(pyramid.without(others), box)
                if output[0] >= 0:  # else the box has another shape
                    X.append(pyramid.without(others))
                    y.append(output)
            X.append(pyramid.without(of_image))
            y.append(NOWHERE)
        return X, y

    def _pyramid(self, image: NDArray[np.float64]) -> WindowPyramid:
        return WindowPyramid.of(image, self.window_, self.cell, self.zooms_)

    def _after_load(self) -> None:
        if not hasattr(self, "coef_"):
            return
        expected = (int(np.prod(self.window_)) * N_CHANNELS,)
        if self.coef_.shape != expected or np.ndim(self.zooms_) != 1:
            raise ValueError(f"weights of shape {self.coef_.shape}: expected {expected}")


def _gray(image: ArrayLike, number: int) -> NDArray[np.float64]:
    """Return a gray image of finite numbers, or raise a ValueError."""
    pixels = real_array(image, f"image {number}")
    if pixels.ndim != 2 or 0 in pixels.shape:
        raise ValueError(f"image {number} has shape {pixels.shape}: expected (height, width)")
    if not np.isfinite(pixels).all():
        raise ValueError(f"image {number} has a value that is not finite: expected numbers")
    return pixels
