"""Vehicles on roads and rails."""

from itertools import pairwise

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import box, ellipse, limb, moved, rounded_box, smooth
from reproduction.datasets.simulators.scenes.materials import glass, jitter, metal, paint, pick, rubber
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

_LAMP = Material((0.93, 0.92, 0.84), "glass", 0.7)
_REAR_LAMP = Material((0.62, 0.08, 0.06), "glass", 0.7)
_EYE_LEVEL = 1.5


def wheel(sketch: Sketch, x: float, radius: float, tyre: Material, rim: Material, spokes: int = 5) -> None:
    """Add a wheel on the ground with tire, rim, spokes and hub."""
    sketch.disc(x, radius, radius, tyre)
    sketch.disc(x, radius, 0.66 * radius, rim.shaded(0.45, relief=0.35))
    for turn in np.arange(spokes) * 2 * np.pi / spokes + 0.3:
        end = (x + 0.6 * radius * np.cos(turn), radius + 0.6 * radius * np.sin(turn))
        sketch.stroke([(x, radius), end], 0.16 * radius, rim)
    sketch.stroke(ellipse(x, radius, 0.6 * radius, 0.6 * radius), 0.1 * radius, rim, closed=True)
    sketch.disc(x, radius, 0.16 * radius, rim)


def three_quarters(rng: np.random.Generator, side: Sketch, front: Sketch, bonnet: float = 0.0) -> Sketch:
    """Draw a vehicle from a corner: its foreshortened, tapering side, and its front at the near end.

    The side view must have its front at its right end. ``bonnet`` is how far behind the front, in meters,
    the windscreen rises.
    """
    left, _, right, _ = side.bounds()
    length = right - left
    turn = rng.uniform(0.35, 1.1)
    taper = rng.uniform(0.1, 0.45) * np.cos(turn)

    edge = front.bounds()[0]

    def project(across, up, behind):
        shrink = 1 / (1 + taper * behind / length)
        x = (across * np.sin(turn) - behind * np.cos(turn) * (1 + taper)) * shrink
        return np.stack([x, _EYE_LEVEL + (up - _EYE_LEVEL) * shrink], axis=1)

    def recede(points):
        return project(0.0, points[:, 1], right - points[:, 0])

    def face(points):
        across, up = points.T
        slope = np.clip((up - 0.72) / 0.22, 0, 1) + 1.6 * np.clip(up - 0.95, 0, 1)
        return project(across - edge, up, bonnet * slope)

    view = side.bendable(0.4).mapped(recede, stroke_scale=0.8)
    view.add(front.bendable(0.1).mapped(face))
    return view


def _any_view(rng: np.random.Generator, side: Sketch, front: Sketch, bonnet: float = 0.0) -> Sketch:
    choice = rng.random()
    if choice < 0.3:
        return side
    return front if choice < 0.45 else three_quarters(rng, side, front, bonnet)


def car(rng: np.random.Generator) -> Sketch:
    """Draw a car from the side, the front, the rear or a corner."""
    body, rim, pane, tyre = paint(rng), metal(rng), glass(rng), rubber(rng)
    roof = rng.uniform(1.35, 1.7)
    return _any_view(
        rng, _car_side(rng, body, rim, pane, tyre, roof), _car_front(rng, body, pane, tyre, roof), bonnet=1.0
    )


def _car_side(rng, body, rim, pane, tyre, roof) -> Sketch:
    sketch = Sketch()
    length, belt = rng.uniform(3.6, 4.7), 0.92
    rear, tail = rng.uniform(0.1, 0.9), rng.uniform(0.85, 1.0)
    front = length * rng.uniform(0.66, 0.76)
    cabin = [
        (rear, belt),
        (rear + 0.35, roof - 0.06),
        (rear + 0.8, roof),
        (front - 0.75, roof),
        (front + 0.2, belt),
    ]
    sketch.fill(box(0.3, 0.18, length - 0.3, 0.5), Material((0.05, 0.05, 0.05)))
    sketch.fill(smooth([*cabin, (front, 0.6), (rear, 0.6)], n=4), body)
    hull = [
        (0.0, 0.35),
        (-0.02, 0.7),
        (0.1, tail),
        (front, belt + 0.02),
        (length - 0.3, 0.8),
        (length, 0.6),
        (length, 0.32),
        (length - 0.3, 0.24),
        (0.3, 0.24),
    ]
    sketch.fill(smooth(hull, n=4), body.shaded(0.97, relief=0.65))
    middle = (rear + front) / 2
    sketch.fill(
        [
            (rear + 0.28, belt + 0.03),
            (rear + 0.52, roof - 0.12),
            (middle - 0.06, roof - 0.1),
            (middle - 0.06, belt + 0.03),
        ],
        pane,
    )
    sketch.fill(
        [
            (middle + 0.04, belt + 0.03),
            (middle + 0.04, roof - 0.1),
            (front - 0.68, roof - 0.12),
            (front + 0.02, belt + 0.03),
        ],
        pane,
    )
    seam = body.shaded(0.55)
    for x in (middle, front - 0.05, rear + 0.4):
        sketch.stroke([(x, belt), (x - 0.03, 0.36)], 0.025, seam)
    sketch.stroke([(0.1, 0.62), (length - 0.1, 0.6)], 0.03, body.shaded(0.75))
    for x in (middle - 0.3, front - 0.35):
        sketch.stroke([(x, 0.8), (x + 0.18, 0.8)], 0.035, seam)
    sketch.fill(ellipse(length - 0.12, 0.66, 0.16, 0.08), _LAMP)
    sketch.fill(box(-0.01, 0.65, 0.1, 0.82), _REAR_LAMP)
    radius = rng.uniform(0.29, 0.35)
    for x in (0.2 * length, 0.81 * length):
        sketch.disc(x, radius + 0.03, radius + 0.07, Material((0.04, 0.04, 0.04)))
        wheel(sketch, x, radius, tyre, rim, spokes=int(rng.integers(4, 8)))
    return sketch


