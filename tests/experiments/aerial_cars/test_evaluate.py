"""The evaluation of the aerial cars on three tiny scenes with detections counted by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated, write_json
from reproduction.experiments.aerial_cars.evaluate import (
    curve_table,
    describe_samples,
    describe_scenes,
    describe_selection,
    gain_table,
    main,
    mean_over_scenes,
    scene_table,
)
from reproduction.experiments.aerial_cars.protocol import (
    LATENT,
    LATENT_TITLE,
    METHODS,
    TITLES,
    Frames,
)

#: Frame 0 is of scene b, with one car; frame 1 of scene a, with two cars and a truck; frame 2 of scene c.
CENTERS = ([[30, 30]], [[20, 20], [70, 40], [50, 10]], [[40, 40]])
OTHERS = ([False], [False, False, True], [False])


def detections(seed):
    """Return perfect detections, but for a few of each seed."""
    found = {
        (method, frame): [
            [*center, 1.0] for center, other in zip(CENTERS[frame], OTHERS[frame], strict=True) if not other
        ]
        for method in (*METHODS, LATENT)
        for frame in range(3)
    }
    if seed == 0:
        # Two false positives come before the second car.
        found["linear", 1] = [[20, 20, 4], [85, 5, 3], [5, 55, 2], [70, 40, 1]]
        # The truck is neither right nor wrong.
        found["linear_equivariant", 1] += [[50, 10, 9]]
    else:
        # Too far from the center, but with enough overlap.
        found["slot", 0] = [[41, 30, 1]]
    return pd.DataFrame(
        [(method, frame, *row) for (method, frame), rows in found.items() for row in rows],
        columns=["method", "frame", "x", "y", "score"],
    )


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, settings):
    folder = tmp_path_factory.mktemp("aerial")
    image = np.arange(60 * 90 * 3, dtype=np.uint8).reshape(60, 90, 3)
    Frames(
        (image,) * 3, tuple(map(np.array, CENTERS)), tuple(map(np.array, OTHERS)), np.array(["b", "a", "c"])
    ).save(folder / "frames.npz")
    write_json(folder / "receipt.json", {"kind": "simulated", "folder": "not read"})
    # C = 0.1 is better on the pairs without scene a, and 0.3 on the others.
    pairs = [
        ("b", "c", 0.1),
        ("c", "b", 0.1),
        ("a", "c", 0.3),
        ("c", "a", 0.3),
        ("a", "b", 0.3),
        ("b", "a", 0.3),
    ]
    pd.DataFrame(
        [
            {"method": method, "price": C, "train": train, "test": test, "ap": 0.9 if best == C else 0.2}
            for method in METHODS
            for train, test, best in pairs
            for C in (0.1, 0.3)
        ]
    ).to_csv(folder / "validated.csv", index=False)
    names = {"detections": [], "training": [], "timings": []}
    for seed in range(2):
        table = detections(seed)
        for fold, frame in enumerate((1, 0, 2)):
            for name in ("detections", "training", "timings"):
                names[name].append(str(folder / f"{name}_{seed}_{fold}"))
            table[table["frame"] == frame].to_csv(names["detections"][-1], index=False)
            pd.DataFrame(
                [
                    {
                        "method": m,
                        "gap": 0.01 * seed + 0.001 * fold,
                        "samples": 10,
                        "virtual_samples": 20 * seed + 10,
                    }
                    for m in (*METHODS, LATENT)
                ]
            ).to_csv(names["training"][-1], index=False)
            seconds = {method: float(seed) for method in (*METHODS, LATENT)}
            seconds |= {"latent_detection": 6.0 + 6.0 * seed, "plain_detection": 3.0}
            seconds |= {"gaussian_scores": 5.0, "slot_scores": 1.0 + seed}
            write_json(names["timings"][-1], seconds)
    results = folder / "aerial_cars"
    results.mkdir()
    files = ("values.json", "precision.csv", "rates.csv", "prices.csv", "examples.npz")
    outputs = {name.partition(".")[0]: str(results / name) for name in files}
    inputs = {
        "frames": str(folder / "frames.npz"),
        "receipt": str(folder / "receipt.json"),
        "validated": str(folder / "validated.csv"),
        **names,
    }
    main(inputs, outputs, seeds=2, settings=settings)
    return outputs


@pytest.fixture(scope="module")
def values(outputs):
    results = read_results(outputs["values"].removesuffix("/values.json"))
    assert results["datasets"] == {"kit_ais_cars": "simulated"}
    training = {f"{method}_training_seconds": 0.5 for method in (*METHODS, LATENT)}
    ratios = {"latent_detection_ratio": 3.0, "gaussian_over_slot": pytest.approx(10 / 3)}
    assert results["timings"] == training | ratios  # (6 + 12) / (3 + 3) and (5 + 5) / (1 + 2)
    return results["values"]


def test_average_precision_by_scene_seed_and_criterion(values):
    perfect = repeated([100, 100])
    scenes = {scene: dict.fromkeys((*METHODS, LATENT), perfect) for scene in "abc"}
    scenes["a"] = scenes["a"] | {"linear": repeated([75, 100])}  # (1 + 1/2) / 2
    assert values["ap_pascal_by_scene"] == scenes
    scenes["b"] = scenes["b"] | {"slot": repeated([100, 0])}
    assert values["ap_by_scene"] == scenes


def test_means_over_seeds_and_gains_paired_by_scene(values):
    def close(measured, expected):
        assert measured["unit"] == "scene"
        assert measured["repeats"] == pytest.approx(expected)

    close(values["ap"]["linear"], [87.5, 100, 100])
    close(values["ap"]["slot"], [100, 50, 100])
    close(values["ap_pascal"]["slot"], [100, 100, 100])
    close(values["ap_gain"]["slot"], [12.5, -50, 0])
    close(values["ap_gain"]["linear_equivariant"], [12.5, 0, 0])
    close(values["ap_pascal_gain"]["slot"], [12.5, 0, 0])
    assert list(values["ap_gain"]) == list(METHODS)[1:]


def test_recall_at_reported_rates(values):
    assert values["told_rates"] == [1, 5, 10]
    assert values["recall_at_rates"]["linear"] == pytest.approx([5.5 / 6, 1, 1])
    assert values["recall_at_rates"]["slot"] == pytest.approx([5 / 6] * 3)


def test_selected_C_and_training(values):
    assert values["price"] == {method: {"a": 0.1, "b": 0.3, "c": 0.3} for method in METHODS}
    assert values["samples"] == dict.fromkeys((*METHODS, LATENT), 10)
    assert values["virtual_share"] == dict.fromkeys((*METHODS, LATENT), 2.0)
    assert values["largest_gap"] == pytest.approx(0.012)
    assert (values["seeds"], values["scenes"]) == (2, ["a", "b", "c"])
    assert values["frames"] == {"a": 1, "b": 1, "c": 1}
    assert values["cars"] == {"a": 2, "b": 1, "c": 1}


def test_curves_are_means_over_seeds(outputs):
    def curve(name, scene, method):
        table = pd.read_csv(outputs[name])
        x, y = {"precision": ("recall", "precision"), "rates": ("rate", "recall")}[name]
        rows = table[(table["scene"] == scene) & (table["method"] == method)]
        return lambda at: rows[y].to_numpy()[np.abs(rows[x] - at).argmin()]

    # Of seed 0, precision rises from 1/3 at recall 1/2 to 1/2 at recall 1; that of seed 1 is 1.
    precision = curve("precision", "a", "linear")
    assert [precision(at) for at in (0, 0.25, 0.75, 1)] == pytest.approx([1, 1, (5 / 12 + 1) / 2, 0.75])
    recall = curve("rates", "a", "linear")
    assert [recall(at) for at in (0.1, 100)] == [0.75, 1]
    # Of seed 1, no car is found.
    assert curve("precision", "b", "slot")(1) == 0.5
    assert curve("rates", "b", "slot")(100) == 0.5
    validated = pd.read_csv(outputs["prices"])
    assert list(validated.columns) == ["method", "price", "train", "test", "ap"]
    assert len(validated) == 48


def test_examples_have_the_best_detections_of_the_first_seed(outputs):
    examples = np.load(outputs["examples"])
    assert examples["0_cars"].tolist() == [[20, 20], [70, 40]]
    assert examples["1_cars"].tolist() == [[30, 30]]
    assert examples["0_linear"].tolist() == [[20, 20, 1], [85, 5, 0]]
    # The truck is left out.
    assert examples["0_linear_equivariant"].tolist() == [[20, 20, 1], [70, 40, 1]]
    assert examples["1_slot"].tolist() == [[30, 30, 1]]
    assert examples["2_image"].shape == (60, 90, 3)


def test_tables_have_mean_and_standard_deviation(values):
    table = scene_table(values)
    assert list(table.index) == [*TITLES.values(), LATENT_TITLE]
    assert table.loc["slot"].to_dict() == {
        "a": "100 ± 0",
        "b": "50 ± 71",
        "c": "100 ± 0",
        "mean": "83 (12 to 155)",  # t = 4.303 with two degrees of freedom, standard error 16.7
        "mean, PASCAL": "100 (100 to 100)",
    }
    assert gain_table(values, {"slot": 20}).loc["slot"].to_dict() == {
        "published": "+20",
        "ours": "-12 (-95 to 70)",
        "PASCAL": "4 (-14 to 22)",
        "a": "+12",
        "b": "-50",
        "c": "+0",
    }


def test_samples_and_selection_are_described(values):
    samples = describe_samples(values)
    assert "We have 3 frames with 4 annotated cars" in samples
    assert "All cars in the frames" in samples
    assert "2 to 3 in all, and 6 regions without a car" in samples
    assert "At most 1 cars of each scene" in describe_samples({**values, "max_cars": 1})
    assert values["price_values"] == {key: [0.1, 0.3] for key in METHODS}
    assert len(values["price_at_edge"]) == 12  # of two values each is at the edge
    assert "slot: 0.1 to 0.3 (2 values)" in describe_selection(values)
    assert "slot for a (C = 0.1), slot for b (C = 0.3)" in describe_selection(values)
    inside = describe_selection({**values, "price_at_edge": []})
    assert inside.endswith("No choice is at the edge of its range.")


def test_scenes_are_described(values):
    text = describe_scenes(values)
    assert "- *slot*: -12 points on average (+12 on a, -50 on b, +0 on c)." in text
    assert "Per sample, 2 rotations are the worst at least once" in text


def test_mean_over_scenes_and_joint_table_of_curves():
    precision = pd.DataFrame({"scene": ["a", "b"], "method": "slot", "recall": 0.5, "precision": [0.2, 0.6]})
    rates = pd.DataFrame({"scene": ["a"], "method": "slot", "rate": 5.0, "recall": 0.7})
    assert mean_over_scenes(precision, "recall", "precision")["precision"].tolist() == [0.4]
    assert curve_table(precision, rates).values.tolist() == [
        ["a", "slot", "precision over recall", 0.5, 0.2],
        ["b", "slot", "precision over recall", 0.5, 0.6],
        ["a", "slot", "recall over false positives", 5, 0.7],
    ]
