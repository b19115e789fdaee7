"""Repeated training on patches that stores the cutting planes found before (cheap-data, section 1.5.4).

The convex part of the bridge loss of a patch is the maximum of its planes, one per assignment. Few of them
are ever the maximum. So a pool of patches stores those that were, in any training with any setting and share
of the patches; the optimizer uses them, and a search for the best assignments checks its result.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.structured.transfer import TransferResult, transfer_cccp
from ermlab.tracking.assignment import check_events
from ermlab.tracking.films import FramePair
from ermlab.tracking.small_assignment import SmallProblems
from ermlab.tracking.training import initial_weights
from reproduction.experiments.transfer._patch_rows_numba import highest, score_rows, sum_rows

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: A plane is new if it exceeds the known ones by this much.
_HIGHER = 1e-9
#: Maximum number of searches for the best assignments in one training.
_MAX_SEARCHES = 50


class PatchPool:
    """Patches that are searched together, and the planes of each that were ever the highest.

    Parameters
    ----------
    patches : sequence of FramePair
        Small pairs of frames as `ermlab.tracking.patches.film_patches` returns them, each with a known
        event.
    truth : array of bool, default=None
        Events to be learned, of all patches one after the other; by default those known to be true.
    n_jobs : int, default=None
        Number of patches that are searched at the same time; the result does not depend on it.
    """

    def __init__(
        self,
        patches: Sequence[FramePair],
        truth: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
    ):
        self.patches, self._n_jobs = list(patches), n_jobs
        self._problems = SmallProblems([patch.hypotheses for patch in self.patches])
        starts = self._problems.starts
        self._owner = np.repeat(np.arange(len(self)), np.diff(starts))
        if truth is None:
            known = [
                start + check_events(patch.annotation.events, len(patch.hypotheses))
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
        # Share of each event in the loss of its patch.
        self._shares = truth / self._n_events[self._owner]
        self._slopes, self._offsets = np.zeros((0, self.dimension)), np.zeros(0)
        self._planes_owner = np.zeros(0, dtype=np.int64)
        self._searched = np.zeros(len(self), dtype=bool)
        self._stored: set[tuple[int, float, bytes]] = set()
        decided = np.flatnonzero(self._complete)
        self.store(decided, self._features(truth, decided), np.zeros(len(decided)))

    def __len__(self) -> int:
        return len(self.patches)

    @property
    def dimension(self) -> int:
        """Length of the weight vector."""
        return self._problems.features.shape[1]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all events of each patch are known."""
        return self._complete

    @property
    def n_planes(self) -> int:
        """Number of stored planes of all patches."""
        return len(self._offsets)

    def random_truth(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return the best assignment of each patch for random scores, to be used in place of the truth."""
        return self._best(rng.normal(size=len(self.truth)), np.arange(len(self)))

    def planes(self, numbers: Numbers) -> tuple[Matrix, Vector, Numbers]:
        """Return slopes and offsets of the stored planes of patches, and the place of the patch of each."""
        place = np.full(len(self), -1)
        place[numbers] = np.arange(len(numbers))
        rows = np.flatnonzero(place[self._planes_owner] >= 0)
        return self._slopes[rows], self._offsets[rows], place[self._planes_owner[rows]]

    def store(self, numbers: Numbers, slopes: Matrix, offsets: Vector) -> None:
        """Store one plane of each patch in ``numbers``, if it is not stored yet."""
        new = []
        for k, number in enumerate(numbers.tolist()):
            plane = (number, float(offsets[k]), slopes[k].tobytes())
            if plane not in self._stored:
                self._stored.add(plane)
                new.append(k)
        self._slopes = np.concatenate([self._slopes, slopes[new]])
        self._offsets = np.concatenate([self._offsets, offsets[new]])
        self._planes_owner = np.concatenate([self._planes_owner, numbers[new]])

    def penalties(self, w: Vector, numbers: Numbers) -> tuple[Matrix, Vector]:
        """Return slopes and offsets of the highest planes of patches at ``w``: score plus loss."""
        chosen = self._best(self._scores(w, numbers) - self._shares, numbers)
        self._searched[numbers] = True
        missed = self._count(self.truth & ~chosen)[numbers]
        return self._features(chosen, numbers), missed / self._n_events[numbers]

    def searched(self, numbers: Numbers) -> bool:
        """Return whether all of the patches have been searched by `penalties`."""
        return bool(self._searched[numbers].all())

    def rewards(self, w: Vector, numbers: Numbers) -> Matrix:
        """Return the features of the best assignments of patches that agree with the known events."""
        undecided = numbers[~self._complete[numbers]]
        chosen = self.truth | self._best(self._scores(w, undecided), undecided, self.truth)
        return self._features(chosen, numbers)

    def events(self, number: int) -> Numbers:
        """Return the known true events of a patch, as numbers of its hypotheses."""
        starts = self._problems.starts
        return np.flatnonzero(self.truth[starts[number] : starts[number + 1]])

    def n_events(self, numbers: Numbers) -> int:
        """Return the number of known true events of patches, those excluded by gating included."""
        return int((self._n_events + self._lost)[numbers].sum())

    def missed(self, w: Vector, numbers: Numbers) -> int:
        """Return the number of known true events that the best assignments of patches lack.

        Those excluded by gating are always missed.
        """
        chosen = self._best(self._scores(w, numbers), numbers)
        return int((self._count(self.truth & ~chosen) + self._lost)[numbers].sum())

    def missed_share(self, w: Vector) -> float:
        """Return the number of missed events of all patches, divided by that of their known true events."""
        everything = np.arange(len(self))
        return self.missed(w, everything) / self.n_events(everything)

    def _scores(self, w: Vector, numbers: Numbers) -> Vector:
        """Return the scores of the events of patches, and 0 for those of others."""
        if w.shape != (self.dimension,):
            raise ValueError(f"weights of shape {w.shape}: expected {(self.dimension,)}")
        scores = np.zeros(len(self.truth))
        score_rows(self._problems.features, self._problems.starts, numbers, w, scores)
        return scores

    def _best(self, scores: Vector, numbers: Numbers, including: NDArray | None = None) -> NDArray[np.bool_]:
        return self._problems.best(scores, numbers, including, self._n_jobs)

    def _count(self, marks: NDArray[np.bool_]) -> Numbers:
        return np.bincount(self._owner[marks], minlength=len(self))

    def _features(self, chosen: NDArray[np.bool_], numbers: Numbers) -> Matrix:
        """Return the sums of the features of chosen events, one row for each of the patches."""
        sums = np.zeros((len(numbers), self.dimension))
        sum_rows(self._problems.features, self._problems.starts, numbers, chosen, sums)
        return sums


class PatchRisk:
    """Mean bridge loss of patches of a pool, as `ermlab.tracking.task.PartialTrackingRisk`.

    Its convex part is that of the planes stored in the pool, a lower bound; `search` finds the exact one and
    stores the planes that it finds.

    Parameters
    ----------
    pool : PatchPool
        Patches.
    numbers : array-like of int, default=None
        Numbers of the patches that are used, by default all.
    """

    #: The assignments that the reward finds become planes of the convex part.
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
        """Return the mean of the highest stored planes, and a subgradient."""
        tops, best = self._highest(w)
        if (best < 0).any():
            patch = int(self.numbers[np.argmin(best)])
            raise ValueError(f"no plane of patch {patch} is known: expected a search before")
        return float(np.mean(tops)), np.sum(self._known[0][best], axis=0) / len(self)

    def reward(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean score of the best assignments that agree with the known events, and a subgradient.

        They are stored as planes, so that the convex part is nowhere below the tangent of the reward.
        """
        slopes = self.pool.rewards(w, self.numbers)
        undecided = ~self.pool.complete[self.numbers]
        self.pool.store(self.numbers[undecided], slopes[undecided], np.zeros(undecided.sum()))
        slope = np.mean(slopes, axis=0)
        return float(np.sum(slope * w)), slope

    def search(self, w: Vector) -> float:
        """Return the difference of the means of the highest of all planes and of the stored ones."""
        slopes, offsets = self.pool.penalties(w, self.numbers)
        rise = np.sum(slopes * w, axis=1) + offsets - self._highest(w)[0]
        new = rise > _HIGHER
        self.pool.store(self.numbers[new], slopes[new], offsets[new])
        return float(np.sum(rise[new])) / len(self)

    def _planes(self) -> tuple[Matrix, Vector, Numbers]:
        if self._seen != self.pool.n_planes:
            self._known, self._seen = self.pool.planes(self.numbers), self.pool.n_planes
        return self._known

    def _highest(self, w: Vector) -> tuple[Vector, Numbers]:
        if np.shape(w) != (self.dimension,):
            raise ValueError(f"w has shape {np.shape(w)}: expected ({self.dimension},)")
        best, tops = np.empty(len(self), dtype=np.int64), np.full(len(self), -np.inf)
        highest(*self._planes(), w, best, tops)
        return tops, best


def train_on_patches(
    risks: Sequence[PatchRisk], *, alpha: float, rho: float, tol: float = 1e-2, w0: ArrayLike | None = None
) -> TransferResult:
    """Train on the patches of one or more data sets (cheap-data, eq. 1.9 with the bridge loss).

    The bridge loss of the stored planes is minimized by `transfer_cccp`, then missing planes are searched at
    the minimum, until they add little to the objective and the last minimization has added none.

    Parameters
    ----------
    risks : sequence of PatchRisk
        Risk of each data set.
    alpha, rho : float
        As in `ermlab.structured.transfer.minimize_transfer`.
    tol : float, default=1e-2
        Relative gap of the last convex problem, half of it for the optimizer and half for missing planes.
    w0 : array-like of shape (n_domains, n_features), default=None
        Initial weights of each data set, by default those of `train_tracker`.
    """
    weights = np.tile(initial_weights(), (len(risks), 1)) if w0 is None else np.asarray(w0)
    for risk, w in zip(risks, weights, strict=True):
        if not risk.pool.searched(risk.numbers):
            risk.search(w)
    planes, result, converged = None, None, False
    for n_searches in range(1, _MAX_SEARCHES + 1):  # noqa: B007  (reported below)
        known = _n_planes(risks)
        result = transfer_cccp(
            risks,
            alpha=alpha,
            rho=rho,
            sizes=[len(risk) for risk in risks],
            tol=tol / 2,
            w0=weights,
            planes=planes,
            first_tol=2 * tol,
        )
        weights, planes = result.weights, result.planes
        grown = _n_planes(risks) > known
        missing = sum(len(risk) * risk.search(w) for risk, w in zip(risks, weights, strict=True))
        converged = not grown and missing <= tol / 2 * result.value and result.converged
        if converged:
            break
    return replace(result, value=result.value + missing, converged=converged, n_iter=n_searches)


def _n_planes(risks: Sequence[PatchRisk]) -> int:
    return sum(risk.pool.n_planes for risk in risks)
