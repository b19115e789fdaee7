"""Five strategies to learn a tracker of a laboratory with films of another (cheap-data, section 1.5.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.optimize import L2, Risk, minimize
from ermlab.structured.transfer import minimize_transfer
from ermlab.tracking.films import FramePair
from ermlab.tracking.training import average_loss, initial_weights
from reproduction.experiments.transfer.patch_training import PatchPool, PatchRisk, train_on_patches

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """Weights of the regulariser; with infinite ``rho`` all data sets have the same weights."""

    lam: float
    rho: float = np.inf


@dataclass(frozen=True)
class Strategy:
    """What a strategy learns from: all of the source, a share of the target, or both."""

    source: bool
    target: bool
    published: Setting  #: Table 1.4; sums over patches, as here

    @property
    def transfers(self) -> bool:
        """Whether source and target have weights of their own (equation 1.9)."""
        return np.isfinite(self.published.rho)


#: Trained once, and on each share of the target.
WHOLE = {
    "all_source": Strategy(True, False, Setting(1.0)),
    "all_target": Strategy(False, True, Setting(1.0)),
}
SHARED = {
    "partial_target": Strategy(False, True, Setting(2.5)),
    "union": Strategy(True, True, Setting(1.0)),
    "transfer": Strategy(True, True, Setting(0.5, 2.5)),
}
STRATEGIES = WHOLE | SHARED
#: With the source beside the target.
BOTH = ("union", "transfer")


@dataclass(frozen=True)
class Learned:
    """What a strategy made of the annotation that it was given."""

    strategy: str
    share: float  #: of the target's patches
    patches: int  #: that were learned from, those of the source left out where both are
    events: int  #: that are known of them
    setting: Setting
    validation_loss: float | None  #: share of the events of held out patches that were missed, if any were
    loss: float  #: share of the test events that are missed
    weights: Vector


@dataclass(frozen=True)
class Domain:
    """What there is of a data set to learn from.

    Parameters
    ----------
    pool
        Its patches, in the order of time.
    pairs
        The whole frames that they are cut from, by the number of the first.
    """

    pool: PatchPool
    pairs: Mapping[int, FramePair]

    def __len__(self) -> int:
        return len(self.pool)

    def missed(self, w: Vector, numbers: Numbers, n_threads: int | None = None) -> int:
        """Return how many known true events of some patches a tracker of the whole frames misses."""
        by_frame: dict[int, list[int]] = {}
        for number in numbers.tolist():
            by_frame.setdefault(self.pool.patches[number].frame, []).append(number)

        def missed_in(frame: int) -> int:
            pair = self.pairs[frame]
            found = pair.assigner.best(pair.hypotheses.scores(w))
            return sum(self._missed(number, found) for number in by_frame[frame])

        return sum(map_in_threads(missed_in, list(by_frame), n_threads))

    def _missed(self, number: int, found: NDArray[np.bool_]) -> int:
        patch = self.pool.patches[number]
        events = patch.events[self.pool.events(number)]
        return int((~found[events]).sum()) + len(patch.annotation.lost)


class TransferStudy:
    """Source, target and test of a comparison of strategies.

    Parameters
    ----------
    source, target
        Data sets to learn from.
    test
        Pairs of frames of the target's laboratory, never learned from.
    lam, rho
        Values to choose from.
    n_folds
        Stretches of time into which the annotated patches are cut to choose a setting.
    tol
        Relative gap of every training.
    n_threads
        Pairs of frames that are tested at the same time.
    """

    def __init__(
        self,
        source: Domain,
        target: Domain,
        test: Sequence[FramePair],
        *,
        lam: Sequence[float],
        rho: Sequence[float],
        n_folds: int,
        tol: float,
        n_threads: int | None = None,
    ):
        if n_folds < 2 or min(len(source), len(target)) < n_folds:
            raise ValueError(
                f"{n_folds} folds of {len(source)} and of {len(target)} patches: expected at least 2, and no "
                "more than patches"
            )
        self.source, self.target, self.test = source, target, list(test)
        self._lam, self._rho = sorted(lam, reverse=True), sorted(rho, reverse=True)
        self._n_folds, self._tol, self._n_threads = n_folds, tol, n_threads

    def draw(self, seed: Sequence[int]) -> Numbers:
        """Return the target's patches in the random order in which they are annotated."""
        return np.random.default_rng(seed).permutation(len(self.target))

    def run(
        self, name: str, share: float, order: Numbers | None = None, setting: Setting | None = None
    ) -> Learned:
        """Learn from the first patches of an order, and test.

        Parameters
        ----------
        share
            How many of the target's patches are annotated; at least one for each fold.
        order
            By default that of time.
        setting
            By default chosen by cross-validation on the patches that are learned from.
        """
        strategy = STRATEGIES[name]
        numbers = np.arange(len(self._home(strategy)))
        if strategy.target:
            order = numbers if order is None else order
            numbers = np.sort(order[: max(round(share * len(order)), self._n_folds)])
        loss = None
        if setting is None:
            setting, loss = self.choose(strategy, numbers)
        w = self._train(strategy, numbers, setting)[-1]
        return Learned(
            strategy=name,
            share=share,
            patches=len(numbers),
            events=self._home(strategy).pool.n_events(numbers),
            setting=setting,
            validation_loss=loss,
            loss=average_loss(w, self.test, self._n_threads),
            weights=w,
        )

    def choose(self, strategy: Strategy, numbers: Numbers) -> tuple[Setting, float]:
        """Return the setting with the least loss on held out patches, and that loss.

        They are held out of the target's annotated patches, or of the source where it is alone. The tracker
        works on whole frames, as in the test, and is judged by the events of the patches. Ties go to the
        strongest regularisation.
        """
        settings = [
            Setting(lam, rho) for lam in self._lam for rho in (self._rho if strategy.transfers else [np.inf])
        ]
        home, missed = self._home(strategy), np.zeros(len(settings))
        for held_out in np.array_split(numbers, self._n_folds):
            weights = None
            for k, setting in enumerate(settings):
                weights = self._train(strategy, np.setdiff1d(numbers, held_out), setting, weights)
                missed[k] += home.missed(weights[-1], held_out, self._n_threads)
        best = int(np.argmin(missed))
        return settings[best], float(missed[best] / home.pool.n_events(numbers))

    def _home(self, strategy: Strategy) -> Domain:
        """Return the data set that a strategy is judged by, whose weights come last."""
        return self.target if strategy.target else self.source

    def _train(
        self, strategy: Strategy, numbers: Numbers, setting: Setting, w0: Matrix | None = None
    ) -> Matrix:
        """Return the weights learned from some patches of the home, and from the source beside them."""
        risks = [PatchRisk(self._home(strategy).pool, numbers)]
        if strategy.source and strategy.target:
            risks.insert(0, PatchRisk(self.source.pool))
        return train_on_patches(risks, lam=setting.lam, rho=setting.rho, tol=self._tol, w0=w0).weights


