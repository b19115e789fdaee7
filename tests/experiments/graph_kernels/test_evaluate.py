"""The evaluation of graph kernels on scores and maps small enough to count by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from ermlab.metrics.resampling import corrected_t_test, wilcoxon_test
from reproduction.claims.results import read_results
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, Study
from reproduction.experiments.graph_kernels.evaluate import (
    PAIRS,
    TITLES,
    accuracy_summary,
    compare_methods,
    compare_with_permuted,
    main,
)
from reproduction.experiments.graph_kernels.tables import (
    accuracy_table,
    difference_table,
    effect_table,
    height_table,
    map_table,
    size_table,
    study_table,
)
from reproduction.experiments.graph_kernels.train_maps import GraphMaps

KINDS = {"drug_stroop": "simulated", "wager2008_contrasts": "real"}
#: Accuracy of each method on three splits.
ACCURACIES = {
    "gaussian_ridge": (0.5, 0.5, 0.25),
    "elastic_net": (0.5, 0.25, 0.75),
    "wl_0": (0.25, 0.25, 0.25),
    "wl_1": (0.5, 0.75, 0.25),
    "wl_2": (0.75, 1.0, 0.5),
    "wl_3": (0.0, 0.0, 0.75),
    "wl_pyramid": (0.75, 1.0, 0.25),
    "combined": (0.75, 0.5, 0.25),
}
#: Height chosen on each split.
HEIGHTS_CHOSEN = (2, 2, 1)


def score_rows(shift):
    return pd.DataFrame(
        [
            {
                "method": method,
                "split": split,
                "accuracy": accuracy - shift,
                "height": HEIGHTS_CHOSEN[split] if method == "wl_pyramid" else -1,
                "voxels": 10 * i + split,
                "features": 100 * i,
                "nonzero_share": 0.1 * i,
                "selected": i,
                "gap": 1e-3 * i,
                "inside": 0.2 * (split + 1) if method == "elastic_net" else 0.0,
            }
            for i, (method, accuracies) in enumerate(ACCURACIES.items())
            for split, accuracy in enumerate(accuracies)
        ]
    )


def permuted_rows(numbers):
    """Permutation 1 has .5 and .75 on two splits, permutation 2 has .25 and .5, with the leak .25 more."""
    return pd.DataFrame(
        [
            {"method": method, "permutation": number, "split": split, "selection": selection}
            | {"accuracy": 0.75 - 0.25 * number + 0.25 * split + leak}
            for method in TITLES
            for number in numbers
            for split in range(2)
            for selection, leak in (("inside", 0.0), ("beforehand", 0.25))
        ]
    )


def effect_rows():
    """Two studies of two splits: the accuracy is the effect plus .1 for study 1, less .1 for split 1."""
    return pd.DataFrame(
        [
            {"effect": effect, "study": study, "split": split, "method": method}
            | {"accuracy": effect + 0.1 * study - 0.1 * split}
            for effect in (0.6, 0.3)
            for study in range(2)
            for split in range(2)
            for method in TITLES
        ]
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    inputs = {}
    for number, (name, groups) in enumerate(GROUP_STUDIES.items()):
        scores = score_rows(0.1 * number)
        inputs[f"splits_{groups}"] = [folder / f"splits_{groups}_{part}.csv" for part in range(2)]
        for part, path in enumerate(inputs[f"splits_{groups}"]):
            scores[scores["split"] // 2 == part].to_csv(path, index=False)
        inputs[f"permuted_{groups}"] = [folder / f"permuted_{groups}_{part}.csv" for part in range(2)]
        for part, path in enumerate(inputs[f"permuted_{groups}"]):
            permuted_rows([part + 1]).to_csv(path, index=False)
        region = np.array([True, False, True, False]) if name == "drug_stroop" else np.zeros(0, bool)
        y = np.array([1.0, -1, -1])
        study = Study(
            np.zeros((3, 4), np.float32), y, np.ones((4, 1, 1), bool), np.eye(4), "permuted", region=region
        )
        maps = GraphMaps(
            selection=np.array([2.0, -2, 0, 0]),
            positive=np.array([3.0, 1, 0, 0]),
            negative=np.array([0.0, 0, 0, 0]),
            height=2,
            strengths=np.array([0.7, 0.4]),
            shapes=np.array([0.1, 0.5]),
            accuracies=np.array([0.6, 0.9]),
            selected=11,
        )
        for kind, content in (("study", study), ("maps", maps)):
            inputs[f"{kind}_{groups}"] = folder / f"{kind}_{groups}.npz"
            content.write(inputs[f"{kind}_{groups}"])
        inputs[f"receipt_{name}"] = folder / f"{name}.json"
        inputs[f"receipt_{name}"].write_text(json.dumps({"kind": KINDS[name]}))
    inputs["effects"] = folder / "effects.csv"
    effect_rows().to_csv(inputs["effects"], index=False)
    place = folder / "graph_kernels"
    place.mkdir()
    outputs = {
        "values": place / "values.json",
        "splits": place / "splits.csv",
        "permuted": place / "permuted.csv",
    }
    outputs |= {f"maps_{name}": place / f"maps_{name}.npz" for name in GROUP_STUDIES}
    main(inputs, outputs, share=0.2, permuted_splits=2)
    return place


@pytest.fixture(scope="module")
def values(results):
    return read_results(results)["values"]


def test_accuracies_are_those_of_the_drug_stroop_study_in_percent(values, results):
    assert [row["repeats"] for row in values["accuracy_by_height"]] == [
        [25, 25, 25],
        [50, 75, 25],
        [75, 100, 50],
        [0, 0, 75],
    ]
    assert values["accuracy"]["wl_pyramid"] == {
        "repeats": [75, 100, 25],
        "unit": "split",
        "test_over_train": pytest.approx(0.25),
    }
    assert set(values["accuracy"]) == set(TITLES)
    assert values["studies"]["wager2008_contrasts"]["methods"]["wl_2"]["mean"] == pytest.approx(65)
    error = 100 * np.std(ACCURACIES["wl_2"], ddof=1) / 3**0.5
    assert values["studies"]["drug_stroop"]["methods"]["wl_2"]["standard_error"] == pytest.approx(error)
    assert read_results(results)["datasets"] == KINDS


def test_differences_with_both_tests(values):
    differences = values["studies"]["drug_stroop"]["differences"]
    assert set(differences) == {"_".join(pair) for pair in PAIRS}
    first = differences["wl_pyramid_elastic_net"]
    # .75, 1, .25 against .5, .25, .75.
    assert first["difference"] == pytest.approx(100 * (0.25 + 0.75 - 0.5) / 3)
    assert (first["better"], first["worse"]) == (2, 1)
    pyramid, net = ACCURACIES["wl_pyramid"], ACCURACIES["elastic_net"]
    assert values["wilcoxon_p"] == first["wilcoxon_p"] == pytest.approx(wilcoxon_test(pyramid, net).p)
    assert values["corrected_t_p"] == pytest.approx(corrected_t_test(pyramid, net, 0.2).p)
    assert differences["wl_2_wl_0"]["difference"] == pytest.approx(50)


def test_permuted_labels_are_compared_on_the_first_two_splits(values):
    study = values["studies"]["drug_stroop"]
    assert (study["permutations"], study["permuted_splits"], study["splits"]) == (2, 2, 3)
    # Means of the permutations: 62.5 and 37.5 percent honestly, 87.5 and 62.5 with the leak.
    expected = {"permuted": 50, "permuted_deviation": 12.5, "leak": 75, "leak_deviation": 12.5}
    assert study["permuted"]["combined"] == pytest.approx(expected | {"accuracy": 62.5, "p": 2 / 3})
    assert study["permuted"]["wl_pyramid"] == pytest.approx(expected | {"accuracy": 87.5, "p": 1 / 3})
    assert study["permuted"]["elastic_net"]["accuracy"] == pytest.approx(37.5)
    assert study["permuted"]["elastic_net"]["p"] == 1


def test_sizes_heights_and_groups(values):
    study = values["studies"]["drug_stroop"]
    assert study["people"] == [1, 2]
    assert study["voxels"] == 4
    assert study["heights_chosen"] == [0, 1, 2, 0]
    assert study["largest_gap"] == pytest.approx(7e-3)
    # wl_2 is the fifth method, with 40, 41 and 42 voxels.
    assert values["counts"]["voxels"]["repeats"] == [40, 41, 42]
    assert values["counts"]["features"]["repeats"] == [400, 400, 400]
    net = study["sizes"]["elastic_net"]
    assert (net["voxels"], net["least_voxels"], net["most_voxels"]) == (11, 10, 12)


def test_voxels_in_the_true_region_by_split(values):
    assert values["rostral_acc"]["selected_inside"]["repeats"] == pytest.approx([0.2, 0.4, 0.6])
    assert values["rostral_acc"]["chance"] == 0.5


def test_permutations_and_effects_are_repeated(values):
    assert values["permuted"]["combined"] == {"repeats": [62.5, 37.5], "unit": "permutation"}
    assert values["leak"]["combined"]["repeats"] == [87.5, 62.5]
    assert values["effects"]["sizes"] == [0.3, 0.6]
    small, large = values["effects"]["accuracy"]["elastic_net"]
    assert (small["repeats"], small["unit"]) == (pytest.approx([25, 35]), "drawn study")
    assert large["repeats"] == pytest.approx([55, 65])
    table = effect_table(values).set_index("difference of the groups")
    assert table.loc["0.3 %", "WL pyramid"] == "30.0 ± 5.0"


def test_maps_and_their_overlap_with_the_true_region(values, results):
    stroop, wager = (values["studies"][name]["maps"] for name in GROUP_STUDIES)
    assert (stroop["voxels"], stroop["height"], stroop["selected"]) == (2, 2, 11)
    assert (stroop["strengths"], stroop["shapes"], stroop["accuracies"]) == ([0.7, 0.4], [0.1, 0.5], [60, 90])
    assert stroop["overlap"]["selection"]["weight_inside"] == 0.5
    assert stroop["overlap"]["difference"]["weight_inside"] == 0.75
    assert "overlap" not in wager
    arrays = {name: dict(np.load(results / f"maps_{name}.npz")) for name in GROUP_STUDIES}
    assert map_table(arrays).to_numpy().tolist()[:2] == [
        ["drug_stroop", 0, 0, 0, 2, 0, 3],
        ["drug_stroop", 1, 0, 0, -2, 0, 1],
    ]
    assert map_table(arrays).columns.tolist()[4:] == ["selection", "negative", "positive"]


def test_tables_of_scores_name_their_data_set(results):
    splits = pd.read_csv(results / "splits.csv").set_index(["dataset", "method", "split"])["accuracy"]
    assert splits["wager2008_contrasts", "wl_2", 1] == pytest.approx(0.9)
    permuted = pd.read_csv(results / "permuted.csv")
    assert permuted.groupby(["dataset", "selection"]).size().tolist() == [16] * 4


def test_tables_have_our_numbers_next_to_the_published(values):
    heights = height_table(values, KINDS, [54.0, 57.14, 64.28, 63.42]).set_index("maps")
    assert heights.loc["published", "h = 2"] == "64.28"
    assert heights.loc["published", "h chosen inside"] == ""
    assert heights.loc["drug Stroop (simulated)", "h = 0"] == "25.0 ± 0.0"
    assert heights.loc["Wager maps, median split (real)", "h chosen inside"] == "56.7 ± 22.0"
    accuracies = accuracy_table(values, KINDS).set_index(["maps", "method"])
    row = accuracies.loc[("drug Stroop (simulated)", "WL pyramid")]
    error = 100 * np.std(ACCURACIES["wl_pyramid"], ddof=1) / 3**0.5
    assert row.tolist() == pytest.approx([200 / 3, error, 87.5, 50, 1 / 3, 75])
    differences = difference_table(values, KINDS)
    assert differences["compared"].tolist() == [*PAIRS.values()] * 2
    assert differences["better / worse"].tolist()[:4] == ["2 / 1", "2 / 0", "1 / 0", "3 / 0"]
    published = {"voxels": 1100, "features": 600000, "nonzero_share": 0.02, "selected": 2000}
    sizes = size_table(values, KINDS, published)
    assert sizes["non-zero, %"].tolist() == pytest.approx([2.0] + [20.0, 30, 40, 50] * 2)
    assert sizes["voxels"].tolist()[:3] == [1100, 21, 31]
    studies = study_table(values, KINDS)
    assert studies["people"][0] == "1 + 2"
    assert studies["heights chosen"][0] == "0 x h = 0, 1 x h = 1, 2 x h = 2, 0 x h = 3"
    assert studies["permutations"][0] == "2 on 2 splits"


def test_a_single_split_has_no_standard_error():
    splits = score_rows(0.0)
    assert accuracy_summary(splits[splits["split"] == 1])["wl_1"] == {"mean": 75, "standard_error": 0}


def test_methods_and_splits_without_scores_are_refused():
    with pytest.raises(ValueError, match="method 'c' has no scores: expected one of combined, elastic_net"):
        compare_methods(score_rows(0.0), "wl_0", "c", 0.2)
    with pytest.raises(ValueError, match=r"scored on splits \[0, 1\]: expected the first 3"):
        compare_with_permuted(score_rows(0.0), permuted_rows([1]), ["combined"], 3)
