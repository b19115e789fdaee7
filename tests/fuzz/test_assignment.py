"""Assignments and packings with hostile scores, cells and prices."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ermlab.tracking._packing_numba import index
from ermlab.tracking._packing_regions_numba import regions
from ermlab.tracking.assignment import Assigner, Candidates, Hypotheses
from ermlab.tracking.packing import NONE, Packing
from ermlab.tracking.small_assignment import SmallAssigner, SmallHypotheses, SmallProblems
from reproduction.experiments.tracking.baselines import (
    best_matching,
    neighbor_graph,
    neighborhood_change,
)
from reproduction.experiments.tracking.enumeration import all_assignments, random_hypotheses

Vector = NDArray[np.float64]
#: Relative to the largest score; `ermlab.tracking._set_program` counts 1e-7 as nothing.
PRECISION = 1e-6


def hostile_scores(n: int, rng: np.random.Generator) -> dict[str, Vector]:
    """Return vectors of finite numbers that are hard to compare, and of numbers to be refused."""
    plain = rng.normal(size=n)
    return {
        "plain": plain,
        "zeros": np.zeros(n),
        "all equal": np.full(n, 3.0),
        "all equal and negative": np.full(n, -0.1),
        "few values": rng.integers(-1, 2, n).astype(float),
        "nearly equal": 1 + 1e-15 * rng.integers(0, 3, n),
        "times 1e9": 1e9 * plain,
        "times 1e-9": 1e-9 * plain,
        "times 1e150": 1e150 * plain,
        "times 1e-150": 1e-150 * plain,
        "largest allowed": 2.0**900 * np.sign(plain),
        "denormal": 5e-324 * rng.integers(-3, 4, n),
        "least normal": 2.3e-308 * plain,
        "magnitudes mixed": plain * 10.0 ** rng.integers(-300, 200, n),
        "one dominates": np.where(np.arange(n) == n // 2, 1e200, plain),
        "forbidden but alone": np.where(rng.random(n) < 0.5, -1e250, plain),
        "too large": np.finfo(np.float64).max * np.sign(plain),
        "one NaN": np.where(np.arange(n) == n - 1, np.nan, plain),
        "one infinity": np.where(np.arange(n) == 0, -np.inf, plain),
        "one missing": plain[:-1],
        "integers": rng.integers(-5, 5, n),
        "single precision": plain.astype(np.float32),
        "other byte order": plain.astype(">f8"),
    }


def every_other_score(scores: Vector) -> Vector:
    """Return the same numbers as a view that is not contiguous and cannot be written to."""
    view = np.repeat(scores, 2)[::2]
    view.flags.writeable = False
    return view


def few_cells() -> Cases:
    """Compare all searches with a list of all assignments."""
    sizes = [(0, 0), (1, 0), (0, 3), (1, 1), (2, 3), (3, 2), (3, 3)]
    for seed, (n_sources, n_targets) in enumerate(sizes):
        for share in (0.0, 0.5, 1.0):
            rng = np.random.default_rng(seed)
            hypotheses = random_hypotheses(rng, n_sources, n_targets, share)
            truth = all_assignments(hypotheses)
            small = SmallHypotheses(n_sources, n_targets, hypotheses.candidates)
            for name, scores in hostile_scores(len(hypotheses), rng).items():
                hurried = SmallAssigner(small, max_steps=2)
                for assigner in (Assigner(hypotheses), SmallAssigner(small), hurried):
                    yield (
                        f"{n_sources} to {n_targets}, {share:.0%}, {type(assigner).__name__}, {name}",
                        lambda assigner=assigner, truth=truth, scores=scores: search(assigner, truth, scores),
                    )


def search(assigner: Assigner | SmallAssigner, truth: NDArray[np.bool_], scores: Vector) -> None:
    """Look for the best and the worst assignment, and for the best with each event and the second best."""
    scores = every_other_score(scores)
    _require_best(assigner.best(scores), truth, scores)
    _require_best(assigner.worst(scores), truth, -scores.astype(float))
    for event in range(0, len(scores), 3):
        _require_best(assigner.best(scores, including=[event]), truth[truth[:, event]], scores)
    if len(truth) > 1:
        first, second = assigner.best_two(scores)
        _require_best(first, truth, scores)
        _require_best(second, truth[(truth != first).any(axis=1)], scores)


def _require_best(y: NDArray[np.bool_], truth: NDArray[np.bool_], scores: Vector) -> None:
    scores = scores.astype(float)
    scale = np.abs(scores).max(initial=0.0) or 1.0
    values = truth @ (scores / scale)
    found = np.flatnonzero((truth == y).all(axis=1))
    assert len(found) == 1, f"{np.flatnonzero(y)} is none of the assignments"
    short = values.max() - values[found[0]]
    assert short <= PRECISION, f"the score is {short} below the best, in units of {scale}"


def matchings() -> Cases:
    """Compare packings of pairs alone with the Hungarian method; equal prices leave many choices."""
    for seed, (n_sources, n_targets) in enumerate([(1, 1), (1, 40), (40, 1), (20, 20), (35, 25)]):
        rng = np.random.default_rng(seed)
        i, j = np.indices((n_sources, n_targets)).reshape(2, -1)
        cells = np.column_stack([i, n_sources + j, np.full_like(i, NONE)])
        packing = Packing(n_sources, n_sources + n_targets, cells)
        for name, gains in hostile_scores(len(i), rng).items():
            for free in (1.0, 0.7, 0.0):
                kept = rng.random(n_sources + n_targets) < free
                yield (
                    f"{n_sources} x {n_targets}, {free:.0%} free, {name}",
                    lambda packing=packing, gains=gains, kept=kept: match(packing, gains, kept),
                )


def match(packing: Packing, gains: Vector, free: NDArray[np.bool_]) -> None:
    """Compare the sum of gains with that of the best matching."""
    chosen = packing.best(gains, free)
    n_sources = packing._n_sources
    n_targets = len(free) - n_sources
    # As many source-target pairs as the matrix has entries, row by row.
    scale = np.abs(gains).max() or 1.0
    matrix = np.reshape(gains.astype(float) / scale, (n_sources, n_targets))
    allowed = np.where(np.outer(free[:n_sources], free[n_sources:]), np.maximum(matrix, 0.0), 0.0)
    best = allowed[linear_sum_assignment(allowed, maximize=True)].sum()
    i, j = np.divmod(np.flatnonzero(chosen), n_targets)
    assert len(set(i)) == len(i), "a source is taken twice"
    assert len(set(j)) == len(j), "a target is taken twice"
    assert free[i].all(), "a source is taken that is not free"
    assert free[n_sources + j].all(), "a target is taken that is not free"
    assert best - matrix[i, j].sum() <= PRECISION * max(best, 1.0), "a matching is better"


def triples() -> Cases:
    """Pack triples that all overlap, that tie, or that are worth a little more than their pairs."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        hypotheses = random_hypotheses(rng, 6, 7)
        packing = Assigner(hypotheses).packing
        n_sets, n_cells = len(packing._order), packing._n_cells
        for name, gains in hostile_scores(n_sets, rng).items():
            for free in (
                np.ones(n_cells, dtype=bool),
                rng.random(n_cells) < 0.5,
                np.zeros(n_cells, dtype=bool),
            ):
                yield (
                    f"seed {seed}, {free.sum()} cells free, {name}",
                    lambda packing=packing, gains=gains, free=free: pack(packing, gains, free),
                )


