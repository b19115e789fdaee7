"""Sketches of 17 kinds of flowers, with form, colors and numbers of petals from floras.

Kinds are grouped by their form, that is by how they look: rays, open, bells, cups and lips. Botanical
families cut across these groups, as they do in nature. Lengths are in diameters of a flower; y goes upwards.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import ellipse, limb, moved, rotated, smooth
from reproduction.datasets.simulators.scenes.materials import jitter, leaf, pick
from reproduction.datasets.simulators.scenes.sketch import Color, Material, Sketch

YELLOW, GOLD, ORANGE = (0.93, 0.82, 0.12), (0.95, 0.68, 0.08), (0.9, 0.4, 0.12)
WHITE, CREAM, LILAC = (0.93, 0.93, 0.9), (0.9, 0.87, 0.7), (0.68, 0.55, 0.82)
VIOLET, BLUE, PURPLE = (0.42, 0.2, 0.62), (0.42, 0.42, 0.82), (0.48, 0.18, 0.32)
BROWN, GREEN = (0.3, 0.17, 0.07), (0.55, 0.65, 0.2)


@dataclass(frozen=True)
class Kind:
    """Appearance of a kind of flower."""

    form: str
    colors: tuple[Color, ...]  #: colors of the petals, of which one is drawn
    center: Color
    petals: tuple[int, int]  #: range of their number
    slimness: float  #: length of a petal over its width
    core: float  #: diameter of the center
    tip: float  #: -1 notched, 0 round, 1 pointed
    flowers: tuple[int, int] = (1, 2)  #: range of their number on a picture, or of bells on a stalk
    mark: str = ""  #: a pattern on the petals


KINDS = {
    "daffodil": Kind("open", (YELLOW, YELLOW, CREAM), GOLD, (6, 6), 1.6, 0.36, 0.6, (1, 3), "trumpet"),
    "snowdrop": Kind("bells", (WHITE,), GREEN, (3, 3), 2.4, 0.1, 0.2, (1, 3), "drop"),
    "lily of the valley": Kind("bells", (WHITE,), CREAM, (6, 6), 0.9, 0.1, 0.3, (6, 12)),
    "bluebell": Kind("bells", (BLUE, BLUE, LILAC), CREAM, (6, 6), 1.9, 0.1, 0.9, (5, 11)),
    "crocus": Kind("cups", (VIOLET, LILAC, WHITE), ORANGE, (6, 6), 2.0, 0.12, 0.2, (1, 6)),
    "iris": Kind("lips", (LILAC, VIOLET, YELLOW, CREAM), YELLOW, (3, 3), 1.3, 0.1, -0.2, (1, 2), "beard"),
    "tiger lily": Kind("open", (ORANGE,), BROWN, (6, 6), 2.8, 0.08, 0.8, (1, 4), "spots"),
    "tulip": Kind("cups", (YELLOW, YELLOW, ORANGE), YELLOW, (6, 6), 2.3, 0.1, 0.9, (1, 4)),
    "fritillary": Kind("bells", (PURPLE,), PURPLE, (6, 6), 1.2, 0.1, 0.5, (1, 2), "chequers"),
    "sunflower": Kind("rays", (GOLD, GOLD, YELLOW), BROWN, (20, 34), 3.0, 0.45, 0.7, (1, 2)),
    "daisy": Kind("rays", (WHITE,), GOLD, (16, 30), 4.2, 0.28, 0.0, (1, 4)),
    "colt's foot": Kind("rays", (YELLOW,), GOLD, (50, 80), 9.0, 0.3, 0.2, (1, 4)),
    "dandelion": Kind("rays", (YELLOW, GOLD), YELLOW, (60, 100), 6.5, 0.1, -0.4, (1, 3)),
    "cowslip": Kind("bells", (YELLOW,), GOLD, (5, 5), 2.1, 0.2, -0.5, (5, 10), "calyx"),
    "buttercup": Kind("open", (YELLOW,), GOLD, (5, 5), 1.05, 0.28, -0.1, (1, 4)),
    "windflower": Kind("open", (WHITE,), YELLOW, (6, 8), 1.7, 0.24, 0.1, (1, 3)),
    "pansy": Kind("lips", (VIOLET, PURPLE, YELLOW, BLUE), YELLOW, (5, 5), 1.0, 0.1, -0.2, (1, 3), "face"),
}


def petal(length: float, width: float, tip: float, base: float = 0.25) -> np.ndarray:
    """Return the outline of a petal from the origin upwards; ``base`` is its relative width there."""
    half = width / 2
    right = [(base * half, 0), (0.8 * half, 0.35), (half, 0.65), ((0.75 - 0.35 * tip) * half, 0.88)]
    top = 1.0 if tip >= 0 else 1 + 0.2 * tip
    points = np.array([*right, (0.0, top), *[(-x, y) for x, y in right[::-1]]])
    return smooth(points * (1, length), n=4)


def bloom(rng: np.random.Generator, kind: Kind, color: Color) -> Sketch:
    """Return one flower centered at the origin; a bell hangs from it."""
    return _FORMS[kind.form](rng, kind, Material(jitter(rng, color, 0.04), "plain", 0.6))


def cluster(rng: np.random.Generator, kind: Kind) -> Sketch:
    """Return the flowers of a plant on their stalks, about one unit in size."""
    green = Material(leaf(rng).color, "plain", 0.6)
    count = int(rng.integers(kind.flowers[0], kind.flowers[1], endpoint=True))
    color = pick(rng, *kind.colors)  # flowers of a plant are alike
    plant = Sketch()
    if kind.form == "bells" and count > 3:
        _raceme(plant, rng, kind, color, green, count)
        return plant
    places = moved(_places(rng, count), 0, 0.45 * (kind.form == "bells"))
    for x, y in places:
        sway = rng.normal(0, 0.15)
        plant.fill(limb([(x + sway - 0.3 * x, -2.5), (x + sway, -1.2), (x, y)], [0.07, 0.06, 0.05]), green)
    for x, y in places:
        head = bloom(rng, kind, color)
        size = rng.uniform(0.8, 1.0) / np.sqrt(count)
        if kind.form in ("rays", "open", "lips"):
            head = _seen_from_aside(rng, head, upright=kind.form == "lips")
        plant.add(head, x, y, size)
    return plant


def _places(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return the places of the flowers of a group: near a ring, or at the center for one flower."""
    if count == 1:
        return np.zeros((1, 2))
    turn = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(count) / count
    reach = rng.uniform(0.35, 0.5, count)
    return np.stack([reach * np.cos(turn), reach * np.sin(turn)], axis=1)


