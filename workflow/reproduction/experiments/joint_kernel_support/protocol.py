"""The protocol of the experiment on localisation: candidates, and the two ways to choose among them.

A method is trained with each value of its parameter, C of the structured SVM or nu of joint kernel support
estimation. The thesis chooses the value by the area under the ROC curve on cropped images (3.1.8);
cross-validation on the training images is the alternative.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ermlab._utils.blas import one_blas_thread
from ermlab.detection.localization import (
    Boxes,
    Chi2Scorer,
    LinearScorer,
    Pairs,
    Scan,
    Scorer,
    WindowRisk,
    kernel_matrix,
    pair_features,
    train_ssvm,
)
from ermlab.detection.windows import PairKernel, Windows
from ermlab.detection.word_grids import WordGrid, load_word_grids
from ermlab.metrics.detection import detection_curve, equal_error_rate
from ermlab.structured.jkse import one_class_weights
from reproduction.datasets.uiuc_cars import CarScenes, UiucCars, read_uiuc_cars

Vector = NDArray[np.float64]
#: Names of the methods: how they are trained, and with which kernel.
METHODS = {"ssvm": ("ssvm", "linear"), "jkse_linear": ("jkse", "linear"), "jkse_chi2": ("jkse", "chi2")}
#: From one size of the free search to the next.
_SIZE_RATIO = 1.25


@dataclass(frozen=True)
class Settings:
    """What is decided once for all methods; see ``joint_kernel_support`` of the configuration schema."""

    n_words: int
    levels: tuple[int, ...]
    normalisation: str
    margin: int
    max_boxes: int
    max_overlap: float
    ssvm_tol: float
    C: tuple[float, ...]
    nu: tuple[float, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings of a configuration, whose lists are tuples here."""
        return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})

    def kernel(self, method: str) -> PairKernel:
        """Return the kernel of a method."""
        return PairKernel(self.n_words, self.levels, METHODS[method][1], self.normalisation)


@dataclass(frozen=True)
class Crops:
    """Images that show an object from border to border, or none."""

    grids: Sequence[WordGrid]
    labels: NDArray[np.bool_]

    def features(self, kernel: PairKernel) -> csr_array:
        """Return the histogram of each, a sparse row."""
        whole = [(0, 0, grid.words.shape[2] - 1, grid.words.shape[1] - 1) for grid in self.grids]
        return kernel.features(self.grids, whole)


@dataclass(frozen=True)
class Candidates:
    """A method trained with each value of its parameter.

    Attributes
    ----------
    parameters
        The values of C or nu.
    scorers
        What was trained with each.
    areas
        Area under the ROC curve on the crops.
    seconds
        Training time of all of them.
    searches, search_seconds
        MAP calls of all trainings, and the time that they took.
    """

    parameters: tuple[float, ...]
    scorers: list[Scorer]
    areas: list[float]
    seconds: float
    searches: int = 0
    search_seconds: float = 0.0
    chosen: int = field(init=False)  #: The first with the largest area.

    def __post_init__(self):
        object.__setattr__(self, "chosen", int(np.argmax(self.areas)))


