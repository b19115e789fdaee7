"""Backgrounds of scenes: sky, ground, walls and water, and the horizon that determines all sizes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reproduction.datasets.simulators.scenes import clutter
from reproduction.datasets.simulators.scenes.geometry import smooth
from reproduction.datasets.simulators.scenes.materials import (
    cloth,
    grass,
    jitter,
    leaf,
    pick,
    plaster,
    stone,
    wood,
)
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Light, render
from reproduction.datasets.simulators.scenes.sketch import Color, Material, Sketch

Drawing = Callable[[np.random.Generator], Sketch]
#: Focal length in pixels, for a usual angle of view and images of 500 pixels.
_FOCAL_LENGTH = 500.0


@dataclass
class Stage:
    """State of a scene while it is painted."""

    canvas: Canvas
    horizon: float  #: row
    floor: float  #: row where the ground begins, below the horizon if there is a wall
    camera: float  #: height in meters
    light: Light
    noise: Noise
    rng: np.random.Generator

    def ground_row(self, scale: float) -> float:
        """Return the row of the ground with ``scale`` pixels per meter."""
        return self.horizon + self.camera * scale

    def set(self, sketch: Sketch, scale: float, x: float, y: float) -> None:
        """Paint a sketch at ``scale`` pixels per meter with its origin at column x and row y."""
        self.canvas.paint(
            render(
                sketch, scale, x, y, light=self.light, noise=self.noise, rng=self.rng, frame=self.canvas.shape
            )
        )

    def scatter(self, drawings: tuple[Drawing, ...], count: int, scales: tuple[float, float]) -> None:
        """Place sketches on the ground, far ones first, with scales from a range in pixels per meter."""
        low, high = np.log(scales)
        for scale in np.sort(np.exp(self.rng.uniform(low, high, count))):
            x = self.rng.uniform(-0.05, 1.05) * self.canvas.shape[1]
            self.set(pick(self.rng, *drawings)(self.rng), scale, x, self.ground_row(scale))


def street(stage: Stage) -> None:
    """Paint houses along a road, with trees and posts."""
    rng = stage.rng
    _sky(stage)
    _ground(stage, jitter(rng, (0.42, 0.41, 0.4)), contrast=0.16, tile=rng.choice([0.0, 0.0, 0.5, 1.0]))
    scale = rng.uniform(9, 26)
    x = rng.uniform(-80, 0)
    while x < stage.canvas.shape[1]:
        house = clutter.facade(rng) if rng.random() < 0.8 else clutter.tree(rng)
        left, _, right, _ = house.bounds()
        stage.set(house, scale, x - left * scale, stage.ground_row(scale) - 1)
        x += (right - left) * scale * rng.uniform(0.95, 1.15)
    _kerb(stage, scale)
    stage.scatter(
        (clutter.tree, clutter.post, clutter.bush, clutter.fence), int(rng.integers(3, 9)), (14, 50)
    )


def field(stage: Stage) -> None:
    """Paint a meadow in front of hills or a forest."""
    rng = stage.rng
    _sky(stage)
    _hills(stage, int(rng.integers(1, 4)))
    _ground(stage, grass(rng).color, contrast=rng.uniform(0.16, 0.34), field="fine")
    stage.scatter((clutter.tree, clutter.bush, clutter.tree), int(rng.integers(4, 14)), (6, 22))
    stage.scatter(
        (clutter.bush, clutter.fence, clutter.rock, clutter.tuft, clutter.post),
        int(rng.integers(2, 7)),
        (20, 90),
    )


def sea(stage: Stage) -> None:
    """Paint water, often with a coast or a quay."""
    rng = stage.rng
    _sky(stage)
    if rng.random() < 0.6:
        _hills(stage, int(rng.integers(1, 3)))
    blue = jitter(rng, pick(rng, (0.2, 0.36, 0.45), (0.3, 0.42, 0.46), (0.36, 0.4, 0.38), (0.12, 0.25, 0.36)))
    _ground(stage, blue, contrast=0.26, field="streaks", fade=(0.75, 0.8, 0.85))
    if rng.random() < 0.35:
        scale = rng.uniform(6, 14)
        for x in np.cumsum(rng.uniform(30, 120, 5)):
            stage.set(clutter.facade(rng), scale, x, stage.ground_row(scale))
    stage.scatter((clutter.buoy, clutter.rock), int(rng.integers(1, 7)), (12, 80))


def air(stage: Stage) -> None:
    """Paint the sky, alone or above an airfield."""
    rng = stage.rng
    if rng.random() < 0.4:
        stage.horizon = stage.floor = stage.canvas.shape[0] * rng.uniform(1.0, 1.6)
    _sky(stage, cloudy=1.5)
    if stage.horizon < stage.canvas.shape[0]:
        _hills(stage, 1)
        _ground(stage, pick(rng, jitter(rng, (0.5, 0.5, 0.49)), grass(rng).color), contrast=0.2)
        stage.scatter((clutter.bush, clutter.post, clutter.crate), int(rng.integers(2, 8)), (8, 25))
    elif rng.random() < 0.4:
        _branches(stage)


def room(stage: Stage) -> None:
    """Paint a room with a floor and furniture along its wall."""
    rng = stage.rng
    # The wall is a few meters away, so its foot is well below the horizon.
    scale = rng.uniform(60, 130)
    foot = stage.floor = min(stage.ground_row(scale), 0.85 * stage.canvas.shape[0])
    _wall(stage)
    _ground(
        stage,
        pick(rng, wood(rng).color, stone(rng).color, plaster(rng).color),
        contrast=0.17,
        tile=rng.choice([0.0, 0.15, 0.4]),
        field="streaks",
    )
    skirting = Sketch()
    skirting.fill(
        [(0, 0), (stage.canvas.shape[1], 0), (stage.canvas.shape[1], 7), (0, 7)],
        Material(jitter(rng, (0.7, 0.68, 0.62))),
    )
    stage.set(skirting, 1, 0, foot)
    for _ in range(int(rng.integers(2, 6))):
        stage.set(
            pick(rng, clutter.picture, clutter.window, clutter.window)(rng),
            scale,
            rng.uniform(0, 0.9) * stage.canvas.shape[1],
            foot - scale * rng.uniform(0.9, 1.6),
        )
    for _ in range(int(rng.integers(2, 6))):
        stage.set(
            pick(rng, clutter.cupboard, clutter.bookshelf, clutter.lamp, clutter.crate)(rng),
            scale,
            rng.uniform(-0.1, 1.0) * stage.canvas.shape[1],
            foot + 2,
        )
    stage.scatter((clutter.crate, clutter.blob, clutter.lamp), int(rng.integers(1, 4)), (scale, 1.8 * scale))


def tabletop(stage: Stage) -> None:
    """Paint a table or a sill in close-up, in front of a wall."""
    rng = stage.rng
    stage.camera = rng.uniform(0.12, 0.3)
    _wall(stage)
    height, width = stage.canvas.shape
    edge = stage.floor = stage.horizon + rng.uniform(0.05, 0.25) * height
    for _ in range(int(rng.integers(2, 7))):
        thing = pick(rng, clutter.picture, clutter.bookshelf, clutter.cupboard, clutter.window, clutter.blob)(
            rng
        )
        stage.set(
            thing,
            rng.uniform(100, 260),
            rng.uniform(-0.2, 0.9) * width,
            edge + rng.uniform(-0.3, 0.2) * height,
        )
    _ground(
        stage,
        pick(rng, wood(rng).color, cloth(rng).color, stone(rng).color),
        contrast=0.17,
        field="streaks",
    )
    for row in np.sort(edge + rng.uniform(0.03, 0.3, int(rng.integers(0, 4))) * height):
        stage.set(
            pick(rng, clutter.vessel, clutter.vessel, clutter.blob)(rng),
            (row - stage.horizon) / stage.camera,
            rng.uniform(0, 1) * width,
            row,
        )


def _sky(stage: Stage, cloudy: float = 1.0) -> None:
    rng, (height, width) = stage.rng, stage.canvas.shape
    rows = int(min(max(stage.horizon + 2, 0), height))
    zenith = np.array(
        jitter(rng, pick(rng, (0.25, 0.45, 0.75), (0.4, 0.58, 0.8), (0.6, 0.65, 0.7), (0.35, 0.38, 0.45)))
    )
    haze = np.array(jitter(rng, pick(rng, (0.8, 0.85, 0.9), (0.85, 0.83, 0.78), (0.72, 0.74, 0.76))))
    blend = np.linspace(0, 1, rows, dtype=np.float32)[:, None, None] ** rng.uniform(0.6, 1.6)
    sky = zenith * (1 - blend) + haze * blend
    clouds = stage.noise.crop("clouds", (rows, width), rng) + 0.25 * stage.noise.crop(
        "pink", (rows, width), rng
    )
    cover = np.clip((clouds + rng.uniform(-1.6, 0.8)) * rng.uniform(0.3, 0.9) * cloudy, 0, 0.9)[..., None]
    stage.canvas.image[:rows] = sky * (1 - cover) + cover * np.array(jitter(rng, (0.88, 0.88, 0.89), 0.05))


def _wall(stage: Stage) -> None:
    rng, shape = stage.rng, stage.canvas.shape
    color = np.array(
        pick(rng, jitter(rng, (0.75, 0.71, 0.62)), plaster(rng).color, stone(rng).color), dtype=np.float32
    )
    pattern = 0.09 * stage.noise.crop("pink", shape, rng) + 0.05 * stage.noise.crop("clouds", shape, rng)
    if rng.random() < 0.4:
        columns = np.arange(shape[1])
        pattern = pattern + rng.uniform(0.03, 0.12) * np.sign(
            np.sin(columns * 2 * np.pi / rng.uniform(8, 60))
        )
    stage.canvas.image[:] = color * (1 + pattern[..., None])


def _ground(
    stage: Stage,
    color: Color,
    *,
    contrast: float,
    tile: float = 0.0,
    field: str = "pink",
    fade: Color | None = None,
) -> None:
    """Paint the plane below the horizon, from the row of the floor on, in perspective.

    ``tile`` is the side of slabs in meters, 0 for none; ``fade`` is the color far away.
    """
    rng, (height, width) = stage.rng, stage.canvas.shape
    top = int(np.clip(stage.floor, 0, height - 1))
    scale = np.maximum(np.arange(top, height, dtype=np.float32) - stage.horizon, 1.5)[:, None] / stage.camera
    center = width * rng.uniform(0.2, 0.8)
    across = (np.arange(width, dtype=np.float32)[None, :] - center) / scale
    away = np.broadcast_to(_FOCAL_LENGTH / scale, across.shape)
    # The samples of noise per meter match the pixels at the bottom of the image.
    grain = 0.6 * (height - stage.horizon) / stage.camera
    texture = stage.noise.at(field, away * grain + rng.integers(512), across * grain)
    texture = texture + 0.8 * stage.noise.at("pink", away * grain / 6 + rng.integers(512), across * grain / 6)
    # Distant pixels average over much ground.
    near = np.minimum(1, 2 * scale / scale[-1])
    factor = 1 + contrast * near * texture
    if tile:
        lines = ((across / tile) % 1 < 0.04) | ((away / tile) % 1 < 0.05)
        factor = factor * np.where(lines, 1 - 0.3 * near, 1.0)
    blend = 0.5 * (1 - np.linspace(0, 1, height - top, dtype=np.float32)[:, None, None]) ** 3
    far = np.array(fade or tuple(0.5 * c + 0.25 for c in color))
    base = np.array(color) * (1 - blend) + far * blend
    stage.canvas.image[top:] = base * np.maximum(factor, 0.2)[..., None]


def _hills(stage: Stage, count: int) -> None:
    rng, (height, width) = stage.rng, stage.canvas.shape
    for nearness in np.sort(rng.uniform(0.1, 1, count)):
        x = np.linspace(-20, width + 20, 24)
        top = height * (0.02 + 0.16 * rng.random() * (1.3 - nearness))
        ridge = np.maximum(
            2, top * (1 + 0.5 * stage.noise.crop("clouds", (1, 24), rng)[0] + rng.normal(0, 0.08, 24))
        )
        green = np.array(leaf(rng).color)
        color = green * nearness + np.array([0.6, 0.67, 0.73]) * (1 - nearness)
        sketch = Sketch()
        outline = np.concatenate([np.stack([x, ridge], 1), [(width + 20, -6), (-20, -6)]])
        sketch.fill(
            outline, Material(tuple(float(c) for c in color), "leaf" if nearness > 0.5 else "stone", 0.2)
        )
        stage.set(sketch, 1, 0, stage.horizon)


def _kerb(stage: Stage, scale: float) -> None:
    """Paint a pavement between the houses and the road."""
    rng, width = stage.rng, stage.canvas.shape[1]
    far, near = stage.ground_row(scale), stage.ground_row(scale * rng.uniform(1.3, 2.2))
    tilt = rng.normal(0, 6)
    sketch = Sketch()
    slab = stone(rng)
    sketch.fill(
        [(0, -far), (width, -far), (width, -near - tilt), (0, -near + tilt)], slab.shaded(1.0, relief=0.3)
    )
    sketch.stroke([(0, -near + tilt), (width, -near - tilt)], rng.uniform(2, 5), slab.shaded(1.25))
    stage.set(sketch, 1, 0, 0)


def _branches(stage: Stage) -> None:
    """Paint branches that extend into the picture."""
    rng, (height, width) = stage.rng, stage.canvas.shape
    bark, green = wood(rng).shaded(0.6), leaf(rng)
    sketch = Sketch()
    for _ in range(int(rng.integers(2, 5))):
        start = np.array([rng.choice([0.0, 1.0]) * width, -rng.uniform(0, 1) * height])
        end = np.array([rng.uniform(0.2, 0.8) * width, -rng.uniform(0, 1) * height])
        middle = (start + end) / 2 + rng.normal(0, 25, 2)
        sketch.stroke([start, middle, end], rng.uniform(3, 10), bark)
        for t in rng.uniform(0.3, 1, 10):
            center = start + t * (end - start) + rng.normal(0, 18, 2)
            sketch.fill(
                smooth(center + rng.normal(0, 9, (6, 2)), n=3), green.shaded(pick(rng, 0.6, 0.9, 1.2))
            )
    stage.set(sketch, 1, 0, 0)
