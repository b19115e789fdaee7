"""Vehicles on water and in the air."""

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import box, ellipse, rounded_box, smooth
from reproduction.datasets.simulators.scenes.materials import cloth, glass, jitter, metal, paint, pick, rubber
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch
from reproduction.datasets.simulators.scenes.vehicles import window_row


def boat(rng: np.random.Generator) -> Sketch:
    """Draw a sailing boat, a motor boat or a rowing boat."""
    hull, trim, pane = paint(rng), paint(rng), glass(rng)
    sketch = Sketch()
    length, deck = rng.uniform(5.0, 9.0), rng.uniform(0.7, 1.3)
    kind = pick(rng, "sail", "sail", "motor", "motor", "row")
    if kind == "sail":
        mast = length * rng.uniform(0.9, 1.35)
        foot = 0.55 * length
        sketch.stroke([(foot, deck), (foot, deck + mast)], 0.1, metal(rng))
        canvas = cloth(rng) if rng.random() < 0.3 else Material(jitter(rng, (0.87, 0.85, 0.8)), "cloth")
        if rng.random() < 0.65:
            sketch.fill(
                smooth(
                    [
                        (foot - 0.1, deck + 0.5),
                        (foot - 0.1, deck + 0.95 * mast),
                        (foot - 0.25 * length, deck + 0.4 * mast),
                        (0.08 * length, deck + 0.5),
                    ],
                    n=5,
                ),
                canvas,
            )
            sketch.fill(
                [(foot + 0.1, deck + 0.85 * mast), (foot + 0.1, deck + 0.4), (0.97 * length, deck + 0.2)],
                canvas.shaded(0.85),
            )
        sketch.stroke([(0.1 * length, deck + 0.5), (foot, deck + 0.5)], 0.12, trim)
        for end in (0.02 * length, length):
            sketch.stroke([(end, deck), (foot, deck + mast)], 0.025, metal(rng).shaded(0.6))
    if kind != "row":
        left, right, top = 0.25 * length, rng.uniform(0.55, 0.7) * length, deck + rng.uniform(0.7, 1.6)
        cabin = hull.shaded(1.1) if rng.random() < 0.4 else Material(jitter(rng, (0.85, 0.84, 0.8)), "metal")
        sketch.fill(
            [(left, deck - 0.1), (left + 0.1, top), (right - 0.4, top), (right + 0.3, deck - 0.1)], cabin
        )
        window_row(
            sketch,
            left + 0.25,
            right - 0.45,
            deck + 0.35 * (top - deck),
            deck + 0.8 * (top - deck),
            int(rng.integers(2, 5)),
            pane,
            cabin,
        )
        sketch.fill(box(left - 0.1, top - 0.02, right - 0.3, top + 0.1), trim)
    outline = [
        (0.0, deck),
        (0.5 * length, deck - 0.15),
        (length * 1.04, deck + 0.3),
        (0.93 * length, 0.1),
        (0.85 * length, -0.05),
        (0.08 * length, -0.05),
    ]
    sketch.fill(outline, hull.shaded(1.0, relief=0.65))
    sketch.fill(
        [
            (0.02 * length, 0.25),
            (0.955 * length, 0.32),
            (0.93 * length, 0.1),
            (0.85 * length, -0.05),
            (0.08 * length, -0.05),
        ],
        trim.shaded(0.7),
    )
    sketch.stroke([(0.0, deck), (0.5 * length, deck - 0.15), (length * 1.04, deck + 0.3)], 0.1, trim)
    return sketch


