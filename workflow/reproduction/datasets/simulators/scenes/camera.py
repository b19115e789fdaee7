"""Camera model: uneven light, blur, noise and a tone curve."""

import numpy as np
from PIL import Image, ImageFilter

from reproduction.datasets.simulators.scenes.noise import Noise


def defocus(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur an image (0..1) like a lens that is out of focus."""
    pixels = Image.fromarray(_bytes(image)).filter(ImageFilter.GaussianBlur(radius))
    return np.asarray(pixels, dtype=np.float32) / 255


def illuminate(image: np.ndarray, noise: Noise, rng: np.random.Generator) -> None:
    """Multiply by a gradient, patches of light and shade, fine variation, vignetting and a tint."""
    height, width = image.shape[:2]
    y, x = np.linspace(-1, 1, height, dtype=np.float32)[:, None], np.linspace(-1, 1, width, dtype=np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    light = 1 + rng.uniform(0, 0.2) * (np.cos(angle) * x + np.sin(angle) * y)
    light = light - rng.uniform(0, 0.12) * (x**2 + y**2)
    if rng.random() < 0.35:
        patches = noise.crop("clouds", (height, width), rng) * 3 + rng.normal(0, 1)
        light = light * (1 - rng.uniform(0.1, 0.35) / (1 + np.exp(-np.clip(4 * patches, -30, 30))))
    light = light * (1 + rng.uniform(0.015, 0.055) * noise.crop("fine", (height, width), rng))
    tint = 1 + rng.normal(0, 0.05) * np.array([1, 0.1, -1]) + rng.normal(0.08, 0.08)
    image *= light[..., None].astype(np.float32) * tint.astype(np.float32)


def expose(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Convert light (about 0..1) to the bytes of a photograph, with lens blur and sensor noise."""
    sharp = Image.fromarray(_bytes(image)).filter(_lens(rng.uniform(0.3, 0.75)))
    level = np.arange(256, dtype=np.float32) / 255
    contrast = rng.uniform(0.1, 0.7)
    curve = level + contrast * (level * level * (3 - 2 * level) - level)
    photo = 255 * curve[np.asarray(sharp)]
    grain = rng.standard_normal(photo.shape[:2], dtype=np.float32)
    strength = rng.uniform(0.8, 5.0)
    for channel, shift in enumerate((0, 101, 211)):
        # Colors share half of the noise, as after demosaicing.
        photo[..., channel] += strength * (0.7 * grain + 0.7 * np.roll(grain, shift, axis=1))
    return np.clip(np.round(photo), 0, 255).astype(np.uint8)


def _lens(sigma: float) -> ImageFilter.Kernel:
    """Return the blur kernel of a good lens, of 3 x 3 pixels."""
    side = np.exp(-0.5 / sigma**2)
    weights = np.outer([side, 1, side], [side, 1, side])
    return ImageFilter.Kernel((3, 3), weights.ravel().tolist(), scale=float(weights.sum()))


def _bytes(image: np.ndarray) -> np.ndarray:
    return np.clip(image * 255 + 0.5, 0, 255).astype(np.uint8)
