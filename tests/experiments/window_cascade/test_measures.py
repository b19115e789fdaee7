"""Which objects the first windows of a cascade cover."""

import numpy as np
import pytest

from ermlab.detection.boxes import overlap
from reproduction.experiments.window_cascade.measures import (
    area_table,
    areas,
    covered,
    covered_by_any,
    difference_table,
    example_detections,
    first_windows,
)
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
        return {"per_seed": list(values)}

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
        return [{"per_seed": list(row)} for row in rows]

    values = {
        "auc": {
            "sosvm": items((0.1, 0.5), (0.2, 0.2), (0.0, 0.0)),
            "star_slack": items((0.2, 0.6), (0.2, 0.4), (0.0, 0.0)),
        }
    }
    table = difference_table(values, "sosvm")
    assert table.index.tolist() == ["star, slack"]
    assert table.loc["star, slack"].tolist() == ["+0.100 ± 0.000", "+0.100 ± 0.141", "+0.000 ± 0.000"]
