"""Animals: birds, and quadrupeds that share one skeleton."""

from dataclasses import dataclass

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import ellipse, limb, moved, rotated, smooth
from reproduction.datasets.simulators.scenes.materials import coat, fleece, jitter, pick, plumage
from reproduction.datasets.simulators.scenes.sketch import Material, Part, Sketch

_DARK = Material((0.07, 0.06, 0.06))


@dataclass(frozen=True)
class Build:
    """Proportions of a quadruped that faces right; lengths in meters."""

    length: float  #: from hip to shoulder
    legs: float
    depth: float  #: of the trunk
    leg_width: float
    neck: float
    neck_width: float
    neck_angle: float  #: above the horizontal, radians
    head: float  #: length of the head
    snout: float  #: width of the muzzle relative to that of the skull
    ears: str  #: pointed, hanging or small
    tail: float
    tail_angle: float
    tail_width: float


def quadruped(
    rng: np.random.Generator, build: Build, fur: Material, face: Material, legs: Material
) -> Sketch:
    """Draw a standing, walking or grazing animal from the side."""
    sketch = Sketch()
    hip, shoulder = np.array([0.0, build.legs]), np.array([build.length, build.legs * rng.normal(1, 0.02)])
    _legs(sketch, rng, build, legs, hip, shoulder, far=True)
    _tail(sketch, rng, build, fur)
    deep = build.depth
    trunk = smooth(
        [
            (-0.14 * build.length, build.legs + 0.55 * deep),
            (0.02 * build.length, build.legs + deep * rng.normal(0.94, 0.03)),
            (0.5 * build.length, build.legs + deep * rng.normal(0.88, 0.04)),
            (0.95 * build.length, build.legs + deep * rng.normal(1.0, 0.03)),
            (1.13 * build.length, build.legs + 0.6 * deep),
            (1.02 * build.length, build.legs + 0.05 * deep),
            (0.5 * build.length, build.legs + deep * rng.normal(-0.02, 0.05)),
            (0.0, build.legs + 0.1 * deep),
        ]
    )
    sketch.fill(trunk, fur)
    # The belly is in shade and often paler.
    sketch.fill(
        ellipse(build.length * 0.5, build.legs + 0.12 * deep, 0.4 * build.length, 0.13 * deep),
        fur.shaded(rng.uniform(0.65, 1.15)),
    )
    _legs(sketch, rng, build, legs, hip, shoulder, far=False)
    _head(sketch, rng, build, fur, face)
    return sketch


def _legs(sketch, rng, build, material, hip, shoulder, *, far: bool) -> None:
    for joint, bend in ((hip, -1), (shoulder, 1)):
        stride = rng.normal(0, 0.16) * build.legs
        start = moved(joint, rng.normal(0, 0.03) * build.length, 0.3 * build.depth)
        knee = (joint[0] + 0.5 * stride + bend * 0.05 * build.legs, build.legs * 0.48)
        foot = (joint[0] + stride, 0.02)
        width = build.leg_width
        tone = material.shaded(0.62 if far else 1.0, relief=0.3 if far else 0.6)
        sketch.fill(limb([start, knee, foot], [2.2 * width, 1.05 * width, 0.8 * width]), tone)
        sketch.fill(
            ellipse(foot[0] + 0.2 * width, 0.04 * build.legs, 0.62 * width, 0.05 * build.legs),
            tone.shaded(0.6),
        )


def _tail(sketch, rng, build, fur) -> None:
    root = np.array([-0.1 * build.length, build.legs + 0.8 * build.depth])
    angle = build.tail_angle + rng.normal(0, 0.25)
    middle = root + build.tail * 0.5 * np.array([-np.cos(angle), np.sin(angle)])
    tip = middle + build.tail * 0.5 * np.array([-np.cos(angle - 0.5), np.sin(angle - 0.5)])
    width = build.tail_width
    sketch.fill(limb([root, middle, tip], [width, width, width * rng.uniform(0.5, 1.4)]), fur.shaded(0.85))


