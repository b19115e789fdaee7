"""Training of trackers on shares of the annotation, and variants of CCCP (cheap-data, section 1.3.5)."""

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

#: Algorithm 1.1 with and without its two ideas; plain is the procedure of Yu and Joachims.
VARIANTS = {
    "plain": {"recycle": False, "adaptive": False},
    "recycling": {"recycle": True, "adaptive": False},
    "adaptive": {"recycle": False, "adaptive": True},
    "both": {"recycle": True, "adaptive": True},
}
#: Methods for the convex problems: textbook cutting planes as published, the level method of this library,
#: and the latter with planes for groups of pairs.
SOLVERS = ("cutting-plane", "level", "level, in parts")
#: Share that is published to do as well as the full annotation; optimizers are compared on it.
QUARTER = 0.25
#: Share that the conclusions of the chapter find almost as good.
TWENTIETH = 0.05
#: Factor of the initial weights in a start near 0 that only keeps the order of assignments.
_FAINT = 1e-6
#: Number of parts of the last solver.
_PARTS = 20
_MOVE = list(EVENTS).index("move")
_ALONE = [list(EVENTS).index(kind) for kind in ("appearance", "disappearance")]


@dataclass(frozen=True)
class StudySettings:
    """Settings of one study."""

    shares: Sequence[float]  #: of the known events of each pair that are annotated
    draws: int  #: of the annotated events
    alphas: Sequence[float]  #: regularization strengths to choose from
    n_splits: int  #: stretches of the training pairs, each of which is held out once for that choice
    starts: Sequence[str]  #: initial weights of the variants of CCCP
    solvers: Sequence[str] = SOLVERS
    pairs: int | None = None  #: maximum number of pairs of frames of either part
    max_extensions: int = 0  #: number of strengths that may be added to the grid
    perceptron_films: int | None = (
        None  #: films that the perceptron, which is slow, is trained on; by default all
    )

    descent_pairs: int | None = None  #: number of pairs that optimizers are compared on, evenly spaced

    def perceptron_on(self, film: int | None) -> bool:
        """Return whether the perceptron is trained on a film, by its number."""
        return film is None or self.perceptron_films is None or film <= self.perceptron_films


def partly_annotated(pairs: Sequence[FramePair], share: float, rng: np.random.Generator) -> list[FramePair]:
    """Return the pairs with a random share of their known events, at least one of each pair."""
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}: expected more than 0 and at most 1")
    drawn = []
    for pair in pairs:
        known = pair.annotation.events
        kept = rng.choice(known, min(len(known), max(1, round(share * len(known)))), replace=False)
        drawn.append(_with_events(pair, np.sort(kept)))
    return drawn


def completed(pairs: Sequence[FramePair]) -> list[FramePair]:
    """Return the pairs with a full annotation: all known events, and the plain guess for the other cells.

    Even where all tracks are known, some detections have no event: those without a cell, and those of cells
    whose event is not in the model.
    """
    full = []
    for pair in pairs:
        scores = pair.hypotheses.scores(guessed_weights())
        y = pair.assigner.best(scores, including=pair.annotation.events)
        full.append(_with_events(pair, np.flatnonzero(y)))
    return full


def wrongly_annotated(pairs: Sequence[FramePair], rng: np.random.Generator) -> list[FramePair]:
    """Return the pairs with random moves, as many as events are known: a control."""
    wrong = []
    for pair in pairs:
        kind = pair.hypotheses.kind
        # A random move is worth more than a disappearance and an appearance, any other event less.
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
    """Trained weights and the cost of training."""

    w: Vector
    seconds: float  #: CPU time
    bounds: int  #: number of cutting planes, or of passes of a perceptron


def train_bridge(pairs: Sequence[FramePair], alpha: float, tol: float) -> Trained:
    """Train with the bridge loss, or with the hinge loss if the pairs are annotated completely."""

    def train() -> tuple[Vector, int]:
        result = train_tracker(pairs, L2(alpha), tol=tol, n_jobs=1)
        return result.w, result.bounds if isinstance(result, CCCPResult) else result.n_iter

    return _timed(train)


def train_by_perceptron(pairs: Sequence[FramePair]) -> Trained:
    """Train the structured perceptron (Fernandes and Brefeld 2011)."""

    def train() -> tuple[Vector, int]:
        samples, annotations = [p.assigner for p in pairs], [p.annotation.events for p in pairs]
        result = train_perceptron(samples, annotations, n_jobs=1)
        return result.w, result.n_iter

    return _timed(train)


def _timed(train: Callable[[], tuple[Vector, int]]) -> Trained:
    start = time.process_time()
    w, bounds = train()
    return Trained(w, time.process_time() - start, bounds)


