"""Random scenes: what is annotated is what is visible, and chance comes from the seed alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reproduction.datasets.simulators.scenes import composition, draw_scene
from reproduction.datasets.simulators.scenes.catalogue import KINDS, SETTINGS
from reproduction.datasets.simulators.scenes.render import Canvas, Layer
from reproduction.datasets.voc2007_sample import CLASSES


@pytest.fixture
def scene(monkeypatch):
    """Return a function that draws a small scene, optionally of one setting and with a number of objects."""

    def draw(seed, *, shape, setting=None, objects=None):
        monkeypatch.setattr(composition, "_SHAPES", (shape,))
        if setting is not None:
            monkeypatch.setattr(composition, "SETTINGS", {setting: SETTINGS[setting]})
        if objects is not None:
            monkeypatch.setattr(composition, "_COUNTS", np.eye(objects)[-1])
        return draw_scene(np.random.default_rng(seed))

    return draw


def smallest_box(mask):
    rows, columns = np.nonzero(mask)
    return [columns.min(), rows.min(), columns.max(), rows.max()]


def test_every_class_is_drawn_somewhere():
    assert set(KINDS) == set(CLASSES)
    assert {name for setting in SETTINGS.values() for name in setting.classes} == set(CLASSES)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_scene_is_complete(scene, setting):
    drawn = scene(4, setting=setting, shape=(150, 200), objects=3)
    n = len(drawn.boxes)
    assert n >= 1
    assert drawn.setting == setting
    assert sorted(drawn.image.shape) == [3, 150, 200]
    assert drawn.image.dtype == np.uint8
    assert drawn.masks.shape == (n, *drawn.image.shape[:2])
    assert drawn.labels.shape == drawn.truncated.shape == drawn.difficult.shape == (n,)
    assert {CLASSES[label] for label in drawn.labels} <= set(SETTINGS[setting].classes)
    assert drawn.image.std() > 5
    for box, mask in zip(drawn.boxes, drawn.masks, strict=True):
        assert box.tolist() == smallest_box(mask)
    # No pixel shows two objects.
    assert drawn.masks.sum(axis=0).max() <= 1


@pytest.mark.parametrize("setting", SETTINGS)
def test_light_is_finite_before_the_camera_cuts_it_off(scene, setting, monkeypatch):
    seen = []

    def expose(image, rng):
        seen.append(image.copy())
        return np.zeros(image.shape, dtype=np.uint8)

    monkeypatch.setattr(composition, "expose", expose)
    for seed in range(3):
        scene(seed, setting=setting, shape=(120, 160))
    assert all(np.isfinite(image).all() and image.min() >= 0 for image in seen)


@pytest.mark.parametrize("seed", range(8))
def test_boxes_hold_the_pixels_that_the_object_changes(scene, seed, monkeypatch):
    """Pictures with the object white and with it black differ where it is visible, and nowhere else."""
    paint = Canvas.paint
    pictures = []

    def expose(image, rng):
        pictures.append(image.copy())
        return np.zeros(image.shape, dtype=np.uint8)

    def draw(brightness):
        def repaint(canvas, layer, *, watch=False):
            color = brightness * np.repeat(layer.alpha[..., None], 3, axis=2) if watch else layer.color
            paint(canvas, Layer(color, layer.alpha, layer.left, layer.top), watch=watch)

        monkeypatch.setattr(Canvas, "paint", repaint)
        return scene(seed, objects=1, shape=(180, 240))

    monkeypatch.setattr(composition, "illuminate", lambda image, noise, rng: None)
    monkeypatch.setattr(composition, "expose", expose)
    white, black = draw(1.0), draw(0.0)
    assert white.boxes.tolist() == black.boxes.tolist()
    half = len(pictures) // 2
    changed = (pictures[half - 1] - pictures[-1]).mean(axis=2) > 0.5
    np.testing.assert_array_equal(changed, white.masks[0])
    assert smallest_box(changed) == white.boxes[0].tolist()


def test_what_is_in_front_hides_what_is_behind():
    canvas = Canvas(np.zeros((20, 30, 3), dtype=np.float32))
    opaque = np.ones((10, 10), dtype=np.float32)
    behind, front = (Layer(np.stack([opaque] * 3, 2), opaque, left, 5) for left in (-2, 4))
    canvas.paint(behind, watch=True)
    canvas.paint(front)
    assert composition.tight_box(canvas.visible[0] > 0.5) == (0, 5, 3, 14)
    assert behind.area == 100


def test_hidden_objects_are_left_out_and_half_hidden_ones_marked():
    full = np.ones((40, 40), dtype=np.float32)
    layer = Layer(np.stack([full] * 3, 2), full, 0, 0)
    photo = np.zeros((40, 40, 3), dtype=np.uint8)

    def annotate(rows):
        visible = full.copy()
        visible[rows:] = 0
        return composition._annotate(photo, [visible], [layer], [3], "room")

    assert len(annotate(5).boxes) == 0
    half = annotate(13)
    assert (half.difficult.tolist(), half.truncated.tolist()) == ([True], [True])
    whole = annotate(40)
    assert (whole.difficult.tolist(), whole.truncated.tolist()) == ([False], [False])
    assert whole.boxes.tolist() == [[0, 0, 39, 39]]


def test_chance_comes_from_the_generator_alone(scene):
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda seed: scene(seed, shape=(100, 130)), [1, 2, 1, 2]))
    alone = scene(1, shape=(100, 130))
    for drawn in (together[0], together[2]):
        np.testing.assert_array_equal(drawn.image, alone.image)
        np.testing.assert_array_equal(drawn.boxes, alone.boxes)
    assert not np.array_equal(together[1].image, alone.image)
