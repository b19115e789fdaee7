"""Learning trackers from a share of the annotation: what figures 1.4 to 1.7 of cheap data compare."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.optimize import L2, CCCPResult, Risk, cccp
from ermlab.tracking.annotations import Annotation
from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.events import guessed_weights
from ermlab.tracking.films import FramePair
from ermlab.tracking.perceptron import train_perceptron
from ermlab.tracking.selection import choose_alpha
from ermlab.tracking.training import average_loss, initial_weights, partial_risk, train_tracker
from reproduction.experiments.tracking.protocol import Study

Vector = NDArray[np.float64]

#: The two ideas of Algorithm 1.1, each on or off; plain is the procedure of Yu and Joachims.
VARIANTS = {
    "plain": {"recycle": False, "adaptive": False},
    "recycling": {"recycle": True, "adaptive": False},
    "adaptive": {"recycle": False, "adaptive": True},
    "both": {"recycle": True, "adaptive": True},
}
#: How the convex problems are solved: as in the source by textbook cutting planes, with the level method of
#: this library, and with that and planes for groups of pairs.
SOLVERS = ("cutting-plane", "level", "level, in parts")
#: The share that is published to do as well as all of the annotation; the optimisers are compared with it.
QUARTER = 0.25
#: What is left of the guess in a start that is 0 but for the order of assignments.
_FAINT = 1e-6
#: Parts of the last solver.
_PARTS = 20
_MOVE = list(EVENTS).index("move")
_ALONE = [list(EVENTS).index(kind) for kind in ("appearance", "disappearance")]


def partly_annotated(pairs: Sequence[FramePair], share: float, rng: np.random.Generator) -> list[FramePair]:
    """Return the pairs with a share of their known events, drawn at random; at least one of each pair."""
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}: expected more than 0 and at most 1")
    drawn = []
    for pair in pairs:
        known = pair.annotation.events
        some = rng.choice(known, min(len(known), max(1, round(share * len(known)))), replace=False)
        drawn.append(_with_events(pair, np.sort(some)))
    return drawn


def completed(pairs: Sequence[FramePair]) -> list[FramePair]:
    """Return the pairs with a full annotation: all that is known, and the plain guess for cells without.

    Even where all tracks are known some detections have no event: those of no cell, and those of cells that
    did what the model has no event for.
    """
    full = []
    for pair in pairs:
        scores = pair.hypotheses.scores(guessed_weights())
        y = pair.assigner.best(scores, including=pair.annotation.events)
        full.append(_with_events(pair, np.flatnonzero(y)))
    return full


def wrongly_annotated(pairs: Sequence[FramePair], rng: np.random.Generator) -> list[FramePair]:
    """Return the pairs with as many moves as are known, but at random among the candidates: a control."""
    wrong = []
    for pair in pairs:
        kind = pair.hypotheses.kind
        # A random move is worth more than two cells that come and go, and any other event less.
        scores = np.where(kind == _MOVE, 1 + rng.random(len(kind)), -1.0)
        scores[np.isin(kind, _ALONE)] = 0.0
        moves = np.flatnonzero(pair.assigner.best(scores) & (kind == _MOVE))
        n = min(len(moves), len(pair.annotation.events))
        wrong.append(_with_events(pair, np.sort(rng.choice(moves, n, replace=False))))
    return wrong


def _with_events(pair: FramePair, events: NDArray[np.int64]) -> FramePair:
    chosen = np.isin(np.arange(len(pair.hypotheses)), events)
    return replace(pair, annotation=Annotation(events, (), pair.hypotheses.is_assignment(chosen)))


@dataclass(frozen=True)
class Trained:
    """Weights that were learned, and the seconds of the processor that it took."""

    w: Vector
    seconds: float
    bounds: int  #: planes, or passes of a perceptron


def train_bridge(pairs: Sequence[FramePair], strength: float, tol: float) -> Trained:
    """Learn by the bridge loss, or by the hinge loss if the pairs are annotated completely."""

    def train() -> tuple[Vector, int]:
        result = train_tracker(pairs, L2(strength), tol=tol, n_threads=1)
        return result.w, result.bounds if isinstance(result, CCCPResult) else result.n_iter

    return _timed(train)


def train_by_perceptron(pairs: Sequence[FramePair], *, averaged: bool) -> Trained:
    """Learn by the structured perceptron (Fernandes and Brefeld 2011)."""

    def train() -> tuple[Vector, int]:
        samples, annotations = [p.assigner for p in pairs], [p.annotation.events for p in pairs]
        result = train_perceptron(samples, annotations, averaged=averaged, n_threads=1)
        return result.w, result.n_iter

    return _timed(train)


def _timed(train: Callable[[], tuple[Vector, int]]) -> Trained:
    began = time.process_time()
    w, bounds = train()
    return Trained(w, time.process_time() - began, bounds)


def learning_curve(
    study: Study,
    shares: Sequence[float],
    draws: int,
    strengths: Sequence[float],
    *,
    tol: float,
    seeds: np.random.SeedSequence,
    folds: int = 3,
) -> pd.DataFrame:
    """Train with shares of the annotation, several draws of each, and with all of it.

    The strength of regularisation is chosen for each share at its first draw, on the training pairs and by
    what is annotated of them alone. Of all events there is one draw.

    Returns
    -------
    Rows ``method``, ``share``, ``draw``, ``strength``, ``inside`` (whether both a weaker and a stronger one
    were tried), ``loss`` in percent of the test events, ``seconds`` of the processor and ``bounds``. Methods:
    ``partial`` (bridge loss), ``perceptron``, ``averaged`` (perceptron, first draws alone), ``full`` (hinge
    loss), ``guess`` (what training starts from) and ``wrong`` (bridge loss of wrong annotations).
    """
    rows = []

    def judge(method: str, learned: Trained, share: float = 1.0, draw: int = 0, **chosen: float) -> None:
        loss = 100 * average_loss(learned.w, study.test, n_threads=1)
        measured = {"loss": loss, "seconds": learned.seconds, "bounds": learned.bounds}
        rows.append({"method": method, "share": share, "draw": draw, **chosen, **measured})

    def choose(pairs: list[FramePair]) -> dict[str, float]:
        choice = choose_alpha(pairs, strengths, n_splits=folds, tol=tol, n_threads=1)
        return {"strength": choice.alpha, "inside": choice.inside}

    full = completed(study.training)
    chosen = choose(full)
    judge("full", train_bridge(full, chosen["strength"], tol), **chosen)
    judge("guess", Trained(guessed_weights(), 0.0, 0), share=0.0)
    wrong = wrongly_annotated(study.training, np.random.default_rng(seeds.spawn(1)[0]))
    judge("wrong", train_bridge(wrong, chosen["strength"], tol), **chosen)
    for share, of_share in zip(shares, seeds.spawn(len(shares)), strict=True):
        for draw, seed in enumerate(of_share.spawn(draws if share < 1 else 1)):
            some = partly_annotated(study.training, share, np.random.default_rng(seed))
            if draw == 0:
                chosen = choose(some)
                judge("averaged", train_by_perceptron(some, averaged=True), share)
            judge("partial", train_bridge(some, chosen["strength"], tol), share, draw, **chosen)
            judge("perceptron", train_by_perceptron(some, averaged=False), share, draw)
    return pd.DataFrame(rows)


def descents(
    pairs: Sequence[FramePair],
    strength: float,
    *,
    tol: float,
    starts: Sequence[str] = ("guess", "faint", "zero"),
    solvers: Sequence[str] = SOLVERS,
) -> pd.DataFrame:
    """Descend on one objective with every variant of Algorithm 1.1, from each start, with each solver.

    Starts: ``guess``; ``faint``, near 0 with the assignments of the guess; ``zero``, where all of them tie.

    Rows, one for the start of each descent and one for each outer iteration: ``solver``, ``start``,
    ``variant``, ``iteration``, ``objective``, ``bounds`` and ``seconds`` of the processor so far.
    """
    start = initial_weights()
    origins = {"guess": start, "faint": _FAINT * start, "zero": np.zeros_like(start)}
    ways = []
    for solver in solvers:
        # Compiled code is compiled or loaded when it is first called: that is not to be timed.
        _descent(pairs[:1], strength, tol, solver, origins["guess"], "both")
        for name in starts:
            for variant in VARIANTS:
                way = _descent(pairs, strength, tol, solver, origins[name], variant)
                ways.append(way.assign(solver=solver, start=name, variant=variant))
    return pd.concat(ways, ignore_index=True)


def _descent(
    pairs: Sequence[FramePair], strength: float, tol: float, solver: str, w0: Vector, variant: str
) -> pd.DataFrame:
    risk = partial_risk(pairs, n_threads=1)
    in_parts = solver == SOLVERS[-1]
    convex, reward = risk.in_parts(_PARTS) if in_parts else (risk.convex_part, risk.reward)
    clock = _Clock(reward)
    result = cccp(
        convex,
        clock,
        L2(strength),
        w0=w0,
        eps=0.5,
        eps_min=tol,
        eta=tol,
        method=solver.split(",")[0],
        # As printed the algorithm has no planes but those that it computes.
        nonnegative=solver != SOLVERS[0],
        **VARIANTS[variant],
    )
    return pd.DataFrame(
        {
            "iteration": range(result.n_iter + 1),
            "objective": result.history.objective,
            # The start has one bound of its own.
            "bounds": np.cumsum([1, *result.history.bounds]),
            "seconds": np.subtract(clock.seconds, clock.began),
            "converged": result.converged,
        }
    )


class _Clock:
    """The reward, asked for once at the end of each outer iteration; reads the time of the processor."""

    def __init__(self, reward: Risk):
        self._reward, self.seconds = reward, []
        if hasattr(reward, "n_parts"):
            self.n_parts = reward.n_parts
        self.began = time.process_time()

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        found = self._reward(w)
        self.seconds.append(time.process_time())
        return found
