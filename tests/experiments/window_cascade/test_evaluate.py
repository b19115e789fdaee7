"""The evaluation of the window cascade: which objects the first windows cover."""

import numpy as np
import pandas as pd
import pytest

from ermlab.detection.boxes import overlap
from reproduction.claims.results import read_results, write_json
from reproduction.experiments.window_cascade.evaluate import (
    ObjectsOfImages,
    area_table,
    covered_by_any,
    difference_table,
    example_detections,
    found_at_levels,
    main,
    mean_directions,
    parts_of_area,
    parts_of_high_area,
    recall_curves,
    setting_table,
    share_at_edge,
)
from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.train import (
    VARIANTS,
    areas,
    covered,
    first_windows,
    rank_windows,
)
from reproduction.experiments.window_cascade.window_pool import WindowPool

SUPPRESSION = (0.3, 0.6, 0.8)


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
    found = covered(pool, scores, SUPPRESSION)
    assert found.shape == (2, 3)
    for row, (image, box) in enumerate(((0, pool.truth[0]), (1, pool.truth[2]))):
        ranked = rank_windows(pool, scores)[image]
        for column, count in enumerate((10, 100, 1000)):
            chosen = first_windows(ranked, count, SUPPRESSION[column])
            assert found[row, column] == overlap([box], chosen).max()


@pytest.mark.parametrize("max_overlap", [0.3, 0.75])
def test_first_windows_are_in_order_of_score_and_do_not_repeat_each_other(pool, max_overlap):
    scores = np.random.default_rng(1).random(40)
    for i, ranked in enumerate(rank_windows(pool, scores)):
        here = pool.windows[pool.rows(i)]
        assert ranked.tolist() == here[np.argsort(-scores[pool.rows(i)])].tolist()
        chosen = first_windows(ranked, 8, max_overlap)
        assert chosen[0].tolist() == ranked[0].tolist()
        between = overlap(chosen, chosen)
        assert between[~np.eye(len(chosen), dtype=bool)].max() <= max_overlap


def test_no_order_covers_more_than_all_windows(pool):
    best = covered_by_any(pool)
    assert best.shape == (2,)
    by_loss = covered(pool, -pool.losses(), SUPPRESSION)[:, 0]
    # The second image has one object: its best window is the one of lowest loss.
    assert by_loss[1] == best[1]
    assert (by_loss <= best).all()


def test_areas_of_columns():
    # Overlaps of .75 and .5 leave half and nothing of the range from .5 to 1.
    assert areas(np.array([[0.75, 1.0], [0.5, 1.0]])).tolist() == [0.25, 1.0]


def test_areas_and_recalls_are_means_over_objects():
    overlaps = np.array([[0.65, 1.0], [0.8, 0.75]])
    np.testing.assert_allclose(parts_of_area(overlaps).mean(axis=0), areas(overlaps))
    # Overlaps of .8 and .75 leave a fifth and nothing of the range from .75 to 1.
    np.testing.assert_allclose(parts_of_high_area(overlaps), [[0, 1], [0.2, 0]])
    assert found_at_levels(overlaps).mean(axis=0).tolist() == [1, 1, 0.5, 0.5, 0]


def test_the_spread_over_images_is_that_of_resampled_images():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, 300)
    # Objects of one image are alike, and those of images with many objects are smaller.
    values = np.repeat(rng.random(300), counts) / np.repeat(np.maximum(counts, 1), counts)
    images = ObjectsOfImages(counts)
    (result,) = images.means(values[:, None])
    of_images = np.array(result["repeats"])
    assert result["unit"] == "image"
    assert of_images.mean() == pytest.approx(values.mean(), abs=1e-4)
    resamples = rng.multinomial(300, np.full(300, 1 / 300), size=4000)
    means = (resamples @ images.sums(values)) / (resamples @ counts)
    assert of_images.std(ddof=1) / np.sqrt(300) == pytest.approx(means.std(), rel=0.05)