def _head(sketch, rng, build, fur, face) -> None:
    angle = build.neck_angle + rng.normal(0, 0.25)
    root = np.array([1.0 * build.length, build.legs + 0.72 * build.depth])
    poll = root + build.neck * np.array([np.cos(angle), np.sin(angle)])
    sketch.fill(
        limb(
            [root - (0.12 * build.length, 0.1 * build.depth), root, poll],
            [1.5 * build.neck_width, 1.3 * build.neck_width, build.neck_width],
        ),
        fur,
    )
    tilt = rng.normal(-0.45, 0.25)
    skull = 0.3 * build.head
    outline = smooth(
        [
            (-0.9 * skull, 0.2 * skull),
            (0.0, skull),
            (0.5 * build.head, skull * rng.uniform(0.55, 0.75)),
            (0.92 * build.head, build.snout * skull * 0.6),
            (0.95 * build.head, -build.snout * skull * 0.6),
            (0.4 * build.head, -0.75 * skull),
            (-0.3 * skull, -0.9 * skull),
        ]
    )

    def place(points):
        return rotated(np.asarray(points, dtype=float), tilt) + poll

    for side in (-0.35, 0.25):
        sketch.fill(place(_ear(build, skull, side)), fur.shaded(0.7 if side < 0 else 0.9, relief=0.7))
    sketch.fill(place(outline), face)
    muzzle = ellipse(0.86 * build.head, 0, 0.16 * build.head, build.snout * skull * 0.62)
    sketch.fill(place(muzzle), face.shaded(rng.uniform(0.45, 1.25)))
    sketch.fill(place(ellipse(0.97 * build.head, 0.1 * skull, 0.05 * build.head, 0.2 * skull)), _DARK)
    sketch.fill(place(ellipse(0.3 * build.head, 0.35 * skull, 0.045 * build.head, 0.13 * skull)), _DARK)


def _ear(build: Build, skull: float, side: float) -> np.ndarray:
    if build.ears == "pointed":
        points = [(-0.5, 0.4), (-0.25, 1.9), (0.35, 0.7)]
    elif build.ears == "hanging":
        points = [(-0.6, 0.6), (-0.9, -0.4), (-0.4, -1.2), (0.1, -0.4), (0.1, 0.7)]
    else:
        points = [(-0.2, 0.4), (-1.3, 0.9), (-1.2, 0.3), (-0.3, 0.0)]
    return smooth(np.array(points) * skull + (side * skull, 0), n=4)


def _patches(sketch: Sketch, rng: np.random.Generator, build: Build, material: Material, before: int) -> None:
    """Add spots to the trunk, below all parts from index ``before`` on."""
    spots = Sketch()
    for _ in range(int(rng.integers(2, 6))):
        x, y = build.length * rng.uniform(-0.02, 1.0), build.legs + build.depth * rng.uniform(0.25, 0.8)
        turn = np.linspace(0, 2 * np.pi, 9)[:-1]
        radius = build.depth * rng.uniform(0.08, 0.2) * rng.uniform(0.6, 1.3, 8)
        spots.fill(
            smooth(np.stack([x + radius * np.cos(turn) * 1.2, y + radius * np.sin(turn)], axis=1), 4),
            material,
        )
    sketch.parts[before:before] = spots.parts


def cow(rng: np.random.Generator) -> Sketch:
    """Draw a cow, plain or spotted."""
    build = Build(
        1.4, 0.62, 0.8, 0.14, 0.38, 0.4, rng.choice([-0.4, 0.35]), 0.52, 0.95, "small", 0.8, -1.4, 0.05
    )
    fur = coat(rng)
    face = pick(rng, fur, fur.shaded(0.7), Material(jitter(rng, (0.8, 0.76, 0.7)), "fur"))
    sketch = quadruped(rng, build, fur, face, fur.shaded(0.9))
    udder = Material(jitter(rng, (0.75, 0.55, 0.5)))
    sketch.parts.insert(6, Part(ellipse(0.28, build.legs + 0.02, 0.18, 0.13), udder))
    if rng.random() < 0.6:
        other = (0.85, 0.82, 0.77) if sum(fur.color) < 1.4 else (0.16, 0.11, 0.09)
        _patches(sketch, rng, build, Material(jitter(rng, other), "fur"), before=7)
    return sketch


