"""Trees of arteries and veins of a retina, grown from the optic disc.

Four arcades of each kind leave the disc: the temporal ones turn around the fovea, the nasal ones go straight.
Vessels bend at random, taper and branch. At a branching the cubes of the radii add up (Murray's law). A
vessel ends where it is too thin, at the border of the field of view, in the center of the fovea, or where it
meets a vessel of its own kind; arteries and veins cross.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from reproduction.datasets.simulators._vessels_numba import stamp_tubes

#: Height of the images of the real data, in which all lengths below are given.
HEIGHT = 584
#: Radius of the field of view, distance of the disc from its center, radius of an arcade around the fovea.
FIELD, DISC, ARCADE = 268.0, 205.0, 165.0
#: Radius without vessels in the center of the fovea, radius at which a vessel ends, and length of a step.
_AVASCULAR, _THINNEST, _STEP = 28.0, 0.45, 1.5
ARTERY, VEIN = 0, 1
#: Radius of a temporal arcade of either kind at the disc.
_TRUNKS = {ARTERY: 2.8, VEIN: 3.6}
#: Mean distance between branchings on an arcade and elsewhere, the distance over which a radius falls to 1/e
#: of itself, and the distance from the disc within which vessels do not branch and may touch.
_SPACINGS, _TAPER, _NEAR_DISC = (26.0, 40.0), 3000.0, 35.0


@dataclass(frozen=True)
class Eye:
    """Positions (row, column) of landmarks in pixels; ``scale`` is the height of the image over `HEIGHT`."""

    shape: tuple[int, int]
    scale: float
    center: np.ndarray
    disc: np.ndarray
    fovea: np.ndarray
    temporal: int  #: direction of the columns from the disc to the fovea

    @classmethod
    def draw(cls, rng: np.random.Generator, shape: tuple[int, int]) -> "Eye":
        """Draw a left or a right eye that is centered on the fovea, as those of the real data."""
        scale = shape[0] / HEIGHT
        center = np.array(shape) / 2
        temporal = int(rng.choice([-1, 1]))
        disc = center + scale * (rng.normal(0, (14, 8)) - (0, temporal * DISC))
        fovea = center + scale * rng.normal((6, 0), 10)
        return cls(shape, scale, center, disc, fovea, temporal)


@dataclass(frozen=True)
class Vessels:
    """Points on the center lines: position (row, column) and radius in pixels, kind, and number of branch."""

    points: np.ndarray
    radii: np.ndarray
    kinds: np.ndarray
    branches: np.ndarray

    def tubes(self, shape: tuple[int, int], reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed distance from the nearest border (negative inside), and the radius there."""
        border, radius = np.full(shape, np.inf), np.ones(shape)
        stamp_tubes(self.points, self.radii, reach, border, radius)
        return border, radius

    def select(self, which: np.ndarray) -> "Vessels":
        """Return some of the points, by mask or index."""
        return Vessels(self.points[which], self.radii[which], self.kinds[which], self.branches[which])


@dataclass(frozen=True)
class _Bud:
    """Start of a branch; ``turn`` is its sense of rotation around the fovea, 0 if it goes straight."""

    position: np.ndarray
    heading: float
    radius: float
    kind: int
    turn: int = 0


def grow_vessels(rng: np.random.Generator, eye: Eye) -> Vessels:
    """Grow the tree of arteries and that of veins; the widest branches first."""
    tortuosity = rng.uniform(0.008, 0.018)
    taken = np.zeros((2, *eye.shape), dtype=bool)
    queue = [(-bud.radius, number, bud) for number, bud in enumerate(_trunks(rng, eye))]
    heapq.heapify(queue)
    born, grown = len(queue), []
    while queue:
        bud = heapq.heappop(queue)[2]
        path, radii, buds = _grow_branch(rng, eye, bud, tortuosity, taken[bud.kind])
        if len(path) < 4:
            continue
        for position in path:
            row, column = np.clip(position.astype(int), 1, np.array(eye.shape) - 2)
            taken[bud.kind, row - 1 : row + 2, column - 1 : column + 2] = True
        grown.append((path, radii, bud.kind))
        for new in buds:
            heapq.heappush(queue, (-new.radius, born, new))
            born += 1
    sizes = [len(path) for path, _, _ in grown]
    return Vessels(
        np.concatenate([path for path, _, _ in grown]),
        np.concatenate([radii for _, radii, _ in grown]),
        np.repeat([kind for _, _, kind in grown], sizes),
        np.repeat(np.arange(len(grown)), sizes),
    )


