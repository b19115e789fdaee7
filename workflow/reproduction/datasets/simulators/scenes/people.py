"""People: one articulated figure that stands, walks or sits, seen from any side."""

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import box, ellipse, limb, smooth
from reproduction.datasets.simulators.scenes.materials import cloth, hair, pick, rubber, skin
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

_DARK = Material((0.1, 0.08, 0.07))


def person(rng: np.random.Generator) -> Sketch:
    """Draw a person of 1.2 to 1.9 meters, or the part of a person above the seat of a chair."""
    flesh, locks, shirt, trousers = skin(rng), hair(rng), cloth(rng), cloth(rng)
    shoes = pick(rng, rubber(rng), cloth(rng))
    seated = rng.random() < 0.2
    side = rng.random() < 0.35
    breadth = (0.62 if side else 1.0) * rng.uniform(0.85, 1.2)
    sketch = Sketch()
    hip = 0.5 if seated else 0.86
    sleeve = shirt if rng.random() < 0.6 else flesh
    if rng.random() < 0.2 and not seated:
        _skirt(sketch, rng, hip, breadth, flesh, trousers, shoes)
    else:
        _legs(sketch, rng, hip, breadth, trousers, shoes, seated=seated)
    shoulder = hip + 0.55
    _arm(sketch, rng, -0.19 * breadth, shoulder, sleeve.shaded(0.82), flesh)
    torso = [
        (-0.15 * breadth, hip - 0.06),
        (-0.16 * breadth, hip + 0.2),
        (-0.21 * breadth, shoulder - 0.06),
        (-0.1 * breadth, shoulder + 0.05),
    ]
    sketch.fill(limb([(0, shoulder - 0.05), (0, shoulder + 0.14)], [0.13, 0.11]), flesh.shaded(0.8))
    outline = smooth(torso + [(-x, y) for x, y in torso[::-1]], n=5)
    sketch.fill(outline, shirt.shaded(1.0, relief=0.6))
    _front(sketch, rng, breadth, hip, shoulder, shirt)
    _head(sketch, rng, shoulder + 0.25, flesh, locks, side=side)
    _arm(sketch, rng, 0.19 * breadth, shoulder, sleeve.shaded(1.05, relief=0.75), flesh)
    size = rng.uniform(0.68, 0.85) if rng.random() < 0.15 else rng.normal(1.0, 0.05)
    whole = Sketch()
    whole.add(sketch, scale=size)
    return whole


def _front(sketch, rng, breadth, hip, shoulder, shirt) -> None:
    """Add stripes, an open jacket, the strap of a bag, or nothing to a shirt."""
    kind = rng.integers(5)
    other = cloth(rng)
    if kind == 0:
        for y in np.arange(hip, shoulder - 0.06, 0.09):
            sketch.fill(box(-0.155 * breadth, y, 0.155 * breadth, y + 0.04), other)
    elif kind == 1:
        sketch.fill(
            [(-0.05, shoulder + 0.04), (0.05, shoulder + 0.04), (0.04, hip - 0.04), (-0.04, hip - 0.04)],
            other,
        )
    elif kind == 2:
        sketch.stroke([(-0.14 * breadth, shoulder), (0.16 * breadth, hip)], 0.035, other.shaded(0.6))
    sketch.stroke([(-0.15 * breadth, hip - 0.03), (0.15 * breadth, hip - 0.03)], 0.03, shirt.shaded(0.5))