def horse(rng: np.random.Generator) -> Sketch:
    """Draw a horse with its mane."""
    build = Build(
        1.25, 0.88, 0.6, 0.12, 0.68, 0.27, rng.choice([-0.3, 0.85]), 0.6, 0.62, "pointed", 0.75, -1.2, 0.13
    )
    fur = coat(rng)
    sketch = quadruped(rng, build, fur, fur.shaded(rng.uniform(0.8, 1.1)), fur.shaded(rng.uniform(0.6, 1.0)))
    mane = fur.shaded(rng.uniform(0.3, 0.8), relief=0.7)
    root = np.array([1.0 * build.length, build.legs + 0.95 * build.depth])
    tip = root + 0.8 * build.neck * np.array([np.cos(build.neck_angle), np.sin(build.neck_angle)])
    sketch.fill(limb([root - (0.1, 0), (root + tip) / 2 + (-0.05, 0.06), tip], [0.16, 0.2, 0.1]), mane)
    return sketch


def sheep(rng: np.random.Generator) -> Sketch:
    """Draw a sheep: a fleece of bumps on thin legs."""
    build = Build(
        0.72, 0.36, 0.52, 0.075, 0.2, 0.26, rng.choice([-0.6, 0.5]), 0.3, 0.7, "small", 0.16, -1.2, 0.1
    )
    wool = fleece(rng)
    face = pick(rng, wool.shaded(0.95), Material(jitter(rng, (0.14, 0.12, 0.12), 0.03), "fur"))
    sketch = quadruped(rng, build, wool, face, face.shaded(0.9))
    bumps = Sketch()
    for turn in np.linspace(0, 2 * np.pi, 18):
        x = build.length * (0.5 + 0.58 * np.cos(turn))
        y = build.legs + build.depth * (0.52 + 0.42 * np.sin(turn))
        bumps.disc(
            x, y, build.depth * rng.uniform(0.12, 0.19), wool.shaded(rng.uniform(0.9, 1.08), relief=0.6)
        )
    sketch.parts[6:6] = bumps.parts
    return sketch


def dog(rng: np.random.Generator) -> Sketch:
    """Draw a dog, standing from the side or sitting from the front."""
    fur = coat(rng)
    ears = pick(rng, "pointed", "hanging")
    if rng.random() < 0.4:
        return _sitting(rng, fur, height=0.65, head=0.15, ears=ears, muzzle=0.55)
    scale = rng.uniform(0.7, 1.2)
    build = Build(
        0.6 * scale,
        0.36 * scale,
        0.27 * scale,
        0.07 * scale,
        0.2 * scale,
        0.16 * scale,
        0.75,
        0.27 * scale,
        rng.uniform(0.5, 0.8),
        ears,
        rng.uniform(0.2, 0.42) * scale,
        0.6,
        0.06 * scale,
    )
    sketch = quadruped(rng, build, fur, fur.shaded(rng.uniform(0.75, 1.2)), fur.shaded(rng.uniform(0.8, 1.2)))
    if rng.random() < 0.3:
        _patches(sketch, rng, build, Material(coat(rng).color, "fur"), before=7)
    return sketch


def cat(rng: np.random.Generator) -> Sketch:
    """Draw a cat: sitting, walking or lying."""
    fur = coat(rng)
    pose = rng.random()
    if pose < 0.45:
        return _sitting(rng, fur, height=0.42, head=0.12, ears="pointed", muzzle=0.32)
    legs = 0.21 if pose < 0.75 else 0.05
    build = Build(
        0.36, legs, 0.17, 0.055, 0.07, 0.11, 0.5, 0.17, 0.6, "pointed", 0.34, rng.uniform(-0.6, 0.9), 0.045
    )
    sketch = quadruped(rng, build, fur, fur.shaded(rng.uniform(0.9, 1.1)), fur.shaded(rng.uniform(0.9, 1.15)))
    if rng.random() < 0.5:
        stripe = fur.shaded(0.55)
        stripes = Sketch()
        for x in np.linspace(0.0, build.length, 7):
            y = build.legs + build.depth * 0.9
            stripes.stroke([(x, y), (x + 0.02, y - 0.06), (x, y - 0.11)], 0.014, stripe)
        sketch.parts[7:7] = stripes.parts
    return sketch


