"""Maps of two groups: the choice of models, and the clusters with their controls."""

import numpy as np
import pandas as pd
import pytest

from ermlab.metrics.splits import Sampling
from reproduction.experiments.fmri_studies.maps import overlap
from reproduction.experiments.fmri_studies.studies import Scaling, Study
from reproduction.experiments.ksupport.protocol import Grids, fit_methods, mean_paths, score_split
from reproduction.experiments.ksupport.train_maps import (
    GroupMaps,
    cluster_table,
    fit_group_maps,
    main,
    split_table,
)

GRIDS = Grids(alphas=(0.8, 0.2), l1_ratios=(0.5,), ks=(1, 8), ksupport_alphas=(0.1, 1.0), tol=1e-4)
MASK = np.ones((4, 4, 4), dtype=bool)
REGION = np.zeros((4, 4, 4), dtype=bool)
REGION[1:3, 1:3, 1:3] = True


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 20)
    X = rng.normal(size=(40, 64))
    X[:, REGION.ravel()] += y[:, None] + rng.normal(size=(40, 1))
    return X, y


@pytest.fixture(scope="module")
def maps(study):
    return fit_group_maps(*study, Sampling("permuted", 40), GRIDS, 4, 0.2, 0)


def test_the_best_models_with_a_selection_are_fitted_to_all(study, maps):
    X, y = study
    fits = fit_methods(Scaling.of(X)(X), Scaling.of(y)(y), GRIDS)
    splits = Sampling("permuted", 40).splits(4, 0.2, 0)
    paths = mean_paths(pd.concat([score_split(X, y, split, GRIDS) for split in splits]))
    for method in ("lasso", "ksupport"):
        chosen = maps.chosen[method]
        # Neither the ridge, k = 64, nor the k-support norm with k = 1, which is the LASSO.
        rows = paths[(paths["method"] == method) & (paths["shape"] == (1 if method == "lasso" else 8))]
        assert (
            chosen["correlation"]
            == rows["correlation"].max()
            == pytest.approx(np.mean(maps.correlations[method]))
        )
        fit = fits[method]
        (place,) = np.flatnonzero((fit.shape == chosen["shape"]) & (fit.strength == chosen["strength"]))
        np.testing.assert_array_equal(maps.weights[method], fit.coefs[place])
    assert set(maps.by_k) == {1, 8, 64}
    assert np.count_nonzero(maps.by_k[64]) == 64


def test_clusters_and_their_controls(maps):
    table = cluster_table(maps, MASK, 20, 0).set_index("selection")
    assert table.loc["k = 64", ["voxels", "clusters", "mean_size"]].tolist() == [64, 1, 64]
    assert table.loc["k = 64", "chance_mean_size"] == 64
    assert table.loc["ksupport_cut", "voxels"] == min(
        table.loc["lasso", "voxels"], table.loc["ksupport", "voxels"]
    )
    assert table.loc["ksupport", "weight"] == pytest.approx(1)
    assert table.loc["ksupport_cut", "weight"] <= 1


def test_the_map_finds_the_true_region(maps):
    assert overlap(maps.weights["ksupport"], REGION.ravel())["weight_inside"] > 0.5


def test_clusters_are_counted_on_the_mask():
    mask = np.array([[[1, 1, 0, 1, 1, 1]]], dtype=bool)
    weights = {"lasso": np.array([0, 1.0, 0, 2, 0]), "ksupport": np.array([1.0, 2, 0, 4, -3])}
    maps = GroupMaps(weights, {}, {5: np.ones(5)}, {}, {})
    table = cluster_table(maps, mask, 3, 0).set_index("selection")
    columns = ["voxels", "clusters", "mean_size", "largest"]
    # The third voxel of the row is outside of the mask, so it separates the second from the fourth.
    assert table.loc["lasso", columns].tolist() == [2, 2, 1, 1]
    assert table.loc["ksupport", columns].tolist() == [4, 2, 2, 2]
    assert table.loc["ksupport_cut", columns].tolist() == [2, 1, 2, 2]
    assert table.loc["ksupport_cut", "weight"] == 0.7
    assert table.loc["k = 5", [*columns, "chance_mean_size"]].tolist() == [5, 2, 2.5, 3, 2.5]


def test_the_chosen_model_of_each_split(study, maps):
    X, y = study
    table = split_table(maps, MASK, REGION.ravel()).set_index(["method", "split"])
    split = Sampling("permuted", 40).splits(4, 0.2, 0)[2]
    train = split.train
    fits = fit_methods(Scaling.of(X[train])(X[train]), Scaling.of(y[train])(y[train]), GRIDS)["ksupport"]
    chosen = maps.chosen["ksupport"]
    (place,) = np.flatnonzero((fits.shape == chosen["shape"]) & (fits.strength == chosen["strength"]))
    np.testing.assert_array_equal(maps.by_split["ksupport"][2], fits.coefs[place])
    row = table.loc[("ksupport", 2)]
    assert row["voxels"] == np.count_nonzero(fits.coefs[place])
    assert row["weight_inside"] == overlap(fits.coefs[place], REGION.ravel())["weight_inside"]


def test_clusters_of_each_split_are_counted_by_hand():
    mask = np.array([[[1, 1, 0, 1, 1, 1]]], dtype=bool)
    by_split = {"lasso": np.array([[0, 1.0, 0, 2, 0], [0, 0, 0, 0, 0]])}
    table = split_table(GroupMaps({}, {}, {}, by_split, {"lasso": [0.5, 0.0]}), mask, np.zeros(0, bool))
    assert table["mean_size"].tolist() == [1, 0]
    assert table["voxels"].tolist() == [2, 0]
    assert table["correlation"].tolist() == [0.5, 0]
    assert "weight_inside" not in table


def test_maps_are_written_with_their_choice_and_groups(study, tmp_path):
    X, y = study[0][1:], study[1][1:]  # one subject less in the negative group
    Study(X.astype(np.float32), y, MASK, np.eye(4), "permuted", region=REGION.ravel()).write(
        tmp_path / "study.npz"
    )
    outputs = {"weights": tmp_path / "weights.npz"}
    outputs |= {name: tmp_path / f"{name}.csv" for name in ("clusters", "splits")}
    inputs = {"study": tmp_path / "study.npz"}
    main(inputs, outputs, seed=0, map_splits=2, share=0.25, draws=2, grids=GRIDS)
    expected = fit_group_maps(X.astype(np.float32), y, Sampling("permuted", 39), GRIDS, 2, 0.25, 0)
    with np.load(outputs["weights"]) as arrays:
        assert arrays["subjects"].tolist() == [20, 19]
        assert (
            arrays["chosen_lasso"].tolist()
            == expected.chosen["lasso"][["shape", "strength", "correlation"]].tolist()
        )
        np.testing.assert_array_equal(arrays["ksupport"], expected.weights["ksupport"])
        np.testing.assert_array_equal(arrays["region"], REGION.ravel())
    assert len(pd.read_csv(outputs["splits"])) == 2 * 2
    assert pd.read_csv(outputs["clusters"])["selection"].tolist()[:3] == ["lasso", "ksupport", "ksupport_cut"]


def test_models_without_weights_are_refused():
    with pytest.raises(ValueError, match="no model has a weight that is not 0"):
        fit_group_maps(np.zeros((9, 4)), np.arange(9.0), Sampling("permuted", 9), GRIDS, 2, 0.3, 0)
