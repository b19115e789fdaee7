"""Furniture and household objects."""

from itertools import pairwise

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import (
    box,
    ellipse,
    lathe,
    limb,
    moved,
    rounded_box,
    smooth,
)
from reproduction.datasets.simulators.scenes.materials import (
    any_surface,
    cloth,
    glass,
    jitter,
    leaf,
    metal,
    paint,
    pick,
    rubber,
    stone,
    wood,
)
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch


def legs(
    sketch: Sketch, places: list[tuple[float, float]], top: float, width: float, material: Material
) -> None:
    """Add straight legs; ``places`` lists (x, height of the foot), far ones first and higher."""
    for x, foot in places:
        tone = material.shaded(0.65 if foot > 0 else 1.0)
        sketch.fill(limb([(x, top), (x, foot + width / 2)], [width, 0.8 * width]), tone)


def bottle(rng: np.random.Generator) -> Sketch:
    """Draw a bottle of glass or plastic with a label."""
    color = pick(
        rng,
        (0.1, 0.22, 0.12),
        (0.3, 0.16, 0.06),
        (0.62, 0.72, 0.74),
        (0.55, 0.12, 0.1),
        (0.2, 0.35, 0.6),
        (0.8, 0.8, 0.78),
    )
    body = Material(jitter(rng, color), "glass", 0.6)
    height, half = rng.uniform(0.22, 0.33), rng.uniform(0.032, 0.05)
    neck, shoulder = rng.uniform(0.25, 0.42) * half, rng.uniform(0.5, 0.75) * height
    profile = [
        (0.85 * half, 0),
        (half, 0.012),
        (half, shoulder),
        (0.8 * half, shoulder + 0.25 * (height - shoulder)),
        (neck, shoulder + 0.55 * (height - shoulder)),
        (neck, height),
    ]
    sketch = Sketch()
    sketch.fill(lathe(profile), body)
    level = rng.uniform(0.3, 0.95) * shoulder
    sketch.fill(
        lathe([(0.8 * half, 0.008), (0.93 * half, 0.02), (0.93 * half, level)]),
        body.shaded(rng.uniform(0.55, 0.9)),
    )
    # The reflection of a window.
    sketch.stroke(
        [(-0.62 * half, 0.06 * height), (-0.62 * half, 0.95 * shoulder)], 0.16 * half, body.shaded(1.9)
    )
    if rng.random() < 0.8:
        low, high = sorted(rng.uniform(0.15, 0.95, 2) * shoulder)
        high = max(high, low + 0.25 * shoulder)
        label = any_surface(rng).shaded(1.2, relief=0.65)
        sketch.fill(box(-half, low, half, high), label)
        sketch.fill(
            box(-0.6 * half, low + 0.55 * (high - low), 0.7 * half, low + 0.75 * (high - low)),
            label.shaded(0.5),
        )
        for y in (0.2, 0.35):
            sketch.stroke(
                [(-0.55 * half, low + y * (high - low)), (0.5 * half, low + y * (high - low))],
                0.003,
                label.shaded(0.6),
            )
    sketch.fill(box(-1.15 * neck, height - 0.03, 1.15 * neck, height), paint(rng))
    return sketch


def chair(rng: np.random.Generator) -> Sketch:
    """Draw a chair with a back of slats or of one piece."""
    frame = pick(rng, wood, wood, metal, paint)(rng)
    cushion = pick(rng, frame, cloth(rng))
    sketch = Sketch()
    half, seat, back, depth = rng.uniform(0.2, 0.26), 0.45, rng.uniform(0.82, 1.05), rng.uniform(0.06, 0.16)
    skew = rng.uniform(-0.22, 0.22)
    width = rng.uniform(0.03, 0.055)
    legs(sketch, [(-half + skew, depth), (half + skew, depth), (-half, 0), (half, 0)], seat, width, frame)
    if rng.random() < 0.4:
        sketch.stroke([(-half, 0.2), (half, 0.2)], 0.025, frame.shaded(0.8))
    for x in (-half + skew, half + skew):
        sketch.fill(limb([(x, seat), (x * 1.03, back + depth)], [width, width]), frame)
    top, low = back + depth, seat + depth + 0.1
    style = rng.integers(3)
    if style == 0:
        for x in np.linspace(-half, half, int(rng.integers(4, 7)))[1:-1] + skew:
            sketch.stroke([(x, low - 0.1), (x, top - 0.03)], 0.025, frame.shaded(0.9))
        sketch.fill(
            rounded_box(-half + skew - 0.02, top - 0.1, half + skew + 0.02, top, 0.03),
            frame.shaded(1.05, relief=0.7),
        )
    elif style == 1:
        sketch.fill(rounded_box(-half + skew, low, half + skew, top, 0.08), cushion.shaded(0.95, relief=0.65))
    else:
        for y in np.linspace(low, top - 0.07, 3):
            sketch.fill(
                rounded_box(-half + skew, y, half + skew, y + 0.07, 0.02), frame.shaded(0.97, relief=0.65)
            )
    sketch.fill(
        [
            (-half - 0.02, seat),
            (half + 0.02, seat),
            (half + skew, seat + depth),
            (-half + skew, seat + depth),
        ],
        cushion.shaded(1.12),
    )
    sketch.fill(box(-half - 0.02, seat - 0.05, half + 0.02, seat), cushion.shaded(0.75))
    return sketch