def _sitting(rng, fur: Material, *, height: float, head: float, ears: str, muzzle: float) -> Sketch:
    """Draw a sitting animal from the front."""
    sketch = Sketch()
    half = 0.3 * height * rng.uniform(0.9, 1.2)
    side = pick(rng, -1, 1)
    tail = [(side * half * 0.7, 0.05), (side * half * 1.5, 0.1 * height), (side * half * 1.7, 0.35 * height)]
    sketch.fill(limb(tail, [0.07 * height, 0.09 * height, 0.06 * height]), fur.shaded(0.8))
    trunk = [
        (-0.9 * half, 0),
        (-1.05 * half, 0.25 * height),
        (-0.65 * half, 0.62 * height),
        (0, 0.75 * height),
    ]
    sketch.fill(smooth(trunk + [(-x, y) for x, y in trunk[2::-1]]), fur)
    chest = fur.shaded(rng.uniform(0.9, 1.5), relief=0.55)
    sketch.fill(
        smooth(
            [
                (-0.4 * half, 0.1 * height),
                (-0.45 * half, 0.55 * height),
                (0.45 * half, 0.55 * height),
                (0.4 * half, 0.1 * height),
            ]
        ),
        chest,
    )
    for x in (-0.36 * half, 0.36 * half):
        sketch.fill(
            limb(
                [(x * 1.2, 0.5 * height), (x, 0.25 * height), (x, 0.03 * height)],
                [0.13 * height, 0.1 * height, 0.1 * height],
            ),
            fur.shaded(1.05, relief=0.75),
        )
    face = Sketch()
    for x in (-1, 1):
        if ears == "pointed":
            face.fill([(x * 0.95, 0.2), (x * 0.85, 1.6), (x * 0.2, 0.85)], fur.shaded(0.8, relief=0.7))
            face.fill([(x * 0.82, 0.5), (x * 0.78, 1.3), (x * 0.42, 0.8)], Material((0.62, 0.43, 0.4)))
        else:
            face.fill(ellipse(x * 1.0, 0.05, 0.32, 0.75, angle=0.25 * x), fur.shaded(0.65, relief=0.75))
    face.fill(ellipse(0, 0, 1.0, 0.95), fur.shaded(1.0, relief=0.7))
    face.fill(ellipse(0, -0.42, muzzle * 1.15, muzzle), fur.shaded(rng.uniform(1.0, 1.5), relief=0.85))
    eye = Material(pick(rng, (0.55, 0.6, 0.2), (0.35, 0.2, 0.08), (0.7, 0.55, 0.15)))
    for x in (-0.42, 0.42):
        face.fill(ellipse(x, 0.12, 0.17, 0.14), eye)
        face.fill(ellipse(x, 0.12, 0.08, 0.13), _DARK)
    face.fill(ellipse(0, -0.22, 0.17, 0.11), _DARK.shaded(1.5))
    face.stroke([(-0.25, -0.6), (0, -0.5), (0, -0.3), (0, -0.5), (0.25, -0.6)], 0.05, _DARK)
    turn = rng.normal(0, 0.18)
    sketch.add(
        face.mapped(lambda points: rotated(points, turn)), rng.normal(0, 0.1) * half, 0.88 * height, head
    )
    return sketch


def bird(rng: np.random.Generator) -> Sketch:
    """Draw a bird, standing or in flight."""
    feathers = plumage(rng)
    return _flying(rng, feathers) if rng.random() < 0.35 else _perching(rng, feathers)


