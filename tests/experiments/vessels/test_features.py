"""Features of pixels: against plain loops, and on lines of known width and direction."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates, uniform_filter

from reproduction.experiments.vessels.features import (
    NAMES,
    _gabor_features,
    _hessian_features,
    _line_features,
    bent,
    even_background,
    pixel_features,
)


def line_image(angle, half_width, side=81):
    rows, columns = np.indices((side, side)) - side // 2
    distance = np.abs(np.cos(angle) * rows - np.sin(angle) * columns)
    return np.clip(half_width + 0.5 - distance, 0, 1)


def test_line_detectors_are_means_on_interpolated_lines():
    image = np.random.default_rng(0).normal(size=(40, 37))
    found = _line_features(image)
    window = uniform_filter(image, 15)
    for row, column in ((10, 12), (20, 28), (25, 9)):
        for k, reach in enumerate(range(1, 8)):
            steps = np.arange(-reach, reach + 1)
            means = [
                map_coordinates(
                    image, [row + np.sin(angle) * steps, column + np.cos(angle) * steps], order=1
                ).mean()
                for angle in np.arange(12) * np.pi / 12
            ]
            np.testing.assert_allclose(found[k, row, column], max(means) - window[row, column], atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 2, 2.2])
def test_filters_respond_to_a_line_of_any_direction(angle):
    image = line_image(angle, 2.0)
    middle, beside = (40, 40), (40 + round(20 * np.cos(angle)), 40 - round(20 * np.sin(angle)))
    for response in (*_line_features(image), *_gabor_features(image), *_hessian_features(image)[:4]):
        assert response[middle] > 0.05 * np.abs(response).max()
        assert response[middle] > 5 * response[beside]


def test_wider_lines_are_found_at_larger_scales():
    thin, wide = (
        [response[40, 40] for response in _gabor_features(line_image(0.3, half))] for half in (0.7, 4.0)
    )
    assert np.argmax(thin) < np.argmax(wide)


def test_ridges_and_blobs_are_eigenvalues_of_the_hessian():
    image = np.random.default_rng(1).normal(size=(30, 30)).cumsum(axis=0).cumsum(axis=1)
    *ridges, ridge, _, _, _, blob = _hessian_features(image)
    assert len(ridges) == 3
    assert (ridge >= blob).all()


def test_features_are_standardized_in_the_field_of_view(retinas):
    features = pixel_features(retinas.images[0], retinas.fields[0])
    inside = features[retinas.fields[0]].astype(float)
    assert inside.shape[1] == len(NAMES)
    np.testing.assert_allclose(inside.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(inside.std(axis=0), 1, atol=1e-3)
    assert not features[~retinas.fields[0]].any()


def test_what_is_outside_the_field_of_view_does_not_matter(retinas):
    image = retinas.images[0].copy()
    image[~retinas.fields[0]] = 255
    np.testing.assert_array_equal(
        pixel_features(image, retinas.fields[0]), pixel_features(retinas.images[0], retinas.fields[0])
    )


def test_even_background_removes_slow_changes():
    rows, columns = np.indices((120, 120))
    field = np.hypot(rows - 60, columns - 60) < 55
    even = even_background(100.0 + 0.2 * columns, field)
    assert np.abs(even[40:80, 40:80]).max() < 1  # of 8 before


@pytest.mark.parametrize("levels", [0.0, 7.0])
def test_a_constant_image_has_features_of_zero(levels):
    field = np.ones((40, 40), dtype=bool)
    features = pixel_features(np.full((40, 40, 3), levels, dtype=np.uint8), field)
    assert np.isfinite(features).all()
    assert np.abs(features).max() < 1.0


@pytest.mark.parametrize("field", [np.zeros((40, 40), bool), np.ones((40, 41), bool)])
def test_wrong_field_of_view(field):
    with pytest.raises(ValueError, match=r"expected shape \(40, 40\) and at least one pixel"):
        pixel_features(np.zeros((40, 40, 3), dtype=np.uint8), field)


def test_a_tiny_field_of_view():
    field = np.zeros((40, 40), dtype=bool)
    field[3:5, 3:5] = True
    assert np.isfinite(pixel_features(np.random.default_rng(0).integers(0, 256, (40, 40, 3)), field)).all()


def test_bent_features():
    np.testing.assert_array_equal(
        bent(np.array([[-2.0], [0.5], [3.0]])), [[1, -2, 0, 0], [1, 0.5, 0.5, 0], [1, 3, 3, 2]]
    )