def sofa(rng: np.random.Generator) -> Sketch:
    """Draw a sofa of one to three seats with cushions."""
    cover = pick(rng, cloth(rng), Material(jitter(rng, (0.3, 0.19, 0.12)), "cloth"))
    seats = int(rng.integers(1, 4))
    half = 0.32 * seats + 0.22
    sketch = Sketch()
    legs(sketch, [(-half + 0.1, 0), (half - 0.1, 0)], 0.15, 0.07, wood(rng).shaded(0.6))
    back = rng.uniform(0.75, 0.95)
    sketch.fill(rounded_box(-half + 0.06, 0.2, half - 0.06, back, 0.12), cover.shaded(0.9))
    edges = np.linspace(-half + 0.2, half - 0.2, seats + 1)
    for left, right in pairwise(edges):
        sketch.fill(
            rounded_box(left + 0.01, 0.42, right - 0.01, back - 0.06, 0.1),
            cover.shaded(rng.uniform(0.95, 1.05), relief=0.7),
        )
        sketch.fill(
            rounded_box(left + 0.01, 0.3, right - 0.01, 0.5, 0.06),
            cover.shaded(rng.uniform(1.05, 1.18), relief=0.8),
        )
    sketch.fill(rounded_box(-half + 0.1, 0.08, half - 0.1, 0.32, 0.04), cover.shaded(0.75, relief=0.75))
    arm = rng.uniform(0.55, 0.68)
    for x in (-half, half - 0.22):
        sketch.fill(rounded_box(x, 0.07, x + 0.22, arm, 0.09), cover.shaded(1.0, relief=0.9))
        sketch.fill(ellipse(x + 0.11, arm - 0.07, 0.13, 0.09), cover.shaded(1.08, relief=0.95))
    for _ in range(int(rng.integers(0, 3))):
        x = rng.uniform(-half + 0.35, half - 0.35) if seats > 1 else 0.0
        pillow = smooth([(x - 0.2, 0.48), (x - 0.17, 0.78), (x + 0.17, 0.8), (x + 0.2, 0.5)], n=4)
        sketch.fill(pillow, cloth(rng).shaded(1.05, relief=0.95))
    return sketch


def diningtable(rng: np.random.Generator) -> Sketch:
    """Draw a table laid with crockery."""
    top, half = 0.74, rng.uniform(0.55, 1.0)
    depth = rng.uniform(0.12, 0.36)
    timber = wood(rng)
    plate = Material(jitter(rng, (0.88, 0.87, 0.84), 0.04), "plain", 0.75)
    sketch = Sketch()
    round_top = rng.random() < 0.35
    if round_top:
        sketch.fill(limb([(0, top), (0, 0.08)], [0.12, 0.1]), timber.shaded(0.7))
        sketch.fill(ellipse(0, 0.06, 0.3, 0.06), timber.shaded(0.75))
        surface = ellipse(0, top, half, depth * 0.7)
    else:
        legs(
            sketch,
            [(-0.75 * half, depth * 0.5), (0.75 * half, depth * 0.5), (-0.92 * half, 0), (0.92 * half, 0)],
            top,
            0.08,
            timber,
        )
        surface = np.array(
            [(-half, top), (half, top), (0.82 * half, top + depth), (-0.82 * half, top + depth)]
        )
    covered = rng.random() < 0.45
    board = cloth(rng).shaded(1.2) if covered else timber.shaded(1.15)
    if covered and not round_top:
        fall = rng.uniform(0.15, 0.4)
        edge = np.linspace(-half, half, 9)
        hem = [(x, top - fall + 0.03 * (-1) ** k) for k, x in enumerate(edge)]
        sketch.fill([(-half, top), *hem, (half, top)], board.shaded(0.75))
    else:
        sketch.fill(surface - (0, 0.05), board.shaded(0.6))
    sketch.fill(surface, board)
    middle = top + (0.0 if round_top else 0.5 * depth)
    for _ in range(int(rng.integers(1, 6))):
        x, y = rng.uniform(-0.65, 0.65) * half, middle + rng.uniform(-0.3, 0.3) * depth
        if rng.random() < 0.5:
            sketch.fill(ellipse(x, y, 0.13, 0.13 * depth), plate)
            sketch.fill(ellipse(x, y + 0.005, 0.08, 0.08 * depth), any_surface(rng))
        else:
            tall, wide = rng.uniform(0.06, 0.2), rng.uniform(0.03, 0.05)
            sketch.fill(
                moved(lathe([(0.7 * wide, 0), (wide, 0.6 * tall), (wide, tall)], x), 0, y),
                pick(rng, glass, stone, paint)(rng),
            )
    return sketch


