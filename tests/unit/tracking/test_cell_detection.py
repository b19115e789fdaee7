"""Nuclei on drawn frames: found whatever their brightness, size and background; cut where they touch."""

import warnings

import numpy as np
import pytest
from scipy import ndimage

from ermlab.tracking.cell_detection import DetectionSettings, detect, film_of_images, typical_diameter
from ermlab.tracking.cells import match_tracks, measure
from ermlab.tracking.ctc import Lineage, TrackedCells

SHAPE = (120, 150)
#: Row, column, radii along both, brightness: a bright and a dim one apart, two that touch, one at the border.
NUCLEI = [(30, 30, 9, 12, 400), (35, 80, 10, 10, 40), (85, 40, 10, 10, 200), (85, 59, 10, 10, 200)]
NUCLEI += [(80, 147, 9, 11, 150), (30, 120, 8, 14, 100)]


def draw(nuclei=NUCLEI, shape=SHAPE, noise=3.0, seed=0):
    """Return a blurred and noisy frame on a sloping background, and its true label image."""
    row, column = np.indices(shape)
    truth, light = np.zeros(shape, dtype=int), np.zeros(shape)
    for number, (y, x, a, b, brightness) in enumerate(nuclei, start=1):
        inside = ((row - y) / a) ** 2 + ((column - x) / b) ** 2 <= 1
        truth[inside], light[inside] = number, brightness
    rng = np.random.default_rng(seed)
    image = ndimage.gaussian_filter(light, 1.0) + 100 + 0.3 * row + rng.normal(0, noise, shape)
    return image, truth


def test_each_nucleus_is_found_once():
    image, truth = draw()
    labels = detect(image)
    held = match_tracks(labels, truth)
    assert sorted(held[:, 1]) == [1, 2, 3, 4, 5, 6]
    assert sorted(held[:, 0]) == [1, 2, 3, 4, 5, 6]
    assert labels.max() == 6
    found, true = np.bincount(labels.ravel())[held[:, 0]], np.bincount(truth.ravel())[held[:, 1]]
    np.testing.assert_allclose(found, true, rtol=0.2)


def test_intensities_are_those_above_the_background():
    image, truth = draw()
    film = film_of_images([image], truth=TrackedCells([truth], lineage_of(6)))
    brightness = np.array(NUCLEI)[:, 4]
    np.testing.assert_allclose(film.intensity, brightness[film.tracks[:, 1] - 1], rtol=0.25)


@pytest.mark.parametrize(("gain", "offset"), [(1000.0, 0.0), (0.001, 7.0), (1.0, 30_000.0)])
def test_gain_and_offset_of_the_camera_do_not_matter(gain, offset):
    image, _ = draw()
    changed = detect(gain * image + offset)
    assert np.mean((changed > 0) == (detect(image) > 0)) > 0.999
    assert changed.max() == 6


@pytest.mark.parametrize("factor", [2, 3])
def test_magnification_does_not_matter(factor):
    image, truth = draw(
        [(factor * y, factor * x, factor * a, factor * b, c) for y, x, a, b, c in NUCLEI],
        (factor * SHAPE[0], factor * SHAPE[1]),
    )
    assert sorted(match_tracks(detect(image), truth)[:, 1]) == [1, 2, 3, 4, 5, 6]


def test_a_given_diameter_is_used():
    image, _ = draw()
    assert detect(image, DetectionSettings(diameter=20)).max() == 6
    assert detect(image, DetectionSettings(diameter=90)).max() < 6


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((40, 50)),
        np.full((40, 50), 7, dtype=np.uint16),
        np.random.default_rng(0).normal(100, 5, (200, 200)),
        np.random.default_rng(1).poisson(20, (200, 200)).astype(np.uint16),
        np.linspace(0, 1, 4000).reshape(40, 100),
        np.zeros((1, 1)),
    ],
)
def test_frames_without_nuclei_have_no_detections(image):
    labels = detect(image)
    assert labels.shape == image.shape
    assert labels.max() == 0


