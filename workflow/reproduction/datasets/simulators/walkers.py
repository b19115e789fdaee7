"""Gray crops of pedestrians and of streets without people, as seen by the camera of a car.

A *track* is one walker before one street: from frame to frame the legs and arms swing on, the walker drifts
across the crop and the street behind moves, so that the frames of a track are alike but never the same.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from reproduction.datasets.simulators.scenes import backdrops, clutter, vehicles
from reproduction.datasets.simulators.scenes.backdrops import Stage
from reproduction.datasets.simulators.scenes.camera import expose, illuminate
from reproduction.datasets.simulators.scenes.geometry import ellipse, limb, moved, smooth
from reproduction.datasets.simulators.scenes.materials import cloth, hair, pick, rubber, skin
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

#: Crops are painted larger and then reduced.
_ZOOM = 3
#: Share of the height of a crop that a walker fills.
_FILL = (0.76, 0.9)
_THIGH, _SHIN, _UPPER_ARM, _FOREARM, _TORSO = 0.42, 0.44, 0.3, 0.27, 0.56
#: Size, in crops, of the streets of other crops.
_STREET = (4, 8)
#: Number of candidate windows.
_CANDIDATES = 4


@dataclass(frozen=True)
class Walker:
    """Properties of a walker that are constant over frames."""

    height: float  #: meters
    breadth: float
    facing: float  #: from -1 to 1: visible share of the step, with the sign of the direction
    stride: float  #: largest angle of a thigh, radians
    swing: float  #: of an upper arm
    knee: float  #: bend of the knee of the swinging leg
    skirt: float  #: height of the hem in meters, 0 for trousers
    coat: bool
    hat: bool
    bag: bool
    flesh: Material
    locks: Material
    shirt: Material
    trousers: Material
    shoes: Material


def draw_walker(rng: np.random.Generator) -> Walker:
    """Draw a random walker."""
    return Walker(
        height=rng.uniform(1.25, 1.5) if rng.random() < 0.1 else rng.normal(1.72, 0.08),
        breadth=rng.uniform(0.85, 1.25),
        facing=pick(rng, -1, 1) * rng.uniform(0.25, 1.0),
        stride=rng.uniform(0.3, 0.6),
        swing=rng.uniform(0.1, 0.6),
        knee=rng.uniform(0.5, 1.0),
        skirt=rng.uniform(0.3, 0.6) if rng.random() < 0.15 else 0.0,
        coat=rng.random() < 0.2,
        hat=rng.random() < 0.15,
        bag=rng.random() < 0.2,
        flesh=skin(rng),
        locks=hair(rng),
        shirt=cloth(rng),
        trousers=cloth(rng),
        shoes=pick(rng, rubber, cloth)(rng),
    )


def pose(walker: Walker, phase: float) -> Sketch:
    """Draw a walker at a phase of the step in radians, with the feet near the origin."""
    sketch = Sketch()
    width, side = 0.17 * walker.breadth, 0.08 * walker.breadth * (1.2 - abs(walker.facing))
    hip = np.array([0.0, _THIGH + _SHIN - 0.04 * abs(np.sin(phase))])
    shoulder = moved(hip, 0.02 * walker.facing, _TORSO)
    far, near = (phase + np.pi, -side), (phase, side)
    _arm(sketch, walker, shoulder, *near, tone=0.8)
    for (leg, offset), tone in ((far, 0.75), (near, 1.0)):
        _leg(sketch, walker, hip, leg, offset, width, tone)
    if walker.skirt:
        hem = 0.16 + 0.08 * walker.breadth
        outline = [(-width, hip[1] + 0.05), (-hem, walker.skirt), (hem, walker.skirt), (width, hip[1] + 0.05)]
        sketch.fill(smooth(outline, n=3), walker.trousers)
    _trunk(sketch, walker, hip, shoulder)
    _head(sketch, walker, moved(shoulder, 0.03 * walker.facing, 0.2))
    _arm(sketch, walker, shoulder, *far, tone=1.05)
    whole = Sketch()
    whole.add(sketch, scale=walker.height / 1.74)
    return whole


def _leg(sketch, walker, hip, phase, offset, width, tone) -> None:
    thigh = walker.stride * np.sin(phase)
    # The knee bends while the leg swings forward.
    shin = thigh - walker.knee * max(0.0, np.cos(phase))
    start = moved(hip, offset, 0)
    knee = start + _along(thigh, _THIGH, walker.facing)
    foot = knee + _along(shin, _SHIN - 0.06, walker.facing)
    cloth_of_leg = walker.flesh if walker.skirt else walker.trousers
    sketch.fill(
        limb([start, knee, foot], [1.1 * width, 0.85 * width, 0.6 * width]), cloth_of_leg.shaded(tone)
    )
    toe = moved(foot, 0.17 * walker.facing, -0.03)
    sketch.fill(
        limb([moved(foot, -0.03 * walker.facing, -0.02), toe], [0.1, 0.07]), walker.shoes.shaded(tone)
    )


def _arm(sketch, walker, shoulder, phase, offset, tone) -> None:
    upper = -walker.swing * np.sin(phase)
    start = moved(shoulder, 1.9 * offset, -0.05)
    elbow = start + _along(upper, _UPPER_ARM, walker.facing)
    hand = elbow + _along(upper + 0.3, _FOREARM, walker.facing)
    sketch.fill(limb([start, elbow, hand], [0.12, 0.1, 0.07]), walker.shirt.shaded(tone))
    sketch.fill(ellipse(*hand, 0.045, 0.05), walker.flesh.shaded(tone))
    if walker.bag and offset > 0:
        sketch.fill(ellipse(*moved(hand, 0, -0.16), 0.14, 0.13), walker.shoes.shaded(1.2))


def _trunk(sketch, walker, hip, shoulder) -> None:
    frontal = 1.0 - 0.35 * abs(walker.facing)
    top, waist = 0.21 * walker.breadth * frontal, 0.17 * walker.breadth * frontal
    low = hip[1] - (0.3 if walker.coat else 0.06)
    half = [
        (-waist, low),
        (-waist, hip[1] + 0.2),
        (-top, shoulder[1] - 0.08),
        (-0.45 * top, shoulder[1] + 0.03),
    ]
    outline = smooth(half + [(-x, y) for x, y in half[::-1]], n=4)
    sketch.fill(outline, walker.shirt)
    neck = [moved(shoulder, 0, -0.05), moved(shoulder, 0.02 * walker.facing, 0.12)]
    sketch.fill(limb(neck, [0.12, 0.1]), walker.flesh.shaded(0.8))


def _head(sketch, walker, center) -> None:
    x, y = center
    sketch.fill(ellipse(x, y + 0.02, 0.1, 0.13), walker.locks)
    sketch.fill(ellipse(x + 0.035 * walker.facing, y - 0.015, 0.08, 0.11), walker.flesh)
    if walker.hat:
        sketch.fill(ellipse(x, y + 0.09, 0.13, 0.06), walker.shoes)


def _along(angle: float, length: float, facing: float) -> np.ndarray:
    """Return the vector along a limb at an angle from the vertical."""
    return length * np.array([facing * np.sin(angle), -np.cos(angle)])


def draw_track(rng: np.random.Generator, noise: Noise, shape: tuple[int, int], frames: int) -> np.ndarray:
    """Return the (frames, height, width) crops of one walker."""
    height, width = shape
    walker, fill = draw_walker(rng), rng.uniform(*_FILL)
    stage = _street(rng, noise, (height + height // 2, 3 * width), horizon=rng.uniform(0.3, 0.55))
    phase, step = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 0.7)
    place, drift = rng.uniform(0.2, 0.8), rng.normal(0, 0.02)
    # The window on the street and the walker in it move slightly, as with a tracker.
    crops = np.empty((frames, height, width), dtype=np.uint8)
    for i in range(frames):
        room = stage.canvas.shape[1] - _ZOOM * width
        left = int(room * np.clip(place + drift * i, 0, 1))
        top = int(rng.uniform(0.3, 0.5) * (stage.canvas.shape[0] - _ZOOM * height))
        window = stage.canvas.image[top : top + _ZOOM * height, left : left + _ZOOM * width].copy()
        canvas = Canvas(window)
        sketch = pose(walker, phase + step * i)
        scale = _ZOOM * height * fill * rng.normal(1, 0.015) / (walker.height + 0.02)
        x = _ZOOM * (width / 2 + rng.normal(0, 0.5))
        y = _ZOOM * height * (1 + fill) / 2 + _ZOOM * rng.normal(0, 0.5)
        _cast_shadow(canvas, x, y, scale)
        layer = render(sketch, scale, x, y, light=stage.light, noise=noise, rng=rng, frame=canvas.shape)
        canvas.paint(layer)
        crops[i] = _photograph(canvas.image, shape, rng)
    return crops


def draw_others(rng: np.random.Generator, noise: Noise, shape: tuple[int, int], count: int) -> np.ndarray:
    """Return (count, height, width) crops from one street without people."""
    height, width = shape
    frame = _STREET[0] * height, _STREET[1] * width
    stage = _street(rng, noise, frame, horizon=rng.uniform(0.3, 0.6))
    stage.scatter(
        (
            vehicles.car,
            vehicles.bicycle,
            clutter.post,
            clutter.fence,
            clutter.tree,
            clutter.crate,
            clutter.bush,
        ),
        int(rng.integers(4, 10)),
        (30, 120),
    )
    illuminate(stage.canvas.image, noise, rng)
    return np.stack(
        [_photograph(_most_upright(stage.canvas.image, shape, rng), shape, rng) for _ in range(count)]
    )


def _most_upright(image: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Cut several windows and return the one with the strongest vertical edges.

    The real crops without people are places that a detector of outlines took for one. Windows have any size:
    what stands far away may be as large as what stands near.
    """
    windows = []
    for zoom in _ZOOM * rng.uniform(0.8, 1.6, _CANDIDATES):
        rows, columns = int(zoom * shape[0]), int(zoom * shape[1])
        top = rng.integers(0, image.shape[0] - rows + 1)
        left = rng.integers(0, image.shape[1] - columns + 1)
        windows.append(image[top : top + rows, left : left + columns])
    return max(windows, key=lambda window: float(np.abs(np.diff(window[..., 1], axis=1)).mean()))


