"""Streets seen from above, with cars at any angle, in place of the KIT AIS frames.

A place (ground, streets, trees, houses) is painted once; its frames show it with the traffic moved on. Units
are meters from the lower left corner of the frame, y upwards; noise, materials and camera are those of
`reproduction.datasets.simulators.scenes`.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from reproduction.datasets.simulators.scenes.camera import expose, illuminate
from reproduction.datasets.simulators.scenes.geometry import box, ellipse, moved, rotated, rounded_box, smooth
from reproduction.datasets.simulators.scenes.materials import glass, grass, jitter, leaf, paint, pick
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

#: Pixels per meter: a car of 4.5 m is 35 pixels long.
SCALE = 7.8
CAR, OTHER = 0, 1
_LANE = 3.2
_PAVEMENT = 4.0
#: Distance between the centers of two vehicles, beyond half their lengths.
_CLEARANCE = 0.4
_WHITE = Material((0.82, 0.82, 0.8), relief=0.5)


@dataclass(frozen=True)
class Street:
    """A straight street: a point and the direction of its center line, and its lanes per direction."""

    x: float
    y: float
    angle: float
    lanes: int

    @property
    def half_width(self) -> float:
        """Half the width between the curbs; there is room to park outside the lanes."""
        return _LANE * self.lanes + 2.4

    def at(self, along: float, across: float) -> tuple[float, float]:
        """Return the point at a distance along the street and to the left of its center line."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return self.x + along * c - across * s, self.y + along * s + across * c

    def distance(self, x: float, y: float) -> float:
        """Return the distance of a point from the center line."""
        return abs((y - self.y) * np.cos(self.angle) - (x - self.x) * np.sin(self.angle))

    def strip(self, half_width: float, reach: float) -> np.ndarray:
        """Return a rectangle around the center line with sizes in meters."""
        return moved(rotated(box(-reach, -half_width, reach, half_width), self.angle), self.x, self.y)


@dataclass(frozen=True)
class Vehicle:
    """A vehicle with its direction ``angle``, and its motion per frame."""

    x: float
    y: float
    angle: float
    sketch: Sketch
    label: int
    step: float = 0.0

    @property
    def length(self) -> float:
        """Length in meters."""
        left, _, right, _ = self.sketch.bounds()
        return right - left

    def placed(self, frame: int) -> Sketch:
        """Return the sketch of the vehicle at its place in a frame."""
        x = self.x + frame * self.step * np.cos(self.angle)
        y = self.y + frame * self.step * np.sin(self.angle)
        return self.sketch.mapped(lambda points: moved(rotated(points, self.angle), x, y))


