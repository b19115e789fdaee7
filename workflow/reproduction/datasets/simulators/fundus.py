"""Color photographs of the retina: reflection of the fundus, absorption in vessels, lesions, camera.

The fundus reflects light, and blood absorbs it: the logarithm of a channel falls with the length of the way
through vessels (Beer-Lambert law). The wall of an artery reflects a little light along its center line. The
camera lights the fundus unevenly, blurs, and adds noise.
"""

import numpy as np
from scipy.ndimage import gaussian_filter

from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.vessel_trees import ARTERY, FIELD, VEIN, Eye, Vessels

#: Absorption of red, green and blue light by a pixel (at the height of the real images) of blood.
_ABSORPTION = {ARTERY: np.array([0.07, 0.3, 0.23]), VEIN: np.array([0.12, 0.42, 0.32])}
#: Share of the light that reaches the camera without having passed through a vessel.
_GLARE = 0.68
_DISC_RADIUS = 36.0
_DISC_COLOR = np.array([0.97, 0.78, 0.52])
_EXUDATE = np.array([0.95, 0.8, 0.42])
_DARK = np.array([0.036, 0.028, 0.028])


def field_of_view(eye: Eye) -> np.ndarray:
    """Return the mask of the field of view: a disk with a notch at the upper right, as that of the camera."""
    rows, columns = np.indices(eye.shape)
    distance = np.hypot(rows - eye.center[0], columns - eye.center[1])
    notch = eye.center + eye.scale * (FIELD - 1) * np.array([-np.sqrt(0.5), np.sqrt(0.5)])
    at_notch = np.hypot(rows - notch[0], columns - notch[1]) < eye.scale * 9
    return (distance < eye.scale * FIELD) | at_notch


def photograph(
    rng: np.random.Generator, noise: Noise, eye: Eye, vessels: Vessels, *, pathological: bool
) -> np.ndarray:
    """Return the bytes (height, width, 3) of a photograph."""
    light = _fundus(rng, noise, eye)
    if pathological:
        _add_lesions(rng, eye, light)
    for kind in (ARTERY, VEIN):
        way = _way_through(vessels, kind, eye) / eye.scale
        light *= transmission(kind, rng.uniform(0.8, 1.2) * way)
    light *= 1 + _reflex(rng, vessels, eye)[..., None]
    light *= _illumination(rng, noise, eye)[..., None]
    sharpness = eye.scale * rng.uniform(0.7, 1.2)
    light = np.where(field_of_view(eye)[..., None], light, _DARK)
    light = gaussian_filter(light, (sharpness, sharpness, 0))
    return _expose(rng, light)


def transmission(kind: int, way: np.ndarray) -> np.ndarray:
    """Return the share of red, green and blue light after a way through blood in pixels of the real data."""
    return _GLARE + (1 - _GLARE) * np.exp(-_ABSORPTION[kind] * np.asarray(way)[..., None])


def _distance(eye: Eye, place: np.ndarray) -> np.ndarray:
    """Return the distances of all pixels from a place, in pixels of the real data."""
    rows, columns = np.indices(eye.shape)
    return np.hypot(rows - place[0], columns - place[1]) / eye.scale


def _soft(signed_distance: np.ndarray, width: float) -> np.ndarray:
    """Return about 1 where the distance is negative and 0 where it is positive."""
    return 1 / (1 + np.exp(np.clip(signed_distance / width, -30, 30)))


def _fundus(rng: np.random.Generator, noise: Noise, eye: Eye) -> np.ndarray:
    """Return the light from a fundus without vessels: choroid, macula and optic disc."""
    color = np.array([rng.uniform(0.65, 0.95), rng.uniform(0.32, 0.5), 0]) * rng.uniform(0.9, 1.1)
    color[2] = color[1] * rng.uniform(0.4, 0.65)
    choroid = rng.uniform(0.01, 0.025) * noise.crop("pink", eye.shape, rng)
    choroid += rng.uniform(0, 0.03) * gaussian_filter(noise.crop("streaks", eye.shape, rng), 3 * eye.scale)
    light = color * (1 + choroid[..., None] * (0.7, 1.0, 0.8))
    macula = np.exp(-0.5 * (_distance(eye, eye.fovea) / rng.uniform(30, 50)) ** 2)
    light *= 1 - macula[..., None] * rng.uniform(0.2, 0.4) * (0.7, 1.0, 0.8)
    distance = _distance(eye, eye.disc)
    disc = _soft(distance - _DISC_RADIUS * rng.uniform(0.9, 1.1), 2.0)
    cup = _soft(distance - _DISC_RADIUS * rng.uniform(0.3, 0.6), 4.0)
    brightness = rng.uniform(0.85, 1.1) * (1 + 0.2 * cup)
    disc, brightness = disc[..., None], brightness[..., None]
    return light * (1 - 0.8 * disc) + 0.8 * disc * brightness * _DISC_COLOR


