"""Random materials around typical colors."""

import colorsys

import numpy as np

from reproduction.datasets.simulators.scenes.sketch import Color, Material


def pick(rng: np.random.Generator, *options):
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]


def jitter(rng: np.random.Generator, color: Color, amount: float = 0.06) -> Color:
    """Return a color near this one."""
    common = rng.normal(0, amount)
    red, green, blue = np.clip(np.asarray(color) + common + rng.normal(0, amount / 3, 3), 0.02, 0.98)
    return float(red), float(green), float(blue)


def _hue(hue: float, saturation: float, value: float) -> Color:
    return colorsys.hsv_to_rgb(hue % 1.0, min(max(saturation, 0.0), 1.0), min(max(value, 0.0), 1.0))


def paint(rng: np.random.Generator) -> Material:
    """Lacquer: white, silver, gray and black, or a strong color."""
    if rng.random() < 0.5:
        value = rng.choice([0.12, 0.3, 0.55, 0.72, 0.9])
        return Material(jitter(rng, (value, value, value)), "metal")
    hue = pick(rng, 0.0, 0.02, 0.1, 0.15, 0.33, 0.55, 0.6, 0.63)
    return Material(
        _hue(hue + rng.normal(0, 0.02), rng.uniform(0.35, 0.85), rng.uniform(0.25, 0.75)), "metal"
    )


def cloth(rng: np.random.Generator) -> Material:
    """Clothes and covers, of any color."""
    return Material(_hue(rng.random(), rng.beta(1.2, 2.8), rng.beta(2, 1.8) * 0.85 + 0.06), "cloth")


def plaster(rng: np.random.Generator) -> Material:
    """Walls and floors, of pale or dull colors."""
    return Material(_hue(rng.random(), rng.beta(1.2, 5), rng.uniform(0.35, 0.9)), "plain")


def coat(rng: np.random.Generator) -> Material:
    """Fur of the usual animal colors."""
    color = pick(
        rng,
        (0.14, 0.12, 0.11),
        (0.35, 0.22, 0.13),
        (0.52, 0.36, 0.22),
        (0.66, 0.5, 0.34),
        (0.5, 0.48, 0.45),
        (0.84, 0.8, 0.73),
        (0.62, 0.42, 0.25),
    )
    return Material(jitter(rng, color), "fur")


def fleece(rng: np.random.Generator) -> Material:
    """Wool from white to brown."""
    color = pick(rng, (0.82, 0.79, 0.71), (0.74, 0.7, 0.62), (0.66, 0.6, 0.5), (0.28, 0.23, 0.2))
    return Material(jitter(rng, color), "wool")


def plumage(rng: np.random.Generator) -> Material:
    """Feathers, more often dull than bright."""
    if rng.random() < 0.6:
        return Material(coat(rng).color, "fur")
    return Material(_hue(rng.random(), rng.uniform(0.2, 0.6), rng.uniform(0.25, 0.7)), "fur")


def skin(rng: np.random.Generator) -> Material:
    """Human skin."""
    color = pick(rng, (0.88, 0.7, 0.58), (0.8, 0.6, 0.47), (0.64, 0.45, 0.33), (0.4, 0.27, 0.2))
    return Material(jitter(rng, color, 0.04), "plain")


def hair(rng: np.random.Generator) -> Material:
    """Human hair."""
    color = pick(
        rng, (0.08, 0.07, 0.06), (0.2, 0.13, 0.08), (0.4, 0.27, 0.14), (0.7, 0.55, 0.3), (0.6, 0.6, 0.6)
    )
    return Material(jitter(rng, color, 0.04), "fur")


def wood(rng: np.random.Generator) -> Material:
    """Timber, from dark to light."""
    color = pick(rng, (0.25, 0.15, 0.09), (0.43, 0.27, 0.15), (0.6, 0.42, 0.25), (0.76, 0.6, 0.4))
    return Material(jitter(rng, color), "wood")


def leaf(rng: np.random.Generator) -> Material:
    """Leaves."""
    return Material(_hue(rng.normal(0.23, 0.045), rng.uniform(0.25, 0.65), rng.uniform(0.2, 0.52)), "leaf")


def grass(rng: np.random.Generator) -> Material:
    """Meadows, from lush to dry."""
    return Material(_hue(rng.uniform(0.13, 0.27), rng.uniform(0.25, 0.58), rng.uniform(0.34, 0.62)), "leaf")


def stone(rng: np.random.Generator) -> Material:
    """Rock, plaster and brick."""
    color = pick(
        rng, (0.5, 0.48, 0.45), (0.65, 0.6, 0.52), (0.55, 0.33, 0.25), (0.78, 0.74, 0.66), (0.35, 0.34, 0.34)
    )
    return Material(jitter(rng, color), "stone")


def metal(rng: np.random.Generator) -> Material:
    """Bare metal."""
    value = rng.uniform(0.35, 0.75)
    return Material(jitter(rng, (value, value, value * 1.02), 0.03), "metal")


def rubber(rng: np.random.Generator) -> Material:
    """Tires and black plastic."""
    value = rng.uniform(0.06, 0.17)
    return Material((value, value, value), "plain")


def glass(rng: np.random.Generator) -> Material:
    """Window panes, from the dark inside to the mirrored sky."""
    value = rng.uniform(0.12, 0.62)
    return Material(jitter(rng, (value * 0.9, value, value * 1.08), 0.03), "glass", relief=0.45)


def any_surface(rng: np.random.Generator) -> Material:
    """Any material of clutter."""
    return pick(rng, paint, cloth, coat, wood, leaf, stone, metal, plumage)(rng)
