"""The evaluation of the window cascade: which objects the first windows cover."""

import numpy as np
import pandas as pd
import pytest

from ermlab.detection.boxes import overlap
from reproduction.claims.results import read_results, write_json
from reproduction.experiments.window_cascade.evaluate import (
    area_table,
    covered_by_any,
    difference_table,
    example_detections,
    high_areas,
    main,
    recall_at_levels,
    recall_curves,
)
from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.train import VARIANTS, areas, covered, first_windows
from reproduction.experiments.window_cascade.window_pool import WindowPool


@pytest.fixture
def pool():
    """Two images; the second object of the first is difficult."""
    rng = np.random.default_rng(3)
    corners = rng.integers(0, 30, (40, 2))
    windows = np.hstack([corners, corners + rng.integers(3, 20, (40, 2))])
    truth = np.array([[2, 2, 20, 20], [0, 0, 4, 4], [10, 5, 35, 30]])
    return WindowPool(
        images=np.array([4, 9]),
        starts=np.array([0, 15, 40]),
        windows=windows.astype(np.int32),
        cues=rng.random((40, 2)).astype(np.float32),
        truth_starts=np.array([0, 2, 3]),
        truth=truth.astype(np.int32),
        truth_cues=np.ones((3, 2), dtype=np.float32),
        difficult=np.array([False, True, False]),
        reachable=np.zeros((3, 3)),
    )


def test_objects_that_count_are_judged_by_the_first_windows_of_their_own_image(pool):
    scores = np.random.default_rng(0).random(40)
    found = covered(pool, scores, counts=(1, 4))
    assert found.shape == (2, 2)
    for row, (image, box) in enumerate(((0, pool.truth[0]), (1, pool.truth[2]))):
        chosen = first_windows(pool, scores)[image]
        for column, count in enumerate((1, 4)):
            assert found[row, column] == overlap([box], chosen[:count]).max()


def test_first_windows_are_in_order_of_score_and_do_not_repeat_each_other(pool):
    scores = np.random.default_rng(1).random(40)
    for i, chosen in enumerate(first_windows(pool, scores)):
        here = pool.windows[pool.rows(i)]
        assert chosen[0].tolist() == here[scores[pool.rows(i)].argmax()].tolist()
        between = overlap(chosen, chosen)
        assert between[~np.eye(len(chosen), dtype=bool)].max() <= 0.75


def test_no_order_covers_more_than_all_windows(pool):
    best = covered_by_any(pool)
    assert best.shape == (2,)
    by_loss = covered(pool, -pool.losses(), counts=(1,))[:, 0]
    # The second image has one object: its best window is the one of lowest loss.
    assert by_loss[1] == best[1]
    assert (by_loss <= best).all()


def test_areas_of_columns():
    # Overlaps of .75 and .5 leave half and nothing of the range from .5 to 1.
    assert areas(np.array([[0.75, 1.0], [0.5, 1.0]])).tolist() == [0.25, 1.0]


def test_areas_and_recalls_above_an_overlap():
    overlaps = np.array([[0.65, 1.0], [0.8, 0.75]])
    # Overlaps of .8 and .75 leave a fifth and nothing of the range from .75 to 1.
    assert high_areas(overlaps).tolist() == pytest.approx([0.1, 0.5])
    assert recall_at_levels(overlaps).tolist() == [1, 1, 0.5, 0.5, 0]


def test_examples_show_the_window_that_overlaps_most(pool):
    scores = np.random.default_rng(2).random(40)
    table = example_detections(pool, scores)
    assert table["image"].tolist() == [4, 4, 4, 9, 9, 9]
    assert table["windows"].tolist() == [10, 100, 1000] * 2
    for row in table.itertuples():
        box = [row.object_left, row.object_top, row.object_right, row.object_bottom]
        window = [row.window_left, row.window_top, row.window_right, row.window_bottom]
        assert overlap([box], [window])[0, 0] == row.overlap
    np.testing.assert_array_equal(table["overlap"].to_numpy().reshape(2, 3), covered(pool, scores))