def _car_front(rng, body, pane, tyre, roof) -> Sketch:
    sketch = Sketch()
    rear_view = rng.random() < 0.4
    for x in (-0.72, 0.5):
        sketch.fill(box(x, 0, x + 0.22, 0.45), tyre)
    sketch.fill(
        smooth(
            [
                (-0.82, 0.85),
                (-0.58, roof - 0.05),
                (-0.3, roof),
                (0.3, roof),
                (0.58, roof - 0.05),
                (0.82, 0.85),
            ],
            n=4,
        ),
        body,
    )
    sketch.fill([(-0.68, 0.92), (-0.52, roof - 0.12), (0.52, roof - 0.12), (0.68, 0.92)], pane)
    sketch.fill(rounded_box(-0.88, 0.22, 0.88, 0.96, 0.18), body.shaded(1.0, relief=0.65))
    sketch.stroke([(-0.8, 0.88), (0.8, 0.88)], 0.03, body.shaded(0.6))
    lamp = _REAR_LAMP if rear_view else _LAMP
    for x in (-0.66, 0.66):
        sketch.fill(ellipse(x, 0.68, 0.17, 0.09), lamp)
        sketch.fill(ellipse(x * 1.22, 1.0, 0.07, 0.06), body.shaded(0.8))
    if not rear_view:
        sketch.fill(rounded_box(-0.42, 0.6, 0.42, 0.74, 0.05), Material((0.1, 0.1, 0.11), "metal", 0.3))
    sketch.fill(rounded_box(-0.85, 0.24, 0.85, 0.42, 0.08), body.shaded(0.6, relief=0.75))
    sketch.fill(box(-0.26, 0.4, 0.26, 0.51), Material(jitter(rng, (0.85, 0.84, 0.7)), "plain", 0.7))
    return sketch


def bus(rng: np.random.Generator) -> Sketch:
    """Draw a bus of one or two decks."""
    body, rim, pane, tyre, stripe = paint(rng), metal(rng), glass(rng), rubber(rng), paint(rng)
    decks = 2 if rng.random() < 0.3 else 1
    height = 3.0 if decks == 1 else 4.3
    length = rng.uniform(8.5, 12.0)
    side = Sketch()
    side.fill(rounded_box(0, 0.35, length, height, 0.25), body)
    side.fill(box(0.05, 0.75, length - 0.05, rng.uniform(0.95, 1.25)), stripe.shaded(0.95))
    for deck in range(decks):
        window_row(
            side, 0.3, length - 1.3, 1.45 + 1.5 * deck, 2.4 + 1.45 * deck, int(rng.integers(5, 9)), pane, body
        )
    side.fill(box(length - 1.1, 0.5, length - 0.25, 2.45), pane.shaded(0.8))
    side.stroke([(length - 0.68, 0.5), (length - 0.68, 2.45)], 0.07, body.shaded(0.5))
    side.stroke([(0, 0.55), (length, 0.55)], 0.04, body.shaded(0.6))
    for x in (0.2 * length, 0.78 * length):
        wheel(side, x, 0.5, tyre, rim, spokes=8)
    return _any_view(rng, side, _coach_front(rng, body, pane, stripe, tyre, height, wide=1.25))