def _seen_from_aside(rng: np.random.Generator, head: Sketch, *, upright: bool) -> Sketch:
    """Rotate a flower in its plane and tilt it by up to 60 degrees."""
    squeeze = np.cos(rng.uniform(0, 1.05))
    turn, lean = (rng.normal(0, 0.15), 0.0) if upright else rng.uniform(0, 2 * np.pi, 2)
    return head.mapped(
        lambda points: rotated(rotated(points, turn) * (1, 1 if upright else squeeze), 0.3 * np.sin(lean))
    )


def _raceme(
    plant: Sketch, rng: np.random.Generator, kind: Kind, color: Color, green: Material, count: int
) -> None:
    """Hang bells along a bent stalk, the smallest at its end; those of cowslips from one point."""
    bend, lean = rng.uniform(0.2, 0.5), pick(rng, -1, 1)
    heights = np.linspace(-0.5, 0.5, count)
    umbel = kind.mark == "calyx"
    stalk = np.stack([lean * bend * (heights - 0.1).clip(0) ** 2 * 2, heights], axis=1)
    plant.fill(limb(np.vstack([(0, -2.5), stalk]), np.linspace(0.06, 0.02, count + 1)), green)
    for number, (x, y) in enumerate(stalk):
        side = pick(rng, -1, 1)
        start = stalk[-1] - (0, 0.15) if umbel else np.array([x, y])
        out = rng.uniform(0.08, 0.38) * side if umbel else side * rng.uniform(0.08, 0.16)
        end = moved(start, out, rng.uniform(-0.25, 0.15) if umbel else rng.uniform(-0.02, 0.05))
        plant.stroke([start, (start + end) / 2 + (0, 0.04), end], 0.02, green)
        size = rng.uniform(0.26, 0.32) * (1 - 0.4 * number / count)
        angle = rng.normal(0, 0.25) + (0.5 * side if umbel else 0.25 * side)
        head = bloom(rng, kind, color).mapped(lambda points, angle=angle: rotated(points, angle))
        plant.add(head, *end, size)


