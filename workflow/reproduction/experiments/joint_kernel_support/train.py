"""Train every method under label noise, and detect cars with it (rule train_car_localizers).

A method is trained with each value of its parameter: C of the structured SVM, nu of joint kernel support
estimation. The value with the largest area under the ROC curve on cropped images is used (thesis, 3.1.8).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ermlab._utils.blas import one_blas_thread
from ermlab.detection.boxes import best_overlap
from ermlab.detection.word_grids import WordGrid, load_word_grids
from ermlab.structured.jkse import one_class_weights
from reproduction.claims.results import read_json, write_json
from reproduction.experiments.joint_kernel_support.localization import (
    Boxes,
    Chi2Scorer,
    LinearScorer,
    Pairs,
    Scan,
    Scorer,
    WindowRisk,
    kernel_matrix,
    pair_features,
    swap_boxes,
    train_ssvm,
)
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows
from reproduction.pipeline.job import Paths, run_stage

Vector = NDArray[np.float64]
#: How each method is trained, and with which kernel.
METHODS = {"ssvm": ("ssvm", "linear"), "jkse_linear": ("jkse", "linear"), "jkse_chi2": ("jkse", "chi2")}
SIDES = ["left", "top", "right", "bottom"]


@dataclass(frozen=True)
class Settings:
    """Settings that all methods share; see ``joint_kernel_support`` of the configuration schema."""

    n_words: int
    levels: tuple[int, ...]
    normalization: str
    margin: int
    max_boxes: int
    max_overlap: float
    ssvm_tol: float
    C: tuple[float, ...]
    nu: tuple[float, ...]


def main(inputs: Paths, outputs: Paths, *, seed: int, noise: Sequence[float], settings: Settings) -> None:
    """Train every method on the pairs of each noise level, and detect cars with the chosen parameter."""
    cars = CarData.read(inputs["words"], inputs["scenes"], settings)
    noisy = [
        swap_boxes(cars.pairs, cars.shapes, r, np.random.default_rng([seed, i])) for i, r in enumerate(noise)
    ]
    detections, choices, timings = [], [], []
    for method in METHODS:
        trainer = cars.trainer(method)
        trained = [trainer.train(pairs) for pairs in noisy]
        scan = Scan.of([candidates.chosen_scorer for candidates in trained], cars.test_windows(trainer))
        for i, (r, candidates) in enumerate(zip(noise, trained, strict=True)):
            found = scan.detections(i, settings.max_boxes, settings.max_overlap)
            detections.append(_detection_rows(found).assign(method=method, noise=r))
            choices.append(_choice_rows(candidates).assign(method=method, noise=r))
            seconds = {"seconds": candidates.seconds, "search_seconds": candidates.search_seconds}
            timings.append({"method": method, "noise": r, **seconds})
    labels = [
        _label_rows(pairs, cars.train_boxes).assign(noise=r) for r, pairs in zip(noise, noisy, strict=True)
    ]
    for name, tables in (("detections", detections), ("choices", choices), ("labels", labels)):
        pd.concat(tables).to_csv(outputs[name], index=False, lineterminator="\n")
    write_json(outputs["timings"], timings)


def _detection_rows(found: Sequence[tuple[Boxes, Vector]]) -> pd.DataFrame:
    """Return one row for each detection: image, sides and score."""
    boxes, scores = zip(*found, strict=True)
    table = pd.DataFrame(np.concatenate(boxes), columns=SIDES)
    images = np.repeat(np.arange(len(boxes)), [len(of_image) for of_image in boxes])
    return table.assign(image=images, score=np.concatenate(scores))


def _choice_rows(candidates: "Candidates") -> pd.DataFrame:
    """Return one row for each value of the parameter."""
    return pd.DataFrame(
        {
            "parameter": candidates.parameters,
            "area": candidates.areas,
            "chosen": np.arange(len(candidates.parameters)) == candidates.chosen,
            "searches": candidates.searches,
        }
    )


def _label_rows(pairs: Pairs, truth: Sequence[Boxes]) -> pd.DataFrame:
    """Return one row for each label, with its largest overlap with a car of its image."""
    overlaps = [
        best_overlap([box], truth[image])[0] for image, box in zip(pairs.images, pairs.boxes, strict=True)
    ]
    return pd.DataFrame(pairs.boxes, columns=SIDES).assign(image=pairs.images, overlap=overlaps)


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
    grids : sequence of WordGrid
        Words of the training images, with their margin.
    crops : Crops
        Images to choose the parameter by.
    """

    def __init__(self, method: str, settings: Settings, grids: Sequence[WordGrid], crops: Crops):
        if method not in METHODS:
            raise ValueError(f"method is {method!r}: expected one of {', '.join(METHODS)}")
        self.method, self.settings, self.grids = method, settings, grids
        self.kernel = PairKernel(
            settings.n_words, settings.levels, METHODS[method][1], settings.normalization
        )
        self._crops, self._crop_features = crops, crops.features(self.kernel)

    def train(self, pairs: Pairs) -> Candidates:
        """Train the method with each value of its parameter."""
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

    def windows(self, grid: WordGrid, sizes: Sequence[tuple[int, int]]) -> list[Windows]:
        """Return the windows of all sizes that fit on a grid."""
        return [Windows(grid, size, self.kernel) for size in sizes if grid.fits(size)]


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

    def trainer(self, method: str) -> Trainer:
        """Return the trainer of a method."""
        return Trainer(method, self.settings, self.train, self.crops)

    def test_windows(self, trainer: Trainer) -> list[list[Windows]]:
        """Return the windows of the test images, where all cars have the size of the crops."""
        size = self.crops.grids[0].words.shape[:0:-1]
        return [trainer.windows(grid, [size]) for grid in self.test]


def box_arrays(boxes: Sequence[Sequence[Sequence[int]]]) -> list[Boxes]:
    """Return the boxes of each image as an array of shape (n, 4)."""
    return [np.array(of_image, dtype=np.int64).reshape(-1, 4) for of_image in boxes]


if "snakemake" in globals():
    run_stage(main, snakemake)