def pack(packing: Packing, gains: Vector, free: NDArray[np.bool_]) -> None:
    """Choose sets, which must be disjoint, of free cells, and gain something."""
    chosen = packing.best(gains, free)
    sets = np.flatnonzero(chosen)
    place = np.argsort(packing._order)[sets]
    cells = packing._cells[place]
    taken = cells[cells != NONE]
    assert len(np.unique(taken)) == len(taken), "a cell is taken twice"
    assert free[taken].all(), "a cell is taken that is not free"
    assert (gains[sets] > 0).all(), "a set is taken that gains nothing"


def wrong_sets() -> Cases:
    """Make packings of what are no sets, and ask for what cannot be."""
    wrong = {
        "target beyond the last": [[0, 4, NONE]],
        "negative cell": [[0, -2, NONE]],
        "no cell": [[NONE, NONE, NONE]],
        "two sources": [[0, 1, NONE]],
        "target first": [[2, 0, NONE]],
        "the same cell twice": [[0, 2, 2]],
        "three sources": [[0, 1, 0]],
        "numbers beyond 64 bits": np.array([[2**63, 2, 3]], dtype=np.uint64),
        "fractions": [[0.5, 2.0, -1.0]],
        "NaN": [[np.nan, 2.0, -1.0]],
        "two columns": [[0, 2]],
    }
    for name, cells in wrong.items():
        yield name, lambda cells=cells: refused(lambda: Packing(2, 4, cells))
    packing = Packing(2, 4, np.array([[0, 2, NONE], [0, 1, 3]]))
    for name, free in (("too few marks", np.ones(3, dtype=bool)), ("marks as numbers", np.ones(4))):
        yield name, lambda free=free: refused(lambda: packing.best([1.0, 2.0], free))
    yield "no sets", lambda: Packing(2, 4, np.empty((0, 3), dtype=np.int64)).best([], np.ones(4, dtype=bool))
    yield "no cells", lambda: Packing(0, 0, np.empty((0, 3), dtype=np.int64)).best([], np.ones(0, dtype=bool))