def test_area_table_summarises_the_splits():
    def per_seed(*values):
        return {"repeats": list(values)}

    values = {
        "auc": {"sosvm": [per_seed(0.1, 0.3), per_seed(0.2, 0.2), per_seed(0.5, 0.5)]},
        "auc_chance": [per_seed(0.0, 0.0)] * 3,
        "auc_all": per_seed(0.6, 0.6),
    }
    table = area_table(values)
    assert table["variant"].tolist() == ["sosvm"] * 3 + ["chance"] * 3 + ["all"] * 3
    assert table["mean"].tolist() == pytest.approx([0.2, 0.2, 0.5, 0, 0, 0, 0.6, 0.6, 0.6])
    assert table["sd"].iloc[0] == pytest.approx(np.sqrt(0.02))


def test_scores_must_fit_the_windows(pool):
    with pytest.raises(ValueError, match=r"scores has shape \(3,\)"):
        covered(pool, [1, 2, 3])


def test_differences_are_taken_split_by_split():
    def items(*rows):
        return [{"repeats": list(row)} for row in rows]

    values = {
        "auc": {
            "sosvm": items((0.1, 0.5), (0.2, 0.2), (0.0, 0.0)),
            "star_slack": items((0.2, 0.6), (0.2, 0.4), (0.0, 0.0)),
        }
    }
    table = difference_table(values, "sosvm")
    assert table.index.tolist() == ["star, slack"]
    assert table.loc["star, slack"].tolist() == ["+0.100 ± 0.000", "+0.100 ± 0.141", "+0.000 ± 0.000"]


def test_recall_curves_are_means_over_the_splits():
    # Of two objects in the first split one reaches .6, of one object in the second none.
    overlaps = [{"sosvm": np.array([[0.6] * 3, [0.4] * 3])}, {"sosvm": np.array([[0.5, 0.5, 1.0]])}]
    curves = recall_curves(overlaps).set_index(["variant", "windows", "overlap"])
    assert curves.loc[("sosvm", 10, 0.5), "recall"] == (0.5 + 1) / 2
    assert curves.loc[("sosvm", 10, 0.5), "recall_sd"] == pytest.approx(np.sqrt(0.125))
    assert curves.loc[("sosvm", 10, 0.51), "recall"] == 0.25
    assert curves.loc[("sosvm", 1000, 1.0), "recall"] == 0.5


def small_pool(image, difficult):
    """Return a pool of two objects and twelve windows, with their numbers as the first cue, the others 0.

    The windows are the first object, the right half of the second (overlap .5), and ten far away.
    """
    cues = np.zeros((12, len(CUES)), dtype=np.float32)
    cues[:, 0] = range(12)
    far = [[80 + 10 * k, 80, 89 + 10 * k, 89] for k in range(10)]
    return WindowPool(
        images=np.array([image]),
        starts=np.array([0, 12]),
        windows=np.array([[0, 0, 9, 9], [30, 0, 39, 9], *far], dtype=np.int32),
        cues=cues,
        truth_starts=np.array([0, 2]),
        truth=np.array([[0, 0, 9, 9], [20, 0, 39, 9]], dtype=np.int32),
        truth_cues=np.zeros((2, len(CUES)), dtype=np.float32),
        difficult=np.array([False, difficult]),
        reachable=np.array([[0.6, 0.7, 0.8], [0.1, 0.5, 0.9]]),
    )


