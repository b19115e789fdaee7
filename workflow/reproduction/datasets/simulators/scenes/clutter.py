"""Things in a scene that are not objects of a class, outdoors and indoors."""

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


def tree(rng: np.random.Generator) -> Sketch:
    """Draw a tree: a trunk with branches and clumps of leaves, darker at the bottom."""
    sketch = Sketch()
    bark = wood(rng).shaded(0.6)
    height = rng.uniform(4.0, 9.0)
    lean = rng.normal(0, 0.05) * height
    sketch.fill(
        limb(
            [(0, 0), (lean / 2, 0.4 * height), (lean, 0.75 * height)],
            [0.07 * height, 0.05 * height, 0.02 * height],
        ),
        bark,
    )
    for _ in range(4):
        start = rng.uniform(0.3, 0.6) * height
        sketch.stroke(
            [(lean / 2, start), (lean / 2 + rng.normal(0, 0.18) * height, start + 0.2 * height)],
            0.018 * height,
            bark,
        )
    _crown(sketch, rng, lean, 0.68 * height, 0.3 * height, 0.3 * height, leaf(rng), count=26)
    return sketch


def bush(rng: np.random.Generator) -> Sketch:
    """Draw a bush."""
    sketch = Sketch()
    half = rng.uniform(0.5, 1.3)
    _crown(sketch, rng, 0, 0.5 * half, half, 0.55 * half, leaf(rng), count=22)
    return sketch


