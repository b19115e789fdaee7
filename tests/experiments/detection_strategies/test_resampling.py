"""Uncertainty of strategies over images, on costs that can be counted by hand."""

import numpy as np
import pytest

from reproduction.experiments.detection_strategies.resampling import (
    N_RESAMPLES,
    cells_of,
    draw_counts,
    presence_ratios,
    rejected,
    resampled_values,
    significant_falls,
)

NAN = np.nan
#: Always costs 5 + 4 + 3, never 5 + 9 + 9, the best 5 + 4 + 1.
RESET_ONCE = np.array([[5.0, 9, 9], [NAN, 4, 1], [NAN, NAN, 3]])
#: Always costs 5 + 6 + 7, never and the best 5 + 1 + 1.
KEEP = np.array([[5.0, 1, 1], [NAN, 6, 1], [NAN, NAN, 7]])
PRESENT = np.array([[True, False, False, True], [True, True, True, True]])


def splits():
    """One gamma, two classes, four images; the first class costs three times as much where it is present."""
    first = np.stack([3 * RESET_ONCE, RESET_ONCE, RESET_ONCE, 3 * RESET_ONCE])
    return np.stack([first, np.stack([KEEP] * 4)])[None]


def test_values_and_their_draws():
    values = resampled_values(splits(), PRESENT, seed=0)
    # Resampled images have other sums, but always the same strategies.
    (resets,) = values["resets"]["median"]
    assert (resets["value"], set(resets["draws"]), resets["n"]) == (0.5, {0.5}, 4)
    (excess,) = values["no_reset_excess"]["max"]
    assert excess["value"] == pytest.approx(1.3)
    assert values["all_reset_ratio"]["max"][0]["value"] == pytest.approx(18 / 7)
    assert values["never_beats_always_share"]["value"] == 0.5
    assert values["increasing_share"]["value"] == 0.5
    assert (values["reset_first_share"]["value"], values["reset_first_rejected"]) == (1, 0)
    assert values["never_beats_always_rejected"] == 1
    (presence,) = values["presence_ratio"]
    assert presence["value"] == pytest.approx(3)
    assert len(presence["draws"]) == N_RESAMPLES
    # Mean over the two classes: 4 times 3 or 1 and 6; the last detections 3 times 3 or 1 and 7.
    assert values["reset_cost"][0][0]["repeats"] == [9, 5, 5, 9]
    assert values["reset_cost"][0][1]["repeats"] == [8, 5, 5, 8]
    assert values["reset_cost"][0][0]["unit"] == "image"


def test_cells_of_sums():
    cells = cells_of(np.nan_to_num(splits().sum(axis=2)[None]))
    assert cells["never_beats_always"].tolist() == [[[False, True]]]
    assert cells["increasing"].tolist() == [[[False, True]]]


def test_presence_is_compared_within_the_classes_of_a_draw():
    counts = np.array([[1, 1, 1, 1], [2, 2, 0, 0]])
    np.testing.assert_allclose(presence_ratios(splits(), PRESENT, counts), [[3], [3]])


def test_every_resample_has_a_class_with_and_without():
    counts = draw_counts(PRESENT, np.random.default_rng(0))
    assert counts.shape == (N_RESAMPLES, 4)
    assert (counts.sum(axis=1) == 4).all()
    assert (counts[:, [0, 3]].any(axis=1) & counts[:, [1, 2]].any(axis=1)).all()
    with pytest.raises(ValueError, match="use more images"):
        draw_counts(np.ones((2, 3), dtype=bool), np.random.default_rng(0))


def test_a_cell_is_rejected_if_hardly_any_draw_holds():
    holds = np.zeros((100, 2), dtype=bool)
    holds[:3, 0] = True  # 3 % is more than a half of 5 %
    assert rejected(holds) == 1


def test_steps_that_fall_in_all_images():
    costs = np.zeros((1, 1, 8, 3, 3))
    costs[..., 1, 1] = 10 + np.arange(8)
    costs[..., 2, 2] = 9.5 - np.arange(8) % 2
    assert significant_falls(costs) == 1
    costs[..., 2, 2] = 20
    assert significant_falls(costs) == 0
    costs[..., 2, 2] = costs[..., 1, 1] - 1
    assert significant_falls(costs) == 1