@pytest.fixture
def results(tmp_path):
    """Two splits with one test image each; the complete graph with slack alone ranks windows as numbered."""
    inputs = {"tests": [], "models": [], "receipt": str(tmp_path / "receipt.json")}
    write_json(inputs["receipt"], {"kind": "real"})
    for split, image in enumerate((7, 5)):
        inputs["tests"].append(str(tmp_path / f"test_{split}.npz"))
        small_pool(image, difficult=split == 1).write(inputs["tests"][-1])
        variants = {
            name: {
                "C": 10.0 + split,
                "weights": [-1.0 if name == "complete_slack" else 1.0] + [0.0] * 5,
                "weights_in_deviations": [float(k + split) for k in range(6)],
            }
            for name in VARIANTS
        }
        model = {"images": 3, "samples": 40, "share_of_misses": 0.1 + split / 10, "variants": variants}
        inputs["models"].append(str(tmp_path / f"model_{split}.json"))
        write_json(inputs["models"][-1], model)
    inputs["pictures"] = str(tmp_path / "pictures.npz")
    np.savez(inputs["pictures"], **{"7": np.ones((2, 2, 3), dtype=np.uint8)})
    outputs = {name: str(tmp_path / f"results/{name}.csv") for name in ("curves", "weights", "examples")}
    outputs["values"] = str(tmp_path / "results/values.json")
    outputs["pictures"] = str(tmp_path / "results/pictures.npz")
    main(inputs, outputs, seed=0)
    return tmp_path / "results"


def test_areas_of_variants_and_splits(results):
    document = read_results(results)
    values = document["values"]
    assert document["datasets"] == {"voc2007_sample": "real"}
    best, other = (values["auc"][name] for name in ("complete_slack", "sosvm"))
    # First split: one of two objects is covered exactly, the other at .5, where the area begins.
    # Second split: the second object is difficult and does not count.
    assert [item["repeats"] for item in best] == [[0.5, 1], [0.5, 1], [0.5, 1]]
    # In the opposite order both objects come after ten other windows.
    assert [item["repeats"] for item in other] == [[0, 0], [0.5, 1], [0.5, 1]]
    # Both splits have one test image, and three images in training.
    assert best[0] == {"repeats": [0.5, 1], "unit": "split", "test_over_train": pytest.approx(1 / 3)}
    assert [item["repeats"] for item in values["auc_high"]["complete_slack"]] == [[0.5, 1]] * 3
    # At an overlap of .5 both objects of the first split are found among 10 windows, above it one.
    found = [item["repeats"] for item in values["recall_at_10"]["complete_slack"]]
    assert found == [[1, 1], [0.5, 1], [0.5, 1], [0.5, 1], [0.5, 1]]
    # Among 10 windows the other graphs find nothing.
    assert [item["repeats"] for item in values["complete_over_best"]] == [[1, 1]] * 3
    assert [item["repeats"] for item in values["bipartite_over_best"]] == [[0, 0], [1, 1], [1, 1]]
    assert values["auc_all"]["repeats"] == [0.5, 1]
    assert values["auc_chance"][2]["repeats"] == [0.5, 1]


def test_counts_and_reachable_objects(results):
    values = read_results(results)["values"]
    assert values["initial_recall"]["repeats"] == [1, 1]
    assert [item["repeats"] for item in values["initial_recall_by_count"]] == [[0.5, 1], [1, 1], [1, 1]]
    assert values["initial_counts"] == [1000, 10000, 100000]
    assert values["test_objects"]["repeats"] == [2, 1]
    assert values["share_of_misses"]["repeats"] == pytest.approx([0.1, 0.2])
    counts = ("splits", "train_images", "test_images", "windows_per_image", "train_samples")
    assert [values[name] for name in counts] == [2, 3, 1, 12, 40]


def test_tables_of_weights_and_examples(results):
    weights = pd.read_csv(results / "weights.csv")
    assert weights.columns.tolist() == ["split", "variant", "C", *CUES]
    assert weights.iloc[-1].tolist() == [1, "sosvm", 11, 1, 2, 3, 4, 5, 6]
    examples = pd.read_csv(results / "examples.csv")
    assert examples["image"].tolist() == [7] * 6
    assert examples["windows"].tolist() == [10, 100, 1000] * 2
    assert examples["overlap"].tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    second = examples.iloc[4]
    assert second.filter(like="object_").tolist() == [20, 0, 39, 9]
    assert second.filter(like="window_").tolist() == [30, 0, 39, 9]
    assert (results / "pictures.npz").read_bytes() == (results.parent / "pictures.npz").read_bytes()
