"""Training on many patches again and again, with what was found before (cheap-data, section 1.5.4).

The convex part of the bridge loss of a patch is the highest of its planes, one for each assignment. Few of
them ever are the highest. So the patches remember those that were, in every training with every setting and
share of the patches; the optimiser works on them, and a search for the best assignments checks its result.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.structured.transfer import TransferResult, transfer_cccp
from ermlab.tracking.films import FramePair
from ermlab.tracking.small_assignment import SmallProblems
from ermlab.tracking.task import event_numbers
from ermlab.tracking.training import initial_weights
from reproduction.experiments.transfer._patch_rows_numba import highest, sum_rows

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: A plane is new if it is higher than the known ones by this much.
_HIGHER = 1e-9
#: Searches for the best assignments after which a training ends, whether or not they had anything to add.
_MOST_SEARCHES = 50


class PatchPool:
    """Patches, searched all at once, and the planes of each that were ever the highest.

    Parameters
    ----------
    patches
        Small pairs of frames as `ermlab.tracking.patches.film_patches` returns them, each with a known
        event.
    truth
        Marks of the events that are to be learned, of all patches one after the other; by default those that
        are known to be true.
    n_threads
        Patches that are searched at the same time; the result does not depend on it.
    """

    def __init__(
        self,
        patches: Sequence[FramePair],
        truth: NDArray[np.bool_] | None = None,
        n_threads: int | None = None,
    ):
        self.patches, self._n_threads = list(patches), n_threads
        self._problems = SmallProblems([patch.hypotheses for patch in self.patches])
        starts = self._problems.starts
        self._owner = np.repeat(np.arange(len(self)), np.diff(starts))
        if truth is None:
            known = [
                start + event_numbers(patch.annotation.events, len(patch.hypotheses))
                for start, patch in zip(starts, self.patches, strict=False)
            ]
            truth = np.zeros(starts[-1], dtype=bool)
            truth[np.concatenate(known)] = True
        truth = np.asarray(truth)
        if truth.shape != (starts[-1],) or truth.dtype != np.bool_:
            raise ValueError(
                f"truth has shape {truth.shape} of {truth.dtype}: expected {starts[-1]} marks of events"
            )
        self.truth = truth
        self._n_events = self._count(truth)
        if not self._n_events.all():
            raise ValueError(
                f"patch {int(np.argmin(self._n_events))} has no known event: expected at least one in each"
            )
        self._lost = np.array([len(patch.annotation.lost) for patch in self.patches])
        self._complete = np.array(
            [
                patch.hypotheses.is_assignment(truth[first:last])
                for patch, first, last in zip(self.patches, starts[:-1], starts[1:], strict=True)
            ]
        )
        # The share of the loss that each event makes.
        self._shares = truth / self._n_events[self._owner]
        self._slopes, self._offsets = np.zeros((0, self.dimension)), np.zeros(0)
        self._planes_owner = np.zeros(0, dtype=np.int64)
        self._searched = np.zeros(len(self), dtype=bool)
        self._held: set[tuple[int, float, bytes]] = set()
        decided = np.flatnonzero(self._complete)
        self.remember(decided, self._features(truth)[decided], np.zeros(len(decided)))

    def __len__(self) -> int:
        return len(self.patches)

    @property
    def dimension(self) -> int:
        """Length of the weight vector."""
        return self._problems.features.shape[1]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all is known of each patch."""
        return self._complete

    @property
    def n_remembered(self) -> int:
        """Number of planes of all patches."""
        return len(self._offsets)

    def random_truth(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return a random assignment of each patch in place of the truth: the best one of random scores."""
        return self._best(rng.normal(size=len(self.truth)), np.arange(len(self)))

    def remembered(self, numbers: Numbers) -> tuple[Matrix, Vector, Numbers]:
        """Return slopes and offsets of the planes of some patches, and the place of the patch of each."""
        place = np.full(len(self), -1)
        place[numbers] = np.arange(len(numbers))
        rows = np.flatnonzero(place[self._planes_owner] >= 0)
        return self._slopes[rows], self._offsets[rows], place[self._planes_owner[rows]]

    def remember(self, numbers: Numbers, slopes: Matrix, offsets: Vector) -> None:
        """Keep a plane of each of some patches, if it is not there already."""
        new = []
        for k, number in enumerate(numbers.tolist()):
            plane = (number, float(offsets[k]), slopes[k].tobytes())
            if plane not in self._held:
                self._held.add(plane)
                new.append(k)
        self._slopes = np.concatenate([self._slopes, slopes[new]])
        self._offsets = np.concatenate([self._offsets, offsets[new]])
        self._planes_owner = np.concatenate([self._planes_owner, numbers[new]])

    def penalties(self, w: Vector, numbers: Numbers) -> tuple[Matrix, Vector]:
        """Return slopes and offsets of the highest planes of some patches at ``w``: score plus loss."""
        chosen = self._best(self._scores(w) - self._shares, numbers)
        self._searched[numbers] = True
        missed = self._count(self.truth & ~chosen)[numbers]
        return self._features(chosen)[numbers], missed / self._n_events[numbers]

    def searched(self, numbers: Numbers) -> bool:
        """Return whether the penalties of all of some patches have been asked for."""
        return bool(self._searched[numbers].all())

    def rewards(self, w: Vector, numbers: Numbers) -> Matrix:
        """Return the features of the best assignments of some patches that agree with what is known."""
        undecided = numbers[~self._complete[numbers]]
        chosen = self.truth | self._best(self._scores(w), undecided, self.truth)
        return self._features(chosen)[numbers]

    def events(self, number: int) -> Numbers:
        """Return the true events of a patch that are known, as numbers of its hypotheses."""
        starts = self._problems.starts
        return np.flatnonzero(self.truth[starts[number] : starts[number + 1]])

    def n_events(self, numbers: Numbers) -> int:
        """Return how many true events of some patches are known, those that are no hypothesis included."""
        return int((self._n_events + self._lost)[numbers].sum())

    def _scores(self, w: Vector) -> Vector:
        with one_blas_thread():
            return self._problems.features @ w

    def _best(self, scores: Vector, numbers: Numbers, including: NDArray | None = None) -> NDArray[np.bool_]:
        return self._problems.best(scores, numbers, including, self._n_threads)

    def _count(self, marks: NDArray[np.bool_]) -> Numbers:
        return np.bincount(self._owner[marks], minlength=len(self))

    def _features(self, chosen: NDArray[np.bool_]) -> Matrix:
        sums = np.zeros((len(self), self.dimension))
        sum_rows(self._problems.features, chosen, self._owner, sums)
        return sums


class PatchRisk:
    """The mean bridge loss of some patches of a pool, as `ermlab.tracking.task.PartialTrackingRisk`.

    Its convex part is at first that of the planes which the pool remembers, a lower bound; `search` finds
    the true one and makes the pool remember what it found.

    Parameters
    ----------
    pool
        Where the patches come from.
    numbers
        Which of them, by default all.
    """

    #: The assignments that the reward finds are planes of the convex part from then on.
    grows = True

    def __init__(self, pool: PatchPool, numbers: ArrayLike | None = None):
        self.pool = pool
        self.numbers: Numbers = np.arange(len(pool)) if numbers is None else np.sort(np.asarray(numbers))
        if not len(self.numbers):
            raise ValueError("no patches: expected at least one")
        if self.numbers.dtype.kind not in "iu" or not 0 <= self.numbers[0] <= self.numbers[-1] < len(pool):
            raise ValueError(
                f"numbers are {self.numbers.tolist()}: expected numbers of patches, 0 to {len(pool) - 1}"
            )
        self.dimension = pool.dimension
        self._seen = -1

    def __len__(self) -> int:
        return len(self.numbers)

    def convex_part(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean of the highest known planes, and a subgradient."""
        tops, best = self._highest(w)
        if (best < 0).any():
            patch = int(self.numbers[np.argmin(best)])
            raise ValueError(f"no plane of patch {patch} is known: expected a search before")
        return float(np.mean(tops)), np.sum(self._known[0][best], axis=0) / len(self)

    def reward(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean score of the best assignments that agree with what is known, and a subgradient.

        They are remembered, too: so the convex part is nowhere less than the tangent of the reward.
        """
        slopes = self.pool.rewards(w, self.numbers)
        undecided = ~self.pool.complete[self.numbers]
        self.pool.remember(self.numbers[undecided], slopes[undecided], np.zeros(undecided.sum()))
        slope = np.mean(slopes, axis=0)
        return float(np.sum(slope * w)), slope

    def search(self, w: Vector) -> float:
        """Return by how much the mean of the highest of all planes exceeds that of the known ones."""
        slopes, offsets = self.pool.penalties(w, self.numbers)
        rise = np.sum(slopes * w, axis=1) + offsets - self._highest(w)[0]
        new = rise > _HIGHER
        self.pool.remember(self.numbers[new], slopes[new], offsets[new])
        return float(np.sum(rise[new])) / len(self)

    def _planes(self) -> tuple[Matrix, Vector, Numbers]:
        if self._seen != self.pool.n_remembered:
            self._known, self._seen = self.pool.remembered(self.numbers), self.pool.n_remembered
        return self._known

    def _highest(self, w: Vector) -> tuple[Vector, Numbers]:
        if np.shape(w) != (self.dimension,):
            raise ValueError(f"w has shape {np.shape(w)}: expected ({self.dimension},)")
        best, tops = np.empty(len(self), dtype=np.int64), np.full(len(self), -np.inf)
        highest(*self._planes(), w, best, tops)
        return tops, best


def train_on_patches(
    risks: Sequence[PatchRisk], *, lam: float, rho: float, tol: float = 1e-2, w0: ArrayLike | None = None
) -> TransferResult:
    """Learn from the patches of one or more data sets (cheap-data, eq. 1.9 with the bridge loss).

    The bridge loss of the known planes is minimised by `transfer_cccp`, then the planes that are missing at
    the minimum are looked for, until they add little to the objective and none was added on the way.

    Parameters
    ----------
    lam, rho
        As in `ermlab.structured.transfer.minimize_transfer`.
    tol
        Relative gap of the last convex problem, half of it for the optimiser and half for missing planes.
    w0
        Weights of each data set to start from, by default the plain guess of `train_tracker`.
    """
    weights = np.tile(initial_weights(), (len(risks), 1)) if w0 is None else np.asarray(w0)
    for risk, w in zip(risks, weights, strict=True):
        if not risk.pool.searched(risk.numbers):
            risk.search(w)
    planes, result, converged = None, None, False
    for n_searches in range(1, _MOST_SEARCHES + 1):  # noqa: B007  (reported below)
        known = _n_remembered(risks)
        result = transfer_cccp(
            risks,
            alpha=lam,
            rho=rho,
            sizes=[len(risk) for risk in risks],
            tol=tol / 2,
            w0=weights,
            planes=planes,
            first_tol=2 * tol,
        )
        weights, planes = result.weights, result.planes
        grown = _n_remembered(risks) > known
        missing = sum(len(risk) * risk.search(w) for risk, w in zip(risks, weights, strict=True))
        converged = not grown and missing <= tol / 2 * result.value and result.converged
        if converged:
            break
    return replace(result, value=result.value + missing, converged=converged, calls=n_searches)


def _n_remembered(risks: Sequence[PatchRisk]) -> int:
    return sum(risk.pool.n_remembered for risk in risks)
