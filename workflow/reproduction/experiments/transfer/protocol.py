"""Strategies to train the tracker of a laboratory with films of another (cheap-data, section 1.5.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize import L2, Risk, minimize
from ermlab.structured.transfer import minimize_transfer
from ermlab.tracking.training import initial_weights
from reproduction.experiments.transfer.patch_training import PatchPool, PatchRisk, train_on_patches

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """Weights of the regularizer; with infinite ``rho`` all data sets have the same weights."""

    alpha: float  #: lambda of eq. 1.9
    rho: float = np.inf


@dataclass(frozen=True)
class Strategy:
    """Training data of a strategy: all of the source, a share of the target, or both."""

    source: bool
    target: bool
    published: Setting  #: Table 1.4; losses are summed over patches, as here

    @property
    def transfers(self) -> bool:
        """Whether source and target have weights of their own (eq. 1.9)."""
        return np.isfinite(self.published.rho)


#: Strategies that are trained once, and those that are trained on each share of the target.
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
#: Share of the annotation at which the chapter finds transfer as good as training on all of the target.
FIFTH = 0.2
#: Strategies with source and target.
BOTH = ("union", "transfer")


@dataclass(frozen=True)
class Learned:
    """Result of a strategy."""

    strategy: str
    share: float  #: of the target's patches
    patches: int  #: of the training data, without the source if there is a target
    events: int  #: known events of the patches
    setting: Setting
    validation_loss: float | None  #: missed share of the events of held-out patches
    loss: float  #: missed share of the test events
    weights: Vector


@dataclass(frozen=True)
class Search:
    """Settings to choose from, and the accuracy of training."""

    alphas: Sequence[float]
    rhos: Sequence[float]
    n_splits: int  #: stretches of time of the annotated patches, each of which is held out once
    tol: float  #: relative gap of every training


class TransferStudy:
    """Source, target and test of a comparison of strategies.

    Parameters
    ----------
    source, target : PatchPool
        Patches for training, in the order of time.
    test : PatchPool
        Patches of the target's laboratory.
    search : Search
        Settings to choose from.
    """

    def __init__(self, source: PatchPool, target: PatchPool, test: PatchPool, search: Search):
        if search.n_splits < 2 or min(len(source), len(target)) < search.n_splits:
            raise ValueError(
                f"n_splits is {search.n_splits} for {len(source)} and {len(target)} patches: expected at "
                "least 2, and no more than patches"
            )
        self.source, self.target, self.test, self._search = source, target, test, search

    def draw(self, seed: Sequence[int]) -> Numbers:
        """Return a random order of the target's patches."""
        return np.random.default_rng(seed).permutation(len(self.target))

    def choose_for(self, name: str, share: float, order: Numbers | None = None) -> tuple[Setting, float]:
        """Return the setting of a strategy for a share of the target, and its loss on held-out patches."""
        return self.choose(STRATEGIES[name], self._numbers(STRATEGIES[name], share, order))

    def _numbers(self, strategy: Strategy, share: float, order: Numbers | None) -> Numbers:
        """Return the annotated patches: all of the source, or the first of the target in an order."""
        numbers = np.arange(len(self._home(strategy)))
        if not strategy.target:
            return numbers
        order = numbers if order is None else order
        return np.sort(order[: max(round(share * len(order)), self._search.n_splits)])

    def run(
        self, name: str, share: float, order: Numbers | None = None, setting: Setting | None = None
    ) -> Learned:
        """Train on the first patches of an order, and test.

        Parameters
        ----------
        name : str
            One of `STRATEGIES`.
        share : float
            Annotated share of the target's patches; there is at least one patch per split.
        order : array, default=None
            Order of the patches, by default that of time.
        setting : Setting, default=None
            By default chosen by cross-validation on the training patches.
        """
        strategy = STRATEGIES[name]
        numbers = self._numbers(strategy, share, order)
        loss = None
        if setting is None:
            setting, loss = self.choose(strategy, numbers)
        w = self._train(strategy, numbers, setting)[-1]
        return Learned(
            strategy=name,
            share=share,
            patches=len(numbers),
            events=self._home(strategy).n_events(numbers),
            setting=setting,
            validation_loss=loss,
            loss=self.test.missed_share(w),
            weights=w,
        )

    def choose(self, strategy: Strategy, numbers: Numbers) -> tuple[Setting, float]:
        """Return the setting with the least loss on held-out patches, and that loss.

        They are patches of the target, or of the source if there is no target. Ties go to the strongest
        regularization.
        """
        alphas, rhos = (sorted(grid, reverse=True) for grid in (self._search.alphas, self._search.rhos))
        settings = [
            Setting(alpha, rho) for alpha in alphas for rho in (rhos if strategy.transfers else [np.inf])
        ]
        home, missed = self._home(strategy), np.zeros(len(settings))
        for held_out in np.array_split(numbers, self._search.n_splits):
            weights = None
            for k, setting in enumerate(settings):
                weights = self._train(strategy, np.setdiff1d(numbers, held_out), setting, weights)
                missed[k] += home.missed(weights[-1], held_out)
        best = int(np.argmin(missed))
        return settings[best], float(missed[best] / home.n_events(numbers))

    def _home(self, strategy: Strategy) -> PatchPool:
        """Return the data set that a strategy is evaluated on, whose weights come last."""
        return self.target if strategy.target else self.source

    def _train(
        self, strategy: Strategy, numbers: Numbers, setting: Setting, w0: Matrix | None = None
    ) -> Matrix:
        """Return the weights trained on patches of the home, and on the source if both are used."""
        risks = [PatchRisk(self._home(strategy), numbers)]
        if strategy.source and strategy.target:
            risks.insert(0, PatchRisk(self.source))
        return train_on_patches(
            risks, alpha=setting.alpha, rho=setting.rho, tol=self._search.tol, w0=w0
        ).weights


def union_limit_difference(
    source: PatchPool, target: PatchPool, *, alpha: float, rho: float, max_patches: int, tol: float = 1e-7
) -> float:
    """Return the relative distance of the weights of eq. 1.9 from those of the union.

    The union is minimized as one risk with one weight vector, by `ermlab.optimize.minimize`. Only completely
    known patches are used, at most ``max_patches`` of each data set: then both problems are convex, and have
    one solution each.
    """
    pools = [(pool, np.flatnonzero(pool.complete)[:max_patches]) for pool in (source, target)]
    risks = [_hinge(pool, numbers) for pool, numbers in pools]
    sizes = [len(numbers) for _, numbers in pools]

    def union(w: Vector) -> tuple[float, Vector]:
        values, slopes = zip(*(risk(w) for risk in risks), strict=True)
        weighted = zip(sizes, slopes, strict=True)
        return float(np.dot(sizes, values)), np.sum([n * slope for n, slope in weighted], axis=0)

    start = initial_weights()
    together = minimize(union, L2(alpha), w0=start, tol=tol).w
    apart = minimize_transfer(
        risks, alpha=alpha, rho=rho, sizes=sizes, w0=np.tile(start, (2, 1)), tol=tol
    ).weights
    return float(np.linalg.norm(apart - together, axis=1).max() / np.linalg.norm(together))


def _hinge(pool: PatchPool, numbers: Numbers) -> Risk:
    """Return the mean hinge loss of completely known patches, searched at every call."""

    def risk(w: Vector) -> tuple[float, Vector]:
        slopes, offsets = pool.penalties(w, numbers)
        slopes = slopes - pool.rewards(w, numbers)
        return max(float(np.mean(np.sum(slopes * w, axis=1) + offsets)), 0.0), np.mean(slopes, axis=0)

    return risk