def price_chains() -> Cases:
    """Price cells so that there are exponentially many ways to a cell, each a little better than the last."""
    for length in (1, 2, 10, 45):
        yield f"{length} diamonds", lambda length=length: walk_diamonds(length)


def walk_diamonds(length: int) -> None:
    """Find the sets within reach: by a step of excess ``2**-k``, or by three steps without any."""
    cells, excess = [], []
    for k in range(length):
        a, b, c, d = 3 * k, 3 * k + 1, 3 * k + 2, 3 * k + 3
        cells += [(b, a), (b, c), (c, d), (a, d)]
        excess += [0.0, 0.0, 0.0, 2.0**-k]
    n_cells = 3 * length + 1
    cells = np.column_stack([np.array(cells), np.full(len(cells), NONE)])
    chosen = np.zeros(len(cells), dtype=bool)
    _, first_set, sets_of = index(cells, n_cells, n_cells)
    for loss in (4.0, 2.0**-60):
        # Only cell 0 has a price, and is in no chosen set.
        price = np.zeros(n_cells)
        price[0] = loss
        gain = price[cells[:, :2]].sum(axis=1) - excess
        region, n_regions = regions(cells, first_set, sets_of, gain, chosen, price, 0.0)
        assert n_regions == 1, "the loss at cell 0"
        assert np.array_equal(region >= 0, np.array(excess) <= loss), "those whose excess is no more"


def many_small_problems() -> Cases:
    """Search many problems at once, among them empty ones, with hostile weights and numbers."""
    rng = np.random.default_rng(0)
    drawn = [random_hypotheses(rng, seed % 4, seed % 3, 0.6) for seed in range(70)]
    problems = SmallProblems([SmallHypotheses(h.n_sources, h.n_targets, h.candidates) for h in drawn])
    truths = [all_assignments(h) for h in drawn]
    n_events, dimension = len(problems.features), problems.features.shape[1]
    for name, w in hostile_scores(dimension, rng).items():
        yield f"weights {name}", lambda w=w: compare_values(problems, drawn, truths, w)
    everything = np.arange(len(drawn))
    for name, scores in hostile_scores(n_events, rng).items():
        yield f"scores {name}", lambda scores=scores: problems.best(scores, everything)
    zeros, marks = np.zeros(n_events), np.zeros(n_events, dtype=bool)
    for name, numbers in {
        "problem after the last": [len(drawn)],
        "problem -1": [-1],
        "far away": [2**62],
        "fraction": [0.5],
        "matrix": [[0]],
    }.items():
        yield name, lambda numbers=numbers: refused(lambda: problems.best(zeros, numbers))
        yield (
            f"values of {name}",
            lambda n=numbers: refused(lambda: problems.best_values(zeros[:dimension], n)),
        )
    yield "no problems", lambda: problems.best(zeros, [])
    yield "the same problem twice", lambda: problems.best(zeros, [3, 3, 3])
    for wanted in (0, -1, 3):
        yield (
            f"{wanted} wanted",
            lambda wanted=wanted: refused(
                lambda: problems.best_values(zeros[:dimension], everything, wanted)
            ),
        )
    yield "too few marks", lambda: refused(lambda: problems.best(zeros, everything, marks[:-1]))
    yield "marks as numbers", lambda: refused(lambda: problems.best(zeros, everything, zeros))
    yield "events that share a cell", lambda: refused(lambda: problems.best(zeros, everything, ~marks))


def compare_values(
    problems: SmallProblems, drawn: list[Hypotheses], truths: list[NDArray[np.bool_]], w: Vector
) -> None:
    """Compare the best two scores of each problem with those of all assignments."""
    values = problems.best_values(w, np.arange(len(drawn)), n_best=2)
    for k, (hypotheses, truth) in enumerate(zip(drawn, truths, strict=True)):
        scores = hypotheses.scores(w)
        scale = np.abs(scores).max(initial=0.0) or 1.0
        expected = np.sort(truth @ (scores / scale))[::-1][:2]
        found = values[k, : len(expected)] / scale
        assert np.allclose(found, expected, atol=PRECISION), f"problem {k}: {found} instead of {expected}"
        assert len(expected) == 2 or values[k, 1] == -np.inf, f"problem {k} has but one assignment"