def _rays(rng: np.random.Generator, kind: Kind, material: Material) -> Sketch:
    """Draw narrow rays in two or more rows around a disc of florets."""
    flower = Sketch()
    count = int(rng.integers(kind.petals[0], kind.petals[1], endpoint=True))
    rows = max(2, round(count / 22))
    for row in range(rows):
        length = 0.5 * (1 - 0.75 * row / rows * (1 if kind.core < 0.2 else 0.35))
        for turn in np.linspace(0, 2 * np.pi, max(count // rows, 5), endpoint=False) + rng.uniform(0, 1):
            ray = petal(length * rng.uniform(0.88, 1.05), length / kind.slimness, kind.tip)
            flower.fill(rotated(ray, turn + rng.normal(0, 0.06)), material.shaded(_step(rng, 0.82, 1.1)))
    _disc(flower, rng, kind, grains=60)
    return flower


def _open(rng: np.random.Generator, kind: Kind, material: Material) -> Sketch:
    """Draw a few broad petals around a center, with the marks of the kind."""
    flower = Sketch()
    count = int(rng.integers(kind.petals[0], kind.petals[1], endpoint=True))
    for number in range(count):
        turn = 2 * np.pi * number / count + rng.normal(0, 0.08)
        length = rng.uniform(0.46, 0.54)
        outline = petal(length, length / kind.slimness, kind.tip, base=0.35)
        flower.fill(rotated(outline, turn), material.shaded(_step(rng, 0.85, 1.1)))
        flower.stroke(rotated(np.array([(0, 0.1), (0, 0.8 * length)]), turn), 0.012, material.shaded(0.75))
        if kind.mark == "spots":
            for _ in range(14):
                y = rng.uniform(0.25, 0.75) * length
                x = rng.uniform(-0.25, 0.25) * length / kind.slimness
                flower.disc(
                    *rotated(np.array([x, y]), turn), rng.uniform(0.006, 0.014), Material(kind.center)
                )
    if kind.mark == "trumpet":
        _trumpet(flower, rng, kind)
    elif kind.mark == "spots":
        _stamens(flower, rng, Material(kind.center), count, 0.38)
    else:
        _disc(flower, rng, kind, grains=25)
        _stamens(flower, rng, Material(jitter(rng, kind.center)), 16, 0.8 * kind.core)
    return flower


def _lips(rng: np.random.Generator, kind: Kind, material: Material) -> Sketch:
    """Draw symmetric petals of different sizes: irises and pansies."""
    flower = Sketch()
    if kind.mark == "beard":
        falls = material.shaded(rng.uniform(0.75, 1.0))
        for turn in (0.0, 0.55, -0.55):
            outline = petal(0.52, 0.36, kind.tip)
            flower.fill(rotated(outline, turn + rng.normal(0, 0.05)), material.shaded(_step(rng, 0.9, 1.1)))
        for turn in (1.9, -1.9, np.pi):
            outline = petal(0.55, 0.34, kind.tip)
            flower.fill(rotated(outline, turn + rng.normal(0, 0.08)), falls.shaded(_step(rng, 0.9, 1.1)))
            flower.stroke(rotated(np.array([(0, 0.08), (0, 0.25)]), turn), 0.04, Material(kind.center))
        return flower
    lower = Material(jitter(rng, pick(rng, *kind.colors)), "plain", 0.6)
    for turn, width, own in (
        (0.4, 0.5, material),
        (-0.4, 0.5, material),
        (1.6, 0.42, lower),
        (-1.6, 0.42, lower),
        (np.pi, 0.55, lower),
    ):
        outline = petal(0.46, width, kind.tip)
        flower.fill(rotated(outline, turn + rng.normal(0, 0.06)), own.shaded(_step(rng, 0.9, 1.1)))
        if abs(turn) > 1:
            for ray in np.linspace(-0.3, 0.3, 5):
                dark = Material((0.15, 0.05, 0.18))
                flower.stroke(rotated(np.array([(0, 0.05), (0, 0.22)]), turn + ray), 0.02, dark)
    flower.disc(0, -0.02, 0.05, Material(kind.center))
    return flower


def _cups(rng: np.random.Generator, kind: Kind, material: Material) -> Sketch:
    """Draw upright petals, three behind and three in front."""
    flower = Sketch()
    spread = rng.uniform(0.15, 0.75)
    for shade, turns in ((0.8, (-0.7, 0.0, 0.7)), (1.0, (-1.0, 1.0, 0.0))):
        for turn in turns:
            outline = petal(0.95, 0.95 / kind.slimness, kind.tip, base=0.45)
            own = material.shaded(shade * _step(rng, 0.92, 1.08))
            flower.fill(moved(rotated(outline, spread * turn + rng.normal(0, 0.05)), 0, -0.45), own)
        if shade < 1:
            _stamens(flower, rng, Material(kind.center), 3, 0.45 * (spread > 0.4))
    return flower


def _bells(rng: np.random.Generator, kind: Kind, material: Material) -> Sketch:
    """Draw a hanging bell with lobes at its rim, or the three petals of a snowdrop."""
    flower = Sketch()
    if kind.mark == "drop":
        flower.fill(ellipse(0, -0.06, 0.07, 0.1), Material(jitter(rng, kind.center)))
        for turn in np.array([-0.35, 0.35, 0.0]) * rng.uniform(0.6, 1.8):
            outline = petal(0.85, 0.85 / kind.slimness, kind.tip)
            own = material.shaded(_step(rng, 0.88, 1.03))
            flower.fill(moved(rotated(outline, np.pi + turn), 0, -0.1), own)
        return flower
    width = 0.9 / kind.slimness
    lobes = np.linspace(-1, 1, kind.petals[0] // 2 + 1)
    rim = [(0.55 * width * x, -0.9 - 0.12 * (i % 2 == 0)) for i, x in enumerate(np.linspace(-1, 1, 7))]
    outline = [(0.0, 0.0), (-0.4 * width, -0.15), (-0.5 * width, -0.5), *rim]
    outline += [(0.5 * width, -0.5), (0.4 * width, -0.15)]
    flower.fill(smooth(np.array(outline), n=4), material)
    for x in lobes:
        line = [(0.3 * width * x, -0.1), (0.48 * width * x, -0.5), (0.5 * width * x, -0.9)]
        flower.stroke(line, 0.02, material.shaded(0.78))
        tip = rotated(petal(0.3, 0.55 * width, kind.tip), np.pi - 0.9 * x)
        flower.fill(moved(tip, 0.45 * width * x, -0.85), material.shaded(_step(rng, 0.9, 1.12)))
    if kind.mark == "chequers":
        pale = Material(jitter(rng, (0.8, 0.6, 0.7)))
        for row, y in enumerate(np.linspace(-0.15, -0.85, 11)):
            reach = 0.42 * width * min(1.0, 0.7 + 0.6 * abs(y))
            for x in np.linspace(-reach, reach, 9)[row % 2 :: 2]:
                flower.fill(ellipse(x, y, 0.035 * width, 0.03, n=5), pale)
    if kind.mark == "calyx":
        pod = [(0, 0), (-0.28, -0.15), (-0.3, -0.5), (0, -0.6), (0.3, -0.5), (0.28, -0.15)]
        flower.fill(smooth(np.array(pod), n=4), Material(jitter(rng, (0.7, 0.76, 0.45)), "plain", 0.6))
    return flower


def _disc(flower: Sketch, rng: np.random.Generator, kind: Kind, grains: int) -> None:
    """Add a center of many small grains."""
    center = Material(jitter(rng, kind.center), "wool", 0.6)
    flower.disc(0, 0, kind.core / 2, center)
    turn, reach = rng.uniform(0, 2 * np.pi, grains), np.sqrt(rng.uniform(0, 1, grains)) * 0.47 * kind.core
    for x, y in zip(reach * np.cos(turn), reach * np.sin(turn), strict=True):
        flower.disc(x, y, 0.03 * kind.core, center.shaded(_step(rng, 0.65, 1.4)))


def _stamens(flower: Sketch, rng: np.random.Generator, tip: Material, count: int, reach: float) -> None:
    """Add stamens from the center with an anther at the end of each."""
    thread = Material(jitter(rng, (0.8, 0.8, 0.55)))
    for _ in range(count if reach else 0):
        turn, length = rng.uniform(0, 2 * np.pi), reach * rng.uniform(0.7, 1.0)
        end = length * np.array([np.cos(turn), np.sin(turn)])
        flower.stroke([(0, 0), end], 0.01, thread)
        flower.fill(ellipse(*end, 0.025, 0.014, turn + np.pi / 2, n=8), tip)


def _trumpet(flower: Sketch, rng: np.random.Generator, kind: Kind) -> None:
    """Add the frilled trumpet of a daffodil, seen from the front."""
    turns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rim = kind.core / 2 * (1 + 0.1 * rng.uniform(-1, 1, 24))
    material = Material(jitter(rng, kind.center), "plain", 0.8)
    flower.fill(smooth(np.stack([rim * np.cos(turns), rim * np.sin(turns)], axis=1), n=3), material)
    flower.disc(0, 0, 0.28 * kind.core, material.shaded(0.72))
    flower.disc(0, 0, 0.08 * kind.core, material.shaded(1.1))


def _step(rng: np.random.Generator, low: float, high: float) -> float:
    """Return one of seven factors: a sketch has at most 255 materials."""
    return float(np.linspace(low, high, 7)[int(rng.integers(7))])


_FORMS: dict[str, Callable[[np.random.Generator, Kind, Material], Sketch]] = {
    "rays": _rays,
    "open": _open,
    "lips": _lips,
    "cups": _cups,
    "bells": _bells,
}
