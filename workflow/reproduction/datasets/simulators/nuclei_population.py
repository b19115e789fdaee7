"""Simulated population of nuclei that grow, move, push each other, divide and die.

Lengths are in micrometers, times in minutes. The constants are those of HeLa cells in culture, the same for
all laboratories; what differs between them stands in `Culture`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from reproduction.datasets.simulators.scenes.noise import SIDE, Noise

#: Time between two updates; the interval between frames is a multiple of it.
STEP = 5.0
#: Durations of condensation and of the metaphase plate before a division.
_CONDENSE, _PLATE = 60.0, 25.0
#: Separation of new nuclei: initial distance from the center, duration and final distance.
_ASIDE, _PARTING, _REACH = 3.5, 8.0, 5.0
#: Time during which a new nucleus keeps the shape of its chromosomes.
_RELAX = 45.0
#: Duration of a death.
DYING = 150.0
#: Range of the soft repulsion between cells.
_CYTOPLASM = 9.0
#: Pixels of the field of `Noise` per micrometer: islands of cells are some hundred micrometers wide.
_ISLANDS = 3.0
#: Outlines are circles with bumps of these frequencies, stretched.
HARMONICS = np.array([2, 3, 4, 5])

_NUCLEUS = np.dtype(
    [
        ("number", int),  # counts from 1, never used twice
        ("parent", int),  # 0 without one
        ("position", float, 2),  # row and column
        ("velocity", float, 2),
        ("push", float, 2),  # velocity of the chromosomes drawn apart
        ("speed", float),
        ("age", float),
        ("cycle", float),  # the age at which it divides
        ("death", float),  # the age at which it is gone, infinite for one that divides
        ("area", float),  # in the middle of the cycle
        ("ratio", float),  # of the long to the short axis
        ("angle", float),  # of the long axis, from the rows' direction
        ("amount", float),  # of fluorescent protein: 1 makes the typical nucleus as bright as 1
        ("bumps", float, (2, len(HARMONICS))),  # of the outline: amplitude and phase
        ("texture", float, 3),  # strength and place of its pattern
    ]
)


@dataclass(frozen=True)
class Culture:
    """The cells of a laboratory."""

    spacing: float  #: square micrometers per nucleus at the start of the film
    clumping: float  #: clustering of the initial places, 0 for uniform
    area: float  #: of a nucleus in the middle of its cycle
    area_spread: float  #: standard deviation of its logarithm
    ratio: float  #: mean ratio of the axes
    bumps: float  #: mean amplitude of the bumps of the outline, in radii
    brightness_spread: float  #: standard deviation of the logarithm of fluorescent protein
    dim: float  #: share of cells with little of it
    texture: float  #: mean contrast of the pattern of chromatin
    speed: float  #: root mean square along an axis, per minute
    speed_spread: float  #: standard deviation of its logarithm
    persistence: float  #: correlation time of the direction
    cycle: float  #: from division to division
    death: float  #: deaths per cell in a thousand hours


@dataclass(frozen=True)
class Looks:
    """Appearance of each nucleus at one time."""

    axes: np.ndarray  #: (n, 2) half the length and half the width
    level: np.ndarray  #: concentration of fluorescent protein
    decay: np.ndarray  #: from 0 (intact) to 1 (fragmented and faded)


def looks(nuclei: np.ndarray) -> Looks:
    """Return size, shape and brightness of nuclei by their phase of life.

    Fluorescent protein doubles once in a cycle and is never lost before death: condensed nuclei are bright.
    """
    grown = nuclei["age"] / nuclei["cycle"]
    remaining = nuclei["cycle"] - nuclei["age"]
    condensed = _smooth((_CONDENSE - remaining) / (_CONDENSE - _PLATE))
    plate = _smooth((_PLATE + 10 - remaining) / 10)
    fresh = np.exp(-nuclei["age"] / _RELAX)
    decay = np.clip(1 - (nuclei["death"] - nuclei["age"]) / DYING, 0, 1)
    area = nuclei["area"] * (0.75 + 0.5 * grown)
    area *= (1 - 0.72 * condensed) * (1 - 0.6 * fresh) * (1 - 0.6 * decay)
    amount = nuclei["amount"] * (1 + _smooth((grown - 0.35) / 0.4)) * (1 - _smooth((decay - 0.7) / 0.3))
    ratio = nuclei["ratio"] ** (1 - decay)
    ratio = ratio + (1.8 - ratio) * fresh
    ratio = ratio + (3.0 - ratio) * plate
    short = np.sqrt(area / (np.pi * ratio))
    return Looks(np.column_stack([short * ratio, short]), amount / area, decay)


class Population:
    """All nuclei in and around the field of view; ``step`` advances time by five minutes."""

    def __init__(self, culture: Culture, extent: tuple[float, float], noise: Noise, rng: np.random.Generator):
        self.culture, self.extent, self._rng = culture, np.array(extent), rng
        count = round(self.extent.prod() / culture.spacing)
        self._born = 0
        self.nuclei = self._individuals(count)
        self.nuclei["position"] = self._places(count, noise)
        # In a growing population the density of ages falls to a half over the cycle.
        self.nuclei["age"] = -np.log2(1 - rng.random(count) / 2) * self.nuclei["cycle"]
        self.nuclei["death"] += self.nuclei["age"]
        _spare_dividing(self.nuclei)
        for _ in range(40):
            self._repel()

    def step(self) -> None:
        """Move, age, divide and die."""
        self._move()
        self._repel()
        self.nuclei["age"] += STEP
        self.nuclei = self.nuclei[self.nuclei["age"] < self.nuclei["death"]]
        due = self.nuclei["age"] >= self.nuclei["cycle"]
        if due.any():
            self.nuclei = np.concatenate([self.nuclei[~due], self._divide(self.nuclei[due])])

    def _individuals(self, count: int) -> np.ndarray:
        """Return new nuclei with their individual properties, without places."""
        culture, rng = self.culture, self._rng
        nuclei = np.zeros(count, _NUCLEUS)
        nuclei["number"] = self._born + 1 + np.arange(count)
        self._born += count
        nuclei["speed"] = culture.speed * np.exp(culture.speed_spread * rng.standard_normal(count))
        nuclei["velocity"] = nuclei["speed"][:, None] * rng.standard_normal((count, 2))
        nuclei["cycle"] = culture.cycle * np.exp(0.15 * rng.standard_normal(count))
        nuclei["death"] = DYING + rng.exponential(60_000 / culture.death, count)
        nuclei["area"] = culture.area * np.exp(culture.area_spread * rng.standard_normal(count))
        nuclei["ratio"] = 1 + (culture.ratio - 1) * rng.gamma(3, 1 / 3, count)
        nuclei["angle"] = rng.uniform(0, np.pi, count)
        amount = np.exp(culture.brightness_spread * rng.standard_normal(count))
        amount *= np.where(rng.random(count) < culture.dim, rng.uniform(0.15, 0.4, count), 1.0)
        # The amount doubles over a cycle; with two thirds its mean is about 1.
        nuclei["amount"] = amount * culture.area * 2 / 3
        nuclei["bumps"][:, 0] = culture.bumps * rng.gamma(2, 1 / 2, (count, len(HARMONICS)))
        nuclei["bumps"][:, 0] *= (2 / HARMONICS) ** 2
        nuclei["bumps"][:, 1] = rng.uniform(0, 2 * np.pi, (count, len(HARMONICS)))
        nuclei["texture"][:, 0] = culture.texture * rng.gamma(8, 1 / 8, count)
        nuclei["texture"][:, 1:] = rng.uniform(0, SIDE, (count, 2))
        return nuclei

    def _places(self, count: int, noise: Noise) -> np.ndarray:
        """Draw places with a density that follows a random field: cells grow in islands."""
        rng, places = self._rng, np.empty((0, 2))
        origin = rng.uniform(0, SIDE, 2)
        while len(places) < count:
            tried = rng.uniform(0, self.extent, (4 * count, 2))
            density = np.exp(self.culture.clumping * noise.at("clouds", *(_ISLANDS * tried + origin).T))
            places = np.vstack([places, tried[rng.random(len(tried)) * density.max() < density]])
        return places[:count]

    def _move(self) -> None:
        """Move nuclei by a persistent random walk; nuclei that divide or die do not move."""
        nuclei, rng = self.nuclei, self._rng
        keep = np.exp(-STEP / self.culture.persistence)
        fresh = nuclei["speed"][:, None] * rng.standard_normal((len(nuclei), 2))
        nuclei["velocity"] = keep * nuclei["velocity"] + np.sqrt(1 - keep**2) * fresh
        rest = (nuclei["cycle"] - nuclei["age"] < _CONDENSE) | (nuclei["death"] - nuclei["age"] < DYING)
        moving = np.where(rest, 0.2, 1.0)[:, None] * nuclei["velocity"]
        nuclei["position"] += STEP * moving + _PARTING * (1 - np.exp(-STEP / _PARTING)) * nuclei["push"]
        nuclei["push"] *= np.exp(-STEP / _PARTING)
        nuclei["angle"] += np.where(rest, 0.02, 0.05) * rng.standard_normal(len(nuclei))
        # The field has walls far outside the view.
        nuclei["position"] = self.extent - np.abs(self.extent - np.abs(nuclei["position"]))

    def _repel(self) -> None:
        """Push overlapping neighbors apart gradually: nuclei touch and deform each other."""
        position = self.nuclei["position"]
        radius = np.sqrt(looks(self.nuclei).axes.prod(axis=1))
        reach = 2 * radius.max(initial=0) + _CYTOPLASM
        pairs = cKDTree(position).query_pairs(reach, output_type="ndarray")
        first, second = pairs[np.lexsort(pairs.T)].T
        apart = position[second] - position[first]
        distance = np.linalg.norm(apart, axis=1)
        overlap = radius[first] + radius[second] - distance
        force = 0.2 * np.maximum(overlap, 0) + 0.03 * np.maximum(overlap + _CYTOPLASM, 0)
        shift = (force / np.maximum(distance, 1e-9))[:, None] * apart
        np.subtract.at(position, first, shift)
        np.add.at(position, second, shift)

    def _divide(self, mothers: np.ndarray) -> np.ndarray:
        """Return two children of each nucleus, which separate across the plate and inherit its properties."""
        rng = self._rng
        mothers = np.repeat(mothers, 2)
        children = self._individuals(len(mothers))
        side = np.tile([1.0, -1.0], len(mothers) // 2)[:, None]
        across = side * np.column_stack([-np.sin(mothers["angle"]), np.cos(mothers["angle"])])
        reach = _REACH * np.exp(0.15 * rng.standard_normal(len(mothers)))[:, None]
        children["parent"] = mothers["number"]
        children["position"] = mothers["position"] + _ASIDE * across
        children["push"] = reach / _PARTING * across
        children["angle"] = mothers["angle"] + 0.15 * rng.standard_normal(len(mothers))
        children["age"] = mothers["age"] - mothers["cycle"]
        for name, spread in (("area", 0.08), ("amount", 0.05), ("speed", 0.3)):
            children[name] = mothers[name] * np.exp(spread * rng.standard_normal(len(mothers)))
        _spare_dividing(children)
        return children


def _spare_dividing(nuclei: np.ndarray) -> None:
    """Cancel deaths that would not be complete before a division begins."""
    nuclei["death"][nuclei["death"] > nuclei["cycle"] - _CONDENSE] = np.inf


def _smooth(share: np.ndarray) -> np.ndarray:
    """Return a smooth step from 0 to 1."""
    share = np.clip(share, 0, 1)
    return share * share * (3 - 2 * share)
