"""The evaluation of section 3.1 on detections small enough to count."""

import json

import numpy as np
import pandas as pd
import pytest

from ermlab.metrics.detection import DetectionCurve
from reproduction.claims.results import read_results
from reproduction.experiments.joint_kernel_support.evaluate import (
    error_table,
    example_boxes,
    locations,
    main,
    precise_share,
)
from reproduction.experiments.joint_kernel_support.protocol import METHODS, READINGS, SIDES

#: Cars of two test images.
CARS = [[[0, 0, 39, 19]], [[10, 10, 49, 29], [60, 10, 99, 29]]]
SHAPES = [(40, 60), (40, 60)]
MISS = [200, 200, 239, 219]
#: Overlaps the first car by 30 x 18 / (1600 - 540) = .51, but its corner is not in the ellipse of 10 x 5.
BESIDE = [10, 2, 49, 21]


@pytest.fixture
def folder(tmp_path):
    """The files of two seeds; with the second all detections are misses, but for the clean structured SVM.

    With windows of known size everything is found, and other parameters are chosen.
    """
    perfect = [(0, CARS[0][0], 3.0), (1, CARS[1][0], 2.0), (1, CARS[1][1], 1.0)]
    partly = [(0, BESIDE, 2.5), (0, MISS, 3.0), (1, MISS, 0.5), (1, CARS[1][0], 4.0)]
    missed = [(0, MISS, 1.0), (1, MISS, 2.0)]
    for seed in (0, 1):
        rows = []
        for method in METHODS:
            for r in (0.0, 1.0):
                first = perfect if (method, r) == ("ssvm", 0.0) else partly
                found = first if seed == 0 or first is perfect else missed
                rows += [("free", method, r, image, *box, score) for image, box, score in found]
                rows += [("known", method, r, image, *box, score) for image, box, score in perfect]
        columns = ["reading", "method", "noise", "image", *SIDES, "score"]
        pd.DataFrame(rows, columns=columns).to_csv(tmp_path / f"detections_{seed}", index=False)
        choices = [
            (
                reading,
                method,
                r,
                10 * m + number + seed / 10,
                0.5 + number / 10,
                number == chosen,
                100 * chosen + m,
            )
            for reading, chosen in (("free", 1), ("known", 2))
            for m, method in enumerate(METHODS)
            for r in (0.0, 1.0)
            for number in (0, 1, 2)
        ]
        columns = ["reading", "method", "noise", "parameter", "area", "chosen", "searches"]
        pd.DataFrame(choices, columns=columns).to_csv(tmp_path / f"choices_{seed}", index=False)
        labels = [(0.0, 0, 1, 2, 3, 4, 1.0), (0.0, 1, 1, 2, 3, 4, 0.5), (1.0, 0, 5, 6, 7, 8, 0.6)]
        labels += [(1.0, 1, 9, 9, 9, 9, 0.4 - seed / 10)] * 3
        columns = ["noise", "image", *SIDES, "overlap"]
        pd.DataFrame(labels, columns=columns).to_csv(tmp_path / f"labels_{seed}", index=False)
        timings = [
            {
                "reading": reading,
                "method": method,
                "noise": 0,
                "seconds": 4.0 + m + seed,
                "search_seconds": 1.0 + seed,
                "windows": windows,
            }
            for reading, windows in (("free", 50), ("known", 9))
            for m, method in enumerate(METHODS)
        ]
        (tmp_path / f"timings_{seed}").write_text(json.dumps(timings))
    scenes = {
        "train": {"boxes": [[[1, 2, 3, 4]], []]},
        "test": {"boxes": CARS, "shapes": SHAPES},
        "crops": 7,
    }
    (tmp_path / "choice").write_text(json.dumps({reading: {"max_overlap": 0.1} for reading in READINGS}))
    (tmp_path / "scenes").write_text(json.dumps(scenes))
    (tmp_path / "receipt").write_text(json.dumps({"kind": "simulated"}))
    pictures = {"train_0": np.full((2, 3), 5), "test_1": np.full((4, 5), 6), "test_0": np.full((4, 5), 7)}
    np.savez(tmp_path / "pictures.npz", **pictures)
    for name in ("variants", "validated"):
        (tmp_path / name).write_text(f"{name}\n1.5\n")
    return tmp_path


