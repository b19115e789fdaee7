"""The protocol of section 4.1.3 is nested and does not leak, and its controls agree with theory."""

import numpy as np
import pytest

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.laplacians import centering_laplacian
from ermlab.cca.selection import LaplacianKCCACV
from ermlab.metrics.splits import Sampling
from reproduction.experiments.laplacian_kcca.protocol import (
    EXPERIMENTS,
    VARIANTS,
    Settings,
    Variant,
    nested_splits,
    run_study,
    weight_map,
)

SETTINGS = Settings(eps=(1e-3, 1e-1, 10.0), gamma=(0.1, 1.0), permutations=3)


@pytest.fixture
def views():
    """Paired and unpaired samples of 30 columns, two of which predict two outputs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 30))
    outputs = {"one": X[:60, 0] + rng.standard_normal(60), "both": X[:60, :2] + rng.standard_normal((60, 2))}
    return X[:60], X[60:], outputs


def smooth_series(rng, n, columns, width):
    """Noise that is correlated over about ``width`` samples."""
    kernel = np.hanning(2 * width + 1)
    noise = rng.standard_normal((n + 4 * width, columns))
    return np.apply_along_axis(np.convolve, 0, noise, kernel, mode="same")[2 * width : -2 * width]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling("stretches", 40, gap=2),
        Sampling("permuted", 40),
        Sampling("runs", 40, runs=np.arange(40) // 8),
    ],
)
def test_training_and_held_out_samples_are_disjoint(sampling):
    splits = nested_splits(sampling, 5, 4)
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(40))
    for split in splits:
        assert not set(split.train) & set(split.test)
        held_out = [test for _, test in split.inner.values()]
        assert sorted(np.concatenate(held_out)) == list(range(len(split.train)))
        for train, test in split.inner.values():
            assert not set(train) & set(test)
            times = split.train[train], split.train[test]
            if sampling.kind == "stretches":
                assert np.abs(times[0][:, None] - times[1]).min() > 2
                assert np.abs(split.train[:, None] - split.test).min() > 2
            if sampling.kind == "runs":
                assert not set(times[0] // 8) & set(times[1] // 8)


@pytest.mark.parametrize("criterion", ["folds", "spectrum"])
def test_each_fold_agrees_with_the_cross_validated_estimator(views, criterion):
    X, X_extra, outputs = views
    splits = nested_splits(Sampling("stretches", 60), 3, 3)
    study = run_study(X, X_extra, outputs, splits, SETTINGS, list(VARIANTS))
    table = study.table.set_index(["experiment", "criterion", "output", "fold"])
    for experiment, variant in VARIANTS.items():
        model = LaplacianKCCACV(
            eps=SETTINGS.eps,
            gamma=SETTINGS.gamma if variant.regularized else (0.0,),
            gamma_y=None if variant.outputs else 0.0,
            laplacian=variant.laplacian,
            criterion=criterion,
            n_splits=3,
            n_permutations=3,
            random_state=0,
        )
        for number, split in enumerate(splits):
            extra = X_extra if variant.unpaired else None
            for name, Y in outputs.items():
                model.fit(X[split.train], Y[split.train], extra)
                row = table.loc[experiment, criterion, name, number]
                assert (row["eps"], row["gamma"]) == (model.eps_, model.gamma_)
                assert row["edge"] == "; ".join(model.at_edge_)
                assert row["correlation"] == pytest.approx(
                    model.score(X[split.test], Y[split.test]), abs=1e-9
                )


def test_the_matched_control_is_plain_kcca_at_the_equivalent_eps(views):
    X, X_extra, outputs = views
    (split, *_) = splits = nested_splits(Sampling("stretches", 60), 3, 3)
    table = run_study(X, X_extra, outputs, splits, SETTINGS).table.query("fold == 0 and criterion == 'folds'")
    for name, Y in outputs.items():
        rows = table[table["output"] == name].set_index("experiment")
        chosen = rows.loc["exp2"]
        laplacian = LaplacianKCCA(
            eps_x=chosen["eps"], eps_y=chosen["eps"], gamma_x=chosen["gamma"], kernel="linear"
        ).fit(X[split.train], Y[split.train])
        eps = laplacian.equivalent_eps_x_
        plain = LaplacianKCCA(eps_x=eps, eps_y=chosen["eps"], gamma_x=0.0).fit(X[split.train], Y[split.train])
        assert rows.loc["exp1_matched", "eps"] == pytest.approx(eps)
        assert rows.loc["exp1_matched", "correlation"] == pytest.approx(
            plain.score(X[split.test], Y[split.test]), abs=1e-9
        )


def test_a_laplacian_without_distances_is_exactly_another_eps(views, monkeypatch):
    # On paired samples the centering matrix gives the covariance again, so the control must equal it.
    monkeypatch.setitem(VARIANTS, "exp2", Variant(centering_laplacian))
    monkeypatch.setattr(
        "reproduction.experiments.laplacian_kcca.protocol.normalized_laplacian", centering_laplacian
    )
    X, X_extra, outputs = views
    splits = nested_splits(Sampling("stretches", 60), 3, 3)
    table = run_study(X, X_extra, outputs, splits, SETTINGS, ["exp2"]).table
    for criterion in ("folds", "spectrum"):
        rows = table[table["criterion"] == criterion]
        reached = rows.pivot_table(index=["output", "fold"], columns="experiment", values="correlation")
        np.testing.assert_allclose(reached["exp1_matched"], reached["exp2"], atol=1e-9)


def test_permuted_volumes_leak_and_stretches_do_not():
    settings = Settings(eps=(1e-2, 1.0), gamma=(1.0,), permutations=1)
    reached = {"stretches": [], "permuted": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = smooth_series(rng, 240, 60, 6), smooth_series(rng, 120, 1, 6)[:, 0]
        for kind, values in reached.items():
            sampling = Sampling(kind, 120, gap=12 if kind == "stretches" else 0)
            study = run_study(
                X[:120], X[120:], {"y": y}, nested_splits(sampling, 4, 3), settings, ["exp1"], ["folds"]
            )
            values.append(study.table["correlation"].mean())
    # X and y are unrelated: only a leak can predict y.
    assert abs(np.mean(reached["stretches"])) < 3 * np.std(reached["stretches"]) / np.sqrt(10) + 0.05
    assert np.mean(reached["permuted"]) > 0.5


def test_held_out_samples_do_not_change_the_choice(views):
    X, X_extra, outputs = views
    splits = nested_splits(Sampling("stretches", 60), 3, 3)
    changed = {name: Y.copy() for name, Y in outputs.items()}
    for Y in changed.values():
        Y[splits[0].test] = np.random.default_rng(9).standard_normal(Y[splits[0].test].shape)
    rows = [
        run_study(X, X_extra, targets, splits, SETTINGS).table.query("fold == 0")[
            ["experiment", "eps", "gamma"]
        ]
        for targets in (outputs, changed)
    ]
    assert rows[0].equals(rows[1])


def test_the_study_has_a_row_for_each_experiment_criterion_output_and_fold(views):
    X, X_extra, outputs = views
    splits = nested_splits(Sampling("stretches", 60, gap=1), 3, 3)
    study = run_study(X, X_extra, outputs, splits, SETTINGS)
    assert len(study.table) == len(EXPERIMENTS) * 2 * len(outputs) * 3
    spectrum = study.table[study.table["criterion"] == "spectrum"]
    assert sorted(set(spectrum["experiment"])) == sorted(EXPERIMENTS)
    learned = set(EXPERIMENTS) - {"exp1_matched"}
    assert set(study.chosen) == {(experiment, name) for experiment in learned for name in outputs}
    again = run_study(X, X_extra, outputs, splits, SETTINGS)
    assert study.table.equals(again.table)


def test_weights_are_those_of_the_estimator(views):
    X, X_extra, outputs = views
    model = LaplacianKCCA(eps_x=0.1, eps_y=0.1, gamma_x=1.0).fit(X, outputs["both"], X_extra)
    found = weight_map(X, X_extra, outputs["both"], "exp3", 0.1, 1.0)
    np.testing.assert_allclose(found, model.x_weights_[:, 0])
    assert np.argmax(np.abs(found)) in (0, 1)
    alone = LaplacianKCCA(eps_x=0.1, eps_y=0.1, gamma_x=1.0).fit(X, outputs["one"])
    np.testing.assert_allclose(
        weight_map(X, X_extra, outputs["one"], "exp2", 0.1, 1.0), alone.x_weights_[:, 0]
    )


def test_a_view_of_low_rank_has_the_same_functions_as_one_of_full_rank():
    # The kernel matrix has rank 3, which is used for linear kernels and unknown for a callable.
    X = np.random.default_rng(3).standard_normal((20, 3))
    outputs = X[:, 0] + 0.1
    low = LaplacianKCCA(gamma_x=1.0).fit(X, outputs)
    full = LaplacianKCCA(gamma_x=1.0, kernel=(lambda A, B: A @ B.T, "linear")).fit(X, outputs)
    np.testing.assert_allclose(low.transform(X), full.transform(X), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": {"y": np.ones(60)}}, "the output 'y' is constant"),
        ({"outputs": {"y": np.arange(50.0)}}, "the output 'y' has 50 rows: expected 60"),
        ({"outputs": {"y": np.full(60, np.nan)}}, "the output 'y' has NaN"),
        ({"variants": ["exp4"]}, r"variants has \['exp4'\]"),
        ({"criteria": ["luck"]}, r"criteria has \['luck'\]"),
    ],
)
def test_broken_input_is_refused(views, changes, message):
    X, X_extra, outputs = views
    splits = nested_splits(Sampling("stretches", 60), 3, 3)
    arguments = {"X": X, "X_extra": X_extra, "outputs": outputs, "splits": splits, "settings": SETTINGS}
    with pytest.raises(ValueError, match=message):
        run_study(**(arguments | changes))