def union_limit_difference(
    source: PatchPool, target: PatchPool, *, lam: float, rho: float, most: int, tol: float = 1e-7
) -> float:
    """Return how far the weights of equation 1.9 are from those of the union, relative to their length.

    The union is minimised as one risk with one weight vector, by `ermlab.optimize.minimize`. Only patches of
    which all is known take part, at most so many of each data set: then both problems are convex, and have
    one solution each.
    """
    pools = [(pool, np.flatnonzero(pool.complete)[:most]) for pool in (source, target)]
    risks = [_hinge(*some) for some in pools]
    sizes = [len(numbers) for _, numbers in pools]

    def union(w: Vector) -> tuple[float, Vector]:
        values, slopes = zip(*(risk(w) for risk in risks), strict=True)
        weighted = zip(sizes, slopes, strict=True)
        return float(np.dot(sizes, values)), np.sum([n * slope for n, slope in weighted], axis=0)

    start = initial_weights()
    together = minimize(union, L2(lam), w0=start, tol=tol).w
    apart = minimize_transfer(
        risks, alpha=lam, rho=rho, sizes=sizes, w0=np.tile(start, (2, 1)), tol=tol
    ).weights
    return float(np.linalg.norm(apart - together, axis=1).max() / np.linalg.norm(together))


def _hinge(pool: PatchPool, numbers: Numbers) -> Risk:
    """Return the mean hinge loss of patches of which all is known, searched at every call."""

    def risk(w: Vector) -> tuple[float, Vector]:
        slopes, offsets = pool.penalties(w, numbers)
        slopes = slopes - pool.rewards(w, numbers)
        return max(float(np.mean(np.sum(slopes * w, axis=1) + offsets)), 0.0), np.mean(slopes, axis=0)

    return risk