def _coach_front(rng, body, pane, stripe, tyre, height, wide) -> Sketch:
    front = Sketch()
    for x in (-wide + 0.12, wide - 0.42):
        front.fill(box(x, 0, x + 0.3, 0.6), tyre)
    front.fill(rounded_box(-wide, 0.32, wide, height, 0.25), body.shaded(1.05))
    front.fill(rounded_box(-wide + 0.12, 1.2, wide - 0.12, 2.45, 0.15), pane)
    front.stroke([(0, 1.2), (0, 2.45)], 0.05, body.shaded(0.5))
    if height > 3.6:
        front.fill(rounded_box(-wide + 0.12, 2.9, wide - 0.12, height - 0.3, 0.15), pane)
    front.fill(box(-0.7 * wide, 2.55, 0.7 * wide, 2.82), Material((0.08, 0.08, 0.07), "plain", 0.4))
    front.stroke([(-0.5 * wide, 2.68), (0.4 * wide, 2.68)], 0.1, Material((0.85, 0.65, 0.15)))
    front.fill(box(-wide + 0.05, 0.85, wide - 0.05, 1.05), stripe)
    for x in (-0.75 * wide, 0.75 * wide):
        front.fill(ellipse(x, 0.68, 0.17, 0.12), _LAMP)
    front.fill(box(-0.26, 0.45, 0.26, 0.57), Material(jitter(rng, (0.85, 0.84, 0.7))))
    return front


def window_row(
    sketch: Sketch,
    left: float,
    right: float,
    bottom: float,
    top: float,
    count: int,
    pane: Material,
    frame: Material,
) -> None:
    """Add a band of equal windows."""
    edges = np.linspace(left, right, count + 1)
    gap = 0.1 * (edges[1] - edges[0])
    sketch.fill(
        box(left - gap / 2, bottom - 0.06, right + gap / 2, top + 0.06), frame.shaded(0.45, relief=0.45)
    )
    for start, end in pairwise(edges):
        sketch.fill(rounded_box(start + gap / 2, bottom, end - gap / 2, top, 0.08), pane)


def train(rng: np.random.Generator) -> Sketch:
    """Draw a train of one or two coaches."""
    body, pane, stripe, under = paint(rng), glass(rng), paint(rng), rubber(rng)
    height, coach = rng.uniform(3.4, 3.9), rng.uniform(7.0, 12.0)
    side = Sketch()
    coaches = int(rng.integers(1, 3))
    for number in range(coaches):
        x = number * (coach + 0.35)
        side.fill(box(x + 0.3, 0.35, x + coach - 0.3, 1.0), under)
        for axle in (0.14, 0.24, 0.76, 0.86):
            wheel(side, x + axle * coach, 0.42, under.shaded(1.6), metal(rng).shaded(0.6), spokes=4)
        side.fill(rounded_box(x, 0.85, x + coach, height, 0.3), body)
        side.fill(box(x, 1.15, x + coach, 1.5), stripe)
        window_row(side, x + 1.4, x + coach - 1.4, 1.95, 2.85, int(rng.integers(5, 9)), pane, body)
        for door in (x + 0.35, x + coach - 1.15):
            side.fill(box(door, 1.0, door + 0.8, 3.0), stripe.shaded(0.8))
            side.fill(box(door + 0.15, 1.95, door + 0.65, 2.85), pane)
    front = Sketch()
    front.fill(box(-1.2, 0.25, 1.2, 1.0), under)
    front.fill(rounded_box(-1.4, 0.8, 1.4, height, 0.5), pick(rng, body, stripe).shaded(1.05))
    for x in (-0.95, 0.1):
        front.fill(rounded_box(x, 2.0, x + 0.85, 3.0, 0.12), pane)
    front.fill(box(-1.35, 1.2, 1.35, 1.5), stripe)
    for x in (-0.95, 0.95):
        front.fill(ellipse(x, 1.7, 0.16, 0.16), _LAMP)
    for x in (-0.8, 0.8):
        front.disc(x, 0.75, 0.2, metal(rng).shaded(0.5))
    return _any_view(rng, side, front)