def test_examples_show_the_window_that_overlaps_most(pool):
    scores = np.random.default_rng(2).random(40)
    table = example_detections(pool, scores, SUPPRESSION)
    assert table["image"].tolist() == [4, 4, 4, 9, 9, 9]
    assert table["windows"].tolist() == [10, 100, 1000] * 2
    for row in table.itertuples():
        box = [row.object_left, row.object_top, row.object_right, row.object_bottom]
        window = [row.window_left, row.window_top, row.window_right, row.window_bottom]
        assert overlap([box], [window])[0, 0] == row.overlap
    np.testing.assert_array_equal(
        table["overlap"].to_numpy().reshape(2, 3), covered(pool, scores, SUPPRESSION)
    )


def test_area_table_summarizes_the_images():
    def of_images(*values):
        return {"repeats": list(values)}

    values = {
        "auc": {"sosvm": [of_images(0.1, 0.3), of_images(0.2, 0.2), of_images(0.5, 0.5)]},
        "auc_chance": [of_images(0.0, 0.0)] * 3,
        "auc_all": of_images(0.6, 0.6),
    }
    table = area_table(values)
    assert table["variant"].tolist() == ["sosvm"] * 3 + ["chance"] * 3 + ["all"] * 3
    assert table["mean"].tolist() == pytest.approx([0.2, 0.2, 0.5, 0, 0, 0, 0.6, 0.6, 0.6])
    assert table["se"].iloc[0] == pytest.approx(0.1)


def test_scores_must_fit_the_windows(pool):
    with pytest.raises(ValueError, match=r"scores has shape \(3,\)"):
        covered(pool, [1, 2, 3], SUPPRESSION)


def test_differences_are_taken_image_by_image():
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
    assert table.loc["star, slack"].tolist() == ["+0.100 ± 0.000", "+0.100 ± 0.100", "+0.000 ± 0.000"]


def test_recall_curves_are_those_of_all_objects():
    curves = recall_curves({"sosvm": np.array([[0.6] * 3, [0.4] * 3, [0.5, 0.5, 1.0]])})
    recall = curves.set_index(["variant", "windows", "overlap"])["recall"]
    assert recall.loc[("sosvm", 10, 0.5)] == pytest.approx(2 / 3)
    assert recall.loc[("sosvm", 10, 0.51)] == pytest.approx(1 / 3)
    assert recall.loc[("sosvm", 1000, 1.0)] == pytest.approx(1 / 3)


def test_settings_at_the_edge_and_the_table_of_settings():
    chosen = [([0.3, 0.5, 0.9], 1.0), ([0.3, 0.5, 0.7], 1e4), ([0.4, 0.5, 0.9], 1.0), ([0.3, 0.5, 0.9], 0.01)]
    variants = [{"suppression": suppression, "C": C} for suppression, C in chosen]
    found = share_at_edge([{"variants": dict(enumerate(pair))} for pair in (variants[:2], variants[2:])])
    assert found["suppression"].tolist() == [0.75, 0, 0.75]
    assert found["C"] == 0.25
    columns = [f"suppression_{count}" for count in (10, 100, 1000)]
    rows = [("sosvm", 100, 0.3, 0.5, 0.8, 3.0, 4.0), ("sosvm", 1, 0.3, 0.4, 0.8, 0.0, -2.0)]
    weights = pd.DataFrame(rows, columns=["variant", "C", *columns, *CUES[:2]]).assign(
        **dict.fromkeys(CUES[2:], 0.0)
    )
    assert setting_table(weights).loc["structured SVM"].tolist() == ["1, 100", "0.3", "0.4, 0.5", "0.8"]
    assert mean_directions(weights).loc["sosvm"].tolist() == pytest.approx([0.3, -0.1, 0, 0, 0, 0])


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
    for fold, image in enumerate((7, 5)):
        inputs["tests"].append(str(tmp_path / f"test_{fold}.npz"))
        small_pool(image, difficult=fold == 1).write(inputs["tests"][-1])
        variants = {
            name: {
                "C": 10.0 + fold,
                "suppression": [0.5, 0.5, 0.9],
                "weights": [-1.0 if name == "complete_slack" else 1.0] + [0.0] * 5,
                "weights_in_deviations": [float(k + fold) for k in range(6)],
            }
            for name in VARIANTS
        }
        model = {
            "images": 3,
            "samples": 40,
            "share_of_misses": 0.1 + fold / 10,
            "variants": variants,
            "chance_suppression": [0.5, 0.5, 0.5],
        }
        inputs["models"].append(str(tmp_path / f"model_{fold}.json"))
        write_json(inputs["models"][-1], model)
    inputs["pictures"] = str(tmp_path / "pictures.npz")
    np.savez(inputs["pictures"], **{"7": np.ones((2, 2, 3), dtype=np.uint8)})
    outputs = {name: str(tmp_path / f"results/{name}.csv") for name in ("curves", "weights", "examples")}
    outputs["values"] = str(tmp_path / "results/values.json")
    outputs["pictures"] = str(tmp_path / "results/pictures.npz")
    main(inputs, outputs, seed=0)
    return tmp_path / "results"


