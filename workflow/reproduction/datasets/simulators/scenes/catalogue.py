"""The 20 classes with their drawing functions and poses, and the settings in which they occur."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reproduction.datasets.simulators.scenes import (
    animals,
    backdrops,
    clutter,
    craft,
    household,
    people,
    vehicles,
)
from reproduction.datasets.simulators.scenes.sketch import Sketch


@dataclass(frozen=True)
class Kind:
    """Drawing function of a class, and the variation of its pose."""

    draw: Callable[[np.random.Generator], Sketch]
    #: Standard deviation of the rotation in radians.
    tilt: float
    #: Size of random smooth deformations relative to the height.
    bend: float
    #: Probability of being in the air in a scene with a sky.
    flies: float = 0.0


@dataclass(frozen=True)
class Setting:
    """A kind of scene: its background, the weights of its classes, and its clutter."""

    paint: Callable[[backdrops.Stage], None]
    weight: float
    classes: dict[str, float]
    clutter: tuple[Callable[[np.random.Generator], Sketch], ...]
    horizon: tuple[float, float]  #: range of its row, relative to the height of the image


KINDS = {
    "aeroplane": Kind(craft.aeroplane, 0.08, 0.01, flies=0.65),
    "bicycle": Kind(vehicles.bicycle, 0.08, 0.01),
    "bird": Kind(animals.bird, 0.15, 0.04, flies=0.4),
    "boat": Kind(craft.boat, 0.04, 0.01),
    "bottle": Kind(household.bottle, 0.03, 0.005),
    "bus": Kind(vehicles.bus, 0.02, 0.01),
    "car": Kind(vehicles.car, 0.02, 0.015),
    "cat": Kind(animals.cat, 0.06, 0.05),
    "chair": Kind(household.chair, 0.03, 0.02),
    "cow": Kind(animals.cow, 0.03, 0.04),
    "diningtable": Kind(household.diningtable, 0.02, 0.01),
    "dog": Kind(animals.dog, 0.05, 0.05),
    "horse": Kind(animals.horse, 0.04, 0.04),
    "motorbike": Kind(vehicles.motorbike, 0.08, 0.015),
    "person": Kind(people.person, 0.05, 0.03),
    "pottedplant": Kind(household.pottedplant, 0.03, 0.05),
    "sheep": Kind(animals.sheep, 0.03, 0.04),
    "sofa": Kind(household.sofa, 0.01, 0.02),
    "train": Kind(vehicles.train, 0.01, 0.01),
    "tvmonitor": Kind(household.tvmonitor, 0.03, 0.01),
}

SETTINGS = {
    "street": Setting(
        backdrops.street,
        5.0,
        {"car": 3.5, "bus": 2.2, "bicycle": 2.2, "motorbike": 2.8, "person": 5.0, "train": 1.7, "dog": 0.4},
        (clutter.post, clutter.bush, clutter.crate, clutter.fence, clutter.tree),
        (0.3, 0.55),
    ),
    "field": Setting(
        backdrops.field,
        4.0,
        {"cow": 2.6, "sheep": 2.6, "horse": 2.6, "dog": 1.2, "person": 3.4, "bird": 1.0, "train": 0.8},
        (clutter.tuft, clutter.bush, clutter.fence, clutter.rock, clutter.tuft),
        (0.22, 0.5),
    ),
    "sea": Setting(
        backdrops.sea,
        1.7,
        {"boat": 4.0, "bird": 1.2, "person": 1.2},
        (clutter.buoy, clutter.tuft, clutter.rock),
        (0.25, 0.55),
    ),
    "air": Setting(
        backdrops.air,
        1.6,
        {"aeroplane": 4.0, "bird": 1.2},
        (clutter.post, clutter.tuft, clutter.tree),
        (0.55, 0.85),
    ),
    "room": Setting(
        backdrops.room,
        4.5,
        {
            "sofa": 2.0, "chair": 3.0, "diningtable": 2.5, "tvmonitor": 1.6, "person": 4.4, "cat": 1.7,
            "dog": 1.7, "pottedplant": 1.4,
        },
        (clutter.crate, clutter.blob, clutter.lamp, clutter.cupboard),
        (0.2, 0.45),
    ),
    "tabletop": Setting(
        backdrops.tabletop,
        2.2,
        {"bottle": 4.4, "pottedplant": 2.2, "tvmonitor": 2.0, "cat": 1.3, "person": 1.2, "bird": 0.4},
        (clutter.vessel, clutter.blob, clutter.vessel),
        (0.1, 0.4),
    ),
}  # fmt: skip
