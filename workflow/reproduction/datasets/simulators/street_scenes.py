"""Gray street scenes with cars from the side, in place of the UIUC car images.

The places, materials, light and camera are those of the package `scenes`; the cars are made here, for
only side views are wanted, of many body shapes, that fill boxes given beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image, ImageOps

from reproduction.datasets.simulators.scenes import backdrops, clutter, vehicles
from reproduction.datasets.simulators.scenes.backdrops import Stage
from reproduction.datasets.simulators.scenes.camera import expose, illuminate
from reproduction.datasets.simulators.scenes.geometry import box, ellipse, smooth
from reproduction.datasets.simulators.scenes.materials import glass, jitter, metal, pick, rubber
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.people import person
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

#: Height of the box of a car relative to its width.
ASPECT = 0.4
#: Shares of the width of the box that a car fills, and of the height at its wheels.
_FILL, _GROUND = (0.91, 0.97), (0.88, 0.96)
_BLACK = Material((0.04, 0.04, 0.04))
_LAMP = Material((0.9, 0.9, 0.86), "glass", 0.6)
#: Streets are painted larger than the image, so that houses are well behind the cars.
_ZOOM = 1.6


@dataclass(frozen=True)
class Body:
    """Outline of a car that drives to the right, in meters; its tail is at 0.

    The roof line runs from ``rear``, the foot of the rear window, over the two ends of the roof to
    ``screen``, the foot of the windscreen.
    """

    length: float
    roof: float  #: height
    belt: float  #: height of the lower edge of the windows
    rear: float
    roof_rear: float
    roof_front: float
    screen: float
    boot: float  #: height of the tail
    nose: float  #: height of the front


#: Ranges of rear, roof_rear, roof_front and screen (relative to the length) and of roof for each kind of
#: body.
_KINDS = {
    "saloon": ((0.14, 0.20), (0.30, 0.36), (0.53, 0.58), (0.68, 0.73), (1.33, 1.45)),
    "coupe": ((0.08, 0.16), (0.32, 0.40), (0.51, 0.56), (0.66, 0.72), (1.25, 1.35)),
    "hatchback": ((0.03, 0.07), (0.12, 0.22), (0.55, 0.61), (0.71, 0.76), (1.36, 1.50)),
    "estate": ((0.02, 0.05), (0.07, 0.13), (0.55, 0.61), (0.70, 0.75), (1.38, 1.52)),
}


def draw_street(
    rng: np.random.Generator, noise: Noise, shape: tuple[int, int], cars: Sequence[tuple[int, int, int]]
) -> np.ndarray:
    """Return an image, (height, width) bytes, with cars in boxes given by left, top and width."""
    return _equalise(_photograph_street(rng, noise, shape, cars))


def draw_car_crop(rng: np.random.Generator, noise: Noise, shape: tuple[int, int]) -> np.ndarray:
    """Return a crop of ``shape`` around the box of a car."""
    height, width = shape
    above, beside = height, width // 4
    frame = (height + above + height // 4, width + 2 * beside)
    photo = _photograph_street(rng, noise, frame, [(beside, above, width)])
    return _equalise(photo[above : above + height, beside : beside + width])


def draw_other_crop(rng: np.random.Generator, noise: Noise, shape: tuple[int, int]) -> np.ndarray:
    """Return a crop of ``shape`` of a street without a car."""
    height, width = shape
    frame = (3 * height, width + width // 2)
    zoom = rng.uniform(1.0, 2.0)
    stage = _stage(rng, noise, frame, zoom, horizon=rng.uniform(0.3, 0.7), camera=rng.uniform(1.2, 3.0))
    pick(rng, backdrops.street, backdrops.street, backdrops.street, backdrops.field, backdrops.room)(stage)
    things = (
        vehicles.bicycle,
        person,
        clutter.post,
        clutter.bush,
        clutter.fence,
        clutter.crate,
        clutter.tree,
    )
    stage.scatter(things, int(rng.integers(2, 7)), (15, 60))
    top, left = rng.integers(0, frame[0] - height + 1), rng.integers(0, frame[1] - width + 1)
    return _equalise(_photograph(stage, frame)[top : top + height, left : left + width])


def _photograph_street(
    rng: np.random.Generator, noise: Noise, shape: tuple[int, int], cars: Sequence[tuple[int, int, int]]
) -> np.ndarray:
    widest = max(width for _, _, width in cars)
    ground = max(top + ASPECT * width for _, top, width in cars)
    camera = rng.uniform(1.3, 2.1)
    scale = widest / rng.uniform(4.3, 4.9)
    stage = _stage(rng, noise, shape, _ZOOM, horizon=(ground - camera * scale) / shape[0], camera=camera)
    backdrops.street(stage)
    things = (clutter.tree, clutter.tree, clutter.bush, clutter.fence, clutter.post, person)
    stage.scatter(things, int(rng.integers(1, 7)), (0.35 * _ZOOM * scale, 0.9 * _ZOOM * scale))
    for car in sorted(cars, key=lambda car: car[1] + ASPECT * car[2]):
        larger = tuple(_ZOOM * side for side in car)
        _park(stage, *larger)
        if rng.random() < 0.2:
            _stand_before(stage, *larger)
    return _photograph(stage, shape)


def _stage(
    rng: np.random.Generator,
    noise: Noise,
    shape: tuple[int, int],
    zoom: float,
    horizon: float,
    camera: float,
) -> Stage:
    """Return an empty stage ``zoom`` times as large as the image; ``horizon`` is relative to its height."""
    angle = rng.uniform(-2.6, -0.5)
    light = Light(float(np.cos(angle)), float(np.sin(angle)), float(rng.uniform(0.5, 1.3)))
    height, width = (round(zoom * side) for side in shape)
    row = horizon * height
    canvas = Canvas(np.zeros((height, width, 3), dtype=np.float32))
    return Stage(canvas=canvas, horizon=row, floor=row, camera=camera, light=light, noise=noise, rng=rng)


def _park(stage: Stage, left: float, top: float, width: float) -> None:
    """Paint a car that fills its box, and its shadow."""
    rng = stage.rng
    car = draw_car(rng)
    tail, _, front, _ = car.bounds()
    scale = width * rng.uniform(*_FILL) / (front - tail)
    middle = (tail + front) / 2
    if rng.random() < 0.5:
        car, middle = car.mapped(lambda points: points * (-1, 1)), -middle
    x, y = left + width / 2 - scale * middle, top + ASPECT * width * rng.uniform(*_GROUND)
    _cast_shadow(stage, x + scale * middle, y, 0.5 * scale * (front - tail), 0.1 * scale)
    layer = render(car, scale, x, y, light=stage.light, noise=stage.noise, rng=rng)
    stage.canvas.paint(layer)


def _stand_before(stage: Stage, left: float, top: float, width: float) -> None:
    """Occlude a part of a car by a nearer thing, lower in the image and larger."""
    rng = stage.rng
    thing = pick(rng, clutter.post, clutter.post, clutter.bush, clutter.tree, person)(rng)
    scale, nearer = width / 4.6, rng.uniform(1.15, 1.6)
    y = top + ASPECT * width + 1.5 * (nearer - 1) * scale
    stage.set(thing, nearer * scale, left + rng.uniform(0, 1) * width, y)


def _cast_shadow(stage: Stage, x: float, y: float, rx: float, ry: float) -> None:
    """Darken the ground below a car, most at its center."""
    rows, columns = stage.canvas.shape
    v, u = np.arange(rows)[:, None] - y, np.arange(columns)[None, :] - x
    depth = np.exp(-0.5 * (np.abs(v / (0.8 * ry + 1)) ** 2 + np.abs(u / (0.85 * rx)) ** 6))
    stage.canvas.darken((stage.rng.uniform(0.55, 0.9) * depth).astype(np.float32), 0, 0)


def _photograph(stage: Stage, shape: tuple[int, int]) -> np.ndarray:
    """Return the gray bytes of a stage, resized to ``shape``."""
    rng = stage.rng
    illuminate(stage.canvas.image, stage.noise, rng)
    channels = np.moveaxis(stage.canvas.image, -1, 0)
    small = [Image.fromarray(channel).resize(shape[::-1], Image.Resampling.BOX) for channel in channels]
    photo = expose(np.stack([np.asarray(channel) for channel in small], axis=-1), rng)
    return np.asarray(Image.fromarray(photo).convert("L"))


def _equalise(photo: np.ndarray) -> np.ndarray:
    """Equalize the histogram, which is flat in the real images."""
    return np.asarray(ImageOps.equalize(Image.fromarray(np.ascontiguousarray(photo))))


def draw_car(rng: np.random.Generator) -> Sketch:
    """Draw a car from the side."""
    body = _choose_body(rng)
    tone = pick(rng, rng.uniform(0.06, 0.2), rng.uniform(0.25, 0.55), rng.uniform(0.6, 0.95))
    lacquer = Material(jitter(rng, (tone, tone, tone), 0.02), "metal")
    sketch = Sketch()
    sketch.fill(box(0.3, 0.16, body.length - 0.3, 0.5), _BLACK)
    _draw_hull(sketch, rng, body, lacquer)
    _draw_windows(sketch, rng, body, lacquer)
    _draw_details(sketch, rng, body, lacquer)
    _draw_wheels(sketch, rng, body)
    return sketch


def _choose_body(rng: np.random.Generator) -> Body:
    kind = rng.choice(list(_KINDS), p=(0.5, 0.2, 0.18, 0.12))
    rear, roof_rear, roof_front, screen, height = (rng.uniform(low, high) for low, high in _KINDS[kind])
    length = rng.uniform(4.2, 5.0)
    belt = rng.uniform(0.86, 0.95)
    return Body(
        length=length,
        roof=height,
        belt=belt,
        rear=rear * length,
        roof_rear=roof_rear * length,
        roof_front=roof_front * length,
        screen=screen * length,
        boot=belt + rng.uniform(-0.05, 0.08),
        nose=rng.uniform(0.62, 0.74),
    )


def _draw_hull(sketch: Sketch, rng: np.random.Generator, body: Body, lacquer: Material) -> None:
    cabin = [
        (body.rear, body.belt - 0.05),
        (body.roof_rear, body.roof - 0.03),
        ((body.roof_rear + body.roof_front) / 2, body.roof),
        (body.roof_front, body.roof - 0.04),
        (body.screen + 0.05, body.belt - 0.05),
    ]
    sketch.fill(smooth([*cabin, (body.screen, 0.6), (body.rear, 0.6)], n=5), lacquer)
    end = body.length
    hull = [
        (0.05, 0.28),
        (-0.01, 0.55),
        (0.06, body.boot),
        (0.5 * body.rear + 0.1, body.boot + 0.02),
        (body.screen, body.belt + 0.01),
        (0.5 * (body.screen + end), 0.5 * (body.belt + body.nose) + 0.05),
        (end - 0.15, body.nose),
        (end, 0.5),
        (end - 0.05, 0.26),
        (end - 0.4, 0.2),
        (0.4, 0.2),
    ]
    sketch.fill(smooth(hull, n=5), lacquer.shaded(rng.uniform(0.85, 1.0), relief=0.65))
    # The lower part of the doors reflects the road, the upper part the sky.
    sketch.fill(box(0.15, 0.22, end - 0.15, 0.42), lacquer.shaded(rng.uniform(0.55, 0.9)))
    sketch.stroke(
        [(0.15, body.belt - 0.1), (body.screen, body.belt - 0.06), (end - 0.35, body.nose - 0.02)],
        rng.uniform(0.02, 0.06),
        lacquer.shaded(rng.uniform(1.1, 1.5)),
    )


def _draw_windows(sketch: Sketch, rng: np.random.Generator, body: Body, lacquer: Material) -> None:
    """Divide the side window into two or three panes between pillars parallel to the screens."""
    pane = glass(rng).shaded(rng.uniform(0.4, 1.1))
    bottom, top = body.belt + 0.03, body.roof - rng.uniform(0.08, 0.13)
    rear, front = body.rear + rng.uniform(0.15, 0.35), body.screen - 0.12
    roof_rear = max(body.roof_rear + 0.02, rear + 0.12)
    roof_front = body.roof_front - 0.02
    cuts = np.linspace(0, 1, int(rng.integers(2, 4)) + 1)
    cuts[1:-1] += rng.normal(0, 0.03, len(cuts) - 2)
    pillar = rng.uniform(0.05, 0.1)
    for begin, end in pairwise(cuts):
        low = [rear + begin * (front - rear), rear + end * (front - rear)]
        high = [roof_rear + begin * (roof_front - roof_rear), roof_rear + end * (roof_front - roof_rear)]
        sketch.fill(
            [
                (low[0] + pillar / 2, bottom),
                (high[0] + pillar / 2, top),
                (high[1] - pillar / 2, top),
                (low[1] - pillar / 2, bottom),
            ],
            pane,
        )
    if rng.random() < 0.6:
        sketch.stroke([(rear, bottom), (front, bottom)], 0.03, pick(rng, _BLACK, lacquer.shaded(1.4)))


def _draw_details(sketch: Sketch, rng: np.random.Generator, body: Body, lacquer: Material) -> None:
    end, seam = body.length, lacquer.shaded(0.55)
    door = 0.5 * (body.rear + body.screen) + rng.normal(0, 0.1)
    for x in (door, body.screen - 0.1, *([body.rear + 0.35] if rng.random() < 0.6 else [])):
        sketch.stroke([(x, body.belt), (x - 0.02, 0.3)], 0.025, seam)
    if rng.random() < 0.6:
        trim = pick(rng, _BLACK, lacquer.shaded(0.6), metal(rng).shaded(1.2))
        height = rng.uniform(0.42, 0.58)
        sketch.stroke([(0.1, height), (end - 0.1, height - 0.01)], rng.uniform(0.03, 0.07), trim)
    bumper = pick(rng, _BLACK, lacquer.shaded(0.8), metal(rng))
    sketch.fill(box(-0.03, 0.3, 0.3, 0.44), bumper)
    sketch.fill(box(end - 0.3, 0.28, end + 0.02, 0.42), bumper)
    sketch.fill(ellipse(end - 0.13, body.nose - 0.08, 0.15, 0.06), _LAMP)
    sketch.fill(box(0.0, 0.62, 0.14, 0.78), Material((0.3, 0.12, 0.1), "glass"))
    for x in (door - 0.25, door + 0.75):
        sketch.stroke([(x, body.belt - 0.14), (x + 0.16, body.belt - 0.14)], 0.03, seam)
    sketch.fill(box(body.screen - 0.3, body.belt, body.screen - 0.1, body.belt + 0.12), lacquer.shaded(0.7))


def _draw_wheels(sketch: Sketch, rng: np.random.Generator, body: Body) -> None:
    radius = rng.uniform(0.29, 0.34)
    tyre, rim = rubber(rng), metal(rng).shaded(rng.uniform(0.7, 1.3))
    spokes = int(rng.integers(4, 9))
    for x in (rng.uniform(0.18, 0.22) * body.length, rng.uniform(0.80, 0.84) * body.length):
        sketch.disc(x, radius + 0.02, radius + rng.uniform(0.04, 0.08), _BLACK)
        vehicles.wheel(sketch, x, radius, tyre, rim, spokes)