def _perching(rng: np.random.Generator, feathers: Material) -> Sketch:
    sketch = Sketch()
    size = rng.uniform(0.12, 0.3)
    legs = size * rng.choice([0.35, 1.1])
    stance = rng.uniform(0.2, 0.8)
    belly = pick(rng, feathers, feathers.shaded(1.5), plumage(rng))
    leg = Material(jitter(rng, (0.45, 0.33, 0.15)))
    for x in (-0.1, 0.12):
        foot = (x * size, 0)
        sketch.stroke(
            [(x * size, legs + 0.2 * size), (x * size * 0.6, 0.5 * legs), foot, (foot[0] + 0.2 * size, 0)],
            0.07 * size,
            leg,
        )

    def place(points):
        return moved(rotated(np.asarray(points, dtype=float) * size, stance), 0, legs + 0.42 * size)

    tail = rng.uniform(0.5, 1.1)
    sketch.fill(
        place([(-0.6, 0.22), (-0.8 - tail, 0.18), (-0.8 - tail, -0.02), (-0.5, -0.15)]), feathers.shaded(0.7)
    )
    sketch.fill(
        place(smooth([(-0.9, 0.05), (-0.3, 0.42), (0.4, 0.45), (0.75, 0.1), (0.3, -0.42), (-0.4, -0.32)])),
        belly,
    )
    sketch.fill(place(smooth([(-0.9, 0.1), (-0.3, 0.44), (0.4, 0.47), (0.6, 0.2), (-0.2, 0.1)])), feathers)
    wing = smooth([(0.4, 0.2), (0.0, 0.3), (-1.0, 0.0), (-0.4, -0.18), (0.2, -0.1)])
    sketch.fill(place(wing), feathers.shaded(rng.uniform(0.6, 0.9), relief=0.75))
    for offset in (0.02, -0.07):
        sketch.stroke(place([(0.1, offset + 0.05), (-0.8, offset)]), 0.025 * size, feathers.shaded(0.45))
    neck = rng.choice([0.15, 0.7])
    center = place([(0.55, 0.2)])[0] + size * neck * np.array([0.35, 0.8]) + (0.05 * size, 0.12 * size)
    sketch.fill(limb([place([(0.45, 0.15)])[0], center], [0.45 * size, 0.32 * size]), feathers)
    beak = rng.uniform(0.25, 0.6) * size
    bill = Material(pick(rng, (0.8, 0.55, 0.12), (0.2, 0.18, 0.16), (0.55, 0.4, 0.2)))
    sketch.fill(
        [
            moved(center, 0.15 * size, 0.1 * size),
            moved(center, 0.22 * size + beak, -0.02 * size),
            moved(center, 0.15 * size, -0.1 * size),
        ],
        bill,
    )
    sketch.disc(
        *center, 0.26 * size, pick(rng, feathers, feathers.shaded(0.6), belly).shaded(1.0, relief=0.7)
    )
    sketch.disc(center[0] + 0.1 * size, center[1] + 0.06 * size, 0.05 * size, _DARK)
    return sketch


def _flying(rng: np.random.Generator, feathers: Material) -> Sketch:
    sketch = Sketch()
    size = rng.uniform(0.2, 0.5)
    dark = feathers.shaded(0.55)
    lift = rng.choice([-1, 1]) * rng.uniform(0.4, 1.0)
    sweep = rng.uniform(-0.9, 0.4)

    def wing(shift):
        outline = [
            (0.38, 0.05),
            (0.3, 0.7 * lift),
            (0.05 + sweep, 1.45 * lift),
            (-0.3 + 0.6 * sweep, 0.8 * lift),
            (-0.4, 0.02),
        ]
        return moved(smooth(outline, n=5), shift, 0.04) * size

    sketch.fill(wing(0.2), dark)
    sketch.fill(
        np.array([(-0.5, 0.1), (-1.1, 0.18), (-1.15, -0.1), (-0.5, -0.1)]) * size, feathers.shaded(0.8)
    )
    sketch.fill(
        smooth([(-0.7, 0.0), (0.0, 0.2), (0.6, 0.12), (0.75, 0.02), (0.5, -0.12), (0.0, -0.18)]) * size,
        feathers,
    )
    sketch.fill(np.array([(0.68, 0.08), (0.98, 0.0), (0.68, -0.05)]) * size, Material((0.7, 0.5, 0.15)))
    sketch.disc(0.62 * size, 0.07 * size, 0.03 * size, _DARK)
    sketch.fill(wing(0.0), feathers.shaded(0.85, relief=0.7))
    for k in range(4):
        root, tip = (0.25 - 0.15 * k, 0.1 * lift), (0.02 + 0.8 * sweep - 0.12 * k, 1.1 * lift)
        sketch.stroke(np.array([root, tip]) * size, 0.025 * size, feathers.shaded(0.5))
    return sketch