def aeroplane(rng: np.random.Generator) -> Sketch:
    """Draw an airliner or a light aircraft."""
    body = Material(jitter(rng, (0.8, 0.81, 0.83)), "metal") if rng.random() < 0.6 else paint(rng)
    trim, pane = paint(rng), glass(rng).shaded(0.6)
    sketch = Sketch()
    liner = rng.random() < 0.65
    length, girth = (rng.uniform(28, 42), 3.9) if liner else (rng.uniform(7, 10), 1.5)
    middle = 2.6 if liner else 1.5
    wing = body.shaded(0.72, relief=0.6)
    lift = rng.uniform(0.1, 0.35) * length * 0.5
    # The far wing and tailplane, above the body in this view.
    sketch.fill(
        [
            (0.42 * length, middle),
            (0.36 * length, middle + lift),
            (0.4 * length, middle + lift),
            (0.6 * length, middle),
        ],
        wing.shaded(0.85),
    )
    fin = rng.uniform(0.13, 0.2) * length
    sketch.fill(
        [
            (0.02 * length, middle + girth * 0.3),
            (-0.01 * length, middle + fin + girth * 0.4),
            (0.06 * length, middle + fin + girth * 0.4),
            (0.17 * length, middle + girth * 0.4),
        ],
        trim,
    )
    tube = [
        (0.0, middle + 0.42 * girth),
        (0.15 * length, middle + 0.5 * girth),
        (0.8 * length, middle + 0.5 * girth),
        (0.94 * length, middle + 0.28 * girth),
        (length, middle - 0.1 * girth),
        (0.93 * length, middle - 0.42 * girth),
        (0.75 * length, middle - 0.5 * girth),
        (0.25 * length, middle - 0.45 * girth),
    ]
    sketch.fill(smooth(tube, n=5), body)
    sketch.fill(
        box(0.12 * length, middle - 0.02 * girth, 0.86 * length, middle + 0.04 * girth), trim.shaded(0.9)
    )
    if liner:
        for x in np.linspace(0.16, 0.84, int(rng.integers(16, 28))) * length:
            sketch.fill(box(x, middle + 0.12 * girth, x + 0.4, middle + 0.28 * girth), pane)
        sketch.fill(
            [
                (0.92 * length, middle + 0.12 * girth),
                (0.925 * length, middle + 0.3 * girth),
                (0.965 * length, middle + 0.1 * girth),
            ],
            pane,
        )
    else:
        sketch.fill(
            smooth(
                [
                    (0.48 * length, middle + 0.45 * girth),
                    (0.55 * length, middle + 0.85 * girth),
                    (0.66 * length, middle + 0.8 * girth),
                    (0.74 * length, middle + 0.42 * girth),
                ],
                n=4,
            ),
            pane,
        )
        sketch.fill(ellipse(1.01 * length, middle - 0.05 * girth, 0.05, 0.75 * girth), rubber(rng))
    drop = rng.uniform(-0.08, 0.2) * length
    sketch.fill(
        [
            (0.38 * length, middle - 0.2 * girth),
            (0.22 * length, middle - drop - 0.4),
            (0.28 * length, middle - drop - 0.5),
            (0.58 * length, middle - 0.25 * girth),
        ],
        wing,
    )
    sketch.fill(
        [
            (0.03 * length, middle + 0.15 * girth),
            (-0.05 * length, middle + 0.2 * girth - 0.3 * drop),
            (0.0, middle + 0.1 * girth - 0.3 * drop),
            (0.12 * length, middle + 0.1 * girth),
        ],
        wing.shaded(1.15),
    )
    if liner:
        for x in (0.46, 0.36):
            sketch.fill(
                rounded_box(x * length, middle - 0.62 * girth, x * length + 4.0, middle - 0.15 * girth, 0.9),
                trim.shaded(1.1, relief=0.8),
            )
            sketch.fill(ellipse(x * length + 3.9, middle - 0.38 * girth, 0.3, 0.8), rubber(rng))
    if rng.random() < 0.6:
        leg = metal(rng).shaded(0.6)
        for x in (0.4 * length, 0.48 * length, 0.87 * length):
            sketch.stroke([(x, middle - 0.4 * girth), (x, 0.3)], 0.06 * girth, leg)
            sketch.disc(x, 0.14 * girth, 0.14 * girth, rubber(rng))
    return sketch