@dataclass(frozen=True)
class Place:
    """Content that all frames of a scene share."""

    ground: np.ndarray  #: RGB, 0..1
    light: Light
    vehicles: tuple[Vehicle, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of a frame in pixels."""
        return self.ground.shape[:2]


def plan_place(rng: np.random.Generator, noise: Noise, shape: tuple[int, int]) -> Place:
    """Draw a place with two crossing streets at any angle, and its traffic."""
    height, width = shape[0] / SCALE, shape[1] / SCALE
    sun = rng.uniform(0, 2 * np.pi)
    light = Light(float(np.cos(sun)), float(np.sin(sun)), float(rng.uniform(0.5, 1.1)))
    first = Street(
        width * rng.uniform(0.4, 0.6),
        height * rng.uniform(0.35, 0.65),
        rng.uniform(0, np.pi),
        int(rng.integers(2, 4)),
    )
    crossing = first.at(rng.uniform(-0.3, 0.3) * min(width, height), 0)
    second = Street(*crossing, first.angle + rng.uniform(0.35, 0.65) * np.pi, int(rng.integers(1, 3)))
    streets = (first, second)
    canvas = _paint_ground(rng, noise, light, shape, streets)
    return Place(canvas.image, light, tuple(_park_and_drive(rng, streets, (height, width))))


def draw_frame(
    place: Place, frame: int, noise: Noise, light_seed: list[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bytes of a frame, and labels and boxes of the vehicles on it.

    Boxes are left, top, right and bottom edges in pixels, cut at the border of the frame. What the light does
    to the whole place depends on ``light_seed``, which the frames of a scene share.
    """
    canvas = Canvas(place.ground.copy())
    height, width = place.shape
    labels, boxes = [], []
    for number, vehicle in enumerate(place.vehicles):
        sketch = vehicle.placed(frame)
        left, bottom, right, top = sketch.bounds()
        edges = np.array([left * SCALE, height - top * SCALE, right * SCALE, height - bottom * SCALE])
        seen = np.clip(edges, 0, [width, height, width, height])
        if np.prod(seen[2:] - seen[:2]) < 0.3 * np.prod(edges[2:] - edges[:2]):
            continue
        outline = max(sketch.parts, key=lambda part: np.ptp(part.points, axis=0).sum()).points
        _cast_shadow(canvas, outline, place.light, 1.3)
        # The same texture in every frame: it is the same vehicle.
        _paint(canvas, sketch, place.light, noise, np.random.default_rng([*light_seed, number]))
        labels.append(vehicle.label)
        boxes.append(seen)
    illuminate(canvas.image, noise, np.random.default_rng(light_seed))
    return expose(canvas.image, rng), np.array(labels, dtype=int), np.array(boxes).reshape(-1, 4)


def _paint(canvas: Canvas, sketch: Sketch, light: Light, noise: Noise, rng: np.random.Generator) -> None:
    shape = canvas.shape
    layer = render(sketch, SCALE, 0, shape[0], light=light, noise=noise, rng=rng, frame=shape)
    canvas.paint(layer)


def _cast_shadow(canvas: Canvas, outline: np.ndarray, light: Light, height: float) -> None:
    """Darken the ground by the shadow of an upright body."""
    rows = canvas.shape[0]
    pixels = outline * (SCALE, -SCALE) + (0, rows)
    away = -0.6 * height * SCALE * np.array([light.x, light.y])
    corner = np.floor(np.minimum(pixels.min(axis=0), (pixels + away).min(axis=0))).astype(int) - 3
    size = np.ceil(np.maximum(pixels.max(axis=0), (pixels + away).max(axis=0))).astype(int) + 3 - corner
    mask = Image.new("L", tuple(size.tolist()))
    draw = ImageDraw.Draw(mask)
    for share in np.linspace(0, 1, max(2, int(np.abs(away).max()))):
        draw.polygon((pixels + share * away - corner).ravel().tolist(), fill=255)
    soft = np.asarray(mask.filter(ImageFilter.GaussianBlur(1)), dtype=np.float32) / 255
    canvas.darken((0.35 + 0.2 * light.strength) * soft, int(corner[0]), int(corner[1]))


def _paint_ground(
    rng: np.random.Generator, noise: Noise, light: Light, shape: tuple[int, int], streets: tuple[Street, ...]
) -> Canvas:
    canvas = Canvas(np.zeros((*shape, 3), dtype=np.float32))
    height, width = shape[0] / SCALE, shape[1] / SCALE
    reach = 2 * (height + width)
    tone = rng.uniform(0.25, 0.5)
    asphalt = Material(jitter(rng, (tone, tone, tone), 0.02), "stone", 0.4)
    flags = Material(jitter(rng, (tone + 0.2, tone + 0.19, tone + 0.17), 0.03), "stone", 0.45)
    ground = Sketch()
    ground.fill(box(-5, -5, width + 5, height + 5), grass(rng))
    for _ in range(int(rng.integers(3, 7))):
        spot = ellipse(
            rng.uniform(0, width), rng.uniform(0, height), *rng.uniform(4, 15, 2), rng.uniform(0, 3)
        )
        ground.fill(spot, pick(rng, flags, grass(rng), flags))
    for street in streets:
        ground.fill(street.strip(street.half_width + _PAVEMENT, reach), flags)
    for street in streets:
        ground.fill(street.strip(street.half_width, reach), asphalt)
    for street, other in zip(streets, streets[::-1], strict=True):
        _mark_lanes(ground, rng, street, other, reach / 2)
    _paint(canvas, ground, light, noise, rng)
    _build(canvas, rng, noise, light, streets)
    return canvas


def _mark_lanes(
    ground: Sketch, rng: np.random.Generator, street: Street, other: Street, reach: float
) -> None:
    """Paint dashes between lanes, a center line and a stop line at the crossing."""
    dash, gap = rng.uniform(2, 4), rng.uniform(3, 6)
    for lane in range(1 - street.lanes, street.lanes):
        for along in np.arange(-reach, reach, dash + gap if lane else dash):
            ends = [street.at(along, lane * _LANE), street.at(along + dash, lane * _LANE)]
            if min(other.distance(*end) for end in ends) > other.half_width + 2:
                ground.stroke(ends, 0.15, _WHITE)
    slope = max(abs(np.sin(street.angle - other.angle)), 0.3)
    before = (other.half_width + 2.5) / slope
    for side in (-1, 1):
        line = [street.at(side * before, 0), street.at(side * before, -side * street.lanes * _LANE)]
        ground.stroke(line, 0.4, _WHITE)


def _build(
    canvas: Canvas, rng: np.random.Generator, noise: Noise, light: Light, streets: tuple[Street, ...]
) -> None:
    """Place houses, trees and small things outside the streets."""
    height, width = canvas.shape[0] / SCALE, canvas.shape[1] / SCALE
    for _ in range(int(height * width / 40)):
        x, y = rng.uniform(-5, width + 5), rng.uniform(-5, height + 5)
        room = min(street.distance(x, y) - street.half_width for street in streets)
        kind = rng.choice(["house", "tree", "thing"], p=[0.2, 0.5, 0.3])
        if kind == "house" and room > 12:
            sketch, tall = _house(rng, pick(rng, *streets).angle), rng.uniform(5, 12)
        elif kind == "tree" and room > 1.0:
            sketch, tall = _tree(rng, min(room + 1.5, rng.uniform(1.2, 4.5))), rng.uniform(3, 6)
        elif kind == "thing" and room > 0.8:
            sketch, tall = _thing(rng), rng.uniform(0.5, 1.5)
        else:
            continue
        there = sketch.mapped(lambda points, x=x, y=y: moved(points, x, y))
        _cast_shadow(canvas, there.parts[0].points, light, tall)
        _paint(canvas, there, light, noise, rng)


def _house(rng: np.random.Generator, angle: float) -> Sketch:
    """Return a roof with its ridge, dormers and skylights."""
    length, depth = rng.uniform(8, 18), rng.uniform(4, 8)
    color = pick(rng, (0.62, 0.3, 0.2), (0.5, 0.28, 0.22), (0.45, 0.45, 0.46), (0.6, 0.58, 0.54))
    tiles = Material(jitter(rng, color, 0.05), "wood", 0.8)
    roof = Sketch()
    roof.fill(box(-length, -depth, length, depth), tiles)
    roof.fill(box(-length, 0, length, depth), tiles.shaded(rng.uniform(0.75, 1.25)))
    for x in np.arange(1.5 - length, length - 2.5, rng.uniform(3, 6)):
        for side in (-1, 1):
            if rng.random() < 0.6:
                y = side * depth * rng.uniform(0.35, 0.7)
                roof.fill(box(x, y - 0.7, x + rng.uniform(0.8, 2.2), y + 0.7), pick(rng, glass(rng), _WHITE))
    return roof.mapped(lambda points: rotated(points, angle))


def _tree(rng: np.random.Generator, radius: float) -> Sketch:
    """Return the crown of a tree with brighter parts."""
    leaves = leaf(rng)
    turn = np.linspace(0, 2 * np.pi, 11, endpoint=False)
    rough = radius * rng.uniform(0.75, 1.15, turn.size)
    crown = Sketch()
    crown.fill(smooth(np.stack([rough * np.cos(turn), rough * np.sin(turn)], axis=1), n=4), leaves)
    for _ in range(int(3 + 2 * radius)):
        x, y = rng.normal(0, 0.4 * radius, 2)
        crown.disc(x, y, radius * rng.uniform(0.15, 0.35), leaves.shaded(rng.uniform(0.7, 1.35)))
    return crown


def _thing(rng: np.random.Generator) -> Sketch:
    """Return a box of any color: a bin, a stall, a kiosk, a container."""
    length, depth = rng.uniform(0.4, 3.2), rng.uniform(0.3, 1.6)
    thing = Sketch()
    thing.fill(box(-length, -depth, length, depth), paint(rng))
    if rng.random() < 0.5:
        thing.fill(box(-0.5 * length, -0.6 * depth, 0.7 * length, 0.6 * depth), paint(rng))
    angle = rng.uniform(0, np.pi)
    return thing.mapped(lambda points: rotated(points, angle))


def _park_and_drive(
    rng: np.random.Generator, streets: tuple[Street, ...], size: tuple[float, float]
) -> list[Vehicle]:
    """Fill lanes, curbs and yards with vehicles that do not overlap."""
    vehicles: list[Vehicle] = []
    height, width = size
    reach = 0.75 * (height + width)

    def place(x: float, y: float, angle: float, step: float = 0.0) -> None:
        inside = -2 < x < width + 2 and -2 < y < height + 2
        new = Vehicle(x, y, angle, *draw_vehicle(rng), step)
        if inside and all(
            np.hypot(x - v.x, y - v.y) > (v.length + new.length) / 2 + _CLEARANCE for v in vehicles
        ):
            vehicles.append(new)

    for street, other in zip(streets, streets[::-1], strict=True):
        for side in (-1, 1):
            heading = street.angle + (np.pi if side > 0 else 0)
            kerb = street.half_width - 1.2
            for along in np.arange(-reach, reach, rng.uniform(5.5, 7)):
                spot = street.at(along + rng.uniform(-0.3, 0.3), side * kerb)
                if rng.random() < 0.45 and other.distance(*spot) > other.half_width + 3:
                    place(*spot, heading + pick(rng, 0, 0, np.pi) + rng.normal(0, 0.03))
            for lane in range(street.lanes):
                # Only the first street has a green light.
                step = rng.uniform(1.0, 3.5) if street is streets[0] else 0.0
                for along in np.cumsum(rng.uniform(7, 40, 60)) - reach:
                    spot = street.at(along, side * (lane + 0.5) * _LANE)
                    if step or other.distance(*spot) > other.half_width + 3:
                        place(*spot, heading + rng.normal(0, 0.03), step)
    for _ in range(int(height * width / 150)):
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        if 4 < min(street.distance(x, y) - street.half_width for street in streets) < 9:
            place(x, y, rng.uniform(0, 2 * np.pi))
    return vehicles


def draw_vehicle(rng: np.random.Generator) -> tuple[Sketch, int]:
    """Draw a vehicle from above, centered at the origin with its front to the right; return its label too."""
    lacquer = paint(rng)
    if rng.random() < 0.02:
        return _lorry(rng, lacquer), OTHER
    length, width = rng.uniform(3.9, 4.8), rng.uniform(1.7, 1.95)
    pane = glass(rng).shaded(rng.uniform(0.3, 0.7))
    half, side = length / 2, width / 2
    front, estate = rng.uniform(0.16, 0.26) * half, rng.random() < 0.4
    rear = -rng.uniform(0.82, 0.9) * half if estate else -rng.uniform(0.5, 0.62) * half
    slope = rng.uniform(0.28, 0.4) * half
    car = Sketch()
    car.fill(rounded_box(-half, -side, half, side, 0.45), lacquer)
    car.fill(box(0.45 * half, -0.75 * side, 0.9 * half, 0.75 * side), lacquer.shaded(rng.uniform(0.95, 1.15)))
    car.fill(rounded_box(rear - 0.1, -0.84 * side, front + slope, 0.84 * side, 0.3), pane)
    car.fill(
        rounded_box(rear + 0.2, -0.7 * side, front, 0.7 * side, 0.2),
        lacquer.shaded(rng.uniform(1.0, 1.2), 0.9),
    )
    if rng.random() < 0.5:
        for y in (-0.8, 0.8):
            car.fill(ellipse(0.93 * half, y * side, 0.12, 0.18), _WHITE)
    return car, CAR


def _lorry(rng: np.random.Generator, lacquer: Material) -> Sketch:
    """Return a truck or bus: a long box and its cab."""
    length, width = rng.uniform(7, 11), rng.uniform(2.3, 2.55)
    half, side = length / 2, width / 2
    lorry = Sketch()
    lorry.fill(box(-half, -side, half - 2, side), pick(rng, _WHITE, lacquer, paint(rng)))
    lorry.fill(rounded_box(half - 1.8, -0.95 * side, half, 0.95 * side, 0.2), lacquer)
    lorry.fill(box(half - 0.7, -0.8 * side, half - 0.3, 0.8 * side), glass(rng))
    return lorry
