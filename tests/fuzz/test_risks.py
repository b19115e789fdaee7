"""Invariant, taxonomic and one-class machines, transfer, perceptron and bridge risks on hostile data."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from harness import Cases, survive
from hostile_data import all_tables, finite_tables
from scipy import sparse

from ermlab.ranking.invariant_ranking import InvariantRankingRisk, InvariantRankingSVM
from ermlab.structured.bridge import BridgeRisk
from ermlab.structured.invariant import InvariantSVM
from ermlab.structured.jkse import JKSE, LinearJKSE, mirrored_svm, one_class_weights
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.transfer_svm import TransferSVM
from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM
from ermlab.tracking.assignment import Assigner, Candidates, Hypotheses
from ermlab.tracking.perceptron import train_perceptron
from reproduction.experiments.tracking.enumeration import random_hypotheses

SEEDS = range(1)
# Factors of the risk at the ends of what a float holds, and beyond.
EXTREME_C = (1e-320, 1e-300, 1e-9, 1e9, 1e300, 1e308, np.inf, np.nan, 0.0)


def signs(n: int, seed: int) -> np.ndarray:
    """Return labels -1 and 1, both of them if there are two samples."""
    return np.where(np.random.default_rng(seed).permutation(n) % 2 == 0, -1, 1)


def invariant_svm() -> Cases:
    """Fit on every table, each row a sample or three rows a bag, by either penalty."""
    for seed in SEEDS:
        for name, X in all_tables(seed=seed).items():
            groups, y = np.arange(len(X)) // 3, signs(len(X), seed)
            bag_signs = signs(-(-len(X) // 3), seed)
            for penalty, choice in (("l2", "worst"), ("l1", "worst"), ("l2", "mean")):
                options = {"penalty": penalty, "choice": choice, "max_iter": 10}
                yield (
                    f"{name}, {penalty}, {choice}, rows, {seed}",
                    lambda X=X, y=y, o=options: fit_bags(X, y, None, **o),
                )
                yield (
                    f"{name}, {penalty}, {choice}, bags, intercept, {seed}",
                    lambda X=X, y=bag_signs, g=groups, o=options: fit_bags(X, y, g, fit_intercept=True, **o),
                )
    X, y = finite_tables()["plain"], signs(40, 0)
    for C in EXTREME_C:
        yield f"C = {C}", lambda C=C: fit_bags(X, y, None, C=C, max_iter=10)
        yield f"weights times {C}", lambda C=C: fit_bags(X, y, None, np.full(40, C), C=1e10, max_iter=10)
        yield (
            f"scale {C}",
            lambda C=C: fit_bags(X, y, None, fit_intercept=True, intercept_scaling=C, max_iter=10),
        )
    for name, groups in {
        "groups far too large": np.append(np.arange(39), 10**15),
        "groups beyond the rows": np.append(np.arange(39), 40),
        "unsigned groups": np.arange(40, dtype=np.uint64),
        "negative groups": np.arange(40) - 1,
        "groups with a gap": np.append(np.arange(39), 38)[::-1] + (np.arange(40) > 20),
    }.items():
        yield name, lambda g=groups: fit_bags(X, y[: int(min(g.max(), 39)) + 1], g, max_iter=10)
    yield "single precision", lambda: fit_bags((1e-30 * X).astype(np.float32), y, None, C=1e12, max_iter=10)


def fit_bags(
    X: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray | None,
    weights: np.ndarray | None = None,
    **options: object,
) -> list:
    """Return what an invariant machine learned, and its scores."""
    model = InvariantSVM(**options).fit(X, y, groups, weights)
    return [model.coef_, model.intercept_, model.result_.value, model.decision_function(X)]


def invariant_ranking() -> Cases:
    """Fit on every table; call the risk with groups that do not fit."""
    for seed in SEEDS:
        for name, X in all_tables(seed=seed).items():
            for size in (1, 3):
                groups, y = np.arange(len(X)) // size, signs(-(-len(X) // size), seed)
                yield f"{name}, {size} a bag, {seed}", lambda X=X, y=y, g=groups: rank_bags(X, y, g)
    X, y = finite_tables()["plain"], signs(40, 0)
    for name, groups in {
        "too many groups": np.arange(40),
        "negative": np.arange(40) // 2 - 1,
        "not whole": np.arange(40) / 2,
        "too few": np.zeros(40, dtype=int),
        "too short": np.arange(20),
    }.items():
        yield f"groups {name}", lambda groups=groups: InvariantRankingRisk(X, groups, y[:20])(np.zeros(4))


def rank_bags(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> list:
    """Return what an invariant ranking machine learned, and its scores."""
    model = InvariantRankingSVM(max_iter=10).fit(X, y, groups)
    return [model.coef_, model.objective_, model.decision_function(X)]


def taxonomic_svm() -> Cases:
    """Fit on every table and its kernel, by either solver and rescaling."""
    for seed in SEEDS:
        for name, X in all_tables(n=24, seed=seed).items():
            y = np.random.default_rng(seed).permutation(len(X)) % 3
            for rescaling in ("margin", "slack"):
                options = {"rescaling": rescaling, "max_iter": 30}
                yield (
                    f"{name}, linear, {rescaling}, {seed}",
                    lambda X=X, y=y, o=options: fit_taxonomic(X, y, kernel="linear", **o),
                )
                with np.errstate(all="ignore"):
                    K = X @ X.T
                for solver in ("blocks", "planes"):
                    yield (
                        f"{name}, {solver}, {rescaling}, {seed}",
                        lambda K=K, y=y, s=solver, o=options: fit_taxonomic(K, y, solver=s, **o),
                    )
    X, y = finite_tables(n=12)["plain"], np.arange(12) % 3
    K = X @ X.T
    for C in EXTREME_C:
        yield f"C = {C}", lambda C=C: fit_taxonomic(K, y, C=C, max_iter=30)
        yield f"C = {C}, planes", lambda C=C: fit_taxonomic(K, y, C=C, solver="planes", max_iter=30)
    eye = np.eye(3)
    for name, B in {
        "zero": 0 * eye,
        "tiny": 1e-300 * eye,
        "huge": 1e300 * eye,
        "largest": np.finfo(float).max * (2 * eye - 1),
        "ones": np.ones((3, 3)),
        "NaN": np.nan * eye,
        "not symmetric": np.triu(np.ones((3, 3))),
        "negative": -eye,
    }.items():
        for solver in ("blocks", "planes"):
            yield f"B {name}, {solver}", lambda B=B, s=solver: fit_taxonomic(K, y, B=B, solver=s, max_iter=30)
            yield (
                f"loss {name}, {solver}",
                lambda B=B, s=solver: fit_taxonomic(
                    K, y, B_loss=np.abs(B) * (1 - eye), solver=s, rescaling="slack", max_iter=30
                ),
            )
    yield (
        "too many classes",
        lambda: fit_taxonomic(np.ones((2**15 + 1, 1)), np.arange(2**15 + 1), kernel="linear"),
    )
    multilabel = np.random.default_rng(0).integers(0, 2, size=(12, 3))
    for name, labels in {
        "some": multilabel,
        "all": np.ones((12, 3)),
        "none": np.zeros((12, 3)),
        "two": 2 * multilabel,
    }.items():
        yield f"labels {name}", lambda labels=labels: fit_taxonomic(K, labels, multilabel=True, max_iter=30)


def fit_taxonomic(K: np.ndarray, y: np.ndarray, **options: object) -> list:
    """Return what a taxonomic machine learned, and its scores."""
    model = TaxonomicSVM(**options).fit(K, y)
    assert model.gap_ >= 0  # infinite where nothing better than w = 0 was found
    return [model.dual_coef_, model.objective_, model.decision_function(K)]


def one_class() -> Cases:
    """Estimate supports by kernel and by features."""
    for seed in SEEDS:
        for name, X in all_tables(seed=seed).items():
            y = np.arange(len(X)) % 2
            for nu in (1e-12, 0.3, 1.0):
                yield f"{name}, nu = {nu}, {seed}", lambda X=X, y=y, nu=nu: support(X, y, nu)
            for C in (1e-9, 1.0, 1e9):
                yield f"{name}, C = {C}, {seed}", lambda X=X, y=y, C=C: linear_support(X, y, C)
    plain = finite_tables()["plain"]
    for C in EXTREME_C:
        yield f"C = {C}", lambda C=C: linear_support(plain, np.arange(40) % 2, C)
    for nu in (-1.0, 0.0, 1e-9, 1.0 + 1e-9, np.inf, np.nan):
        yield f"nu = {nu}", lambda nu=nu: one_class_weights(plain @ plain.T, nu)
    for tol in (1e9, np.inf, np.nan, 0.0):
        yield f"tol = {tol}", lambda tol=tol: one_class_weights(plain @ plain.T, 0.3, tol)
    broken = sparse.csr_array(plain)
    broken.indices[3] = 1 << 30
    yield "column out of range", lambda: mirrored_svm(broken, 1.0)
    yield "no column", lambda: mirrored_svm(sparse.csr_array((4, 0)), 1.0)
    yield "smallest score is the level of a tiny nu", smallest_score


def support(X: np.ndarray, y: np.ndarray, nu: float) -> list:
    """Return what a one-class machine with a linear joint kernel learned, and its scores."""

    def kernel(pairs: list, others: list) -> np.ndarray:
        rows, columns = (np.array([x * (1 + z) for x, z in some]) for some in (pairs, others))
        with np.errstate(all="ignore"):
            return rows @ columns.T

    model = JKSE(kernel, nu=nu, outputs=[0, 1]).fit(X, y)
    return [model.alpha_, model.rho_, model.decision_function(X, y), model.predict(X)]


def linear_support(X: np.ndarray, y: np.ndarray, C: float) -> list:
    """Return what a one-class machine with explicit features learned, and its scores."""
    model = LinearJKSE(MultiClassTask(2, X.shape[1]), C=C, max_iter=50).fit(X, y)
    return [model.coef_, model.alpha_, model.rho_, model.nu_, model.decision_function(X, y)]


def smallest_score() -> float:
    """Return the level for a nu of less than one sample; it has to be the smallest score."""
    K = np.array([[2.0, 0.0], [0.0, 1.0]])
    alpha, rho = one_class_weights(K, 1e-12)
    assert rho == (K @ alpha).min()
    return rho


def transfer_svm() -> Cases:
    """Learn from two data sets of every table."""
    for seed in SEEDS:
        for name, X in all_tables(n=24, seed=seed).items():
            y = np.random.default_rng(seed).permutation(len(X)) % 2
            for alpha, rho in ((1.0, 1.0), (np.inf, 1e-6), (1e-9, np.inf), (1e150, 1e-150)):
                yield (
                    f"{name}, alpha = {alpha}, rho = {rho}, {seed}",
                    lambda X=X, y=y, alpha=alpha, rho=rho: fit_transfer(X, y, alpha, rho),
                )


def fit_transfer(X: np.ndarray, y: np.ndarray, alpha: float, rho: float) -> list:
    """Return what was learned."""
    task = MultiClassTask(2, X.shape[1])
    model = TransferSVM(task, alpha=alpha, rho=rho, max_iter=10)
    model.fit(X, y, (np.arange(len(X)) // 2 % 2).tolist())
    return [model.coef_, model.shared_coef_, model.result_.value, np.asarray(model.predict(X))]


def bridge_risk() -> Cases:
    """Call the risk of partial annotations on every table."""
    for name, X in all_tables(seed=0).items():
        n = len(X) // 4
        features = X[: 4 * n].reshape(n, 4, X.shape[1])
        compatible = np.arange(4 * n).reshape(n, 4) % 3 == 0
        losses = np.random.default_rng(0).random((n, 4))
        for size in (0.0, 1.0, 1e9, 1e150, np.inf, np.nan):
            yield (
                f"{name}, w = {size}",
                lambda f=features, c=compatible, losses=losses, size=size: bridge(
                    BridgeRisk(f, losses, c), np.full(f.shape[2], size)
                ),
            )
    features, compatible = np.ones((3, 2, 1)), np.array([[True, False]] * 3)
    for name, losses in {"NaN": np.nan, "infinity": np.inf, "largest": np.finfo(float).max}.items():
        yield (
            f"losses {name}",
            lambda losses=losses: bridge(
                BridgeRisk(features, np.full((3, 2), losses), compatible), np.ones(1)
            ),
        )
        yield (
            f"weights {name}",
            lambda losses=losses: bridge(
                BridgeRisk(features, np.ones((3, 2)), compatible, np.full(3, losses)), np.ones(1)
            ),
        )


def bridge(risk: BridgeRisk, w: np.ndarray) -> list:
    """Return all that the risk answers at ``w``."""
    return [risk.sample_losses(w), risk(w), *risk.convex_part(w), *risk.reward(w)]


def perceptron() -> Cases:
    """Train with features of all scales, and with annotations and weights that do not fit."""
    for (n_sources, n_targets), scale in product(
        ((0, 0), (1, 0), (2, 3)), (0.0, 1e-300, 1.0, 1e9, 1e150, 1e308)
    ):
        for averaged in (False, True):
            yield (
                f"{n_sources} and {n_targets} cells, features times {scale}, averaged {averaged}",
                lambda m=n_sources, n=n_targets, scale=scale, a=averaged: train(
                    samples_of(m, n, scale), averaged=a
                ),
            )
    for name, events in {
        "none": [],
        "beyond": [10**9],
        "negative": [-1],
        "not whole": [0.5],
        "twice": [0, 0],
        "excluding each other": list(range(20)),
    }.items():
        yield f"events {name}", lambda events=events: train(samples_of(2, 3, 1.0), events)
    for w0 in (np.full(12, np.nan), np.full(12, np.inf), np.full(12, 1e308), np.ones(3), np.ones((12, 1))):
        yield f"w0 {w0.shape} of {w0.flat[0]}", lambda w0=w0: train(samples_of(2, 3, 1.0), w0=w0)


def samples_of(n_sources: int, n_targets: int, scale: float) -> list[Assigner]:
    """Return two pairs of frames with features of a scale."""
    drawn = [random_hypotheses(np.random.default_rng(seed), n_sources, n_targets) for seed in range(2)]
    return [
        Assigner(
            Hypotheses(
                n_sources,
                n_targets,
                {
                    kind: Candidates(some.sources, some.targets, scale * np.clip(some.features, -1, 1))
                    for kind, some in one.candidates.items()
                },
            )
        )
        for one in drawn
    ]


def train(samples: list[Assigner], events: list | None = None, **options: object) -> list:
    """Return what was learned from some events, by default the first one of each pair of frames."""
    known = [[0] if len(one.hypotheses) else [] for one in samples]
    found = train_perceptron(
        samples, known if events is None else [events] * len(samples), max_iter=5, **options
    )
    return [found.w, found.loss, found.history.loss]


def of_features() -> Cases:
    """Call risks and machines whose weights have an entry for each feature."""
    yield from invariant_ranking()
    yield from transfer_svm()
    yield from bridge_risk()
    yield from perceptron()


SUBJECTS: dict[str, Callable[[], Cases]] = {
    "invariant_svm": invariant_svm,
    "taxonomic_svm": taxonomic_svm,
    "one_class": one_class,
    "of_features": of_features,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
