"""Images, settings and training of section 3.1, which choice, training and controls share.

A method is trained with each value of its parameter: C of the structured SVM, nu of joint kernel support
estimation. The value with the largest area under the ROC curve on cropped images is used (thesis, 3.1.8).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import check_choice
from ermlab.detection.word_grids import WordGrid, load_word_grids
from ermlab.structured.jkse import one_class_weights
from reproduction.claims.results import read_json
from reproduction.experiments.joint_kernel_support.localization import (
    Boxes,
    Chi2Scorer,
    LinearScorer,
    Pairs,
    Scorer,
    WindowPool,
    WindowRisk,
    kernel_matrix,
    pair_features,
    train_ssvm,
)
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows

Vector = NDArray[np.float64]
#: How each method is trained, and with which kernel.
METHODS = {"ssvm": ("ssvm", "linear"), "jkse_linear": ("jkse", "linear"), "jkse_chi2": ("jkse", "chi2")}
#: Readings of the protocol: boxes of any size, or of the size of the label.
READINGS = ("free", "known")
#: Ratio of successive window sizes if the size is not known.
SIZE_RATIO = 1.25
SIDES = ["left", "top", "right", "bottom"]


@dataclass(frozen=True)
class Settings:
    """Settings that all methods share; see ``joint_kernel_support`` of the configuration schema."""

    n_words: int
    levels: tuple[int, ...]
    margin: int
    stride: int
    max_boxes: int
    ssvm_tol: float
    C: tuple[float, ...]
    nu: tuple[float, ...]


@dataclass(frozen=True)
class Choice:
    """Settings that are chosen on training images for each reading of the protocol, see `select`.

    Attributes
    ----------
    scales : tuple of int
        Descriptor sizes, as indices.
    normalization : dict of str
        Scaling of histograms for each kernel.
    max_overlap : float
        Maximum overlap of two detections.
    """

    scales: tuple[int, ...]
    normalization: Mapping[str, str]
    max_overlap: float


@dataclass(frozen=True)
class Crops:
    """Images that show a car from border to border, or none."""

    grids: Sequence[WordGrid]
    labels: NDArray[np.bool_]

    def features(self, kernel: PairKernel) -> csr_array:
        """Return the histogram of each image, one sparse row per image."""
        whole = [(0, 0, grid.words.shape[2] - 1, grid.words.shape[1] - 1) for grid in self.grids]
        return kernel.features(self.grids, whole)


@dataclass(frozen=True)
class Candidates:
    """A method trained with each value of its parameter.

    Attributes
    ----------
    parameters : tuple of float
        Values of C or nu.
    scorers : list of Scorer
        The trained scorer for each value.
    areas : list of float
        Area under the ROC curve on the crops for each value.
    seconds : float
        Training time for all values together.
    searches, search_seconds : int, float
        Number of MAP calls of all trainings, and the time they took.
    chosen : int
        Index of the first value with the largest area.
    """

    parameters: tuple[float, ...]
    scorers: list[Scorer]
    areas: list[float]
    seconds: float
    searches: int = 0
    search_seconds: float = 0.0
    chosen: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "chosen", int(np.argmax(self.areas)))

    @property
    def chosen_scorer(self) -> Scorer:
        """The scorer with the chosen parameter."""
        return self.scorers[self.chosen]


class Trainer:
    """Training of one method on pairs of image and box, with crops to choose its parameter.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    settings : Settings
        Settings that all methods share.
    normalization : str
        Scaling of histograms.
    grids : sequence of WordGrid
        Words of the training images, with their margin.
    crops : Crops
        Images to choose the parameter by.
    sizes : sequence of (int, int), optional
        Columns and rows of the windows that are searched; by default those of the labels.
    """

    def __init__(
        self,
        method: str,
        settings: Settings,
        normalization: str,
        grids: Sequence[WordGrid],
        crops: Crops,
        sizes: Sequence[tuple[int, int]] | None = None,
    ):
        check_choice("method", method, METHODS)
        self.method, self.settings, self.grids, self.sizes = method, settings, grids, sizes
        self.kernel = PairKernel(settings.n_words, settings.levels, METHODS[method][1], normalization)
        self.pool = self.windows_of(grids)
        self._crops, self._crop_features = crops, crops.features(self.kernel)

    def windows_of(self, grids: Sequence[WordGrid]) -> WindowPool:
        """Return the windows of images; those of any size are not at every place."""
        return WindowPool(grids, self.kernel, 1 if self.sizes is None else self.settings.stride)

    def train(self, pairs: Pairs) -> Candidates:
        """Train the method with each value of its parameter."""
        return self._train_ssvm(pairs) if METHODS[self.method][0] == "ssvm" else self._train_jkse(pairs)

    def _train_ssvm(self, pairs: Pairs) -> Candidates:
        began = time.perf_counter()
        risk = WindowRisk(self.pool, pairs, self.sizes)
        weights = train_ssvm(risk, self.settings.C, self.settings.ssvm_tol)
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


@dataclass(frozen=True)
class CarData:
    """The UIUC cars as visual words.

    Attributes
    ----------
    settings : Settings
        Settings that all methods share.
    train, test : list of WordGrid
        Words of the training scenes (of many scales) and the test scenes (of one), with their margin.
    crops : Crops
        Crops with and without a car.
    train_boxes, test_boxes : list of ndarray of shape (n_cars, 4)
        Cars of each scene, in pixels.
    shapes : list of (height, width)
        Shapes of the training images.
    """

    settings: Settings
    train: list[WordGrid]
    test: list[WordGrid]
    crops: Crops
    train_boxes: list[Boxes]
    test_boxes: list[Boxes]
    shapes: list[tuple[int, int]]

    @classmethod
    def read(cls, words: str, scenes: str, settings: Settings) -> "CarData":
        """Read the files of the rule ``prepare_car_words``."""
        grids, described = load_word_grids(words), read_json(scenes)
        labels = np.arange(len(grids["cars"]) + len(grids["others"])) < len(grids["cars"])
        return cls(
            settings,
            [grid.widened(settings.margin) for grid in grids["train"]],
            [grid.widened(settings.margin) for grid in grids["test"]],
            Crops([*grids["cars"], *grids["others"]], labels),
            box_arrays(described["train"]["boxes"]),
            box_arrays(described["test"]["boxes"]),
            [tuple(shape) for shape in described["train"]["shapes"]],
        )

    @property
    def pairs(self) -> Pairs:
        """All cars of the training images."""
        return Pairs.of(self.train_boxes)

    def with_scales(self, scales: Sequence[int]) -> "CarData":
        """Return the same images with some of the descriptor sizes only."""
        parts = {
            name: [grid._replace(words=grid.words[list(scales)]) for grid in grids]
            for name, grids in (("train", self.train), ("test", self.test), ("crops", self.crops.grids))
        }
        crops = Crops(parts["crops"], self.crops.labels)
        return replace(self, train=parts["train"], test=parts["test"], crops=crops)

    def trainer(self, method: str, reading: str, choice: Choice) -> Trainer:
        """Return the trainer of a method; the images must have the descriptor sizes of the choice."""
        sizes = self.free_sizes() if reading == "free" else None
        normalization = choice.normalization[METHODS[method][1]]
        return Trainer(method, self.settings, normalization, self.train, self.crops, sizes)

    def free_sizes(self) -> list[tuple[int, int]]:
        """Return window sizes, in grid places, from the smallest to the largest training car."""
        widths, heights = (self.pairs.boxes[:, 2:] - self.pairs.boxes[:, :2] + 1).T
        n_steps = int(np.ceil(np.log(widths.max() / widths.min()) / np.log(SIZE_RATIO)))
        ladder = np.geomspace(widths.min(), widths.max(), n_steps + 1) / self.train[0].step
        return [(round(width), round(np.median(heights / widths) * width)) for width in ladder]

    def test_windows(self, trainer: Trainer) -> list[list[Windows]]:
        """Return the windows of the test images, by default of the size of the crops, which all cars have."""
        sizes = [self.crops.grids[0].words.shape[:0:-1]] if trainer.sizes is None else trainer.sizes
        pool = trainer.windows_of(self.test)
        return [pool.of(image, sizes) for image in range(len(self.test))]


def box_arrays(boxes: Sequence[Sequence[Sequence[int]]]) -> list[Boxes]:
    """Return the boxes of each image as an array of shape (n, 4)."""
    return [np.array(of_image, dtype=np.int64).reshape(-1, 4) for of_image in boxes]
