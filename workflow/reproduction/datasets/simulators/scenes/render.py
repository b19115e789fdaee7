"""Rendering of sketches as anti-aliased, textured and shaded layers on a canvas."""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.sketch import Material, Sketch

_SUPERSAMPLING = 2
_MARGIN = 2
#: The field of each texture, its contrast, and whether its structure is upright.
_TEXTURES = {
    "plain": ("pink", 0.08, False),
    "fur": ("hairs", 0.13, True),
    "wool": ("pink", 0.2, False),
    "cloth": ("streaks", 0.075, True),
    "leaf": ("fine", 0.25, False),
    "metal": ("clouds", 0.12, False),
    "wood": ("streaks", 0.13, False),
    "stone": ("pink", 0.16, False),
    "glass": ("clouds", 0.2, False),
}
_TEXTURE_NAMES = tuple(_TEXTURES)
#: Scales of the relief, relative to the size of the layer, and the strength of each.
_RELIEF = ((0.015, 0.25), (0.06, 0.26), (0.16, 0.34))


@dataclass(frozen=True)
class Light:
    """Direction of the light, a unit vector in the image (y downwards), and its strength (0..1)."""

    x: float
    y: float
    strength: float


@dataclass(frozen=True)
class Layer:
    """A rendered sketch: premultiplied colors (h, w, 3), opacity (h, w), and the pixel of its corner."""

    color: np.ndarray
    alpha: np.ndarray
    left: int
    top: int

    @property
    def area(self) -> float:
        """Area in pixels without occlusion."""
        return float(self.alpha.sum())


def render(
    sketch: Sketch,
    scale: float,
    x: float,
    y: float,
    *,
    light: Light,
    noise: Noise,
    rng: np.random.Generator,
    frame: tuple[int, int] | None = None,
) -> Layer:
    """Render a sketch at ``scale`` pixels per meter with its origin at column ``x`` and row ``y``.

    With ``frame``, the (height, width) of an image, the part outside the image is omitted.
    """
    left, bottom, right, top = sketch.bounds()
    corner = np.floor([x + scale * left, y - scale * top]).astype(int) - _MARGIN
    end = np.ceil([x + scale * right, y - scale * bottom]).astype(int) + _MARGIN
    if frame is not None:
        corner = np.clip(corner, -_MARGIN, np.array(frame[::-1]) - 1)
        end = np.clip(end, corner + 2, np.array(frame[::-1]) + _MARGIN)
    size = end - corner
    index, materials = _paint(sketch, scale, np.array([x, y]) - corner, size)
    flat = np.zeros((len(materials) + 1, 4), dtype=np.uint8)
    flat[1:, :3] = np.round([255 * np.array(material.color) for material in materials])
    flat[1:, 3] = 255
    fine = flat.view(np.uint32)[:, 0][index].view(np.uint8).reshape(*index.shape, 4)
    # Averaging colors together with their opacity gives premultiplied colors.
    coarse = np.asarray(Image.fromarray(fine, "CMYK").reduce(_SUPERSAMPLING), dtype=np.float32) / 255
    alpha = np.ascontiguousarray(coarse[..., 3])
    index = index[::_SUPERSAMPLING, ::_SUPERSAMPLING]
    shade = _texture(index, materials, noise, rng) * _relief(index, materials, light)
    color = np.minimum(coarse[..., :3] * shade[..., None], alpha[..., None])
    return Layer(color, alpha, int(corner[0]), int(corner[1]))


def _paint(sketch: Sketch, scale: float, origin: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, list]:
    """Return the number of the material at each fine pixel, 0 for none, and the materials."""
    image = Image.new("L", tuple(int(n) for n in size * _SUPERSAMPLING))
    draw = ImageDraw.Draw(image)
    numbers: dict[Material, int] = {}
    for part in sketch.parts:
        number = numbers.setdefault(part.material, len(numbers) + 1)
        points = (part.points * (scale, -scale) + origin) * _SUPERSAMPLING
        flat = points.ravel().tolist()
        if part.width:
            draw.line(
                flat, fill=number, width=max(1, round(part.width * scale * _SUPERSAMPLING)), joint="curve"
            )
        else:
            draw.polygon(flat, fill=number)
    if len(numbers) > 255:
        raise ValueError(f"the sketch has {len(numbers)} materials: expected at most 255")
    return np.asarray(image), list(numbers)


