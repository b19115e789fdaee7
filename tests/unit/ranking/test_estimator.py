import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ermlab.ranking.estimator import RankingSVM


@parametrize_with_checks(
    [RankingSVM(), RankingSVM(rescaling="margin", C=10.0), RankingSVM(target="relevance")]
)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def planted(n, d=4, seed=0, noise=0.5):
    """Losses in [0, 1] that fall with a linear score, up to noise."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    quality = X @ w / np.linalg.norm(w) + noise * rng.normal(size=n)
    return X, 1 - np.argsort(np.argsort(quality)) / (n - 1)


def all_pairs(losses, groups=None):
    """Pairs (i, j) with ``loss_i < loss_j``, of the same group."""
    i, j = np.nonzero(losses[:, None] < losses[None])
    same = np.full(i.size, True) if groups is None else groups[i] == groups[j]
    return i[same], j[same]


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("grouped", [False, True])
def test_slack_rescaling_is_a_weighted_svm_on_pairs(C, grouped):
    X, losses = planted(50)
    groups = np.arange(50) % 3 if grouped else None
    model = RankingSVM(C=C, tol=1e-8).fit(X, losses, groups)
    i, j = all_pairs(losses, groups)
    differences, weights = X[i] - X[j], C * (losses[j] - losses[i]) / i.size
    # LinearSVC wants two classes: turn every other pair around.
    signs = np.where(np.arange(i.size) % 2 == 0, 1, -1)
    peer = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0)
    w = peer.fit(signs[:, None] * differences, signs, sample_weight=weights).coef_[0]
    objective = 0.5 * w @ w + weights @ np.maximum(0, 1 - differences @ w)
    assert model.objective_ == pytest.approx(objective, rel=2e-6)
    np.testing.assert_allclose(model.coef_, w, atol=5e-3 * np.abs(w).max())
    assert model.n_pairs_ == i.size


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_margin_rescaling_against_a_quadratic_program(C):
    X, losses = planted(14, d=2)
    model = RankingSVM(C=C, rescaling="margin", tol=1e-8).fit(X, losses)
    i, j = all_pairs(losses)
    A, costs = X[i] - X[j], losses[j] - losses[i]
    # The dual: maximize costs' nu - 1/2 |A' nu|^2 over 0 <= nu <= C / pairs.
    found = scipy_minimize(
        lambda nu: (0.5 * np.sum((nu @ A) ** 2) - costs @ nu, A @ (nu @ A) - costs),
        np.zeros(i.size),
        jac=True,
        bounds=[(0, C / i.size)] * i.size,
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 100_000, "maxfun": 1_000_000},
    )
    assert model.objective_ == pytest.approx(-found.fun, rel=1e-5)
    assert -found.fun >= model.objective_ * (1 - model.gap_) * (1 - 1e-5)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_recovers_a_noiseless_order(rescaling):
    X, losses = planted(400, noise=0)
    model = RankingSVM(C=1e4, rescaling=rescaling).fit(X[:300], losses[:300])
    assert model.gap_ <= model.tol
    assert model.score(X[:300], losses[:300]) > 0.999
    ordered = losses[300:][model.predict_order(X[300:])]
    assert np.corrcoef(ordered, np.sort(ordered))[0, 1] > 0.99


def test_bipartite_graph_ranks_one_side_above_the_other():
    X, losses = planted(400, noise=0.2)
    model = RankingSVM(C=100.0, graph="bipartite", threshold=0.1).fit(X, losses)
    good = losses <= 0.1
    assert model.n_pairs_ == good.sum() * (~good).sum()
    order = model.predict_order(X)
    assert good[order[: good.sum()]].mean() > 0.8


def test_groups_make_scores_of_different_groups_free():
    """Each group has an offset that hides the common order; only pairs within groups show it."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(10), 30)
    offset = rng.normal(size=10)[groups]
    signal = rng.normal(size=300)
    X, losses = np.column_stack([signal + 3 * offset, offset]), 1 / (1 + np.exp(signal - 3 * offset))
    grouped = RankingSVM(C=1e3).fit(X, losses, groups)
    assert grouped.score(X, losses, groups) > 0.999
    assert RankingSVM(C=1e3).fit(X, losses).coef_[1] < 0 < grouped.coef_[0]


def test_thresholds_of_each_group():
    X, losses = planted(90)
    groups = np.array(["c", "a", "b"])[np.arange(90) % 3]
    model = RankingSVM(graph="bipartite", threshold=[0.1, 0.5, 0.9]).fit(X, losses, groups)
    expected = sum(
        np.sum(losses[groups == g] <= t) * np.sum(losses[groups == g] > t)
        for g, t in [("a", 0.1), ("b", 0.5), ("c", 0.9)]
    )
    assert model.n_pairs_ == expected


