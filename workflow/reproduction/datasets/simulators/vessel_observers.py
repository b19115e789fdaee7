"""People who mark the vessels of a photograph by hand.

An observer follows each branch from its origin until it is too faint for this observer, draws with an
unsteady hand, sees borders a little too far out or in, and takes some streaks of the background for vessels.
Observers do not know what the other one has marked.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from reproduction.datasets.simulators.fundus import transmission
from reproduction.datasets.simulators.vessel_trees import ARTERY, FIELD, VEIN, Eye, Vessels

_GREEN = 1


@dataclass(frozen=True)
class Observer:
    """Habits of an observer; lengths in pixels of the real data."""

    threshold: float  #: share of green light that a vessel must absorb to be followed to its end
    threshold_spread: float  #: spread of its logarithm between images
    widening: float  #: by how much the drawn borders are outside the true ones
    widening_spread: float  #: spread between images
    inventions: float  #: mean number of streaks that are taken for vessels


#: The first observer marks wide vessels generously; the second is more variable from image to image.
FIRST = Observer(threshold=0.105, threshold_spread=0.1, widening=0.4, widening_spread=0.1, inventions=3)
SECOND = Observer(threshold=0.11, threshold_spread=0.2, widening=0.35, widening_spread=0.2, inventions=4)
#: Standard deviation of the hand and of the drawn border, and the distance over which they vary.
_TREMOR, _BORDER, _CORRELATION = 0.35, 0.25, 12.0
#: Spread between branches of the logarithm of the threshold, and the thinnest line that is drawn (radius).
_BRANCH_SPREAD, _PENCIL = 0.2, 0.55


def observe(rng: np.random.Generator, eye: Eye, vessels: Vessels, observer: Observer) -> np.ndarray:
    """Return the mask that an observer draws."""
    drawn = vessels.select(_followed(rng, eye, vessels, observer))
    points = np.concatenate(
        [drawn.points, *(_streak(rng, eye) for _ in range(rng.poisson(observer.inventions)))]
    )
    added = len(points) - len(drawn.points)
    radii = np.concatenate([drawn.radii, np.full(added, eye.scale * rng.uniform(0.4, 0.9))])
    points = points + eye.scale * _TREMOR * np.stack([_smooth(rng, eye, points) for _ in range(2)], axis=1)
    widening = observer.widening + observer.widening_spread * rng.normal()
    radii = radii + eye.scale * (widening + _BORDER * _smooth(rng, eye, points))
    radii = np.maximum(radii, _PENCIL)
    unused = np.zeros(len(points), dtype=int)
    border, _ = Vessels(points, radii, unused, unused).tubes(eye.shape, 0.0)
    return border < 0


def _followed(rng: np.random.Generator, eye: Eye, vessels: Vessels, observer: Observer) -> np.ndarray:
    """Return which points are drawn: from the origin of a branch to the first point that is not seen."""
    green = [transmission(kind, 2 * vessels.radii / eye.scale)[:, _GREEN] for kind in (ARTERY, VEIN)]
    contrast = 1 - np.where(vessels.kinds == ARTERY, *green)
    n_branches = vessels.branches.max() + 1
    spread = observer.threshold_spread * rng.normal() + _BRANCH_SPREAD * rng.normal(size=n_branches)
    unseen = contrast < observer.threshold * np.exp(spread)[vessels.branches]
    passed = np.concatenate([[0], np.cumsum(unseen)])
    first = np.searchsorted(vessels.branches, np.arange(n_branches))
    return passed[1:] == passed[first][vessels.branches]


def _streak(rng: np.random.Generator, eye: Eye) -> np.ndarray:
    """Return the center line of something in the field of view that looks like a thin vessel."""
    angle, turn = rng.uniform(0, 2 * np.pi), rng.normal(0, 0.01)
    headings = angle + turn * np.arange(rng.integers(15, 50))
    steps = eye.scale * np.stack([np.sin(headings), np.cos(headings)], axis=1)
    place = rng.uniform(0, 2 * np.pi)
    start = eye.center + eye.scale * FIELD * 0.8 * np.sqrt(rng.random()) * np.array(
        [np.sin(place), np.cos(place)]
    )
    return start + np.cumsum(steps, axis=0)


def _smooth(rng: np.random.Generator, eye: Eye, points: np.ndarray) -> np.ndarray:
    """Return a smooth random field of mean 0 and standard deviation 1 at points."""
    field = gaussian_filter(rng.standard_normal(eye.shape), eye.scale * _CORRELATION, mode="wrap")
    rows, columns = np.clip(points.astype(int), 0, np.array(eye.shape) - 1).T
    return field[rows, columns] / field.std()
