"""Photographs of drawn flowers: a plant in front of leaves and soil out of focus, seen by a camera."""

import numpy as np

from reproduction.datasets.simulators.flower_sketches import KINDS, cluster
from reproduction.datasets.simulators.scenes.camera import defocus, expose, illuminate
from reproduction.datasets.simulators.scenes.geometry import limb
from reproduction.datasets.simulators.scenes.materials import grass, jitter, leaf, pick
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Sketch

#: Colors of the background: meadow, soil, shade, and sky.
_GROUNDS = ((0.35, 0.42, 0.2), (0.38, 0.3, 0.22), (0.07, 0.08, 0.06), (0.5, 0.6, 0.75))
_GROUND_SHARES = (0.5, 0.2, 0.2, 0.1)


def draw_flower(name: str, rng: np.random.Generator, noise: Noise, side: int) -> np.ndarray:
    """Return the bytes (height, width, 3) of a photograph of a kind whose shorter side has ``side`` pixels.

    The flower is in the middle or near it and fills between a third and all of the shorter side, as
    photographers like it.
    """
    long = int(side * rng.uniform(1.0, 4 / 3))
    shape = (side, long) if rng.random() < 0.75 else (long, side)
    turn = rng.uniform(0, 2 * np.pi)
    light = Light(float(np.cos(turn)), float(np.sin(turn)), float(rng.uniform(0.3, 1.0)))
    canvas = _background(rng, noise, light, shape)
    plant = cluster(rng, KINDS[name])
    scale = side * rng.uniform(0.4, 0.95)
    x, y = (length / 2 + rng.normal(0, 0.06) * side for length in shape[::-1])
    canvas.paint(render(plant, scale, x, y, light=light, noise=noise, rng=rng, frame=shape))
    illuminate(canvas.image, noise, rng)
    return expose(canvas.image, rng)


def _background(rng: np.random.Generator, noise: Noise, light: Light, shape: tuple[int, int]) -> Canvas:
    """Paint ground, leaves and blades of grass out of focus."""
    ground = np.array(jitter(rng, _GROUNDS[rng.choice(len(_GROUNDS), p=_GROUND_SHARES)], 0.05))
    grain = 1 + rng.uniform(0.1, 0.3) * noise.crop("pink", shape, rng)
    canvas = Canvas((ground * grain[..., None]).clip(0, 1).astype(np.float32))
    blades = Sketch()
    green = [pick(rng, leaf, grass)(rng) for _ in range(6)]
    for _ in range(int(rng.integers(0, 40))):
        foot = np.array([rng.uniform(-0.2, 1.5), rng.uniform(-0.4, 0.8)])
        reach = rng.uniform(0.3, 1.0) * np.array([rng.normal(0, 0.4), 1.0])
        bend = np.array([rng.normal(0, 0.1), 0.0])
        width = rng.uniform(0.02, 0.15)
        outline = limb([foot, foot + reach / 2 + bend, foot + reach], [width, width, 0.2 * width])
        blades.fill(outline, pick(rng, *green).shaded(float(rng.choice([0.6, 0.8, 1.0, 1.2]))))
    if blades.parts:
        canvas.paint(render(blades, shape[0], 0, shape[0], light=light, noise=noise, rng=rng, frame=shape))
    return Canvas(defocus(canvas.image, rng.uniform(0.002, 0.03) * min(shape)))
