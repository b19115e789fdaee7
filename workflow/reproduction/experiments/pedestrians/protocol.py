"""Sets, methods and training that all stages of the pedestrian experiment share.

Equivariant SVM, section 3.2: train on each of three sets, test on each of two. C is selected on training data
alone: a method is trained on one of the three sets and validated on the two others, which show other places,
so that no group of near-identical pedestrians is on both sides.
"""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ermlab.features.hog_crops import HogLayout
from ermlab.metrics.detection import roc_equal_error_rate
from ermlab.ranking.invariant_ranking import InvariantRankingSVM
from ermlab.structured.invariant import InvariantSVM
from reproduction.experiments.pedestrians.crop_versions import VERSION_SETS, VersionStore


class Method(NamedTuple):
    """A method: its risk, its set of versions, and whether the worst version or their mean counts."""

    kind: str  #: binary or ranking
    versions: str  #: a key of `VERSION_SETS`
    choice: str = "worst"


#: The methods that are trained with every C.
METHODS = {
    "none": Method("binary", "none"),
    "flip": Method("binary", "flip"),
    "all": Method("binary", "all"),
    "flip_mean": Method("binary", "flip", "mean"),
    "all_mean": Method("binary", "all", "mean"),
    "ranking_none": Method("ranking", "none"),
    "ranking": Method("ranking", "all"),
}
TITLES = {
    "none": "no transformation",
    "flip": "flips, worst case",
    "all": "all 18, worst case",
    "flip_mean": "flips, mean",
    "all_mean": "all 18, mean",
    "ranking_none": "ranking, no transformation",
    "ranking": "ranking, all 18, worst case",
}
#: Methods of the control with cropped versions, which takes the C of the others.
CROPPED = ("none", "flip", "all", "all_mean")
#: Method of each kind that learns from groups.
GROUPED = {"binary": "all", "ranking": "ranking"}


class PreparedSet:
    """One of the five sets in a folder: crops of pedestrians and of other things, and their descriptors."""

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)

    def write(self, pedestrians: NDArray[np.uint8], others: NDArray[np.uint8]) -> None:
        """Write the crops."""
        self._folder.mkdir(parents=True, exist_ok=True)
        np.savez(self._folder / "crops.npz", pedestrians=pedestrians, others=others)

    @cached_property
    def _crops(self) -> dict[str, NDArray[np.uint8]]:
        with np.load(self._folder / "crops.npz") as stored:
            return dict(stored)

    @property
    def pedestrians(self) -> NDArray[np.uint8]:
        """The (n, 36, 18) crops of pedestrians."""
        return self._crops["pedestrians"]

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """1 for the pedestrians, which come first, and -1 for the others."""
        return np.repeat([1, -1], [len(self._crops[name]) for name in ("pedestrians", "others")])

    @property
    def crops(self) -> NDArray[np.uint8]:
        """All crops, in the order of the labels."""
        return np.concatenate([self._crops["pedestrians"], self._crops["others"]])

    def store(self, layout: HogLayout, border: str = "replicate") -> VersionStore:
        """Return the descriptors of the versions of all crops."""
        return VersionStore(self._folder / border, self.crops, layout, border)


def prepared_sets(folders: Iterable[str]) -> dict[str, PreparedSet]:
    """Return the sets in folders ``set_<name>`` by name."""
    return {Path(folder).name.removeprefix("set_"): PreparedSet(folder) for folder in folders}


def train(
    method: Method,
    bags: NDArray[np.float32],
    y: NDArray[np.int64],
    C: float,
    tol: float,
    groups: NDArray[np.int64] | None = None,
) -> InvariantSVM | InvariantRankingSVM:
    """Train on (n, T, d) versions of crops; ``groups`` has the index of the sample that each crop belongs to.

    ``y`` has the label of each sample. Of the versions only those of the method are used.
    """
    bags = bags[:, : VERSION_SETS[method.versions]]
    rows = None if groups is None else np.repeat(groups, bags.shape[1])
    model = (
        InvariantSVM(C, tol=tol, fit_intercept=True, choice=method.choice)
        if method.kind == "binary"
        else InvariantRankingSVM(C, tol=tol)
    )
    return model.fit(bags if rows is None else bags.reshape(-1, bags.shape[2]), y, rows)


def count_used_pedestrians(
    model: InvariantSVM | InvariantRankingSVM, labels: NDArray[np.int64], n_versions: int
) -> int:
    """Count the pedestrians among the training crops of which the optimizer has used at least one version."""
    used = model.used_.reshape(-1, n_versions).any(axis=1)
    return int(np.sum(used & (labels > 0)))


def error(labels: NDArray, scores: NDArray) -> float:
    """Return the equal error rate in percent."""
    return 100 * roc_equal_error_rate(labels, scores)