def _way_through(vessels: Vessels, kind: int, eye: Eye) -> np.ndarray:
    """Return the length of the way through the blood of one kind of vessel: the chord of a cylinder.

    A vessel thinner than a pixel covers a part of it, so chords are averaged over the pixel.
    """
    border, radius = vessels.select(vessels.kinds == kind).tubes(eye.shape, 2.0)
    inside = np.clip((border + radius) / np.maximum(radius, 0.6), 0, 1)
    covered = np.minimum(1, radius / 0.6)
    return 2 * radius * covered * np.sqrt(np.where(np.isfinite(border), 1 - inside**2, 0))


def _reflex(rng: np.random.Generator, vessels: Vessels, eye: Eye) -> np.ndarray:
    """Return the share of light that the walls of arteries reflect along their center line."""
    border, radius = vessels.select(vessels.kinds == ARTERY).tubes(eye.shape, 0.0)
    across = np.where(np.isfinite(border), (border + radius) / radius, np.inf)
    wide = _soft(1.5 * eye.scale - radius, 0.2 * eye.scale)
    return rng.uniform(0.02, 0.12) * wide * np.exp(-0.5 * (across / 0.3) ** 2)


def _illumination(rng: np.random.Generator, noise: Noise, eye: Eye) -> np.ndarray:
    """Return uneven light: brighter toward one side, darker toward the border, with clouds."""
    rows, columns = np.indices(eye.shape) - eye.center[:, None, None]
    rows, columns = rows / (eye.scale * FIELD), columns / (eye.scale * FIELD)
    angle = rng.uniform(0, 2 * np.pi)
    light = 1 + rng.uniform(0, 0.3) * (np.cos(angle) * columns + np.sin(angle) * rows)
    light -= rng.uniform(0.1, 0.45) * (rows**2 + columns**2) ** 2
    clouds = gaussian_filter(noise.crop("clouds", eye.shape, rng), 12 * eye.scale)
    light *= 1 + rng.uniform(0.02, 0.06) * clouds
    return np.maximum(light, 0.1)


def _add_lesions(rng: np.random.Generator, eye: Eye, light: np.ndarray) -> None:
    """Paint microaneurysms, hemorrhages and exudates, and sometimes a patch of atrophy."""
    for low, high, radii, depth in ((10, 40, (1.0, 2.2), 0.4), (2, 10, (3.0, 9.0), 0.45)):
        for _ in range(rng.integers(low, high)):
            spot = _blot(rng, eye, _anywhere(rng, eye), rng.uniform(*radii))
            light *= 1 - depth * rng.uniform(0.5, 1) * spot[..., None] * (0.5, 1.0, 0.8)
    for _ in range(rng.integers(1, 4)):
        middle = _anywhere(rng, eye)
        for _ in range(rng.integers(4, 20)):
            place = middle + rng.normal(0, 14 * eye.scale, 2)
            spot = rng.uniform(0.4, 0.9) * _blot(rng, eye, place, rng.uniform(1.0, 5.0))[..., None]
            light += spot * (_EXUDATE - light)
    if rng.random() < 0.5:
        patch = _blot(rng, eye, _anywhere(rng, eye), rng.uniform(15, 35))
        light *= 1 + rng.uniform(-0.25, 0.35) * patch[..., None]


def _anywhere(rng: np.random.Generator, eye: Eye) -> np.ndarray:
    """Return a place in the field of view."""
    angle, distance = rng.uniform(0, 2 * np.pi), eye.scale * FIELD * 0.85 * np.sqrt(rng.random())
    return eye.center + distance * np.array([np.sin(angle), np.cos(angle)])


def _blot(rng: np.random.Generator, eye: Eye, place: np.ndarray, radius: float) -> np.ndarray:
    """Return the soft mask of a blot with an irregular outline."""
    rows, columns = np.indices(eye.shape) - place[:, None, None]
    angle = np.arctan2(rows, columns)
    outline = radius * (
        1 + 0.2 * np.sin(2 * angle + rng.uniform(0, 6)) + 0.1 * np.sin(3 * angle + rng.uniform(0, 6))
    )
    return _soft(np.hypot(rows, columns) / eye.scale - outline, 0.15 * radius + 0.2)


def _expose(rng: np.random.Generator, light: np.ndarray) -> np.ndarray:
    """Add photon noise and round to bytes; neighboring pixels share noise, as after compression."""
    grain = gaussian_filter(rng.standard_normal(light.shape), (0.8, 0.8, 0))
    grain = 0.6 * grain / grain.std() + 0.8 * (grain / grain.std())[..., 1:2]
    level = rng.uniform(0.009, 0.017)
    exposed = light + level * np.sqrt(np.maximum(light, 0) + 0.02) * grain
    return np.clip(np.round(255 * exposed), 0, 255).astype(np.uint8)
