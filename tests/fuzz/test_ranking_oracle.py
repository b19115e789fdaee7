"""The ranking oracle and the recursion of the thesis on hostile losses, scores, groups and sizes."""

from collections.abc import Callable

import numpy as np
import pytest
from harness import Cases, survive
from scipy import sparse

from ermlab.ranking import Oracle, RankingRisk, most_violated, pairwise_risk
from ermlab.ranking._subsample import draw_subsample
from ermlab.ranking.sorting import argsort
from reproduction.experiments.ranking_oracle.algorithms import bipartite_constraint, complete_constraint

SEEDS = range(1)
LARGEST = np.finfo(np.float64).max
# Around insertion runs, samples of the key range, threads' parts, and chunks of events.
SIZES = (1, 2, 3, 24, 25, 26, 1023, 1025, 2049, 32767, 32769, 65537)


def vectors(n: int, seed: int) -> dict[str, np.ndarray]:
    """Return finite numbers whose sorting and sums are hard."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=n)
    return {
        "plain": plain,
        "equal": np.full(n, 0.5),
        "two values": rng.integers(0, 2, n).astype(np.float64),
        "few values": rng.integers(0, 5, n) / 4.0,
        "quarters": rng.integers(-12, 13, n) / 4.0,
        "sorted": np.arange(n) / 8.0,
        "reversed": -np.arange(n) / 8.0,
        "zeros of both signs": rng.choice([0.0, -0.0], n),
        "one outlier": np.append(plain[1:], 1e300),
        "two heaps": rng.integers(0, 2, n) + 1e-9 * plain,
        "neighbors of 1": 1.0 + rng.integers(-3, 4, n) * np.spacing(1.0),
        "denormal": 5e-324 * rng.integers(0, 9, n),
        "tiny": 1e-150 * plain,
        "huge": 1e150 * plain,
        "times 1e9": 1e9 * plain,
        "magnitudes mixed": plain * 10.0 ** rng.integers(-12, 13, n),
        "largest": rng.choice([-LARGEST, LARGEST, 0.0], n),
        "near the largest": LARGEST * rng.uniform(-1, -0.9, n),
    }


def broken_vectors(n: int) -> dict[str, object]:
    """Return what is to be refused."""
    numbers = np.arange(float(n))
    return {
        "NaN": np.where(numbers == n // 2, np.nan, numbers),
        "infinity": np.where(numbers == n // 2, np.inf, numbers),
        "too few": numbers[1:],
        "too many": np.append(numbers, 1.0),
        "a matrix": numbers[:, None],
        "empty": np.empty(0),
        "text": ["a"] * n,
        "ragged": [[1.0, 2.0], [3.0]],
    }


def brute_force(losses: np.ndarray, scores: np.ndarray, rescaling: str) -> tuple[np.ndarray, float]:
    """Return alpha and delta by looking at all pairs, as the oracle's comparisons are rounded."""
    difference = losses - losses[:, None]
    violated = difference > 0
    if rescaling == "slack":
        violated &= scores[:, None] < scores + 1
        weight = violated * difference
    else:
        violated &= (scores + losses)[:, None] < scores + losses
        weight = violated.astype(np.float64)
    return weight.sum(axis=1) - weight.sum(axis=0), float((violated * difference).sum())


def small_problems() -> Cases:
    """Compare with all pairs for every combination of losses and scores."""
    for seed in SEEDS:
        for n in (1, 2, 3, 26, 70):
            given = vectors(n, seed)
            for loss_name, losses in given.items():
                for score_name, scores in given.items():
                    for rescaling in ("slack", "margin"):
                        yield (
                            f"{n} losses {loss_name}, scores {score_name}, {rescaling}, seed {seed}",
                            lambda losses=losses, scores=scores, rescaling=rescaling: compare(
                                losses, scores, rescaling
                            ),
                        )