def bicycle(rng: np.random.Generator) -> Sketch:
    """Draw a bicycle, which is transparent between its parts."""
    frame, tyre, rim = paint(rng), rubber(rng), metal(rng)
    sketch = Sketch()
    radius, base = rng.uniform(0.3, 0.36), rng.uniform(0.98, 1.08)
    rear, front = np.array([0.0, radius]), np.array([base, radius])
    for center in (rear, front):
        for turn in np.linspace(0, np.pi, 9)[:-1]:
            spoke = 0.95 * radius * np.array([np.cos(turn), np.sin(turn)])
            sketch.stroke([center - spoke, center + spoke], 0.005, rim)
        sketch.stroke(ellipse(*center, radius * 0.93, radius * 0.93), 0.02, rim, closed=True)
        sketch.stroke(ellipse(*center, radius, radius), 0.045, tyre, closed=True)
        sketch.disc(*center, 0.035, rim)
    crank, seat, head = np.array([0.43, 0.28]), np.array([0.28, 0.82]), np.array([base - 0.2, 0.8])
    top = moved(seat, 0.02, -0.1) if rng.random() < 0.7 else moved(crank, 0.0, 0.25)
    for start, end in (
        (crank, head),
        (top, moved(head, -0.01, 0.06)),
        (crank, seat),
        (rear, crank),
        (rear, moved(seat, 0, -0.12)),
        (front, moved(head, -0.04, 0.12)),
    ):
        sketch.stroke([start, end], 0.034, frame.shaded(1.0, relief=0.8))
    sketch.stroke([rear, crank], 0.015, rim.shaded(0.5))
    sketch.stroke(ellipse(*crank, 0.09, 0.09), 0.02, rim, closed=True)
    sketch.stroke([moved(crank, -0.1, -0.12), moved(crank, 0.1, 0.12)], 0.025, rim.shaded(0.7))
    sketch.stroke([seat, moved(seat, -0.02, 0.12)], 0.03, rim)
    sketch.fill(
        smooth(
            [
                moved(seat, -0.15, 0.16),
                moved(seat, 0.0, 0.16),
                moved(seat, 0.13, 0.13),
                moved(seat, 0.0, 0.1),
                moved(seat, -0.14, 0.1),
            ],
            n=4,
        ),
        tyre,
    )
    bar = moved(head, -0.05, 0.22)
    drop = rng.choice([-0.12, 0.05])
    sketch.stroke([moved(head, -0.04, 0.1), bar], 0.03, rim)
    sketch.stroke([bar, moved(bar, 0.1, 0.02), moved(bar, 0.12, drop), moved(bar, 0.02, drop)], 0.03, tyre)
    if rng.random() < 0.4:
        sketch.stroke(ellipse(*rear, radius * 1.12, radius * 1.12)[2:15], 0.03, frame)
    if rng.random() < 0.25:
        sketch.fill(
            box(base - 0.02, 0.72, base + 0.28, 0.95), Material(jitter(rng, (0.45, 0.33, 0.2)), "cloth")
        )
    return sketch


def motorbike(rng: np.random.Generator) -> Sketch:
    """Draw a motorbike."""
    body, tyre, rim, engine = paint(rng), rubber(rng), metal(rng), metal(rng)
    sketch = Sketch()
    radius, base = rng.uniform(0.28, 0.34), rng.uniform(1.3, 1.6)
    for x in (0.0, base):
        wheel(sketch, x, radius, tyre, rim, spokes=int(rng.integers(5, 10)))
    sketch.stroke([(base, radius), (base - 0.33, 0.95)], 0.075, rim)
    sketch.fill(
        smooth([(0.25, 0.28), (0.3, 0.62), (0.85, 0.68), (0.98, 0.4), (0.75, 0.2)], n=4), engine.shaded(0.5)
    )
    for y in np.linspace(0.32, 0.58, 5):
        sketch.stroke([(0.5, y), (0.82, y + 0.03)], 0.022, engine)
    sketch.disc(0.48, 0.36, 0.1, engine.shaded(1.1, relief=0.75))
    sketch.fill(
        limb([(0.75, 0.3), (0.3, 0.24), (-0.35, 0.34)], [0.07, 0.08, 0.12]), rim.shaded(1.2, relief=0.8)
    )
    sketch.fill(
        smooth([(0.5, 0.66), (0.6, 0.88), (0.9, 0.92), (1.03, 0.74), (0.8, 0.66)], n=5),
        body.shaded(1.0, relief=0.75),
    )
    sketch.fill(
        smooth([(-0.25, 0.78), (-0.1, 0.86), (0.3, 0.74), (0.55, 0.8), (0.55, 0.68), (0.1, 0.64)], n=5),
        tyre.shaded(1.4),
    )
    sketch.fill(smooth([(-0.42, 0.72), (-0.25, 0.8), (0.2, 0.66), (0.1, 0.58)], n=4), body)
    sketch.fill(ellipse(base, 2 * radius + 0.02, 0.26, 0.05, angle=-0.15), body)
    head = np.array([base - 0.3, 0.92])
    if rng.random() < 0.45:
        sketch.fill(
            smooth(
                [
                    moved(head, -0.2, -0.3),
                    moved(head, -0.1, 0.22),
                    moved(head, 0.12, 0.12),
                    moved(head, 0.3, -0.1),
                    moved(head, 0.1, -0.35),
                ],
                n=4,
            ),
            body.shaded(1.05, relief=0.8),
        )
        sketch.fill([moved(head, -0.1, 0.2), moved(head, 0.02, 0.38), moved(head, 0.14, 0.12)], glass(rng))
    sketch.fill(ellipse(*(moved(head, 0.12, -0.02)), 0.09, 0.1), _LAMP)
    sketch.stroke([moved(head, 0.02, 0.04), moved(head, -0.08, 0.2), moved(head, -0.26, 0.17)], 0.045, tyre)
    sketch.fill(box(-0.45, 0.62, -0.38, 0.7), _REAR_LAMP)
    return sketch