def mean(result):
    assert result["unit"] == "image"
    assert len(result["repeats"]) == 2
    return np.mean(result["repeats"])


def test_areas_of_variants(results):
    document = read_results(results)
    values = document["values"]
    assert document["datasets"] == {"voc2007_sample": "real"}
    best, other = (values["auc"][name] for name in ("complete_slack", "sosvm"))
    # First image: one of two objects is covered exactly, the other at .5, where the area begins.
    # Second image: the second object is difficult and does not count.
    assert [mean(item) for item in best] == pytest.approx([2 / 3] * 3, abs=1e-4)
    # The second image has 1 of 3 objects, with an area of 1 instead of 2 / 3: 2 / 3 + (1 - 2 / 3) 2 / 3.
    assert best[0]["repeats"] == pytest.approx([4 / 9, 8 / 9], abs=1e-4)
    # In the opposite order both objects come after ten other windows.
    assert [mean(item) for item in other] == pytest.approx([0, 2 / 3, 2 / 3], abs=1e-4)
    assert [mean(item) for item in values["auc_high"]["complete_slack"]] == pytest.approx(
        [2 / 3] * 3, abs=1e-4
    )
    # At an overlap of .5 all objects are found among 10 windows, above it two of three.
    found = [mean(item) for item in values["recall_at_10"]["complete_slack"]]
    assert found == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3, 2 / 3], abs=1e-4)
    # Among 10 windows the other graphs find nothing.
    complete, bipartite = values["complete_over_best"], values["bipartite_over_best"]
    assert [item["value"] for item in complete] == [1, 1, 1]
    assert [item["value"] for item in bipartite] == [0, 1, 1]
    assert set(bipartite[0]["draws"]) == {0}
    assert (bipartite[0]["unit"], bipartite[0]["n"], len(bipartite[0]["draws"])) == ("image", 2, 500)
    assert mean(values["auc_all"]) == pytest.approx(2 / 3, abs=1e-4)
    assert mean(values["auc_chance"][2]) == pytest.approx(2 / 3, abs=1e-4)


def test_counts_and_reachable_objects(results):
    values = read_results(results)["values"]
    assert mean(values["initial_recall"]) == 1
    reached = [mean(item) for item in values["initial_recall_by_count"]]
    assert reached == pytest.approx([2 / 3, 1, 1], abs=1e-4)
    assert values["initial_counts"] == [1000, 10000, 100000]
    assert values["share_of_misses"] == pytest.approx(0.15)
    assert values["at_edge"] == {"suppression": [0, 0, 1], "C": 0}
    counts = ("folds", "train_images", "test_images", "test_objects", "windows_per_image", "train_samples")
    assert [values[name] for name in counts] == [2, 3, 2, 3, 12, 40]


def test_tables_of_weights_and_examples(results):
    weights = pd.read_csv(results / "weights.csv")
    chosen = ["suppression_10", "suppression_100", "suppression_1000"]
    assert weights.columns.tolist() == ["fold", "variant", "C", *chosen, *CUES]
    assert weights.iloc[-1].tolist() == [1, "sosvm", 11, 0.5, 0.5, 0.9, 1, 2, 3, 4, 5, 6]
    examples = pd.read_csv(results / "examples.csv")
    assert examples["image"].tolist() == [7] * 6
    assert examples["windows"].tolist() == [10, 100, 1000] * 2
    assert examples["overlap"].tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    second = examples.iloc[4]
    assert second.filter(like="object_").tolist() == [20, 0, 39, 9]
    assert second.filter(like="window_").tolist() == [30, 0, 39, 9]
    assert (results / "pictures.npz").read_bytes() == (results.parent / "pictures.npz").read_bytes()