@pytest.fixture
def results(folder):
    by_seed = ("detections", "choices", "labels", "timings")
    inputs = {name: [str(folder / f"{name}_{seed}") for seed in (0, 1)] for name in by_seed}
    inputs |= {name: str(folder / name) for name in ("scenes", "receipt", "choice", "variants", "validated")}
    outputs = {"values": str(folder / "results/values.json"), "examples": str(folder / "examples.npz")}
    outputs |= {name: str(folder / f"{name}.csv") for name in ("curves", "variants", "validated")}
    main(inputs | {"pictures": str(folder / "pictures.npz")}, outputs, step=4, stride=5, scales=[1, 2])
    return read_results(folder / "results")


def test_errors_of_methods_noise_levels_and_seeds(results):
    values = results["values"]
    assert values["noise"] == [0, 1]
    assert values["seeds"] == 2
    # In order of score: a car, a miss, a car, a miss. Precision and recall are 2 of 3 at the third.
    for method in METHODS:
        clean, noisy = values["eer"][method]
        assert clean["repeats"] == pytest.approx([0, 0] if method == "ssvm" else [1 / 3, 1])
        assert noisy["repeats"] == pytest.approx([1 / 3, 1])
    assert values["recall_reached"]["jkse_chi2"][0]["repeats"] == pytest.approx([2 / 3, 0])
    assert values["recall_reached"]["ssvm"][0]["repeats"] == [1, 1]
    # The precision of the first seed is never below one half, and that of the second is 0.
    assert values["precise_share"]["jkse_chi2"][1]["repeats"] == [1, 0]
    assert values["precise_share"]["ssvm"][0]["repeats"] == [1, 1]
    # By the rule of the ellipse the first is the only car: precision and recall are 1 of 3 at the third.
    assert values["eer_ellipse"]["jkse_linear"][1]["repeats"] == pytest.approx([2 / 3, 1])


def test_share_of_recalls_with_a_high_precision():
    unused = np.zeros(3)
    curve = DetectionCurve(unused, np.array([1, 0.5, 0.35]), np.array([0.1, 0.2, 0.3]), unused)
    # Precision is above .4 up to a recall of .2667: at 27 of the 51 levels from 0 to .5.
    assert precise_share(curve) == pytest.approx(27 / 51)


def test_chosen_parameters_labels_and_counts(results):
    values = results["values"]
    assert values["parameter"]["jkse_linear"][1]["repeats"] == pytest.approx([11, 11.1])
    assert values["area"]["ssvm"][0]["repeats"] == [0.6, 0.6]
    assert values["area_spread"]["ssvm"][0]["repeats"] == pytest.approx([0.2, 0.2])
    assert values["map_calls"][1]["repeats"] == [100, 100]
    # 100 calls for three values of C, at each of two noise levels.
    assert values["map_calls_per_training"]["repeats"] == pytest.approx([100 / 3, 100 / 3])
    # The second of three values is not at an end of the grid.
    assert set(values["at_edge"].values()) == {0}
    assert [item["repeats"] for item in values["labels_on_a_car"]] == [[1, 1], [0.25, 0.25]]
    assert (values["train_images"], values["train_cars"]) == (2, 1)
    assert (values["test_images"], values["test_cars"], values["crops"]) == (2, 3, 7)
    assert results["datasets"] == {"uiuc_cars": "simulated"}
    timings = {"map_share": 3 / 9, "ssvm_training_seconds": 5, "jkse_training_seconds": 7}
    timings["map_call_seconds"] = 3 / 400  # 100 calls for each of two seeds and two noise levels
    known = results["timings"].pop("known_size")
    assert results["timings"] == pytest.approx(timings)
    assert known == pytest.approx(timings | {"map_call_seconds": 3 / 800})


