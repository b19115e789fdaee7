"""Maps of two groups: the choice, the controls of the clusters, and the overlap with a region."""

import numpy as np
import pytest

from ermlab.metrics.splits import Sampling
from reproduction.experiments.ksupport.maps import cluster_table, fit_group_maps, overlap
from reproduction.experiments.ksupport.norm_check import PAIRS, compare_norms, example_values
from reproduction.experiments.ksupport.protocol import Grids, Scaling, fit_methods

GRIDS = Grids(alphas=(0.8, 0.2), l1_ratios=(0.5,), ks=(1, 8), lams=(0.1, 1.0), tol=1e-4)
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
    for method in ("lasso", "ksupport"):
        chosen = maps.chosen[method]
        rows = maps.paths[(maps.paths["method"] == method) & (maps.paths["shape"] < 64)]
        assert chosen["correlation"] == rows["correlation"].max()
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


def test_the_true_region_is_met(maps):
    found = overlap(maps.weights["ksupport"], REGION.ravel())
    assert found["chance"] == 8 / 64
    assert found["weight_inside"] > 0.5
    known = overlap(np.where(REGION.ravel(), 2.0, 0.0), REGION.ravel())
    assert known == {"weight_inside": 1, "selected_inside": 1, "region_found": 1, "chance": 8 / 64}


def test_norms_agree_with_their_dual_definitions():
    differences = compare_norms(40, 0)
    assert set(differences) == set(PAIRS)
    assert max(differences.values()) < 1e-8
    # |w|_1; .3 |w|_1 + .7 |w|^2; with k = 2 the 4 stands alone: (4^2 + (2 + 1 + .5)^2)^(1/2).
    values = {name: found["formula"] for name, found in example_values().items()}
    assert values == pytest.approx({"lasso": 7.5, "elastic_net": 17.125, "ksupport": 28.25**0.5})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: overlap(np.ones(3), np.zeros(3, dtype=bool)),
            r"region of shape \(3,\): expected a voxel or more",
        ),
        (lambda: overlap(np.ones(3), np.ones(2, dtype=bool)), r"region of shape \(2,\)"),
        (lambda: compare_norms(0, 0), "vectors is 0: expected at least 1"),
        (
            lambda: fit_group_maps(
                np.zeros((9, 4)), np.arange(9.0), Sampling("permuted", 9), GRIDS, 2, 0.3, 0
            ),
            "no model has a weight that is not 0",
        ),
    ],
)
def test_broken_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
