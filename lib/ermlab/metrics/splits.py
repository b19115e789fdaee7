"""Splits into training and test parts for dependent samples.

Neighboring volumes of a scan are similar, so a test volume must not have neighbors in the training part.
Such samples are split by stretches of time, with a gap on either side, or by whole runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice, require_room, whole_number

#: The test part is a stretch of time, a set of runs, or any set of samples.
KINDS = ("stretches", "runs", "permuted")


@dataclass(frozen=True)
class Split:
    """Indices of the training and of the test samples; samples in a gap are in neither."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass(frozen=True)
class Sampling:
    """A scheme for splitting the samples of a study.

    Parameters
    ----------
    kind : {"stretches", "runs", "permuted"}
        ``"stretches"``: the test part is one stretch of time; ``"runs"``: whole runs; ``"permuted"``: any
        samples, which is valid for independent samples such as subjects, but not for volumes of a scan.
    n : int
        Number of samples, in temporal order.
    gap : int, default=0
        For stretches: number of samples on either side of the test part that are not used for training.
    runs : array-like of shape (n,), optional
        For runs: the run of each sample.
    """

    kind: str
    n: int
    gap: int = 0
    runs: ArrayLike | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        for name, least in (("n", 1), ("gap", 0)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        require_room((self.n,), f"the numbers of {self.n} samples")
        if (self.kind == "runs") != (self.runs is not None):
            raise ValueError(
                f"kind is {self.kind!r}, runs is {self.runs!r}: expected runs for kind 'runs' only"
            )
        if self.runs is not None and np.shape(self.runs) != (self.n,):
            raise ValueError(f"runs has shape {np.shape(self.runs)}: expected ({self.n},)")

    def splits(self, count: int, share: float, seed: int | Sequence[int]) -> list[Split]:
        """Draw ``count`` splits with about a fraction ``share`` of the samples, or runs, in the test part.

        The first splits do not depend on ``count``.
        """
        if not (isinstance(share, Real) and 0 < share < 1):
            raise ValueError(f"share is {share!r}: expected a number between 0 and 1")
        draws = self._draws(share, np.random.default_rng(seed))
        return [self._split(np.arange(self.n), next(draws)) for _ in range(whole_number("count", count, 0))]

    def folds(self, train: NDArray[np.int64], count: int, seed: int | Sequence[int]) -> list[Split]:
        """Divide a training part into ``count`` folds, each the test part of one split.

        Folds are stretches of the training part, sets of its runs, or any sets of its samples.
        """
        train = np.asarray(train)
        if train.ndim != 1 or (train.size and train.dtype.kind not in "iu"):
            raise ValueError(f"train has shape {train.shape} and type {train.dtype}: expected whole numbers")
        if train.size and not 0 <= train.min() <= train.max() < self.n:
            raise ValueError(f"train goes from {train.min()} to {train.max()}: expected 0 to {self.n - 1}")
        units = train if self.runs is None or not train.size else np.unique(np.asarray(self.runs)[train])
        if not 2 <= whole_number("count", count, 0) <= len(units):
            raise ValueError(f"count is {count}: expected 2 to {len(units)} folds")
        if self.kind == "permuted":
            units = np.random.default_rng(seed).permutation(units)
        parts = np.array_split(units, count)
        if self.kind == "runs":
            parts = [train[np.isin(np.asarray(self.runs)[train], part)] for part in parts]
        return [self._split(train, np.sort(part)) for part in parts]

    def _draws(self, share: float, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Yield test parts indefinitely; all stretches, or all runs, are used before one is repeated."""
        units = np.arange(self.n) if self.runs is None else np.unique(self.runs)
        size = max(1, round(share * len(units)))
        while True:
            if self.kind == "stretches":
                for start in rng.permutation(self.n - size + 1):
                    yield np.arange(start, start + size)
            elif self.kind == "runs":
                order = rng.permutation(units)
                for last in range(size, len(units) + 1, size):
                    yield np.flatnonzero(np.isin(self.runs, order[last - size : last]))
            else:
                yield np.sort(rng.choice(units, size, replace=False))

    def _split(self, samples: NDArray[np.int64], test: NDArray[np.int64]) -> Split:
        """Remove the test part and the gaps around it from the samples."""
        excluded = np.zeros(self.n, dtype=bool)
        excluded[test] = True
        if self.kind == "stretches":
            # A fold may surround the outer test part: each of its pieces has its own gap.
            bounds = np.flatnonzero(np.diff(test) > 1) + 1
            gap = min(self.gap, self.n)
            for first, last in pairwise([0, *bounds, len(test)]):
                excluded[max(test[first] - gap, 0) : test[last - 1] + gap + 1] = True
        train = samples[~excluded[samples]]
        if not len(train):
            raise ValueError(f"no training samples left of {self.n}: {len(test)} tested, a gap of {self.gap}")
        return Split(train, test)