def test_windows_of_known_size_have_results_of_their_own(results):
    values = results["values"]["known_size"]
    for method in METHODS:
        assert [item["repeats"] for item in values["eer"][method]] == [[0, 0], [0, 0]]
    assert values["parameter"]["jkse_linear"][1]["repeats"] == pytest.approx([12, 12.1])
    assert values["map_calls"][1]["repeats"] == [200, 200]
    # The last value was always chosen.
    assert set(values["at_edge"].values()) == {1}


def test_numbers_of_boxes(results):
    # In 3 x 2 pixels: 2 x 2 boxes of 2 x 1, and 6 x 3 of any size; on a grid of 3 pixels there is none.
    cars = [np.array([[0, 0, 1, 0]])]
    assert locations([(2, 3)], cars, 1) == {"known_size": 4, "all_on_a_grid": 18, "all": 18}
    assert locations([(2, 3)], cars, 3)["all_on_a_grid"] == 0
    found = results["values"]["locations"]
    assert found["searched"] == {"free": 50, "known": 9}
    # Two images of 60 x 40 pixels, on a grid of 20 pixels: 6 x 3 boxes; 21 x 21 have the size of the cars.
    assert (found["all_on_a_grid"], found["known_size"]) == (18, 441)


def test_curves_are_means_over_the_recalls_that_all_seeds_reach(results, folder):
    curves = pd.read_csv(folder / "curves.csv").set_index(["reading", "method", "noise"]).sort_index()
    assert (curves.loc["known", "precision"] == 1).all()
    curves = curves.loc["free"]
    assert (curves.loc[("ssvm", 0.0), "precision"] == 1).all()
    assert curves.loc[("ssvm", 0.0), "recall"].tolist() == pytest.approx(np.linspace(0, 1, 101).tolist())
    # The second seed never reaches a recall above 0, where its precision is 0 and that of the first is 1.
    noisy = curves.loc[[("ssvm", 1.0)]]
    assert (noisy["recall"].tolist(), noisy["precision"].tolist()) == ([0], [0.5])
    assert (folder / "variants.csv").read_text() == "variants\n1.5\n"
    assert (folder / "validated.csv").read_text() == "validated\n1.5\n"


def test_examples_have_the_best_detections_as_many_as_cars(results, folder):
    examples = dict(np.load(folder / "examples.npz"))
    assert list(examples)[:3] == ["train_0_image", "train_0_cars", "train_0_swapped"]
    assert examples["train_0_cars"].tolist() == [[1, 2, 3, 4]]
    assert examples["train_0_swapped"].tolist() == [[5, 6, 7, 8]]
    assert examples["test_0_image"][0, 0] == 6
    assert examples["test_0_cars"].tolist() == CARS[1]
    assert examples["test_0_jkse_chi2_1.0"].tolist() == [CARS[1][0], MISS]
    assert examples["test_1_jkse_chi2_1.0"].tolist() == [MISS]
    boxes = example_boxes(examples)
    assert boxes.columns.tolist() == ["image", "kind", *SIDES]
    assert boxes.to_numpy().tolist() == [["train_0", "cars", 1, 2, 3, 4], ["train_0", "swapped", 5, 6, 7, 8]]


def test_the_table_holds_the_errors_beside_the_published(results):
    published = {method: [0.1 * m, 0.1 * m + 0.05] for m, method in enumerate(METHODS)}
    rows = error_table(results["values"], published).set_index(["reading", "method", "noise"])
    assert (rows.xs("known")["here"] == 0).all()
    rows = rows.xs("free")
    assert list(rows.index) == [(method, r) for method in METHODS for r in (0, 1)]
    row = rows.loc[("jkse_linear", 1)]
    assert row["published"] == pytest.approx(0.15)
    assert row["here"] == pytest.approx(2 / 3)
    assert row["sd"] == pytest.approx(np.sqrt(2) / 3)
    assert row["ellipse"] == pytest.approx(5 / 6)
    assert row["recall_reached"] == pytest.approx(1 / 3)
    assert row["parameter"] == pytest.approx(11.05)
    assert row["area_on_crops"] == pytest.approx(0.6)
