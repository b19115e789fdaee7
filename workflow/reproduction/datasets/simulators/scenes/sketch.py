"""Sketches of things: parts in painting order, each of one material."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from reproduction.datasets.simulators.scenes.geometry import Points, ellipse, subdivided

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Material:
    """Color (RGB in 0..1), name of the surface texture, and height of the relief (0..1)."""

    color: Color
    texture: str = "plain"
    relief: float = 0.5

    def shaded(self, factor: float, relief: float | None = None) -> "Material":
        """Return the same material, darker (below 1) or brighter."""
        color = tuple(min(max(channel * factor, 0.0), 1.0) for channel in self.color)
        return replace(self, color=color, relief=self.relief if relief is None else relief)


@dataclass(frozen=True)
class Part:
    """A filled outline or, with a width, a stroke along the points."""

    points: np.ndarray
    material: Material
    width: float = 0.0


@dataclass
class Sketch:
    """Parts in painting order, in meters, y upwards from the ground at 0."""

    parts: list[Part] = field(default_factory=list)

    def fill(self, points: Points, material: Material) -> None:
        """Add a filled outline."""
        self.parts.append(Part(np.asarray(points, dtype=float), material))

    def stroke(self, points: Points, width: float, material: Material, *, closed: bool = False) -> None:
        """Add a line with a width."""
        points = np.asarray(points, dtype=float)
        self.parts.append(Part(np.concatenate([points, points[:1]]) if closed else points, material, width))

    def disc(self, x: float, y: float, radius: float, material: Material) -> None:
        """Add a disc."""
        self.fill(ellipse(x, y, radius, radius), material)

    def add(self, other: "Sketch", x: float = 0.0, y: float = 0.0, scale: float = 1.0) -> None:
        """Add all parts of another sketch, scaled and moved."""
        self.parts += [
            replace(part, points=part.points * scale + (x, y), width=part.width * scale)
            for part in other.parts
        ]

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, bottom, right, top of all parts."""
        points = np.concatenate([part.points for part in self.parts])
        reach = np.repeat([part.width / 2 for part in self.parts], [len(part.points) for part in self.parts])
        low, high = (points - reach[:, None]).min(axis=0), (points + reach[:, None]).max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    def mapped(self, function: Callable[[np.ndarray], np.ndarray], stroke_scale: float = 1.0) -> "Sketch":
        """Return the sketch with its points moved by a function of (n, 2) arrays."""
        return Sketch(
            [
                replace(part, points=function(part.points), width=part.width * stroke_scale)
                for part in self.parts
            ]
        )

    def bendable(self, step: float) -> "Sketch":
        """Return the sketch with long edges of filled parts subdivided, so that a map can bend them."""
        return Sketch(
            [
                part if part.width else replace(part, points=subdivided(part.points, step))
                for part in self.parts
            ]
        )