def pottedplant(rng: np.random.Generator) -> Sketch:
    """Draw a plant with broad, narrow or feathery leaves in a pot."""
    pot = pick(
        rng,
        Material(jitter(rng, (0.6, 0.34, 0.22)), "stone"),
        stone(rng),
        paint(rng),
        Material(jitter(rng, (0.85, 0.84, 0.8)), "plain"),
    )
    green = leaf(rng)
    height, half = rng.uniform(0.14, 0.24), rng.uniform(0.09, 0.14)
    sketch = Sketch()
    spread, reach = rng.uniform(0.6, 1.3), rng.uniform(0.2, 0.55)
    slender = rng.uniform(0.12, 0.4)
    flower = cloth(rng).shaded(1.4) if rng.random() < 0.35 else None
    tones = [
        green.shaded(factor, relief)
        for factor, relief in ((0.5, 0.3), (0.65, 0.4), (0.85, 0.55), (1.05, 0.7), (1.25, 0.85))
    ]
    for number in range(int(rng.integers(14, 34))):
        tone = tones[min(4, number * 5 // 22)]
        angle = np.pi / 2 + rng.normal(0, 0.5) * spread
        length = reach * rng.uniform(0.5, 1.1)
        direction = np.array([np.cos(angle), np.sin(angle)])
        root = np.array([rng.normal(0, 0.3) * half, height + 0.01])
        bend = np.array([direction[0] * 0.25 * length, -0.15 * length * abs(direction[0])])
        middle, tip = root + 0.6 * length * direction, root + length * direction + bend
        wide = slender * length
        sketch.stroke([root, middle], 0.008, tone.shaded(0.7))
        sketch.fill(
            limb([root + 0.3 * length * direction, middle, tip], [0.3 * wide, wide, 0.1 * wide]), tone
        )
        if flower is not None and rng.random() < 0.4:
            sketch.disc(*tip, rng.uniform(0.02, 0.045), flower)
    sketch.fill(lathe([(0.68 * half, 0), (half, height)]), pot)
    sketch.fill(
        rounded_box(-1.1 * half, height - 0.035, 1.1 * half, height + 0.01, 0.01), pot.shaded(1.1, relief=0.8)
    )
    return sketch


def tvmonitor(rng: np.random.Generator) -> Sketch:
    """Draw a flat screen or an old television set with random content."""
    case = pick(rng, rubber(rng), rubber(rng).shaded(2.5), Material(jitter(rng, (0.75, 0.73, 0.66)), "plain"))
    half = rng.uniform(0.2, 0.55)
    tall = half * rng.uniform(1.1, 1.5)
    foot = rng.uniform(0.05, 0.14)
    old = rng.random() < 0.35
    sketch = Sketch()
    if old:
        sketch.fill(
            [
                (-half, foot),
                (half, foot),
                (0.8 * half, foot + 1.12 * tall),
                (-0.8 * half, foot + 1.12 * tall),
            ],
            case.shaded(0.7),
        )
    sketch.fill(box(-0.12 * half, 0.01, 0.12 * half, foot + 0.02), case.shaded(0.8))
    sketch.fill(ellipse(0, 0.02, 0.5 * half, 0.025), case.shaded(1.2))
    sketch.fill(rounded_box(-half, foot, half, foot + tall, 0.03), case.shaded(1.1, relief=0.7))
    rim = (0.14 if old else 0.06) * half
    left, bottom, right, top = -half + rim, foot + 1.4 * rim, half - rim, foot + tall - rim
    lit = rng.random() < 0.6
    screen = any_surface(rng).shaded(1.3, relief=0.35) if lit else Material((0.07, 0.08, 0.09), "glass", 0.35)
    sketch.fill(rounded_box(left, bottom, right, top, 0.06 if old else 0.01), screen)
    if lit:
        for _ in range(int(rng.integers(2, 6))):
            x1, x2 = sorted(rng.uniform(left + 0.01, right - 0.01, 2))
            y1, y2 = sorted(rng.uniform(bottom + 0.01, top - 0.01, 2))
            content = any_surface(rng).shaded(1.2, relief=0.35)
            sketch.fill(
                pick(
                    rng,
                    box(x1, y1, x2, y2),
                    ellipse((x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1) / 2, (y2 - y1) / 2),
                ),
                content,
            )
    else:
        sketch.fill(
            [
                (left + 0.3 * half, top),
                (left + 0.7 * half, top),
                (left + 0.4 * half, bottom),
                (left + 0.05 * half, bottom),
            ],
            screen.shaded(1.8),
        )
    for x in np.linspace(0.7 * half, 0.85 * half, 3):
        sketch.disc(x, foot + 0.6 * rim, 0.12 * rim, metal(rng))
    return sketch