def _crown(sketch, rng, x, y, half_width, half_height, green, count) -> None:
    tones = [
        green.shaded(factor, relief)
        for factor, relief in ((0.45, 0.3), (0.65, 0.4), (0.9, 0.55), (1.15, 0.7))
    ]
    places = rng.normal(0, 0.45, (count, 2)).clip(-1, 1)
    # Higher clumps are brighter and are painted later.
    for number, (u, v) in enumerate(places[np.argsort(places[:, 1] + rng.normal(0, 0.4, count))]):
        radius = rng.uniform(0.16, 0.34)
        turn = np.linspace(0, 2 * np.pi, 15)[:-1]
        ragged = radius * rng.uniform(0.6, 1.25, 14)
        points = np.stack(
            [(u + ragged * np.cos(turn)) * half_width, (v + ragged * np.sin(turn)) * half_height], axis=1
        )
        sketch.fill(moved(points, x, y), tones[number * 4 // count])


def facade(rng: np.random.Generator) -> Sketch:
    """Draw the front of a house with rows of windows, a door or a shop."""
    sketch = Sketch()
    wall, pane, frame = stone(rng), glass(rng), pick(rng, wood, paint)(rng)
    storeys, columns = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    pitch, storey = rng.uniform(1.8, 2.8), rng.uniform(2.7, 3.3)
    width, height = columns * pitch + 0.6, storeys * storey + 0.5
    if rng.random() < 0.4:
        sketch.fill(
            [(-0.3, height), (width + 0.3, height), (0.8 * width, height + 2), (0.2 * width, height + 2)],
            stone(rng).shaded(0.6),
        )
    sketch.fill(box(0, 0, width, height), wall)
    sketch.fill(box(-0.1, height - 0.25, width + 0.1, height), wall.shaded(0.8, relief=0.7))
    for row in range(storeys):
        for column in range(columns):
            x, y = 0.3 + (column + 0.22) * pitch, row * storey + 0.9
            w, h = 0.56 * pitch, 0.52 * storey
            if row == 0 and rng.random() < 0.3:
                y, h = 0, 0.75 * storey
            sketch.fill(box(x - 0.1, y - 0.1, x + w + 0.1, y + h + 0.1), frame.shaded(1.1, relief=0.65))
            sketch.fill(box(x, y, x + w, y + h), pane.shaded(pick(rng, 0.7, 1.0, 1.3), relief=0.3))
            sketch.stroke([(x + w / 2, y), (x + w / 2, y + h)], 0.07, frame)
    return sketch


def post(rng: np.random.Generator) -> Sketch:
    """Draw a lamp post, a road sign or a bollard."""
    sketch = Sketch()
    pole = pick(rng, metal, wood, paint)(rng).shaded(0.7)
    height, width = rng.uniform(0.9, 5.0), rng.uniform(0.07, 0.16)
    sketch.fill(box(-width / 2, 0, width / 2, height), pole)
    if height > 3.2:
        sketch.stroke([(0, height), (0.5, height + 0.3), (1.2, height + 0.3)], 0.08, pole)
        sketch.fill(ellipse(1.2, height + 0.25, 0.35, 0.12), stone(rng))
    elif height > 1.8:
        face = pick(rng, ellipse(0, height, 0.35, 0.35), box(-0.4, height - 0.3, 0.4, height + 0.3))
        sketch.fill(face, paint(rng).shaded(1.1))
        sketch.fill(face * (0.7, 0.7) + (0, 0.3 * height), any_surface(rng).shaded(1.2))
    return sketch


def fence(rng: np.random.Generator) -> Sketch:
    """Draw a few meters of fence."""
    sketch = Sketch()
    rail = pick(rng, wood, metal, paint)(rng)
    length, height = rng.uniform(3, 9), rng.uniform(0.8, 1.4)
    for y in np.linspace(0.3, 0.9, int(rng.integers(2, 4))) * height:
        sketch.fill(box(0, y, length, y + 0.08), rail.shaded(0.9))
    for x in np.arange(0, length, rng.choice([0.35, 1.4])):
        sketch.fill(box(x, 0, x + 0.1, height), rail.shaded(1.0, relief=0.7))
    return sketch


def rock(rng: np.random.Generator) -> Sketch:
    """Draw a boulder."""
    sketch = Sketch()
    gray = stone(rng)
    size = rng.uniform(0.2, 0.7)
    turn = np.linspace(0, np.pi, 9)
    radius = size * rng.uniform(0.75, 1.2, 9)
    outline = np.stack([1.4 * radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    sketch.fill(outline, gray)
    sketch.fill([outline[2], outline[4], outline[5], (0.1 * size, 0.3 * size)], gray.shaded(1.2, relief=0.7))
    sketch.fill([outline[6], outline[8], (0, 0), (-0.2 * size, 0.4 * size)], gray.shaded(0.75))
    return sketch


def tuft(rng: np.random.Generator) -> Sketch:
    """Draw a tuft of grass or reeds."""
    sketch = Sketch()
    green = leaf(rng)
    tones = [green.shaded(factor) for factor in (0.6, 0.9, 1.2)]
    height = rng.uniform(0.2, 0.7)
    for number in range(22):
        x, bend = rng.normal(0, 0.4) * height, rng.normal(0, 0.3) * height
        tip = height * rng.uniform(0.5, 1.1)
        sketch.fill(
            limb(
                [(x, 0), (x + 0.3 * bend, 0.6 * tip), (x + bend, tip)], [0.05 * height, 0.04 * height, 0.01]
            ),
            tones[number % 3],
        )
    return sketch


def crate(rng: np.random.Generator) -> Sketch:
    """Draw a box, a bin or a suitcase."""
    sketch = Sketch()
    side = any_surface(rng)
    w, h, d = rng.uniform(0.3, 0.9), rng.uniform(0.3, 0.9), rng.uniform(0.08, 0.3)
    sketch.fill([(w, 0), (w + d, d), (w + d, h + d), (w, h)], side.shaded(0.6))
    sketch.fill([(0, h), (w, h), (w + d, h + d), (d, h + d)], side.shaded(1.25))
    sketch.fill(box(0, 0, w, h), side)
    for y in (0.25 * h, 0.7 * h):
        sketch.fill(box(0.06 * w, y, 0.94 * w, y + 0.06 * h), side.shaded(pick(rng, 0.6, 1.3)))
    return sketch


def blob(rng: np.random.Generator) -> Sketch:
    """Draw a thing with parts and materials like those of the objects, but of no class."""
    sketch = Sketch()
    size = rng.uniform(0.2, 0.8)
    surface = any_surface(rng)
    for _ in range(int(rng.integers(2, 7))):
        x, y = rng.normal(0, 0.5, 2) * size
        kind = rng.integers(4)
        part = surface.shaded(rng.uniform(0.6, 1.3)) if rng.random() < 0.6 else any_surface(rng)
        r1, r2 = rng.uniform(0.15, 0.6, 2) * size
        if kind == 0:
            sketch.fill(ellipse(x, y, r1, r2, rng.uniform(0, 3)), part)
        elif kind == 1:
            sketch.fill(
                limb(
                    [(0, 0), (x, y), (x + rng.normal(0, r1), y + rng.normal(0, r1))],
                    [0.3 * r1, 0.25 * r1, 0.15 * r1],
                ),
                part,
            )
        elif kind == 2:
            sketch.fill(smooth(rng.normal(0, 0.4, (6, 2)) * size + (x, y), n=4), part)
        else:
            sketch.fill(rounded_box(x - r1, y - r2, x + r1, y + r2, 0.1 * size), part)
    low = sketch.bounds()[1]
    return sketch.mapped(lambda points: points - (0, low))


def cupboard(rng: np.random.Generator) -> Sketch:
    """Draw a cupboard, a chest of drawers or a door."""
    sketch = Sketch()
    front = pick(rng, wood, paint)(rng)
    w, h = rng.uniform(0.6, 1.5), rng.uniform(0.7, 2.1)
    sketch.fill(box(0, 0, w, h), front.shaded(0.8))
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    for row in range(rows):
        for column in range(columns):
            left, bottom = column * w / columns + 0.03, row * h / rows + 0.03
            right, top = (column + 1) * w / columns - 0.03, (row + 1) * h / rows - 0.03
            sketch.fill(box(left, bottom, right, top), front.shaded(1.08, relief=0.7))
            sketch.disc(right - 0.07, (bottom + top) / 2, 0.02, metal(rng))
    return sketch


def bookshelf(rng: np.random.Generator) -> Sketch:
    """Draw a shelf with the backs of books."""
    sketch = Sketch()
    board = wood(rng)
    w, rows = rng.uniform(0.6, 1.3), int(rng.integers(2, 5))
    sketch.fill(box(0, 0, w, 0.36 * rows + 0.04), board.shaded(0.45))
    books = [any_surface(rng) for _ in range(9)]
    for row in range(rows):
        x = 0.04
        while x < w - 0.1:
            thick, tall = rng.uniform(0.02, 0.07), rng.uniform(0.2, 0.31)
            sketch.fill(
                box(x, 0.36 * row + 0.04, x + thick, 0.36 * row + 0.04 + tall), books[int(rng.integers(9))]
            )
            x += thick + (rng.uniform(0.05, 0.3) if rng.random() < 0.12 else 0.003)
        sketch.fill(box(0, 0.36 * row, w, 0.36 * row + 0.04), board)
    return sketch


def picture(rng: np.random.Generator) -> Sketch:
    """Draw a framed picture."""
    sketch = Sketch()
    w, h = rng.uniform(0.3, 0.9), rng.uniform(0.3, 0.8)
    sketch.fill(box(0, 0, w, h), wood(rng))
    sketch.fill(box(0.04, 0.04, w - 0.04, h - 0.04), Material(jitter(rng, (0.8, 0.78, 0.72)), "plain", 0.4))
    sketch.fill(box(0.1, 0.1, w - 0.1, h - 0.1), any_surface(rng))
    sketch.fill(box(0.1, 0.1, w - 0.1, rng.uniform(0.13, h - 0.12)), any_surface(rng))
    return sketch


def window(rng: np.random.Generator) -> Sketch:
    """Draw a window with curtains."""
    sketch = Sketch()
    w, h = rng.uniform(0.8, 1.6), rng.uniform(0.9, 1.5)
    frame = Material(jitter(rng, (0.82, 0.81, 0.78)), "plain")
    sketch.fill(box(0, 0, w, h), frame)
    daylight = Material(jitter(rng, (0.75, 0.83, 0.88)), "glass", 0.3)
    for left in (0.06, w / 2 + 0.03):
        sketch.fill(box(left, 0.07, left + w / 2 - 0.09, h - 0.07), daylight)
    if rng.random() < 0.6:
        curtain = cloth(rng)
        for start, end in ((-0.25, 0.12), (w - 0.12, w + 0.25)):
            for k, x in enumerate(np.linspace(start, end, 6)[:-1]):
                sketch.fill(
                    box(x, -0.3, x + 0.08, h + 0.15),
                    curtain.shaded(0.8 + 0.3 * (k % 2), relief=0.5 + 0.2 * (k % 2)),
                )
    return sketch


def lamp(rng: np.random.Generator) -> Sketch:
    """Draw a standing lamp."""
    sketch = Sketch()
    height = rng.uniform(0.5, 1.6)
    sketch.fill(ellipse(0, 0.02, 0.13, 0.03), metal(rng))
    sketch.stroke([(0, 0), (0, height)], 0.03, metal(rng))
    sketch.fill(lathe([(0.2, height - 0.1), (0.11, height + 0.18)]), cloth(rng).shaded(1.6, relief=0.8))
    return sketch


def vessel(rng: np.random.Generator) -> Sketch:
    """Draw a bowl, a mug, a vase or a jar."""
    sketch = Sketch()
    clay = pick(rng, stone, paint, glass)(rng)
    h, w = rng.uniform(0.07, 0.25), rng.uniform(0.04, 0.12)
    sketch.fill(
        smooth(
            lathe([(0.7 * w, 0), (w, 0.35 * h), (rng.uniform(0.5, 1.1) * w, 0.75 * h), (0.7 * w, h)]), n=4
        ),
        clay,
    )
    sketch.fill(ellipse(0, h, 0.6 * w, 0.12 * w), clay.shaded(0.5))
    return sketch


def buoy(rng: np.random.Generator) -> Sketch:
    """Draw a buoy or a mooring post."""
    sketch = Sketch()
    if rng.random() < 0.5:
        sketch.fill(box(-0.12, 0, 0.12, rng.uniform(0.8, 2)), wood(rng).shaded(0.6))
    else:
        sketch.fill(ellipse(0, 0.25, 0.35, 0.35), paint(rng))
        sketch.stroke([(0, 0.5), (0, 1.1)], 0.05, rubber(rng))
    return sketch