def _legs(sketch, rng, hip, breadth, trousers, shoes, *, seated: bool) -> None:
    for side, tone in ((-1, 0.78), (1, 1.0)):
        x = side * 0.085 * breadth
        if seated:
            knee = (x + pick(rng, -1, 1) * rng.uniform(0.02, 0.25), hip - rng.uniform(-0.04, 0.1))
            foot = (knee[0] + rng.normal(0, 0.06), 0.05)
        else:
            stride = rng.normal(0, 0.14)
            knee = (x + 0.6 * stride + 0.02, 0.46)
            foot = (x + stride, 0.07)
        width = rng.uniform(0.14, 0.19)
        sketch.fill(
            limb([(x, hip), knee, foot], [1.25 * width, width, 0.75 * width]),
            trousers.shaded(tone, relief=0.55),
        )
        sketch.fill(
            smooth(
                [(foot[0] - 0.06, 0), (foot[0] - 0.06, 0.09), (foot[0] + 0.05, 0.08), (foot[0] + 0.15, 0.0)]
            ),
            shoes.shaded(tone),
        )


def _skirt(sketch, rng, hip, breadth, flesh, material, shoes) -> None:
    """Draw bare legs below a skirt."""
    _legs(sketch, rng, hip, 0.8 * breadth, flesh, shoes, seated=False)
    hem, wide = rng.uniform(0.3, 0.6), rng.uniform(0.2, 0.3)
    sketch.fill(
        smooth(
            [
                (-0.16 * breadth, hip + 0.04),
                (-wide, hem),
                (0, hem - 0.03),
                (wide, hem),
                (0.16 * breadth, hip + 0.04),
            ],
            n=4,
        ),
        material,
    )


def _arm(sketch, rng, x, shoulder, sleeve, flesh) -> None:
    outward = np.sign(x) * rng.uniform(0.0, 0.2)
    raise_ = rng.choice([0.0, 0.0, 0.25, 0.75]) * rng.uniform(0.6, 1.1)
    elbow = np.array([x + outward + np.sign(x) * 0.15 * raise_, shoulder - 0.28 + 0.3 * raise_])
    hand = elbow + np.array([-np.sign(x) * rng.uniform(-0.08, 0.2), -0.25 + 0.6 * raise_])
    sketch.fill(limb([(x, shoulder - 0.02), elbow, hand], [0.13, 0.1, 0.075]), sleeve)
    sketch.fill(ellipse(*hand, 0.045, 0.055), flesh.shaded(1.0, relief=0.7))


def _head(sketch, rng, y, flesh, locks, *, side: bool) -> None:
    x = rng.normal(0, 0.02)
    long_hair = rng.random() < 0.4
    if long_hair:
        sketch.fill(
            smooth(
                [
                    (x - 0.12, y + 0.05),
                    (x - 0.13, y - 0.2),
                    (x + 0.13, y - 0.2),
                    (x + 0.12, y + 0.05),
                    (x, y + 0.15),
                ]
            ),
            locks.shaded(0.8),
        )
    sketch.fill(ellipse(x, y + 0.03, 0.105, 0.13), locks)
    face_x = x + (0.035 if side else 0.0)
    sketch.fill(ellipse(face_x, y - 0.015, 0.082, 0.115), flesh.shaded(1.0, relief=0.75))
    sketch.fill(
        smooth(
            [
                (x - 0.1, y + 0.02),
                (x - 0.08, y + 0.13),
                (x + 0.08, y + 0.13),
                (x + 0.1, y + 0.03),
                (face_x, y + 0.075),
            ],
            n=4,
        ),
        locks,
    )
    if rng.random() < 0.25:
        cap = cloth(rng).shaded(1.0, relief=0.85)
        sketch.fill(
            smooth(
                [(x - 0.11, y + 0.06), (x - 0.09, y + 0.16), (x + 0.09, y + 0.16), (x + 0.11, y + 0.06)], n=4
            ),
            cap,
        )
        sketch.fill(ellipse(face_x + 0.03, y + 0.06, 0.11, 0.02), cap.shaded(0.7))
    if rng.random() < 0.8:
        for eye in (-0.032, 0.032):
            sketch.fill(ellipse(face_x + eye, y, 0.013, 0.009), _DARK)
        sketch.fill(ellipse(face_x + 0.01, y - 0.035, 0.012, 0.018), flesh.shaded(0.82))
        sketch.fill(ellipse(face_x, y - 0.07, 0.03, 0.009), flesh.shaded(0.6))