def _street(rng: np.random.Generator, noise: Noise, frame: tuple[int, int], horizon: float) -> Stage:
    """Paint a street of a size given in pixels of the photograph."""
    angle = rng.uniform(-2.6, -0.5)
    light = Light(float(np.cos(angle)), float(np.sin(angle)), float(rng.uniform(0.4, 1.2)))
    height, width = (_ZOOM * side for side in frame)
    canvas = Canvas(np.zeros((height, width, 3), dtype=np.float32))
    row = horizon * height
    stage = Stage(canvas, row, row, rng.uniform(1.2, 1.8), light, noise, rng)
    pick(rng, backdrops.street, backdrops.street, backdrops.street, backdrops.field)(stage)
    return stage


def _cast_shadow(canvas: Canvas, x: float, y: float, scale: float) -> None:
    """Darken the ground around the feet."""
    rows, columns = canvas.shape
    v, u = np.arange(rows)[:, None] - y, np.arange(columns)[None, :] - x
    depth = 0.5 * np.exp(-((v / (0.08 * scale)) ** 2) - (u / (0.4 * scale)) ** 2)
    canvas.darken(depth.astype(np.float32), 0, 0)


def _photograph(image: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return the gray bytes of an image (0..1), resized to ``shape``."""
    channels = np.moveaxis(image, -1, 0)
    small = [Image.fromarray(channel).resize(shape[::-1], Image.Resampling.BOX) for channel in channels]
    photo = expose(np.stack([np.asarray(channel) for channel in small], axis=-1), rng)
    return np.asarray(Image.fromarray(photo).convert("L"))
