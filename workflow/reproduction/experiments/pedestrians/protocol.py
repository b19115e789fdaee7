"""The protocol of the pedestrian experiment: sets, methods, and what each is trained on.

Equivariant SVM, section 3.2: train on each of three sets, test on each of two. Prices C are chosen on
training data alone: trained on one of the three sets, a method is tried on the two others, which show other
places, so that no group of near-identical pedestrians is on both sides.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ermlab.features.hog_crops import HogLayout
from ermlab.metrics.detection import roc_equal_error_rate
from ermlab.ranking.invariant_ranking import InvariantRankingSVM
from ermlab.structured.invariant import InvariantSVM
from reproduction.datasets.daimler_pedestrians import CropSet
from reproduction.experiments.pedestrians.crop_versions import VERSION_SETS, VersionStore
from reproduction.experiments.pedestrians.natural_groups import first_members


class Method(NamedTuple):
    """How a method learns: by which risk, from which versions, by the worst of them or by their mean."""

    kind: str  #: binary or ranking
    versions: str  #: a key of `VERSION_SETS`
    choice: str = "worst"


#: The methods that are trained with every price.
METHODS = {
    "none": Method("binary", "none"),
    "flip": Method("binary", "flip"),
    "all": Method("binary", "all"),
    "flip_mean": Method("binary", "flip", "mean"),
    "all_mean": Method("binary", "all", "mean"),
    "ranking_none": Method("ranking", "none"),
    "ranking": Method("ranking", "all"),
}
#: Those of the control that invents no pixels, with the prices of the others.
CROPPED = ("none", "flip", "all", "all_mean")
#: Method of each kind that learns from groups.
GROUPED = {"binary": "all", "ranking": "ranking"}


def layout_of(values: Mapping[str, Any]) -> HogLayout:
    """Return the descriptor of a configuration, whose lists are tuples here."""
    levels = tuple(tuple(level) for level in values["levels"])
    return HogLayout(levels, tuple(values["blocks"]), values["orientations"], values["root"])


class PreparedSet:
    """One of the five sets in a folder: its base images and its other crops, with their descriptors."""

    def __init__(self, folder: str | Path, layout: HogLayout):
        self._folder, self._layout = Path(folder), layout

    @classmethod
    def prepare(
        cls, folder: str | Path, crops: CropSet, layout: HogLayout, *, pedestrians: int, others: int
    ) -> "PreparedSet":
        """Write the crops of a set, at most so many of each kind, into a folder."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        np.savez(
            Path(folder) / "crops.npz", pedestrians=crops.base[:pedestrians], others=crops.others[:others]
        )
        return cls(folder, layout)

    @cached_property
    def _crops(self) -> dict[str, NDArray[np.uint8]]:
        with np.load(self._folder / "crops.npz") as stored:
            return dict(stored)

    @property
    def pedestrians(self) -> NDArray[np.uint8]:
        """The (n, 36, 18) base images."""
        return self._crops["pedestrians"]

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """1 for the pedestrians, which come first, and -1 for the others."""
        return np.repeat([1, -1], [len(self._crops[name]) for name in ("pedestrians", "others")])

    @property
    def crops(self) -> NDArray[np.uint8]:
        """All crops, in the order of the labels."""
        return np.concatenate([self._crops["pedestrians"], self._crops["others"]])

    def store(self, border: str = "replicate") -> VersionStore:
        """Return the descriptors of all crops."""
        return VersionStore(self._folder / border, self.crops, self._layout, border)


def train(
    method: Method,
    bags: NDArray[np.float32],
    y: NDArray[np.int64],
    C: float,
    tol: float,
    groups: NDArray[np.int64] | None = None,
) -> InvariantSVM | InvariantRankingSVM:
    """Train on (n, T, d) versions of crops; ``groups`` names the sample that each crop belongs to.

    ``y`` holds the label of each sample. Only as many versions as the method knows are used.
    """
    bags = bags[:, : VERSION_SETS[method.versions]]
    rows = None if groups is None else np.repeat(groups, bags.shape[1])
    model = (
        InvariantSVM(C, tol=tol, fit_intercept=True, choice=method.choice)
        if method.kind == "binary"
        else InvariantRankingSVM(C, tol=tol)
    )
    return model.fit(bags if rows is None else bags.reshape(-1, bags.shape[2]), y, rows)


def error(labels: NDArray, scores: NDArray) -> float:
    """Return the equal error rate in percent."""
    return 100 * roc_equal_error_rate(labels, scores)


class GroupedTraining(NamedTuple):
    """What is trained on at one degree of grouping."""

    crops: NDArray[np.int64]  #: the crops of the set that are used
    groups: NDArray[np.int64]  #: the sample each belongs to
    y: NDArray[np.int64]  #: label of each sample


def group_training(
    labels: NDArray[np.int64], pedestrians: NDArray[np.int64], *, natural: bool
) -> GroupedTraining:
    """Make one sample of each group of pedestrians; all other crops stay samples of their own.

    Parameters
    ----------
    labels
        Of all crops, pedestrians first.
    pedestrians
        Group of each pedestrian.
    natural
        Whether all members of a group are used, as versions of one sample, or its representative alone.
    """
    n_pedestrians, n_groups = len(pedestrians), int(pedestrians.max()) + 1
    members = np.arange(n_pedestrians) if natural else first_members(pedestrians)
    others = np.arange(n_pedestrians, len(labels))
    groups = np.concatenate([pedestrians[members], n_groups + np.arange(len(others))])
    return GroupedTraining(
        np.concatenate([members, others]), groups, np.repeat([1, -1], [n_groups, len(others)])
    )


def used_pedestrians(
    model: InvariantSVM | InvariantRankingSVM, training: GroupedTraining, n_versions: int
) -> int:
    """Count the pedestrian images of which the optimiser has ever used a version."""
    used = model.used_.reshape(-1, n_versions).any(axis=1)
    return int(np.sum(used & (training.y[training.groups] > 0)))


def grouping_counts(n: int, shares: list[float]) -> list[int]:
    """Return how many groups ``n`` pedestrians have at each degree of grouping."""
    return [max(round(share * n), 1) for share in shares]