def learning_curve(
    study: Study,
    settings: StudySettings,
    *,
    tol: float,
    seeds: np.random.SeedSequence,
    film: int | None = None,
    chosen: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Train with shares of the annotation, several draws of each, and with the full annotation.

    The regularization strength is chosen for each share at its first draw, by the annotated events of
    held-out training pairs. There is one draw of all events.

    Parameters
    ----------
    study : Study
        Training and test pairs.
    settings : StudySettings
        Settings of the study.
    tol : float
        Relative gap of training.
    seeds : SeedSequence
        Seeds of the draws.
    film : int, default=None
        Number of the film of a study that is repeated with several; it has one draw, of that number.
    chosen : DataFrame, default=None
        Curve of another film, whose strengths are used; the controls are left out.

    Returns
    -------
    DataFrame
        Columns ``method``, ``share``, ``draw``, ``strength``, ``inside`` (whether the grid has a weaker and a
        stronger one), ``loss`` in percent of the test events, ``seconds`` of CPU time and ``bounds``.
        Methods: ``partial`` (bridge loss), ``perceptron``, ``full`` (hinge loss), ``guess`` (initial weights)
        and ``wrong`` (bridge loss of wrong annotations).
    """
    rows = []

    def test(method: str, trained: Trained, share: float = 1.0, draw: int = 0, **chosen: float) -> None:
        loss = 100 * average_loss(trained.w, study.test, n_jobs=1)
        measured = {"loss": loss, "seconds": trained.seconds, "bounds": trained.bounds}
        rows.append({"method": method, "share": share, "draw": draw, **chosen, **measured})

    def choose(pairs: list[FramePair], method: str, share: float) -> dict[str, float]:
        if chosen is not None:
            of_share = chosen[(chosen["method"] == method) & (chosen["share"] == share)]
            return of_share[["strength", "inside"]].iloc[0].to_dict()
        choice = choose_alpha(
            pairs,
            settings.alphas,
            n_splits=settings.n_splits,
            tol=tol,
            max_extensions=settings.max_extensions,
            n_jobs=1,
        )
        return {"strength": choice.alpha, "inside": choice.inside}

    numbers = range(settings.draws) if film is None else [film]
    full, controls = completed(study.training), seeds.spawn(1)[0]
    choice = choose(full, "full", 1.0)
    test("full", train_bridge(full, choice["strength"], tol), draw=numbers[0], **choice)
    test("guess", Trained(guessed_weights(), 0.0, 0), share=0.0, draw=numbers[0])
    if chosen is None:
        wrong = wrongly_annotated(study.training, np.random.default_rng(controls))
        test("wrong", train_bridge(wrong, choice["strength"], tol), draw=numbers[0], **choice)
    for share, of_share in zip(settings.shares, seeds.spawn(len(settings.shares)), strict=True):
        draws = numbers if share < 1 else numbers[:1]
        for draw, seed in zip(draws, of_share.spawn(len(draws)), strict=True):
            pairs = partly_annotated(study.training, share, np.random.default_rng(seed))
            if draw == numbers[0]:
                choice = choose(pairs, "partial", share)
            test("partial", train_bridge(pairs, choice["strength"], tol), share, draw, **choice)
            if settings.perceptron_on(film):
                test("perceptron", train_by_perceptron(pairs), share, draw)
    return pd.DataFrame(rows)


def descents(
    pairs: Sequence[FramePair],
    alpha: float,
    *,
    tol: float,
    starts: Sequence[str] = ("guess", "faint", "zero"),
    solvers: Sequence[str] = SOLVERS,
) -> pd.DataFrame:
    """Minimize one objective with every variant of Algorithm 1.1, from each start, with each solver.

    Parameters
    ----------
    pairs : sequence of FramePair
        Partially annotated pairs.
    alpha : float
        Regularization strength.
    tol : float
        Last precision.
    starts : sequence of {"guess", "faint", "zero"}
        Initial weights: the plain guess; a millionth of it, with the same assignments; 0, where all
        assignments tie.
    solvers : sequence of str
        Some of `SOLVERS`.

    Returns
    -------
    DataFrame
        One row for the start of each descent and for each outer iteration: ``solver``, ``start``,
        ``variant``, ``iteration``, ``objective``, and ``bounds`` and ``seconds`` of CPU time so far.
    """
    guess = initial_weights()
    initial = {"guess": guess, "faint": _FAINT * guess, "zero": np.zeros_like(guess)}
    tables = []
    for solver in solvers:
        # Compile or load the compiled code before anything is timed.
        _descent(pairs[:1], alpha, tol, solver, guess, "both")
        for start in starts:
            for variant in VARIANTS:
                table = _descent(pairs, alpha, tol, solver, initial[start], variant)
                tables.append(table.assign(solver=solver, start=start, variant=variant))
    return pd.concat(tables, ignore_index=True)


def _descent(
    pairs: Sequence[FramePair], alpha: float, tol: float, solver: str, w0: Vector, variant: str
) -> pd.DataFrame:
    risk = partial_risk(pairs, n_jobs=1)
    in_parts = solver == SOLVERS[-1]
    convex, reward = risk.in_parts(_PARTS) if in_parts else (risk.convex_part, risk.reward)
    clock = _Clock(reward)
    result = cccp(
        convex,
        clock,
        L2(alpha),
        w0=w0,
        eps=0.5,
        eps_min=tol,
        eta=tol,
        method=solver.split(",")[0],
        # As printed, the algorithm has no bounds but the computed ones.
        nonnegative=solver != SOLVERS[0],
        **VARIANTS[variant],
    )
    return pd.DataFrame(
        {
            "iteration": range(result.n_iter + 1),
            "objective": result.history.objective,
            "bounds": np.cumsum([1, *result.history.bounds]),  # the start has one bound of its own
            "seconds": np.subtract(clock.seconds, clock.start),
            "converged": result.converged,
        }
    )


class _Clock:
    """Reward that records the CPU time; it is evaluated once at the end of each outer iteration."""

    def __init__(self, reward: Risk):
        self._reward, self.seconds = reward, []
        if hasattr(reward, "n_parts"):
            self.n_parts = reward.n_parts
        self.start = time.process_time()

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        result = self._reward(w)
        self.seconds.append(time.process_time())
        return result