def test_a_long_nucleus_is_one_and_a_hole_is_part_of_it():
    image, _ = draw([(40, 50, 8, 17, 100), (80, 100, 10, 10, 100), (80, 30, 10, 10, 100)])
    image[78:82, 98:102] -= 60
    labels = detect(image, DetectionSettings(diameter=21))
    assert labels.max() == 3
    assert labels[80, 100] > 0


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.array([[1.0, np.nan]]), "nan in row 0, column 1"),
        (np.array([[1.0, np.inf]]), "inf in row 0"),
        (np.zeros((4, 5, 3)), r"shape \(4, 5, 3\): expected two axes"),
        (np.zeros((0, 5)), r"shape \(0, 5\)"),
        (np.zeros((4, 5), dtype=complex), "of complex128: expected numbers"),
    ],
)
def test_images_that_are_none_are_refused(image, message):
    with pytest.raises(ValueError, match=message):
        detect(image)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"diameter": 0}, "diameter is 0: expected a positive number"),
        ({"contrast": np.nan}, "contrast is nan"),
        ({"neck": 1.0}, "neck is 1.0: expected a share below 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        DetectionSettings(**change)


def lineage_of(n, last=0):
    return Lineage(np.arange(1, n + 1), np.zeros(n, int), np.full(n, last), np.zeros(n, int))


def test_a_film_has_the_true_tracks_of_its_detections():
    frames = [draw(seed=0), draw([], seed=1), draw(seed=2)]
    images, masks = zip(*frames, strict=True)
    film = film_of_images(images, truth=TrackedCells(masks, lineage_of(6, last=2)))
    assert [len(film.cells(t)) for t in range(3)] == [6, 0, 6]
    assert sorted(min(tracks) for tracks in film.tracks_in(2)) == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(film.position[film.numbers(0)], measure(detect(images[0]))[1].position)
    assert film.shape.tolist() == list(SHAPE)


def test_pieces_and_nuclei_taken_for_one_keep_their_tracks():
    image, truth = draw()
    joined = np.where(np.isin(truth, [3, 4]), 3, truth)  # for the truth, the two that touch are one
    cut = np.where((truth == 1) & (np.arange(SHAPE[1]) > 30), 7, truth)  # and the first one is two
    of_joined, of_cut = (
        film_of_images([image], truth=TrackedCells([mask], lineage_of(7))) for mask in (joined, cut)
    )
    assert of_joined.tracks_in(0).count({3}) == 2
    assert {1, 7} in of_cut.tracks_in(0)


def test_a_film_without_truth_has_no_tracks():
    film = film_of_images([draw()[0]])
    assert film.tracks.shape == (0, 2)
    assert film.lineage.shape == (0, 4)
    assert film.tracks_in(0) == [set()] * 6


def test_films_of_other_lengths_or_shapes_are_refused():
    image, truth = draw()
    with pytest.raises(ValueError, match="2 images and 1 true masks"):
        film_of_images([image, image], truth=TrackedCells([truth], lineage_of(6)))
    with pytest.raises(ValueError, match="no frames"):
        film_of_images([])
    with pytest.raises(ValueError, match="of shapes"):
        film_of_images([image, image[:-1]])


def test_the_typical_diameter_is_that_of_most_nuclei():
    image, _ = draw()
    assert 17 < typical_diameter([image]) < 24
    # Frames without nuclei say nothing, and without any frame there is a usual one.
    empty = draw([])[0]
    assert typical_diameter([image, empty, empty]) == typical_diameter([image])
    assert typical_diameter([empty]) == typical_diameter([]) > 0


def texture(sigma, seed=0, size=300):
    """Return smoothed noise of standard deviation 10."""
    rough = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(size, size)), sigma)
    return 100 + 10 * rough / rough.std()


@pytest.mark.parametrize("sigma", [3.0, 4.0])
@pytest.mark.parametrize("n_nuclei", [0, 2])
def test_detections_that_look_like_noise_are_a_warning(sigma, n_nuclei):
    image = texture(sigma)
    y, x = np.indices(image.shape)
    for center in [(100, 80), (220, 200)][:n_nuclei]:
        image += 60 * (np.hypot(y - center[0], x - center[1]) < 10)
    expected = (
        r"look like noise in 2 of 3 frames: frame 1 has \d+ detections of a median contrast of .*Detection"
    )
    with pytest.warns(UserWarning, match=expected):
        film_of_images([np.random.default_rng(1).normal(100, 10, image.shape), image, image])


@pytest.mark.parametrize("n_nuclei", [1, 2, 9])
@pytest.mark.parametrize("noise", [1.0, 10.0])
def test_few_or_many_nuclei_are_no_noise(n_nuclei, noise):
    image = np.random.default_rng(0).normal(100, noise, (200, 200))
    y, x = np.indices(image.shape)
    for number in range(n_nuclei):
        center = 30 + 60 * (number // 3), 30 + 60 * (number % 3)
        image += 80 * (np.hypot(y - center[0], x - center[1]) < 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect(image).max() == n_nuclei


@pytest.mark.parametrize("draw_noise", ["normal", "poisson", "exponential"])
def test_noise_of_single_pixels_is_not_detected(draw_noise):
    rng = np.random.default_rng(0)
    image = getattr(rng, draw_noise)(5.0, size=(200, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect(image).max() == 0
