"""The evaluation of Laplacian KCCA on tables and maps small enough to count by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated
from reproduction.experiments.laplacian_kcca.evaluate import main
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
)
from reproduction.experiments.laplacian_kcca.protocol import EXPERIMENTS, OUTPUT_SIDE
from reproduction.experiments.laplacian_kcca.tables import (
    TITLES,
    Published,
    correlation_table,
    edge_table,
    exhibit_table,
    map_table,
    output_side_table,
    share_table,
    sweep_gains,
    sweep_table,
)

NAMES = ("motion", "faces")
PUBLISHED = Published(
    {"exp1": [0.1, 0.2], "exp2": [0.3, 0.4], "exp3": [0.5, 0.6]},
    {"exp1": [0.081, 0.073], "exp2": [0.066, 0.075], "exp3": [0.074, 0.054]},
)


def rows(outputs, seed=0, experiments=EXPERIMENTS, criteria=("folds", "spectrum")):
    """One digit of the correlation for each of experiment, output, criterion and seed."""
    return [
        {
            "experiment": experiment,
            "criterion": criterion,
            "output": output,
            "fold": fold,
            "correlation": 0.1 * i
            + 0.01 * j
            + (0.005 if criterion == "spectrum" else 0)
            + 1e-4 * seed
            # The mean over the folds is as above.
            + (fold - 0.5) * (4e-3 if criterion == "spectrum" else 2e-3),
            "eps": 10.0 ** (i - 2) * (fold + 1),
            "gamma": float(i) if criterion == "folds" else 7.0,
            "edge": "eps at its least, 0.1" if (experiment, fold) == ("exp2", 0) else "",
        }
        for i, experiment in enumerate(experiments)
        for criterion in criteria
        for j, output in enumerate(outputs)
        for fold in range(2)
    ]


def protocols(outputs, seed=0):
    fair = pd.DataFrame(rows(outputs, seed)).assign(protocol="fair")
    permuted = pd.DataFrame(rows(outputs, seed, PUBLISHED_EXPERIMENTS, ["folds"])).assign(protocol="permuted")
    output_side = pd.DataFrame(rows(SETS, seed, [OUTPUT_SIDE], ["folds"])).assign(protocol="output_side")
    return pd.concat([fair, permuted.assign(correlation=permuted["correlation"] - 0.9), output_side])


def maps(seed):
    """Target voxel 0 of 100; it holds 1/4, 2/4 and 3/4 of the weight, the other way round for seed 1."""
    arrays = {"mask": np.ones((100, 1, 1), bool), "affine": np.eye(4)}
    arrays["motion"] = np.array([[[1.0, 2], [3, 0.5]], [[0, 4], [1, 1]]])[seed]
    for target in TARGETS:
        arrays[f"{target}_target"] = np.arange(100) == 0
        for i, experiment in enumerate(PUBLISHED_EXPERIMENTS):
            inside = i + 1 if seed == 0 else 3 - i
            arrays[f"{target}_{experiment}"] = np.array([inside, 0, 4 - inside] + [0] * 97, np.float32)
    return arrays


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    inputs = {"tables": [], "maps": [], "sweep": [], "haxby_table": folder / "haxby.csv"}
    for seed in range(2):
        inputs["tables"].append(folder / f"main_{seed}.csv")
        protocols([*VARIABLES, *SETS], seed).to_csv(inputs["tables"][-1], index=False)
        inputs["maps"].append(folder / f"maps_{seed}.npz")
        np.savez(inputs["maps"][-1], **maps(seed))
    protocols(["face", "house", "face_house"]).to_csv(inputs["haxby_table"], index=False)
    for number, scenario in enumerate(("weak", "unshared")):
        for seed in range(2):
            inputs["sweep"].append(folder / f"sweep_{scenario}_{seed}.csv")
            table = pd.DataFrame(rows(VARIABLES, 100 * (number + 1) + seed, PUBLISHED_EXPERIMENTS, ["folds"]))
            table.to_csv(inputs["sweep"][-1], index=False)
    for name, kind in (("movie", "simulated"), ("haxby", "real")):
        inputs[name] = folder / f"{name}.json"
        inputs[name].write_text(json.dumps({"kind": kind}))
    place = folder / "laplacian_kcca"
    outputs = {"values": place / "values.json", "maps": place / "maps.npz"}
    outputs |= {name: place / f"{name}.csv" for name in ("tables", "haxby", "sweep")}
    main(inputs, outputs, scenarios={"weak": {"signal": 0}, "unshared": {"sharing": 0.25}}, sweep_seeds=2)
    return place


@pytest.fixture(scope="module")
def values(results):
    return read_results(results)["values"]


def per_seed(values):
    return pytest.approx(values, abs=1e-9)


def test_correlations_are_means_over_folds_for_each_seed(values):
    # exp2 is the third experiment (0.2), temporal contrast the second output (0.01).
    assert values["correlation_cv"]["exp2"][1]["repeats"] == per_seed([0.21, 0.2101])
    assert values["correlation_spectral"]["exp2"][1]["repeats"] == per_seed([0.215, 0.2151])
    assert values["correlation_cv"]["exp1_matched"][5]["repeats"] == per_seed([0.15, 0.1501])
    # The sets are outputs 6 to 8; permuted volumes have the published experiments only, so exp3 is the third.
    assert values["correlation_multivariate"]["exp3"][2]["repeats"] == per_seed([0.385, 0.3851])
    assert values["correlation_multivariate_cv"]["exp3"][0]["repeats"] == per_seed([0.36, 0.3601])
    assert values["correlation_permuted"]["exp3"][0]["repeats"] == per_seed([-0.7, -0.6999])
    assert values["correlation_multivariate_permuted"]["exp1"][1]["repeats"] == per_seed([-0.83, -0.8299])
    assert values["correlation_output_side"][2]["repeats"] == per_seed([0.02, 0.0201])
    assert values["correlation_cv"]["exp1"][0]["unit"] == "scan"
    assert len(values["correlation_cv"]["exp1"]) == 6
    assert len(values["correlation_multivariate"]["exp1"]) == 3
    assert values["seeds"] == 2


def test_spread_edges_and_medians(values):
    assert values["fold_spread"]["folds"]["exp3"]["motion"] == pytest.approx(2e-3 / 2**0.5)
    assert values["fold_spread"]["spectrum"]["exp1"]["faces"] == pytest.approx(4e-3 / 2**0.5)
    shares = values["at_edge"]["spectrum"]["exp2"]
    assert shares["eps at its least"] == 0.5
    assert [share for name, share in shares.items() if name != "eps at its least"] == [0, 0, 0]
    assert values["at_edge"]["folds"]["exp3"]["eps at its least"] == 0
    assert values["median_eps"]["folds"]["exp3"] == pytest.approx(15)  # of 10 and 20
    assert values["median_gamma"]["folds"]["exp3"] == 3
    assert values["median_gamma"]["spectrum"]["exp3"] == 7


def test_sets_with_and_without_a_laplacian_of_the_outputs(values):
    table = output_side_table(values)
    assert table.loc["motion, faces"].tolist() == ["0.370\u00a0±\u00a00.00", "0.010\u00a0±\u00a00.00"]


def test_shares_of_the_targets(values):
    assert [share["repeats"] for share in values["target_share"]["faces"]] == [
        [0.25, 0.75],
        [0.5, 0.5],
        [0.75, 0.25],
    ]
    assert values["target_chance"] == dict.fromkeys(TARGETS, 0.01)
    assert values["largest_motion"] == [3, 4]
    assert values["voxels"] == 100


def test_haxby_has_its_own_outputs(values, results):
    haxby = values["haxby"]
    assert (haxby["categories"], haxby["sets"], haxby["folds"]) == (["face", "house"], ["face_house"], 2)
    # Two runs, of which one is the training part of the other.
    house = haxby["correlation_cv"]["exp2"][1]
    assert house == {"repeats": per_seed([0.209, 0.211]), "unit": "run", "test_over_train": 1}
    assert haxby["correlation_spectral"]["exp2"][1]["repeats"] == per_seed([0.213, 0.217])
    assert haxby["correlation_multivariate"]["exp1"][0]["repeats"] == per_seed([0.023, 0.027])
    assert haxby["correlation_permuted"]["exp2"][0]["repeats"] == per_seed([-0.801, -0.799])
    assert haxby["worse"] == {"exp2": 0, "exp3": 0}
    assert read_results(results)["datasets"] == {"movie_watching": "simulated", "haxby2001_slice": "real"}


def test_outputs_that_are_significantly_worse(values):
    # Every experiment is better than the one before it, by .1 in each scan.
    assert values["worse"] == {"exp2": 0, "exp3": 0, "sets": 0}


def test_scans_without_signal_are_repeated_over_stretches(values):
    # The mean over six labels is .025, folds are .001 apart from it; seeds 100 and 101 add .01 and .0101.
    silent = values["no_signal"]
    assert silent["exp1"]["repeats"] == per_seed([0.034, 0.036, 0.0341, 0.0361])
    assert silent["exp3"]["repeats"][0] == pytest.approx(0.234)
    # Two stretches of each of two scans: training parts overlap within a scan only.
    assert (silent["exp1"]["unit"], silent["exp1"]["test_over_train"]) == ("stretch", 0.5)


def test_the_sweep_has_all_scenarios_with_their_settings(results):
    sweep = (
        pd.read_csv(results / "sweep.csv")
        .set_index(["scenario", "seed", "experiment", "output"])
        .sort_index()
    )
    assert len(sweep) == 3 * 2 * 3 * 6
    # The main scenario has five experiments, of which exp3 is the fourth; the others have three.
    assert sweep.loc[("main", 1, "exp3", "motion"), "correlation"] == pytest.approx(0.3001)
    assert sweep.loc[("weak", 1, "exp3", "motion"), "correlation"] == pytest.approx(0.2 + 0.0101)
    assert sweep.loc[("unshared", 0, "exp2", "faces"), "correlation"] == pytest.approx(0.14 + 0.02)
    assert set(sweep.loc["weak", "signal"]) == {0}
    assert set(sweep.loc["weak", "sharing"]) == set(sweep.loc["main", "sharing"]) != {0.25}
    assert set(sweep.loc["unshared", "sharing"]) == {0.25}
    assert set(sweep.loc["unshared", "signal"]) == {1}


def test_tables_and_maps_of_the_first_seed_are_kept(results):
    table = pd.read_csv(results / "tables.csv", keep_default_na=False)
    assert table.groupby(["seed", "protocol"]).size().tolist() == [180, 6, 54, 180, 6, 54]
    with np.load(results / "maps.npz") as arrays:
        assert arrays["faces_exp3"][:3].tolist() == [3, 0, 1]


@pytest.fixture
def ours():
    return {name: [repeated([0.1 * i, 0.1 * i + 0.2]), repeated([0.0, 0.0])] for i, name in enumerate(TITLES)}


def test_a_table_has_published_ours_and_permuted(ours):
    permuted = {name: [repeated([0.9]), repeated([0.8])] for name in PUBLISHED_EXPERIMENTS}
    table = correlation_table(ours, NAMES, PUBLISHED, permuted)
    assert list(table.index) == ["motion", "faces"]
    assert table.loc["motion", ("published", "3")] == "0.500\u00a0±\u00a00.07"
    assert table.loc["faces", ("published", "1")] == "0.200\u00a0±\u00a00.07"
    assert table.loc["motion", ("ours", TITLES["exp2"])] == "0.300\u00a0±\u00a00.14"
    assert table.loc["faces", ("permuted volumes", "1")] == "0.800"
    assert correlation_table(ours, NAMES).shape == (2, len(TITLES))


def test_the_exhibit_has_a_row_for_every_number(ours):
    haxby = {name: [repeated([0.7])] for name in TITLES}
    spread = {name: dict.fromkeys(NAMES, 0.05) for name in TITLES}
    parts = {("film", "fair"): ours, ("film", "permuted"): ours, ("haxby", "runs"): haxby}
    table = exhibit_table(parts, {"film": NAMES, "haxby": ["face"]}, PUBLISHED, spread)
    assert len(table) == 5 * (2 + 2 + 1)
    row = table.query("data == 'film' and protocol == 'fair' and experiment == 'exp3' and output == 'motion'")
    assert row[["correlation", "published", "sd_over_folds"]].to_numpy().tolist() == [[0.4, 0.5, 0.05]]
    assert row["deviation"].item() == pytest.approx(0.2 / 2**0.5)
    assert row["published_spread"].tolist() == [0.074]
    permuted = table[table["protocol"] == "permuted"]
    assert permuted["sd_over_folds"].isna().all()
    assert table[table["data"] == "haxby"][["published", "published_spread"]].isna().all(axis=None)


def test_gains_are_over_experiment_1():
    sweep = pd.DataFrame(
        [
            {"scenario": name, "signal": signal, "sharing": 0.8, "seed": 0, "experiment": e, "output": o}
            | {"correlation": signal * (0.5 + gain)}
            for name, signal in (("main", 1.0), ("weak", 0.0))
            for e, gain in (("exp1", 0.0), ("exp2", 0.1), ("exp3", -0.2))
            for o in NAMES
        ]
    )
    gains = sweep_gains(sweep).set_index(["scenario", "experiment"])["gain"]
    assert gains["main", "exp2"] == pytest.approx(0.1)
    assert gains["main", "exp3"] == pytest.approx(-0.2)
    assert gains["weak", "exp3"] == pytest.approx(0)
    table = sweep_table(sweep).set_index("scenario")
    assert list(table.index) == ["weak", "main"]
    assert table.loc["main", TITLES["exp3"]] == pytest.approx(0.3)
    assert (table["scans"] == 1).all()


def test_edges_are_in_percent_without_the_matched_control():
    shares = {"eps at its least": 0.5, "gamma at its least": 0.25}
    table = edge_table({"folds": {"exp1": shares, "exp1_matched": shares}})
    assert table.to_numpy().tolist() == [["50 %", "25 %"]]


def test_shares_and_numbers_of_the_maps():
    values = {
        "target_share": {"faces": [repeated([0.1]), repeated([0.2, 0.4]), repeated([0.3])]},
        "target_chance": {"faces": 0.004},
    }
    assert share_table(values).loc["faces"].tolist() == ["10.0", "30.0\u00a0±\u00a014.1", "30.0", "0.4"]
    table = map_table(maps(0), "faces", values).set_index("experiment")
    assert table.loc["exp2"].drop("largest_in_target_sd").tolist() == [
        2,
        1,
        1,
        0.2,
        pytest.approx(0.3),
        0.004,
    ]
    assert table.loc["exp1", "largest_in_target_sd"] == pytest.approx(1 / np.std([1, 3] + [0] * 98))
