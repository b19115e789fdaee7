"""Centre distance and squares, against counts by hand."""

import numpy as np
import pytest

from ermlab.metrics.detection import average_precision
from reproduction.experiments.aerial_cars.measures import car_curve, centre_agreement, criteria, squares


def test_squares_surround_the_nearest_pixel():
    assert squares([[10.4, 20.5]], 35).tolist() == [[-7, 4, 27, 38]]
    assert squares(np.empty((0, 2)), 35).shape == (0, 4)
    for side in (0, 4, 2.5):
        with pytest.raises(ValueError, match=f"side is {side}: expected an odd"):
            squares([[0, 0]], side)


@pytest.mark.parametrize(
    ("shift", "near"), [((6, 8), True), ((10, 0), True), ((8, 7), False), ((0, 11), False)]
)
def test_half_agreement_is_the_radius(shift, near):
    agreement = centre_agreement(10)(squares([shift], 35), squares([[0, 0]], 35))
    assert (agreement[0, 0] >= 0.5) == near


def test_pascal_on_squares_allows_a_third_of_the_side_along_an_axis():
    pascal = criteria(10)["pascal"]
    moved = pascal(squares([[11, 0], [12, 0]], 35), squares([[0, 0]], 35))[:, 0]
    assert moved[0] > 0.5 > moved[1]


def test_curve_ignores_vehicles_that_are_no_cars():
    curve = car_curve(
        found=[[[10, 10], [50, 50], [90, 90]], [[30, 30]]],
        scores=[[3.0, 2.0, 1.0], [0.5]],
        centres=[[[12, 9], [52, 52]], [[80, 80]]],
        others=[[False, True], [False]],
        side=35,
        measure=criteria(10)["centre"],
    )
    assert curve.recall.tolist() == [0.5, 0.5, 0.5]
    assert curve.precision.tolist() == [1, 1 / 2, 1 / 3]
    assert curve.false_positives_per_image.tolist() == [0, 0.5, 1]
    assert average_precision(curve.precision, curve.recall) == 0.5


def test_bad_radius():
    with pytest.raises(ValueError, match="radius is 0: expected a positive number"):
        centre_agreement(0)