def _trunks(rng: np.random.Generator, eye: Eye) -> list[_Bud]:
    """Return the arcades and the small vessels that go from the disc straight to the macula."""
    toward = 0.0 if eye.temporal == 1 else np.pi
    buds = []
    for kind, radius in _TRUNKS.items():
        for up in (-1, 1):
            sides = ((1.0, rng.uniform(1.1, 1.5), -up * eye.temporal), (0.6, rng.uniform(2.0, 2.7), 0))
            for share, angle, turn in sides:
                heading = toward + up * eye.temporal * angle
                start = eye.disc + eye.scale * rng.normal(0, 4, 2)
                width = eye.scale * radius * share * rng.uniform(0.85, 1.1)
                buds.append(_Bud(start, heading, width, kind, turn))
        for _ in range(rng.integers(2, 5)):
            start = eye.disc + eye.scale * rng.normal(0, 6, 2)
            buds.append(_Bud(start, toward + rng.normal(0, 0.5), eye.scale * rng.uniform(0.7, 1.2), kind))
    return buds


def _grow_branch(
    rng: np.random.Generator, eye: Eye, bud: _Bud, tortuosity: float, taken: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[_Bud]]:
    """Return center line, radii and side branches of a branch."""
    step = eye.scale * _STEP
    position, heading, radius, curvature = bud.position, bud.heading, bud.radius, 0.0
    path, radii, buds = [], [], []
    side = rng.choice([-1, 1])
    spacing = eye.scale * _SPACINGS[bud.turn == 0]
    until_next = rng.exponential(spacing)
    while radius > eye.scale * _THINNEST and _may_go_on(eye, position, len(path), taken):
        path.append(position)
        radii.append(radius)
        curvature = 0.9 * curvature + tortuosity * rng.normal()
        heading += curvature + _guidance(eye, bud, position, heading)
        position = position + step * np.array([np.sin(heading), np.cos(heading)])
        radius *= np.exp(-_STEP / _TAPER)
        until_next -= step
        if until_next < 0 and not _near_disc(eye, position):
            share = rng.uniform(0.3, 0.75)
            side = -side if rng.random() < 0.7 else side
            angle = side * rng.uniform(0.6, 1.3) * (1.2 - 0.5 * share)
            buds.append(_Bud(position, heading + angle, radius * share, bud.kind))
            heading -= 0.35 * share**2 * side
            radius *= (1 - share**3) ** (1 / 3)
            until_next = rng.exponential(spacing)
    return np.array(path).reshape(-1, 2), np.array(radii), buds


def _may_go_on(eye: Eye, position: np.ndarray, steps: int, taken: np.ndarray) -> bool:
    """Return whether a vessel can be at a position; its first steps may touch the vessel it leaves."""
    if np.hypot(*(position - eye.center)) > eye.scale * (FIELD + 4):
        return False
    if np.hypot(*(position - eye.fovea)) < eye.scale * _AVASCULAR:
        return False
    row, column = np.clip(position.astype(int), 0, np.array(eye.shape) - 1)
    return _near_disc(eye, position) or steps < 7 or not taken[row, column]


def _near_disc(eye: Eye, position: np.ndarray) -> bool:
    return bool(np.hypot(*(position - eye.disc)) < eye.scale * _NEAR_DISC)


def _guidance(eye: Eye, bud: _Bud, position: np.ndarray, heading: float) -> float:
    """Return by how much a vessel turns in a step: arcades around the fovea, others away from the disc."""
    if bud.turn:
        offset = position - eye.fovea
        distance = np.hypot(*offset)
        outward = offset / distance
        along = bud.turn * np.array([outward[1], -outward[0]])
        # Arteries and veins run side by side.
        wanted = eye.scale * (ARCADE + (8 if bud.kind == VEIN else -8))
        target = along + 0.8 * (wanted - distance) / wanted * outward
        gain = 0.05
    else:
        target, gain = position - eye.disc, 0.012
    error = np.arctan2(target[0], target[1]) - heading
    return gain * float(np.angle(np.exp(1j * error)))
