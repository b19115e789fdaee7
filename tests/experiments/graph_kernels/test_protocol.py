"""The protocol of graph kernels chooses inside the training part, and the control shows a leak."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import ElasticNet
from sklearn.preprocessing import StandardScaler

from ermlab.fmri.voxel_graphs import maps_to_graphs
from ermlab.kernels.pyramid import PyramidWL
from ermlab.metrics.splits import Sampling, Split
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.graph_kernels import train, train_effects, train_maps, train_permuted
from reproduction.experiments.graph_kernels.protocol import (
    HEIGHTS,
    METHODS,
    GraphGrids,
    Trial,
    accuracy,
    choose,
    score_split,
    select_voxels,
)
from reproduction.experiments.graph_kernels.train_permuted import permuted_labels, score_permuted

GRIDS = GraphGrids((0.7, 0.3), (0.5, 0.05), 1e-10, bandwidths=(0.5, 2.0), ridges=(1.0, 0.01))
COORDINATES = 4.0 * np.argwhere(np.ones((6, 6, 6)))
N = 24


@pytest.fixture(scope="module")
def groups():
    """Two groups of subjects that differ strongly in one corner."""
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], N // 2)
    X = rng.normal(size=(N, 216))
    X[:, (COORDINATES <= 8).all(axis=1)] += 2 * y[:, None]
    return X.astype(np.float32), y


def trial_of(X, y, number=0, grids=GRIDS, coordinates=COORDINATES):
    split = Sampling("permuted", len(y)).splits(number + 1, 0.25, 0)[number]
    return Trial.of(X, y, coordinates, split, grids, 3, [0, number])


def test_groups_that_differ_are_classified(groups):
    table = score_split(trial_of(*groups)).set_index("method")
    assert list(table.index) == ["gaussian_ridge", "elastic_net", *(f"wl_{h}" for h in HEIGHTS), *METHODS[2:]]
    assert (table.loc[["elastic_net", "wl_pyramid", "combined"], "accuracy"] >= 5 / 6).all()
    heights = table.loc[[f"wl_{h}" for h in HEIGHTS]]
    assert table.loc["wl_pyramid", "inner"] == heights["inner"].max()
    assert table.loc["wl_pyramid", "height"] == heights.loc[heights["inner"].idxmax(), "height"]
    assert heights["features"].is_monotonic_increasing
    assert (table.loc["combined", "features"] - table.loc["wl_pyramid", "features"]) == 216


def test_selected_voxels_in_the_true_region(groups):
    region = (COORDINATES <= 8).all(axis=1)
    table = score_split(trial_of(*groups), region=region).set_index("method")
    assert 0.5 < table.loc["elastic_net", "inside"] <= 1
    other = score_split(trial_of(*groups), region=~region).set_index("method")
    assert table.loc["elastic_net", "inside"] + other.loc["elastic_net", "inside"] == pytest.approx(1)
    assert "inside" not in score_split(trial_of(*groups), region=np.zeros(0, bool))


def test_large_effects_in_drawn_studies_are_found(tmp_path):
    mask = np.zeros((8, 9, 8), dtype=bool)
    mask[1:-1, 1:-1, 1:-1] = True
    affine = np.diag([20.0, 20, 20, 1])
    affine[:3, 3] = [-70, -80, -60]
    Study(np.zeros((2, mask.sum()), np.float32), np.array([1.0, -1]), mask, affine, "permuted").write(
        tmp_path / "study.npz"
    )
    train_effects.main(
        {"study": tmp_path / "study.npz"},
        {"scores": tmp_path / "scores.csv"},
        seed=0,
        scale="smoke",
        effects=[0.0, 8.0],
        drawn_studies=3,
        drawn_splits=2,
        share=0.25,
        folds=2,
        grids=GRIDS,
    )
    table = pd.read_csv(tmp_path / "scores.csv")
    assert table.groupby(["effect", "study", "split"]).size().tolist() == [len(METHODS)] * 12
    means = table.groupby(["effect", "method"])["accuracy"].mean()
    assert means[8.0, "elastic_net"] > 0.9
    assert means[0.0, "elastic_net"] < 0.9


def test_the_elastic_net_on_patterns_is_the_plain_pipeline(groups):
    """Selection, pyramid and learner written with scikit-learn, for the chosen parameters."""
    X, y = groups
    trial = trial_of(X, y)
    table = score_split(trial).set_index("method")
    train, test = trial.split.train, trial.split.test

    def elastic_net(Z, row):
        target = y[train] - y[train].mean()
        largest = np.abs(target @ Z).max() / len(train)
        model = ElasticNet(
            row["strength"] * largest / row["shape"],
            l1_ratio=row["shape"],
            fit_intercept=False,
            tol=1e-10,
            max_iter=10**6,
        )
        return model.fit(Z, target)

    scaler = StandardScaler().fit(X[train].astype(float))
    first = elastic_net(scaler.transform(X[train].astype(float)), table.loc["elastic_net"])
    selected = first.coef_ != 0
    assert table.loc["elastic_net", ["voxels", "selected"]].tolist() == [selected.sum()] * 2
    found = first.predict(scaler.transform(X[test].astype(float)))
    assert table.loc["elastic_net", "accuracy"] == np.mean(np.sign(found) == y[test])

    graphs = maps_to_graphs(X[:, selected], COORDINATES[selected])
    pyramid = PyramidWL(h=1)
    counts = pyramid.fit_transform([graphs[i] for i in train]).toarray()
    new = pyramid.transform([graphs[i] for i in test]).toarray()
    row = table.loc["wl_1"]
    assert row["features"] == counts.shape[1]
    assert row["nonzero_share"] == pytest.approx(np.mean(counts != 0))
    scaler = StandardScaler().fit(counts)
    second = elastic_net(scaler.transform(counts), row)
    assert row["selected"] == np.count_nonzero(np.abs(second.coef_) > 1e-9)
    assert row["accuracy"] == np.mean(np.sign(second.predict(scaler.transform(new))) == y[test])


def test_choices_do_not_depend_on_the_test_part(groups):
    X, y = groups
    trial = trial_of(X, y)
    other_X, other_y = X.copy(), y.copy()
    other_X[trial.split.test] = 100 * np.random.default_rng(1).normal(size=other_X[trial.split.test].shape)
    other_y[trial.split.test] *= -1
    ours = score_split(trial)
    changed = score_split(Trial.of(other_X, other_y, COORDINATES, trial.split, GRIDS, 3, [0, 0]))
    columns = [name for name in ours if name != "accuracy"]
    assert ours[columns].equals(changed[columns])


def test_folds_select_their_own_voxels(groups):
    """The voxels of a fold do not depend on the labels of its test part."""
    X, y = groups
    trial = trial_of(X, y)
    fold = trial.folds[0]
    other = y.copy()
    other[fold.test] *= -1
    fits, _ = trial.voxel_fits()
    changed, _ = Trial(X, other, COORDINATES, trial.folds, trial.split, GRIDS).voxel_fits()
    assert np.array_equal(fits[0].coefs, changed[0].coefs)
    assert not np.array_equal(fits[1].coefs, changed[1].coefs)


def test_permuted_labels_give_chance_inside_and_more_than_chance_with_a_leak(groups):
    """With 16 permutations and 6 test subjects the deviation of a mean at chance is about .05."""
    X = np.random.default_rng(3).normal(size=groups[0].shape)
    splits = Sampling("permuted", N).splits(17, 0.25, 0)
    tables = [
        score_permuted(X, groups[1], COORDINATES, [splits[number]], GRIDS, 3, number, 0)
        for number in range(1, 17)
    ]
    means = pd.concat(tables).groupby(["selection", "method"])["accuracy"].mean()
    inside, beforehand = (means[selection] for selection in train_permuted.SELECTIONS)
    assert (inside[list(METHODS)] < 0.65).all()
    assert (inside[list(METHODS)] > 0.35).all()
    assert beforehand["elastic_net"] > 0.7
    assert beforehand["elastic_net"] > inside["elastic_net"] + 0.2


def test_permuted_scores_are_labeled(groups):
    X, y = groups
    splits = Sampling("permuted", N).splits(2, 0.25, 0)
    table = score_permuted(X, y, COORDINATES, splits, GRIDS, 3, 5, 0)
    assert set(table["permutation"]) == {5}
    assert set(table["method"]) == set(METHODS)
    assert len(table) == 2 * 2 * len(METHODS)
    trial = Trial.of(X, permuted_labels(y, 5, 0), COORDINATES, splits[1], GRIDS, 3, [0, 1])
    honest = table[(table["selection"] == "inside") & (table["split"] == 1)].set_index("method")["accuracy"]
    expected = score_split(trial).set_index("method")["accuracy"]
    assert honest.to_dict() == expected[list(METHODS)].to_dict()


def test_the_learned_function_is_the_sum_over_nodes(groups):
    X, y = groups
    everyone = np.arange(N)
    trial = Trial.of(X, y, COORDINATES, Split(everyone, everyone), GRIDS, 3, 0)
    selected = select_voxels(trial)
    patterns = trial.patterns([selected] * 4)
    fits, predictions = trial.pattern_fits(patterns, 2)
    for model in range(4):
        weights = train_maps.column_weights(patterns[-1], fits[-1], model, 2)
        nodes = train_maps.node_values(patterns[-1], weights, X[:, selected], COORDINATES[selected])
        whole = nodes.sum(axis=1)
        np.testing.assert_allclose(whole - whole.mean(), predictions[-1][model], atol=1e-9)


def test_maps_are_zero_where_nothing_was_selected(groups):
    X, y = groups
    maps = train_maps.fit_graph_maps(X, y, COORDINATES, GRIDS, 3, 0)
    unused = maps.selection == 0
    assert unused.any()
    assert not maps.positive[unused].any()
    assert not maps.negative[unused].any()
    # The function is larger for the positive group.
    assert maps.positive.sum() > maps.negative.sum()


def test_scripts_score_their_splits_permutations_and_maps(groups, tmp_path):
    X, y = groups
    path = tmp_path / "study.npz"
    Study(X, y, np.ones((6, 6, 6), bool), np.diag([4.0, 4, 4, 1]), "permuted").write(path)
    inputs, outputs = {"study": path}, {"scores": tmp_path / "scores.csv", "maps": tmp_path / "maps.npz"}
    options = {"seed": 0, "folds": 3, "grids": GRIDS}
    train.main(inputs, outputs, numbers=[1], share=0.25, **options)
    scores = pd.read_csv(outputs["scores"])
    assert set(scores["split"]) == {1}
    expected = score_split(trial_of(X, y, 1))
    np.testing.assert_allclose(scores[["accuracy", "inner"]], expected[["accuracy", "inner"]])
    train_permuted.main(inputs, outputs, numbers=[2], permuted_splits=1, share=0.25, **options)
    splits = Sampling("permuted", N).splits(1, 0.25, 0)
    expected = score_permuted(X, y, COORDINATES, splits, GRIDS, 3, 2, 0)
    assert pd.read_csv(outputs["scores"]).to_numpy().tolist() == expected.to_numpy().tolist()
    train_maps.main(inputs, outputs, **options)
    maps = train_maps.fit_graph_maps(X, y, COORDINATES, GRIDS, 3, 0)
    np.testing.assert_array_equal(train_maps.GraphMaps.read(outputs["maps"]).positive, maps.positive)


def test_the_most_accurate_model_then_the_smallest_error_is_chosen():
    y = np.array([1.0, -1, 1, -1])
    predictions = np.array([[1, 1, 1, 1], [0.1, -0.1, 0.1, -0.1], [1, -1, 1, -1], [1, -1, 1, -1]])
    assert choose(predictions, y).model == 2
    assert choose(predictions[:2], y).accuracy == 1
    assert accuracy(y, predictions[0]) == 0.5


def test_labels_are_permuted_by_number(groups):
    _, y = groups
    assert permuted_labels(y, 0, 0) is y
    first, second = permuted_labels(y, 1, 0), permuted_labels(y, 2, 0)
    assert sorted(first) == sorted(y)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, permuted_labels(y, 1, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(24.0)}, "expected 1 and -1"),
        ({"y": np.ones(23)}, r"groups \(23,\)"),
        ({"coordinates": COORDINATES[:5]}, r"coordinates \(5, 3\): expected"),
        ({"y": np.ones(24)}, "all subjects of training part 0 are of group 1"),
        ({"folds": 40}, "count is 40: expected 2 to 18 folds"),
    ],
)
def test_broken_input(groups, change, message):
    values = {"X": groups[0], "y": groups[1], "coordinates": COORDINATES, "folds": 3} | change
    split = Split(np.arange(18), np.arange(18, 24))
    with pytest.raises(ValueError, match=message):
        Trial.of(values["X"], values["y"], values["coordinates"], split, GRIDS, values["folds"], 0)


def test_a_negative_number_of_a_permutation_is_refused():
    with pytest.raises(ValueError, match="number is -1: expected at least 0"):
        permuted_labels(np.ones(3), -1, 0)