def wrong_hypotheses() -> Cases:
    """Make hypotheses of what are no cells."""
    valid = random_hypotheses(np.random.default_rng(0), 2, 2)
    for kind in ("move", "merge", "appearance"):
        events = valid.candidates[kind]
        for name, wrong in {
            "fractions": lambda e: replace(e, sources=e.sources + 0.5),
            "NaN": lambda e: replace(e, targets=np.where(e.targets >= 0, np.nan, NONE)),
            "cell after the last": lambda e: replace(e, targets=np.where(e.targets >= 0, 2, NONE)),
            "far away": lambda e: replace(e, targets=np.where(e.targets >= 0, 2**62, NONE)),
            "features of one axis": lambda e: replace(e, features=e.features[:, 0]),
            "features NaN": lambda e: replace(e, features=np.full_like(e.features, np.nan)),
            "too few features": lambda e: replace(e, features=e.features[1:]),
        }.items():
            yield (
                f"{name} of {kind}",
                lambda wrong=wrong, events=events, kind=kind: refused(
                    lambda: Hypotheses(2, 2, {**valid.candidates, kind: wrong(events)})
                ),
            )
    for n in (-1, 2.0, np.nan, 3):
        yield f"{n} sources", lambda n=n: refused(lambda: Hypotheses(n, 2, valid.candidates))
    merge = valid.candidates["merge"]
    unsigned = Candidates(merge.sources.astype(np.uint64), merge.targets, merge.features.astype(">f4"))
    yield (
        "unsigned sources",
        lambda: Assigner(Hypotheses(2, 2, {**valid.candidates, "merge": unsigned})).best(
            np.zeros(len(valid))
        ),
    )
    assigner = Assigner(valid)
    for name, events in {
        "event after the last": [len(valid)],
        "event -1": [-1],
        "beyond 32 bits": np.array([2**32]),
        "beyond 64 bits": np.array([2**63], dtype=np.uint64),
        "fraction": [0.5],
        "marks": np.ones(len(valid), dtype=bool),
        "all events": np.arange(len(valid)),
    }.items():
        for way in ("including", "excluding"):
            if name != "all events" or way == "including":
                yield (
                    f"{way} {name}",
                    lambda way=way, events=events: refused(
                        lambda: assigner.best(np.zeros(len(valid)), **{way: events})
                    ),
                )


def neighbours() -> Cases:
    """Compare neighbourhoods of points on a line, in one place, far out, and of none."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(12, 2))
    for name, points in {
        "plain": plain,
        "none": np.empty((0, 2)),
        "one": plain[:1],
        "two": plain[:2],
        "on a line": np.outer(np.arange(60.0), [1, 2]),
        "in one place": np.ones((20, 2)),
        "nearly in one place": 1 + 1e-16 * plain,
        "times 1e140": 1e140 * plain,
        "denormal": 1e-320 * plain,
        "lattice": np.indices((6, 6)).reshape(2, -1).T.astype(float),
        "NaN": np.where(np.arange(24).reshape(12, 2) == 3, np.nan, plain),
        "largest": np.full((3, 2), np.finfo(np.float64).max),
    }.items():
        pairs = np.indices((min(len(points), 4), min(len(points), 4))).reshape(2, -1).T
        yield name, lambda points=points: neighbor_graph(points)
        for scale in (1e-300, 1.0, 1e300):
            yield (
                f"{name}, scale {scale}",
                lambda points=points, pairs=pairs, scale=scale: neighborhood_change(
                    points, points, pairs, scale
                ),
            )
    for scale in (0.0, -1.0, np.nan, np.inf):
        yield (
            f"scale {scale}",
            lambda s=scale: refused(lambda: neighborhood_change(plain, plain, [[0, 0]], s)),
        )
    for pair in ([0, 12], [-1, 0]):
        yield f"pair {pair}", lambda p=pair: refused(lambda: neighborhood_change(plain, plain, [p], 1.0))
    for name, gains in hostile_scores(36, rng).items():
        if gains.size == 36:
            yield f"gains {name}", lambda gains=gains: best_matching(gains.reshape(6, 6))


# Cases of one subject share a process: to start one takes longer than most of them.
SUBJECTS = {
    "assignments": lambda: chain(few_cells(), many_small_problems(), wrong_hypotheses()),
    "packings": lambda: chain(matchings(), triples(), wrong_sets(), price_chains(), neighbours()),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