def test_order_within_groups():
    model = RankingSVM().fit([[0.0], [1.0]], [1.0, 0.0])
    X = [[1.0], [5.0], [3.0], [5.0], [2.0]]
    np.testing.assert_array_equal(model.predict_order(X), [1, 3, 2, 4, 0])
    np.testing.assert_array_equal(model.predict_order(X, groups=["b", "a", "b", "b", "a"]), [1, 4, 3, 2, 0])
    with pytest.raises(ValueError, match=r"groups of shape \(2,\): expected one per sample, 5"):
        model.predict_order(X, groups=["a", "b"])


def test_score_is_the_cost_of_wrong_pairs():
    model = RankingSVM().fit([[0.0], [1.0]], [1.0, 0.0])
    X, losses = [[3.0], [2.0], [2.0]], [0.5, 0.0, 1.0]
    # Pairs: (1, 0) wrong costs 0.5, (0, 2) right, (1, 2) tied costs half of 1.
    assert model.score(X, losses) == pytest.approx(1 - (0.5 + 0.0 + 0.5) / 3)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("C", [1e-1, 1e2, 1e5])
@pytest.mark.parametrize("ties", [False, True])
def test_a_subsample_saves_passes_and_changes_no_optimum(rescaling, C, ties):
    X, losses = planted(50_000, d=7, noise=1.0)
    if ties:
        X, losses = np.round(X, 1), np.round(4 * losses) / 4
    options = {"C": C, "rescaling": rescaling}
    plain = RankingSVM(subsample=None, tol=1e-5, **options).fit(X, losses)
    model = RankingSVM(subsample=5000, **options).fit(X, losses)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ <= 15
    assert plain.objective_ * (1 - 1e-5) <= model.objective_ <= plain.objective_ * (1 + 1e-3)
    assert model.objective_ * (1 - model.gap_) <= plain.objective_


def test_a_subsample_without_pairs_does_no_harm():
    X, losses = planted(1000)
    losses = np.where(losses < 0.0015, losses, 1.0)  # two samples below 1
    alone = RankingSVM(subsample=None).fit(X, losses)
    np.testing.assert_array_equal(RankingSVM(subsample=10).fit(X, losses).coef_, alone.coef_)


def test_all_kinds_of_matrices_give_the_same(tmp_path):
    X, losses = planted(3000)
    X[np.abs(X) < 0.5] = 0
    model = RankingSVM(C=10.0, subsample=500).fit(X, losses)
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(RankingSVM(C=10.0, subsample=500).fit(mapped, losses).coef_, model.coef_)
    for other in (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X), X.astype(np.float32)):
        coef = RankingSVM(C=10.0, subsample=500).fit(other, losses).coef_
        np.testing.assert_allclose(coef, model.coef_, rtol=1e-3)
        np.testing.assert_allclose(model.decision_function(other), X @ model.coef_, rtol=1e-5, atol=1e-6)


def test_same_bits_in_every_run_and_for_every_number_of_threads():
    X, losses = planted(30_000)
    weights = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            weights.append(RankingSVM(C=100.0, subsample=3000).fit(X, losses).coef_)
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[1], weights[2])


def test_in_pipelines_and_searches():
    X, losses = planted(200)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RankingSVM()), {"rankingsvm__C": [0.01, 10.0]}, cv=3
    )
    search.fit(X * [1, 10, 100, 1000], losses)
    assert search.best_params_ == {"rankingsvm__C": 10.0}
    assert search.best_score_ > 0.95
    assert clone(RankingSVM(C=3.0)).C == 3.0


def test_another_number_of_features():
    model = RankingSVM().fit(*planted(20))
    for method in (model.decision_function, model.predict_order, lambda X: model.score(X, [0.0, 1.0])):
        with pytest.raises(ValueError, match="X has 3 features, but RankingSVM is expecting 4"):
            method(np.ones((2, 3)))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        RankingSVM().predict_order([[1.0]])


def test_too_few_passes_warn():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 of at most 2 iterations"):
        RankingSVM(C=100.0, max_iter=2).fit(*planted(100))


def test_no_warning_otherwise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankingSVM().fit(*planted(100))


X, LOSSES = planted(20)
HAS_NAN = np.where(np.arange(20) == 3, np.nan, 0.5)


@pytest.mark.parametrize(
    ("options", "data", "expected"),
    [
        ({}, (X[:0], LOSSES[:0]), "0 sample"),
        ({}, (X[:1], LOSSES[:1]), "1 sample"),
        ({}, (X, LOSSES[1:]), "inconsistent numbers of samples"),
        ({}, (np.where(X > 1, np.nan, X), LOSSES), "X contains NaN"),
        ({}, (X, HAS_NAN), "y contains NaN"),
        ({}, (X, LOSSES - 0.5), "loss"),
        ({}, (X, np.ones(20)), "pair"),
        ({}, (X, LOSSES, np.arange(20)), "pair"),
        ({}, (X, LOSSES, np.zeros(19)), "groups"),
        ({"graph": "bipartite"}, (X, LOSSES), "threshold"),
        ({"graph": "bipartite", "threshold": 2.0}, (X, LOSSES), "threshold"),
        ({"threshold": 0.5}, (X, LOSSES), "threshold"),
        ({"rescaling": "both"}, (X, LOSSES), "rescaling"),
        ({"graph": "star"}, (X, LOSSES), "graph"),
        ({"C": 0}, (X, LOSSES), "C is 0"),
        ({"C": np.nan}, (X, LOSSES), "C is nan"),
        ({"tol": -1}, (X, LOSSES), "tol is -1"),
        ({"max_iter": 0}, (X, LOSSES), "max_iter is 0"),
        ({"subsample": 1}, (X, LOSSES), "subsample is 1"),
        ({"subsample": "half"}, (X, LOSSES), "subsample is 'half'"),
    ],
)
def test_bad_input(options, data, expected):
    with pytest.raises(ValueError, match=expected):
        RankingSVM(**options).fit(*data)


