"""The evaluation of the k-support norm on tables and maps small enough to count by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, GROUP_TITLES, Study
from reproduction.experiments.ksupport.evaluate import PROTOCOLS, TITLES, main
from reproduction.experiments.ksupport.tables import (
    chosen_table,
    cluster_summary,
    control_table,
    correlation_table,
    difference_table,
    map_table,
    norm_table,
)

KINDS = {
    "movie_watching": "simulated",
    "haxby2001_slice": "real",
    "wager2008_contrasts": "real",
    "drug_stroop": "simulated",
}
PUBLISHED = {"lasso": (44, 0.1198), "elastic_net": (866, 0.1189), "ksupport": (800, 0.129)}
#: Method, shape, strength, non-zeros, and for two splits the correlation and that on the inner folds.
MODELS = [
    ("lasso", 1, 0.8, 2, (0.1, 0.3), (0.5, 0.1)),
    ("lasso", 1, 0.3, 6, (0.5, 0.1), (0.2, 0.4)),
    ("elastic_net", 0.5, 0.8, 3, (0.2, 0.5), (0.1, 0.1)),
    ("elastic_net", 0.5, 0.3, 9, (0.0, 0.5), (0.3, 0.2)),
    ("ksupport", 1, 1.0, 4, (0.3, 0.2), (0.9, 0.0)),
    ("ksupport", 50, 1.0, 40, (0.6, 0.4), (0.1, 0.3)),
    ("ksupport", 50, 0.3, 44, (0.5, 0.4), (0.1, 0.2)),
    ("ksupport", 50, 0.1, 48, (0.4, 0.4), (0.1, 0.1)),
]


def paths(split, shift=0.0):
    return pd.DataFrame(
        [
            {
                "method": method,
                "shape": float(shape),
                "strength": strength,
                "nonzeros": nonzeros + 2 * split,
                "gap": 0.01 * (split + 1),
                "correlation": correlation[split] - shift,
                "inner": inner[split],
                "split": split,
                "run": 1 - split,  # the splits test the stretches in another order
            }
            for method, shape, strength, nonzeros, correlation, inner in MODELS
        ]
    )


def clusters(shift):
    selections = ("lasso", "ksupport", "ksupport_cut", "k = 1", "k = 50")
    return pd.DataFrame(
        [
            {"selection": name, "voxels": 10 + i, "clusters": 5 + i, "mean_size": 2.0 + i + shift}
            | {"largest": 7 + i, "chance_mean_size": 1.1, "weight": 1.0}
            for i, name in enumerate(selections)
        ]
    )


def map_splits(shift):
    return pd.DataFrame(
        [
            {"method": method, "split": split, "voxels": 4, "mean_size": size + split + shift}
            | {"correlation": 0.1 * size, "weight_inside": 0.2 * split}
            for method, size in (("lasso", 1.0), ("ksupport", 3.0))
            for split in range(2)
        ]
    )


def laplacian_rows():
    """Temporal contrast has .3 and .4 on the two stretches in experiment 3, by cross-validation."""
    keys = [
        ("fair", "folds", "exp3", "temporal_contrast"),
        ("fair", "spectrum", "exp3", "temporal_contrast"),
        ("fair", "folds", "exp2", "temporal_contrast"),
        ("fair", "folds", "exp3", "faces"),
        ("permuted", "folds", "exp3", "temporal_contrast"),
    ]
    return pd.DataFrame(
        [
            dict(zip(("protocol", "criterion", "experiment", "output"), key, strict=True))
            | {"fold": fold, "correlation": 0.3 + 0.1 * fold + i}
            for i, key in enumerate(keys)
            for fold in range(2)
        ]
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    inputs = {}
    jobs = {**dict.fromkeys(PROTOCOLS, 0.0), ("reversed", "fair"): 1.0, ("reversed", "permuted"): 2.0}
    jobs["film", "permuted"], jobs["haxby", "fair"] = 0.01, 0.02
    for key, shift in jobs.items():
        name = f"paths_{'_'.join(key)}"
        inputs[name] = [folder / f"{name}_{split}.csv" for split in range(2)]
        for split, path in enumerate(inputs[name]):
            table = paths(split, shift)
            (table.drop(columns="inner") if key[0] == "reversed" else table).to_csv(path, index=False)
    for number, (name, groups) in enumerate(GROUP_STUDIES.items()):
        inputs[f"clusters_{groups}"] = folder / f"clusters_{groups}.csv"
        clusters(10.0 * number).to_csv(inputs[f"clusters_{groups}"], index=False)
        inputs[f"splits_{groups}"] = folder / f"splits_{groups}.csv"
        table = map_splits(10.0 * number)
        table = table if name == "drug_stroop" else table.drop(columns="weight_inside")
        table.to_csv(inputs[f"splits_{groups}"], index=False)
        inputs[f"weights_{groups}"] = folder / f"weights_{groups}.npz"
        np.savez(
            inputs[f"weights_{groups}"],
            lasso=np.array([3.0, 0, 0, -1]),
            ksupport=np.array([1.0, 1, 1, 1]),
            chosen_lasso=np.array([1, 0.3, 0.25]),
            chosen_ksupport=np.array([50, 0.1, 0.35]),
            mask=np.ones((4, 1, 1), bool),
            affine=np.diag([2.0, 2, 2, 1]),
            region=np.array([True, False, False, False]) if name == "drug_stroop" else np.zeros(0, bool),
            subjects=np.array([16, 17]),
        )
    for n, name in enumerate(("film", "haxby", "wager"), start=5):
        inputs[f"study_{name}"] = folder / f"study_{name}.npz"
        mask = np.ones((3, 1, 1), bool)
        Study(np.zeros((n, 3), np.float32), np.zeros(n), mask, np.eye(4), "runs").write(
            inputs[f"study_{name}"]
        )
    for name, kind in KINDS.items():
        inputs[f"receipt_{name}"] = folder / f"{name}.json"
        inputs[f"receipt_{name}"].write_text(json.dumps({"kind": kind}))
    inputs["laplacian"] = [folder / "laplacian.csv"]
    laplacian_rows().to_csv(inputs["laplacian"][0], index=False)
    place = folder / "ksupport"
    outputs = {"values": place / "values.json"}
    outputs |= {name: place / f"{name}.csv" for name in ("paths", "chosen", "clusters")}
    outputs |= {f"maps_{name}": place / f"maps_{name}.npz" for name in GROUP_STUDIES}
    main(inputs, outputs, seed=0, vectors=10, scans=1, share=0.2)
    return place


@pytest.fixture(scope="module")
def values(results):
    return read_results(results)["values"]


def test_the_best_models_are_those_with_the_best_mean_on_the_test_parts(values):
    # Means over two splits: LASSO .2 and .3, elastic net .35 and .25, k-support .25, .5, .45 and .4.
    repeats = {method: row["repeats"] for method, row in values["best_correlation"]["film"].items()}
    assert repeats == {"lasso": [0.5, 0.1], "elastic_net": [0.2, 0.5], "ksupport": [0.6, 0.4]}
    lasso, wager = (values["best_correlation"][study]["lasso"] for study in ("film", "wager"))
    assert (lasso["unit"], lasso["test_over_train"]) == ("stretch", pytest.approx(0.25))
    assert wager["unit"] == "subject split"


def test_the_nested_choice_is_by_the_inner_folds(values):
    # LASSO takes .8 and then .3; elastic net .3 twice; k-support k = 1 and then k = 50 at 1.
    nested = values["nested_correlation"]["film"]
    assert {method: row["repeats"] for method, row in nested.items()} == {
        "lasso": [0.1, 0.1],
        "elastic_net": [0.0, 0.5],
        "ksupport": [0.3, 0.4],
    }
    assert values["nested_nonzeros"]["film"]["lasso"]["repeats"] == [2, 8]
    table = difference_table(values).set_index(["study", "over"])
    row = table.loc[("film", "elastic net")]
    assert (row["mean"], row["deviation"], row["better"]) == (
        pytest.approx(0.1),
        pytest.approx(0.4 / 2**0.5),
        "1 of 2",
    )


def test_laplacian_kcca_is_compared_on_the_same_stretches(values):
    # Split 0 tests stretch 1, and split 1 stretch 0.
    assert values["laplacian_correlation"]["repeats"] == pytest.approx([0.4, 0.3])
    table = difference_table(values).set_index(["study", "over"])
    assert table.loc[("film", "Laplacian KCCA"), "mean"] == pytest.approx(0)
    assert len(table) == 7


def test_the_summary_of_each_study_and_protocol(values):
    assert set(values["correlations"]) == {"_".join(key) for key in PROTOCOLS}
    lasso, net, ksupport = (values["correlations"]["film_fair"][method] for method in TITLES)
    assert lasso == pytest.approx(
        {
            "best": 0.3,
            "best_deviation": 0.4 / 2**0.5,
            "best_shape": 1,
            "best_strength": 0.3,
            "best_nonzeros": 7,
            "best_at_edge": True,
            "nested": 0.1,
            "nested_deviation": 0,
            "nested_nonzeros": 5,  # 2 voxels of split 0 and 6 + 2 of split 1
            "splits": 2,
        }
    )
    assert (net["nested"], net["nested_nonzeros"]) == (pytest.approx(0.25), 10)
    assert (ksupport["best_strength"], ksupport["best_at_edge"]) == (1.0, True)
    assert values["correlations"]["film_permuted"]["ksupport"]["best"] == pytest.approx(0.49)
    assert values["correlations"]["haxby_fair"]["ksupport"]["nested"] == pytest.approx(0.33)


def test_controls_sizes_and_gaps(values, results):
    assert values["reversed_fair"]["ksupport"]["repeats"] == pytest.approx([-0.4, -0.6])
    assert values["reversed_permuted"]["ksupport"]["repeats"] == pytest.approx([-1.4, -1.6])
    assert [values["studies"][name]["samples"] for name in ("film", "haxby", "wager")] == [5, 6, 7]
    assert values["studies"]["film"]["voxels"] == 3
    assert values["largest_gap"] == 0.02
    stroop, wager = (values["maps"][name] for name in GROUP_STUDIES)
    assert stroop["mean_size"]["ksupport"]["repeats"] == [3, 4]
    assert stroop["weight_inside"]["ksupport"]["repeats"] == [0, 0.2]
    assert stroop["region_share"] == 0.25
    assert (wager["mean_size"]["lasso"]["repeats"], "weight_inside" in wager) == ([11, 12], False)
    assert wager["mean_size"]["lasso"]["unit"] != stroop["mean_size"]["lasso"]["unit"]
    assert 1 - 1e-9 <= values["elastic_net_ratio"]["min"] <= values["elastic_net_ratio"]["max"] <= 2**0.5
    assert values["norm_dual_difference_max"] == max(values["norm_dual_difference"].values()) < 1e-8
    assert read_results(results)["datasets"] == KINDS


def test_maps_and_their_overlap_with_the_true_region(values, results):
    stroop, wager = (values["maps"][name] for name in GROUP_STUDIES)
    assert stroop["chosen"]["ksupport"] == {"shape": 50, "strength": 0.1, "correlation": 0.35}
    assert stroop["subjects"] == [16, 17]
    lasso, ksupport = (stroop["overlap"][method] for method in ("lasso", "ksupport"))
    assert (lasso["weight_inside"], lasso["selected_inside"]) == (0.75, 0.5)
    assert (ksupport["weight_inside"], ksupport["selected_inside"]) == (0.25, 0.25)
    assert "overlap" not in wager
    with np.load(results / "maps_wager2008_contrasts.npz") as arrays:
        assert not arrays["region"].size


def test_tables_name_study_protocol_and_dataset(results):
    table = pd.read_csv(results / "paths.csv").set_index(["study", "protocol", "method", "shape", "strength"])
    assert len(table) == 5 * len(MODELS)
    assert table.loc[("haxby", "fair", "ksupport", 50, 0.3), "correlation"].item() == pytest.approx(0.43)
    chosen = pd.read_csv(results / "chosen.csv").set_index(["study", "protocol", "split", "method"])
    assert len(chosen) == 5 * 2 * 3
    assert chosen.loc[("film", "permuted", 1, "lasso"), "strength"].item() == 0.3
    table = pd.read_csv(results / "clusters.csv").set_index(["dataset", "selection"])
    assert table.loc[("wager2008_contrasts", "lasso"), "mean_size"] == 12


def test_a_row_for_each_study_protocol_and_method(values):
    table = correlation_table(values, KINDS, PUBLISHED)
    assert len(table) == len(PROTOCOLS) * len(TITLES)
    first, third = table.iloc[0], table.iloc[2]
    assert first["study"] == "film (simulated)"
    assert first["published"] == "0.120"
    assert first["best on test"] == "0.300 ± 0.283"
    assert first["at"] == "7 voxels (edge of the grid)"
    assert first["chosen inside"] == "0.100 ± 0.000"
    assert third["at"] == "k = 50 (edge of the grid)"
    assert (table.loc[table["study"].str.startswith("Haxby"), "published"] == "").all()


def test_tables_of_controls_differences_choices_and_norms(values):
    control = control_table(values)
    assert control.index[1] == "stretches of time: target reversed"
    assert control["k-support norm"].tolist() == pytest.approx([0.5, -0.5, 0.49, -1.5])
    assert chosen_table(values).loc[("drug Stroop", "LASSO")].tolist() == [1, 0.3, 0.25]
    table = norm_table(values).set_index("regulariser")
    assert list(table.index) == list(TITLES.values())
    # |w|_1; .3 |w|_1 + .7 |w|^2; with k = 2 the norm is (4^2 + (2 + 1 + .5)^2)^(1/2).
    expected = [7.5, 17.125, 28.25**0.5]
    assert table["value of the example"].tolist() == pytest.approx(expected)
    assert table["by the dual definition"].tolist() == pytest.approx(expected)


def test_tables_of_weights_and_clusters(results):
    maps = {name: dict(np.load(results / f"maps_{name}.npz")) for name in GROUP_TITLES}
    table = map_table(maps)
    assert table.query("method == 'lasso' and dataset == 'drug_stroop'").to_numpy().tolist() == [
        ["drug_stroop", "lasso", 0, 0, 0, 3],
        ["drug_stroop", "lasso", 6, 0, 0, -1],
    ]
    summary = cluster_summary(pd.read_csv(results / "clusters.csv"), KINDS)
    assert summary["voxels"].tolist() == [10, 11, 12] * 2
    assert summary["clusters"].tolist() == [5, 6, 7] * 2
    assert summary["mean size"].tolist() == [2, 3, 4, 12, 13, 14]
    assert summary["mean size by chance"].tolist() == [1.1] * 6
    assert summary["maps"].iloc[0] == "drug Stroop (simulated)"