def compare(losses: np.ndarray, scores: np.ndarray, rescaling: str) -> list:
    """Return the constraint of the sizes of the losses, which has to be that of all pairs."""
    losses = np.abs(losses)
    alpha, delta = most_violated(losses, scores, rescaling=rescaling)
    expected_alpha, expected_delta = brute_force(losses, scores, rescaling)
    # Sums are rounded relative to the largest loss, or to the number of pairs.
    size = len(losses) ** 2 * (losses.max() if rescaling == "slack" else 1.0)
    np.testing.assert_allclose(alpha, expected_alpha, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(delta, expected_delta, rtol=0, atol=1e-13 * len(losses) ** 2 * losses.max())
    return [alpha, delta]


def sizes() -> Cases:
    """Compare with the recursion at the sizes where the code takes another way."""
    for n in SIZES:
        for name in ("plain", "equal", "few values", "sorted", "one outlier", "two heaps"):
            yield f"{n}, {name}", lambda n=n, name=name: compare_with_recursion(n, name)


def compare_with_recursion(n: int, name: str) -> list:
    """Return the constraint, which has to be that of the recursion of the thesis."""
    losses, scores = np.abs(vectors(n, 0)[name]), 3 * vectors(n, 1)["plain"]
    alpha, delta = most_violated(losses, scores)
    expected_alpha, expected_delta, _ = complete_constraint(losses, scores)
    np.testing.assert_allclose(alpha, expected_alpha, rtol=0, atol=1e-12 * n * losses.max())
    np.testing.assert_allclose(delta, expected_delta, rtol=0, atol=1e-13 * float(n) ** 2 * losses.max())
    return [alpha, delta]


def sorts() -> Cases:
    """Compare the order with that of numpy for sizes around the parts of a thread."""
    for n in SIZES:
        for name, values in vectors(n, 0).items():
            for n_threads in (1, 3):
                yield f"{n}, {name}, {n_threads} threads", lambda v=values, t=n_threads: compare_order(v, t)


def compare_order(values: np.ndarray, n_threads: int) -> list:
    """Return the sorted numbers, which have to be in numpy's stable order."""
    order, ordered = argsort(values, n_threads)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(ordered, values[order])
    return [ordered]


def groups_and_graphs() -> Cases:
    """Call the oracle with groups and thresholds of all kinds, and with arrays of all kinds."""
    n = 60
    rng = np.random.default_rng(0)
    losses, scores = rng.integers(0, 9, n) / 4.0, rng.normal(size=n)
    for name, groups in {
        "one": np.zeros(n),
        "each its own": np.arange(n),
        "pairs": np.arange(n) // 2,
        "negative": -np.arange(n) // 7,
        "far apart": np.arange(n) * 10**15,
        "text": np.array(["a", "b", "c"] * (n // 3)),
        "truth values": np.arange(n) % 2 == 0,
        "infinite": np.where(np.arange(n) < 3, np.inf, 0.0),
        "NaN": np.where(np.arange(n) < 3, np.nan, 0.0),
        "unequal": np.minimum(np.arange(n) ** 2 // 300, 4),
        "too few": np.arange(n - 1),
    }.items():
        for threshold in (None, 0.0, -1.0, 1.0, 99.0, np.inf, -np.inf, np.nan, np.ones(3), "median"):
            graph = "complete" if threshold is None else "bipartite"
            options = {"groups": groups, "graph": graph, "threshold": threshold}
            yield f"groups {name}, threshold {threshold}", lambda o=options: all_answers(losses, scores, o)
    for name, change in {
        "single precision": lambda v: v.astype(np.float32),
        "half precision": lambda v: v.astype(np.float16),
        "other byte order": lambda v: v.astype(">f8"),
        "strided": lambda v: np.repeat(v, 3)[::3],
        "backwards": lambda v: v[::-1][::-1],
        "list": lambda v: v.tolist(),
        "read-only": read_only,
    }.items():
        yield f"arrays {name}", lambda c=change: all_answers(c(losses), c(scores), {})
    for name, broken in broken_vectors(n).items():
        yield f"losses {name}", lambda broken=broken: all_answers(broken, scores, {})
        yield f"scores {name}", lambda broken=broken: all_answers(losses, broken, {})
        yield f"recursion, losses {name}", lambda broken=broken: complete_constraint(broken, scores)
        yield f"recursion, scores {name}", lambda broken=broken: complete_constraint(losses, broken)
    yield "one rank left alone", one_rank_left_alone


def read_only(values: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    values = values.copy()
    values.flags.writeable = False
    return values


def all_answers(losses: object, scores: object, options: dict) -> list:
    """Return what an oracle answers by either rescaling, and the risk of the order."""
    answers = [Oracle(losses, rescaling=name, **options)(scores) for name in ("slack", "margin")]
    risk = pairwise_risk(losses, scores, groups=options.get("groups"))
    return [*answers, risk]


def one_rank_left_alone() -> list:
    """Return the constraint of 2^20 + 1 ranks: after the first of three passes the last node has one rank."""
    n = 2**20 + 1
    losses = np.random.default_rng(0).permutation(n) / n
    alpha, delta = most_violated(losses, np.random.default_rng(1).random(n) / 2)
    np.testing.assert_allclose(alpha, losses.sum() - n * losses, rtol=0, atol=1e-10 * n)
    return [alpha, delta]


def algorithm_1() -> Cases:
    """Call Algorithm 1 with orders and sides that do not fit."""
    losses, scores = np.arange(6.0), np.array([3.0, 1.0, 2.0, 0.0, 5.0, 4.0])
    order = np.argsort(scores)
    for name, given in {
        "right": order,
        "beyond": order + 1,
        "negative": order - 1,
        "far": np.append(order[1:], 10**12),
        "twice": np.zeros(6, dtype=int),
        "short": order[:-1],
        "not whole": order + 0.5,
        "unsigned": order.astype(np.uint8),
        "empty": np.empty(0, dtype=int),
    }.items():
        for t in (-(10**12), -1, 0, 1, 3, 6, 7, 10**12):
            yield (
                f"order {name}, t = {t}",
                lambda given=given, t=t: bipartite_constraint(losses, scores, given, t),
            )


def features() -> Cases:
    """Call the risk with weights and sparse matrices that do not fit, and draw subsamples."""
    X, losses = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30.0) % 4
    kinds = {
        "single": X.astype(np.float32),
        "double": X,
        "Fortran": np.asfortranarray(X),
        "bytes": X.astype(np.int8),
        "other byte order": X.astype(">f4"),
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_array(X),
        "coo": sparse.coo_array(X),
    }
    for name, matrix in kinds.items():
        for w in (
            np.zeros(5),
            np.full(5, 1e300),
            np.full(5, np.nan),
            np.zeros(4),
            np.zeros(500),
            np.zeros((5, 1)),
        ):
            yield f"{name}, w {w.shape} of {w.flat[0]}", lambda m=matrix, w=w: RankingRisk(m, losses)(w)
    for name in ("csr", "csc"):
        for bad in (1 << 30, -1):
            matrix = kinds[name].copy()
            matrix.indices[7] = bad
            yield f"{name}, index {bad}", lambda m=matrix: RankingRisk(m, losses)(np.zeros(5))
        matrix = kinds[name].copy()
        matrix.indptr[2] = 1 << 20
        yield f"{name}, row that ends far away", lambda m=matrix: RankingRisk(m, losses)(np.zeros(5))
    for groups in (None, np.zeros(30), np.arange(30), np.arange(30) // 3):
        for size in (0, 1, 2, 29, 30, 1000):
            rng = np.random.default_rng(0)
            yield (
                f"subsample of {size}",
                lambda g=groups, size=size, rng=rng: draw_subsample(losses, size, rng, groups=g),
            )


def parts_of_the_oracle() -> Cases:
    """Sort, split and multiply; see the parts."""
    yield from sorts()
    yield from algorithm_1()
    yield from features()


def oracle() -> Cases:
    """Call the oracle on small problems, large ones, and ones with groups."""
    yield from small_problems()
    yield from sizes()
    yield from groups_and_graphs()


SUBJECTS: dict[str, Callable[[], Cases]] = {"parts_of_the_oracle": parts_of_the_oracle, "oracle": oracle}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