@pytest.mark.parametrize("axis", [0, 1])
def test_sparse_coordinates_out_of_range(axis):
    # scipy and scikit-learn convert such a matrix first, and write to other memory.
    X = sparse.coo_array(np.eye(6))
    X.coords[axis][2] = 10**7
    with pytest.raises(ValueError, match="index"):
        RankingSVM().fit(X, np.arange(6.0))
    with pytest.raises(ValueError, match="index"):
        RankingSVM().fit(np.eye(6), np.arange(6.0)).decision_function(X)


@pytest.mark.parametrize("C", [10**400, "1", None, np.array([1.0, 2.0])])
def test_prices_that_are_no_numbers(C):
    with pytest.raises(ValueError, match="C is"):
        RankingSVM(C=C).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize("seed", [6, 27])
def test_offset_of_the_features_does_not_spoil_the_certificate(seed):
    # Scores are 1e6 times as large as what they differ by: the digits that are left do not do for tol.
    rng = np.random.default_rng(seed)
    plain = np.round(rng.normal(size=(7, 4)) * 2**20) / 2**20  # so that the offset can be added exactly
    losses = 10.0 ** rng.uniform(-2, 2, 7)
    svm = RankingSVM(C=1e6, tol=1e-5, max_iter=300, subsample=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact, shifted = (clone(svm).fit(X, losses).result_ for X in (plain, plain + 2.0**20))
    assert shifted.lower_bound <= exact.value * (1 + 1e-7)
    if shifted.converged:
        assert shifted.value == pytest.approx(exact.value, rel=2e-5)


@pytest.mark.parametrize("graph", ["complete", "bipartite"])
def test_relevance_is_the_opposite_of_loss(graph):
    X, losses = planted(60)
    relevance, groups = 3.0 - 2 * losses, np.arange(60) % 3
    by_loss, by_relevance = (
        {"graph": graph, "threshold": threshold if graph == "bipartite" else None} for threshold in (0.3, 2.4)
    )
    expected = RankingSVM(C=2.0, tol=1e-7, **by_loss).fit(
        X, 2 * losses if graph == "complete" else losses, groups
    )
    fits = [
        RankingSVM(C=2.0, tol=1e-7, **by_relevance).fit(X, relevance=relevance, groups=groups),
        RankingSVM(C=2.0, tol=1e-7, target="relevance", **by_relevance).fit(X, relevance, groups),
    ]
    assert fits[0].n_pairs_ == expected.n_pairs_
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    if graph == "complete":
        np.testing.assert_allclose(fits[0].coef_, expected.coef_, atol=1e-4)
    assert fits[0].score(X, relevance=relevance, groups=groups) == fits[1].score(X, relevance, groups)
    assert fits[0].score(X, relevance=relevance) == pytest.approx(fits[0].score(X, 2 * losses))
    best = relevance[fits[0].predict_order(X)[:10]].mean()
    assert best > relevance.mean()


@pytest.mark.parametrize("of", ["fit", "score"])
def test_either_losses_or_relevance(of):
    X, losses = planted(20)
    call = getattr(RankingSVM().fit(X, losses), of)
    with pytest.raises(ValueError, match="y and relevance are both given: expected one of them"):
        call(X, losses, relevance=losses)
    with pytest.raises(ValueError, match="the target y is None: expected losses, or relevance"):
        call(X)
    with pytest.raises(ValueError, match="relevance"):
        RankingSVM(target="relevances").fit(X, losses)
    with pytest.raises(ValueError, match=r"NaN|inf"):
        call(X, relevance=np.full(20, np.nan))


def test_groups_in_cross_validation():
    X, losses = planted(90)
    groups = np.arange(90) % 9
    with config_context(enable_metadata_routing=True):
        model = RankingSVM().set_fit_request(groups=True).set_score_request(groups=True)
        found = cross_val_score(model, X, losses, cv=GroupKFold(3), params={"groups": groups})
    expected = []
    for train, test in GroupKFold(3).split(X, losses, groups):
        model = RankingSVM().fit(X[train], losses[train], groups[train])
        expected.append(model.score(X[test], losses[test], groups[test]))
    np.testing.assert_array_equal(found, expected)
