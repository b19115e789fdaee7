"""The parts of the scene simulator against closed forms: noise, outlines, rendering."""

import numpy as np
import pytest

from reproduction.datasets.simulators.scenes import geometry
from reproduction.datasets.simulators.scenes.catalogue import KINDS
from reproduction.datasets.simulators.scenes.noise import SIDE, Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

DULL = Light(0.0, -1.0, 0.0)
GREY = Material((0.5, 0.5, 0.5))


@pytest.fixture(scope="module")
def noise():
    return Noise(np.random.default_rng(0))


def area(points):
    x, y = points.T
    return 0.5 * abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def rendered(sketch, noise, scale, x, y, **options):
    return render(sketch, scale, x, y, light=DULL, noise=noise, rng=np.random.default_rng(1), **options)


@pytest.mark.parametrize(("name", "exponent"), [("clouds", 1.9), ("pink", 1.15), ("fine", 0.55)])
def test_spectra_fall_by_a_power_of_frequency(noise, name, exponent):
    field = noise.crop(name, (SIDE, SIDE), np.random.default_rng(2))
    assert field.std() == pytest.approx(1, rel=1e-3)
    amplitude = np.abs(np.fft.fft2(field))
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(SIDE), np.fft.fftfreq(SIDE)))
    used = (frequency > 0.02) & (frequency < 0.4)
    slope = np.polyfit(np.log(frequency[used]), np.log(amplitude[used]), 1)[0]
    assert slope == pytest.approx(-exponent, abs=0.03)


def test_crops_larger_than_a_field_repeat_it(noise):
    crop = noise.crop("pink", (SIDE + 7, 3), np.random.default_rng(3))
    np.testing.assert_array_equal(crop[:7], crop[SIDE:])
    assert noise.at("pink", np.array([3.7]), np.array([SIDE + 4.2])) == noise.at(
        "pink", *np.array([[3], [4]])
    )


def test_outlines_have_the_areas_of_their_shapes():
    assert area(geometry.ellipse(1, 2, 3, 0.5, angle=1.0, n=400)) == pytest.approx(np.pi * 1.5, rel=1e-3)
    assert area(geometry.box(0, 0, 2, 3)) == 6
    # Four octagonal quarter circles in place of the corners.
    assert area(geometry.rounded_box(0, 0, 2, 3, 0.5)) == pytest.approx(6 - (4 - np.pi) * 0.25, rel=5e-3)
    # A tube of length 4 and width 1 with a triangular tip of height 1/2.
    assert area(geometry.limb([(0, 0), (1, 0), (4, 0)], [1, 1, 1])) == pytest.approx(4.25)
    assert area(geometry.lathe([(1, 0), (1, 2)], x=5)) == 4


def test_smooth_curves_go_through_their_points():
    points = np.random.default_rng(4).normal(size=(7, 2))
    np.testing.assert_allclose(geometry.smooth(points, n=5)[::5], points)
    turn = np.linspace(0, 2 * np.pi, 13)[:-1]
    circle = geometry.smooth(np.stack([np.cos(turn), np.sin(turn)], axis=1))
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 1, atol=5e-3)


def test_subdivision_changes_no_outline():
    outline = np.random.default_rng(5).normal(size=(6, 2))
    finer = geometry.subdivided(outline, 0.1)
    assert area(finer) == pytest.approx(area(outline))
    steps = np.linalg.norm(np.roll(finer, -1, axis=0) - finer, axis=1)
    assert steps.max() <= 0.1
    assert {tuple(point) for point in outline} <= {tuple(point) for point in finer}


def test_a_disc_covers_its_area(noise):
    sketch = Sketch()
    sketch.disc(0, 0, 1.0, GREY)
    layer = rendered(sketch, noise, 40, 60.3, 50.8)
    assert layer.area == pytest.approx(np.pi * 40**2, rel=0.02)
    rows, columns = np.nonzero(layer.alpha > 0.5)
    assert columns.mean() + layer.left == pytest.approx(60.3 - 0.5, abs=0.5)
    assert rows.mean() + layer.top == pytest.approx(50.8 - 0.5, abs=0.5)


def test_a_frame_cuts_off_what_is_outside(noise):
    sketch = Sketch()
    sketch.disc(0, 0, 1.0, GREY)
    whole, cut = Canvas(np.ones((50, 60, 3))), Canvas(np.ones((50, 60, 3)))
    whole.paint(rendered(sketch, noise, 40, 55, 10), watch=True)
    cut.paint(rendered(sketch, noise, 40, 55, 10, frame=(50, 60)), watch=True)
    np.testing.assert_array_equal(whole.visible[0], cut.visible[0])


def test_light_makes_the_side_that_faces_it_bright(noise):
    sketch = Sketch()
    sketch.disc(0, 0, 1.0, GREY)

    def shade(light):
        layer = render(sketch, 40, 50, 50, light=light, noise=noise, rng=np.random.default_rng(6))
        return layer.color[35:-35, 6:-6, 0]

    even = shade(Light(0.0, 0.0, 0.0))
    left, right = shade(Light(-1.0, 0.0, 1.0)) / even, shade(Light(1.0, 0.0, 1.0)) / even
    middle = even.shape[1] // 2
    assert left[:, :10].min() > 1.05
    assert left[:, -10:].max() < 0.95
    assert left[:, middle].mean() == pytest.approx(1, abs=0.02)
    # What one light brightens, the opposite one darkens by as much.
    np.testing.assert_allclose(left + right, 2, atol=0.01)


def test_too_many_materials_are_refused(noise):
    sketch = Sketch()
    for number in range(256):
        sketch.disc(0, 0, 1.0, Material((number / 256, 0, 0)))
    with pytest.raises(ValueError, match="256 materials: expected at most 255"):
        rendered(sketch, noise, 5, 0, 0)


@pytest.mark.parametrize("name", KINDS)
def test_objects_vary_within_a_class_and_fit_their_bounds(noise, name):
    drawings = []
    for seed in range(6):
        sketch = KINDS[name].draw(np.random.default_rng(seed))
        left, bottom, right, top = sketch.bounds()
        assert np.isfinite([left, bottom, right, top]).all()
        scale = 60 / max(right - left, top - bottom)
        layer = rendered(sketch, noise, scale, -left * scale, top * scale)
        assert 30 < layer.area <= 61 * 61
        assert (layer.color <= layer.alpha[..., None]).all()
        drawings.append(layer.alpha)
    silhouettes = {drawing.tobytes() for drawing in drawings}
    assert len(silhouettes) == 6