def _texture(index: np.ndarray, materials: list, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """Return the brightness factor of each pixel by the texture of its material."""
    of_material = np.array([0, *(_TEXTURE_NAMES.index(m.texture) for m in materials)], dtype=np.uint8)
    texture = of_material[index]
    factor = np.ones(index.shape, dtype=np.float32)
    for number in np.unique(of_material[1:]):
        field, contrast, upright = _TEXTURES[_TEXTURE_NAMES[number]]
        contrast *= rng.uniform(0.6, 1.5)
        crop = noise.crop(field, index.shape, rng, upright=upright)
        np.copyto(factor, 1 + contrast * crop, where=texture == number)
    return np.maximum(factor, 0.15)


def _relief(index: np.ndarray, materials: list, light: Light) -> np.ndarray:
    """Return the brightness factor of each pixel by the light on the edges and the roundness of parts.

    Parts have heights; after a blur they have slopes, and slopes towards the light are bright.
    """
    heights = np.array([0, *(100 + 155 * m.relief for m in materials)], dtype=np.uint8)
    image = Image.fromarray(heights[index])
    size = max(8.0, float(np.sqrt(index.size)))
    shade = np.ones(index.shape, dtype=np.float32)
    for fraction, strength in _RELIEF:
        radius = max(1.0, fraction * size)
        # A wide blur is computed at low resolution.
        step = max(1, int(radius / 3))
        small = image.reduce(step) if step > 1 else image
        blurred = np.asarray(small.filter(ImageFilter.GaussianBlur(radius / step)), dtype=np.float32) / 255
        dx, dy = round(light.x * radius / step), round(light.y * radius / step)
        slope = _shifted(blurred, -dx, -dy) - _shifted(blurred, dx, dy)
        if step > 1:
            slope = np.asarray(Image.fromarray(slope).resize(image.size, Image.Resampling.BILINEAR))
        shade += strength * light.strength * slope
    return np.clip(shade, 0.25, 1.9)


def _shifted(field: np.ndarray, dx: int, dy: int) -> np.ndarray:
    """Return ``field[y + dy, x + dx]``, 0 where that is outside."""
    padded = np.pad(field, ((abs(dy), abs(dy)), (abs(dx), abs(dx))))
    top, left = abs(dy) + dy, abs(dx) + dx
    return padded[top : top + field.shape[0], left : left + field.shape[1]]


class Canvas:
    """An RGB image (0..1) on which layers are painted from far to near, with masks of their visible parts."""

    def __init__(self, image: np.ndarray):
        self.image = image
        self.visible: list[np.ndarray] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.image.shape[:2]

    def paint(self, layer: Layer, *, watch: bool = False) -> None:
        """Paint a layer over all others; with ``watch``, its visible part is tracked in ``visible``."""
        inner, outer = self._overlap(layer)
        alpha = layer.alpha[inner]
        through = 1 - alpha
        self.image[outer] *= through[..., None]
        self.image[outer] += layer.color[inner]
        for mask in self.visible:
            mask[outer] *= through
        if watch:
            mask = np.zeros(self.shape, dtype=np.float32)
            mask[outer] = alpha
            self.visible.append(mask)

    def darken(self, shadow: np.ndarray, left: int, top: int) -> None:
        """Multiply the image by 1 - shadow, an array with its corner at (left, top)."""
        inner, outer = self._overlap(Layer(shadow, shadow, left, top))
        self.image[outer] *= (1 - shadow[inner])[..., None]

    def _overlap(self, layer: Layer) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """Return the overlap of a layer and the canvas, in the pixels of each."""
        inner, outer = [], []
        for start, length, limit in zip((layer.top, layer.left), layer.alpha.shape, self.shape, strict=True):
            low, high = min(max(start, 0), limit), max(min(start + length, limit), 0)
            high = max(low, high)
            outer.append(slice(low, high))
            inner.append(slice(low - start, high - start))
        return tuple(inner), tuple(outer)
