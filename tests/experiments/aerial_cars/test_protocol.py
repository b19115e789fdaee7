"""Windows, detections and criteria of the aerial cars, against counts by hand."""

import numpy as np
import pytest

from ermlab.detection.boxes import overlap
from ermlab.kernels.slot import windows_shape
from ermlab.metrics.detection import average_precision
from reproduction.experiments.aerial_cars.prepare import frame_grid
from reproduction.experiments.aerial_cars.protocol import (
    PAD,
    Frames,
    car_curve,
    center_agreement,
    criteria,
    detect,
    squares,
    window_centers,
)


def test_frames_are_read_back_as_written(tmp_path):
    frames = Frames(
        images=(np.zeros((4, 5, 3), dtype=np.uint8), np.ones((2, 3, 3), dtype=np.uint8)),
        centers=(np.array([[1.5, 2.0]]), np.empty((0, 2))),
        others=(np.array([True]), np.array([], dtype=bool)),
        scenes=np.array(["b", "a"]),
    )
    frames.save(tmp_path / "frames.npz")
    again = Frames.load(tmp_path / "frames.npz")
    assert again.scene_names == ["a", "b"]
    assert again.of_scene("a") == [1]
    for name in ("images", "centers", "others"):
        for left, right in zip(getattr(frames, name), getattr(again, name), strict=True):
            np.testing.assert_array_equal(left, right)


def test_windows_of_a_frame_are_where_their_cells_are():
    """A bright square of the size of a window fills the cells of just one window."""
    image = np.zeros((80, 90), dtype=np.uint8)
    grid = frame_grid(image, 5)
    centers = window_centers(windows_shape(grid.shape[:2]), 5)
    assert centers[PAD - 1, PAD - 1].tolist() == [17, 17]
    assert centers.min() <= 3
    assert (centers[-1, -1] >= (86, 76)).all()
    image[20:55, 30:65] = np.random.default_rng(0).integers(0, 256, (35, 35))
    energy = frame_grid(image, 5).sum(axis=2)
    sums = np.array(
        [
            [energy[i : i + 7, j : j + 7].sum() for j in range(centers.shape[1])]
            for i in range(centers.shape[0])
        ]
    )
    assert centers[np.unravel_index(sums.argmax(), sums.shape)].tolist() == [47, 37]


def test_detections_are_the_best_that_keep_apart(settings):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 25)).astype(np.float32)
    centers, values = detect(scores, settings)
    assert len(centers) <= settings.max_boxes
    assert (np.diff(values) <= 0).all()
    assert values[0] == scores.max()
    shared = overlap(squares(centers, 35), squares(centers, 35))
    assert (shared[~np.eye(len(centers), dtype=bool)] <= settings.max_overlap).all()


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
    agreement = center_agreement(10)(squares([shift], 35), squares([[0, 0]], 35))
    assert (agreement[0, 0] >= 0.5) == near


def test_pascal_on_squares_allows_a_third_of_the_side_along_an_axis():
    pascal = criteria(10)["pascal"]
    moved = pascal(squares([[11, 0], [12, 0]], 35), squares([[0, 0]], 35))[:, 0]
    assert moved[0] > 0.5 > moved[1]


def test_curve_ignores_vehicles_that_are_not_cars():
    frames = Frames(
        images=(),
        centers=([[0, 0]], [[12, 9], [52, 52]], [[80, 80]]),
        others=([False], [False, True], [False]),
        scenes=np.array(["a", "b", "b"]),
    )
    found = [([[10, 10], [50, 50], [90, 90]], [3.0, 2.0, 1.0]), ([[30, 30]], [0.5])]
    curve = car_curve(frames, frames.of_scene("b"), found, side=35, measure=criteria(10)["center"])
    assert curve.recall.tolist() == [0.5, 0.5, 0.5]
    assert curve.precision.tolist() == [1, 1 / 2, 1 / 3]
    assert curve.false_positives_per_image.tolist() == [0, 0.5, 1]
    assert average_precision(curve.precision, curve.recall) == 0.5


def test_bad_radius():
    with pytest.raises(ValueError, match="radius is 0: expected a positive number"):
        center_agreement(0)