class Trainer:
    """Trains one method on pairs of the images given by ``grids``, and judges it on crops.

    Parameters
    ----------
    method
        A name of `METHODS`.
    settings
        All decisions.
    grids
        Words of the training images, with their margin.
    crops
        For the choice of the parameter.
    """

    def __init__(self, method: str, settings: Settings, grids: Sequence[WordGrid], crops: Crops):
        if method not in METHODS:
            raise ValueError(f"method is {method!r}: expected one of {', '.join(METHODS)}")
        self.method, self.settings, self.grids = method, settings, grids
        self.kernel = settings.kernel(method)
        self._crops, self._crop_features = crops, crops.features(self.kernel)

    def train(self, pairs: Pairs) -> Candidates:
        """Return the method trained with each value of its parameter."""
        return self._train_ssvm(pairs) if METHODS[self.method][0] == "ssvm" else self._train_jkse(pairs)

    def _train_ssvm(self, pairs: Pairs) -> Candidates:
        began = time.perf_counter()
        risk = WindowRisk(self.grids, pairs, self.kernel)
        weights = [train_ssvm(risk, C, self.settings.ssvm_tol) for C in self.settings.C]
        seconds = time.perf_counter() - began
        return Candidates(
            self.settings.C,
            [LinearScorer(self.kernel, w) for w in weights],
            [self._area(self._crop_features @ w) for w in weights],
            seconds,
            risk.searches,
            risk.search_seconds,
        )

    def _train_jkse(self, pairs: Pairs) -> Candidates:
        began = time.perf_counter()
        features = pair_features(self.grids, pairs, self.kernel)
        K = kernel_matrix(self.kernel, features, features)
        with one_blas_thread():  # matrices so small that threads would only wait for each other
            alphas = [one_class_weights(K, nu)[0] for nu in self.settings.nu]
        seconds = time.perf_counter() - began
        similarities = kernel_matrix(self.kernel, self._crop_features, features)
        with one_blas_thread():
            areas = [self._area(similarities @ alpha) for alpha in alphas]
        scorers = [self._jkse_scorer(features, alpha) for alpha in alphas]
        return Candidates(self.settings.nu, scorers, areas, seconds)

    def _jkse_scorer(self, features: csr_array, alpha: Vector) -> Scorer:
        if self.kernel.name == "linear":
            return LinearScorer(self.kernel, features.T @ alpha)
        return Chi2Scorer(self.kernel, features, alpha)

    def _area(self, scores: Vector) -> float:
        return float(roc_auc_score(self._crops.labels, scores))

    # ---------------------------------------------------------------------------------------------- detection

    def windows(self, grid: WordGrid, sizes: Sequence[tuple[int, int]]) -> list[Windows]:
        """Return the windows of all sizes that fit on a grid."""
        return [Windows(grid, size, self.kernel) for size in sizes if grid.fits(size)]

    def detections(
        self, scan: Scan, scorer: int = 0, max_overlap: float | None = None
    ) -> list[tuple[Boxes, Vector]]:
        """Return the best boxes of each image, and their scores; None means the overlap of the settings."""
        overlap = self.settings.max_overlap if max_overlap is None else max_overlap
        return scan.detections(scorer, self.settings.max_boxes, overlap)

    def error(
        self, scan: Scan, truth: Sequence[ArrayLike], scorer: int = 0, max_overlap: float | None = None
    ) -> float:
        """Return the equal error rate of the detections in some images."""
        found = self.detections(scan, scorer, max_overlap)
        curve = detection_curve([boxes for boxes, _ in found], [scores for _, scores in found], truth)
        return equal_error_rate(curve.precision, curve.recall)

    def cross_validate(self, pairs: Pairs, n_folds: int) -> list[float]:
        """Return for each parameter the mean equal error rate on training images that were left out.

        The judges are the pairs as they are given, right or wrong, and the search knows the size of their
        boxes. Images go to the folds in turn.
        """
        return np.mean(
            [
                self._held_out_errors(pairs, np.arange(len(self.grids)) % n_folds == fold)
                for fold in range(n_folds)
            ],
            axis=0,
        ).tolist()

    def _held_out_errors(self, pairs: Pairs, held_out: NDArray[np.bool_]) -> list[float]:
        candidates = self.train(pairs[~held_out[pairs.images]])
        truth = [pairs.of_image(image) for image in np.flatnonzero(held_out)]
        windows = self.known_size_windows(np.flatnonzero(held_out), truth)
        scan = Scan.of(candidates.scorers, windows)
        return [self.error(scan, truth, scorer) for scorer in range(len(candidates.scorers))]

    def known_size_windows(self, images: Sequence[int], boxes: Sequence[Boxes]) -> list[list[Windows]]:
        """Return for training images the windows of the sizes of given boxes."""
        return [
            self.windows(self.grids[image], sorted({self.grids[image].size_of(box) for box in some}))
            for image, some in zip(images, boxes, strict=True)
        ]


def read_cars(folder: str, scenes: int, crops: int) -> UiucCars:
    """Read the first ``scenes`` of either kind and the first ``crops`` of either kind, at most."""
    data = read_uiuc_cars(folder)
    single, multi = (
        CarScenes(part.images[:scenes], part.boxes[:scenes]) for part in (data.single_scale, data.multi_scale)
    )
    return UiucCars(data.cars[:crops], data.others[:crops], single, multi)


@dataclass(frozen=True)
class CarBench:
    """The UIUC cars as words: what is trained on, tested on, and chosen by.

    Attributes
    ----------
    train, test
        Grids of the scenes of many scales and of one scale, with the margin of the settings.
    train_boxes, test_boxes
        The cars of each scene, in pixels.
    shapes
        Height and width of the training images.
    """

    settings: Settings
    train: list[WordGrid]
    test: list[WordGrid]
    crops: Crops
    train_boxes: tuple[Boxes, ...]
    test_boxes: tuple[Boxes, ...]
    shapes: list[tuple[int, int]]

    @classmethod
    def of(cls, data: UiucCars, words: str, settings: Settings) -> "CarBench":
        """Return the data base with the words of its images, which are read from a file."""
        grids = load_word_grids(words)
        labels = np.arange(len(grids["cars"]) + len(grids["others"])) < len(grids["cars"])
        return cls(
            settings,
            [grid.widened(settings.margin) for grid in grids["train"]],
            [grid.widened(settings.margin) for grid in grids["test"]],
            Crops([*grids["cars"], *grids["others"]], labels),
            data.multi_scale.boxes,
            data.single_scale.boxes,
            [image.shape for image in data.multi_scale.images],
        )

    @property
    def pairs(self) -> Pairs:
        """All cars of the training images."""
        return Pairs.of(self.train_boxes)

    @property
    def free_sizes(self) -> list[tuple[int, int]]:
        """Sizes of windows, in places, from the smallest to the largest training car."""
        widths, heights = (self.pairs.boxes[:, 2:] - self.pairs.boxes[:, :2] + 1).T
        n_steps = int(np.ceil(np.log(widths.max() / widths.min()) / np.log(_SIZE_RATIO)))
        ladder = np.geomspace(widths.min(), widths.max(), n_steps + 1) / self.train[0].step
        return [(round(width), round(np.median(heights / widths) * width)) for width in ladder]

    def varied(self, changes: Mapping[str, Any]) -> "CarBench":
        """Return the same with other settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def trainer(self, method: str) -> Trainer:
        """Return the trainer of a method."""
        return Trainer(method, self.settings, self.train, self.crops)

    def test_windows(self, trainer: Trainer) -> list[list[Windows]]:
        """Return the windows of the test images, in which all cars have the size of the crops."""
        size = self.crops.grids[0].words.shape[:0:-1]
        return [trainer.windows(grid, [size]) for grid in self.test]
