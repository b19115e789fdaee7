"""Composition of a scene: its objects with their places, sizes, poses and occlusions."""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from reproduction.datasets.simulators.scenes.backdrops import Stage
from reproduction.datasets.simulators.scenes.camera import defocus, expose, illuminate
from reproduction.datasets.simulators.scenes.catalogue import KINDS, SETTINGS, Kind, Setting
from reproduction.datasets.simulators.scenes.geometry import rotated
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.scenes.render import Canvas, Layer, Light, render
from reproduction.datasets.simulators.scenes.sketch import Sketch
from reproduction.datasets.voc2007_sample import CLASSES

#: (height, width) of images; each may be in portrait format.
_SHAPES = ((375, 500), (375, 500), (333, 500), (366, 500))
#: Probabilities of 1, 2, 3 or 4 objects.
_COUNTS = (0.2, 0.3, 0.25, 0.25)
#: Visible shares below which an object is omitted, or marked as difficult.
_HIDDEN, _DIFFICULT = 0.15, 0.4
_SMALLEST_BOX = 100
_SMALL_BOX = 500


@dataclass(frozen=True)
class Scene:
    """A picture and the objects in it.

    Boxes are (left, top, right, bottom), inclusive pixels counted from 0, tight around the visible part.
    """

    image: np.ndarray  #: (height, width, 3) bytes
    boxes: np.ndarray  #: (n, 4)
    labels: np.ndarray  #: (n,) indices into `reproduction.datasets.voc2007_sample.CLASSES`
    masks: np.ndarray  #: (n, height, width) flags: the visible pixels of each object
    truncated: np.ndarray  #: (n,) flags: the box is smaller than that of the whole object
    difficult: np.ndarray  #: (n,) flags: small, or little is visible
    setting: str  #: the kind of scene


@dataclass(frozen=True)
class _Placed:
    """An object to be painted: its class, sketch, pixels per meter, and the place of its foot."""

    label: int
    sketch: Sketch
    scale: float
    x: float
    y: float
    depth: float  #: row of the ground below it, by which objects are ordered


def draw_scene(rng: np.random.Generator) -> Scene:
    """Draw a random scene with at least one object."""
    while True:
        scene = _attempt(rng)
        if len(scene.boxes):
            return scene


def _attempt(rng: np.random.Generator) -> Scene:
    """Draw a scene in which all objects may turn out to be hidden."""
    shape = _SHAPES[rng.integers(len(_SHAPES))]
    shape = shape[::-1] if rng.random() < 0.2 else shape
    weights = np.array([value.weight for value in SETTINGS.values()])
    name = str(rng.choice(list(SETTINGS), p=weights / weights.sum()))
    chosen = SETTINGS[name]
    count = 1 + int(rng.choice(len(_COUNTS), p=_COUNTS))
    stage = _stage(rng, shape, chosen)
    chosen.paint(stage)
    if rng.random() < 0.3:
        stage.canvas.image[:] = defocus(stage.canvas.image, rng.uniform(0.5, 2.2))
    placed = sorted(_place_objects(stage, chosen, count), key=lambda item: item.depth)
    layers = []
    for item in placed:
        if rng.random() < 0.55 and item.depth > stage.horizon:
            _add_clutter(stage, chosen, item, beside=True)
        layers.append(_paint_object(stage, item))
    for item in placed:
        if rng.random() < 0.18 and item.depth > stage.horizon:
            _add_clutter(stage, chosen, item, beside=False)
    illuminate(stage.canvas.image, stage.noise, rng)
    photo = expose(stage.canvas.image, rng)
    return _annotate(photo, stage.canvas.visible, layers, [item.label for item in placed], name)


def _stage(rng: np.random.Generator, shape: tuple[int, int], setting: Setting) -> Stage:
    angle = rng.uniform(-2.6, -0.5)
    light = Light(float(np.cos(angle)), float(np.sin(angle)), float(rng.uniform(0.5, 1.3)))
    horizon = shape[0] * rng.uniform(*setting.horizon)
    return Stage(
        canvas=Canvas(np.zeros((*shape, 3), dtype=np.float32)),
        horizon=horizon,
        floor=horizon,
        camera=rng.uniform(1.1, 2.0),
        light=light,
        noise=Noise(rng),
        rng=rng,
    )


def _place_objects(stage: Stage, setting: Setting, count: int) -> list[_Placed]:
    """Choose objects; the first one sets the scale, and the others are nearer or farther."""
    rng = stage.rng
    names, weights = list(setting.classes), np.array(list(setting.classes.values()))
    first = str(rng.choice(names, p=weights / weights.sum()))
    # Further objects are often of the same class.
    others = [
        first if rng.random() < 0.35 else str(rng.choice(names, p=weights / weights.sum()))
        for _ in range(count - 1)
    ]
    placed: list[_Placed] = []
    scale = 0.0
    for name in [first, *others]:
        kind = KINDS[name]
        sketch = _posed(kind.draw(rng), kind, rng)
        left, bottom, right, top = sketch.bounds()
        extent = np.sqrt((right - left) * (top - bottom))
        if not placed:
            scale = rng.beta(1.5, 2.05) * 0.95 * np.sqrt(np.prod(stage.canvas.shape)) / extent
        placed.append(
            _place(stage, name, sketch, scale * np.exp(rng.normal(0, 0.35)) if placed else scale, extent)
        )
    return placed


def _place(stage: Stage, name: str, sketch: Sketch, scale: float, extent: float) -> _Placed:
    """Place an object in the air, or on the ground where its size agrees with the perspective if possible."""
    rng, (height, width) = stage.rng, stage.canvas.shape
    side = np.sqrt(height * width)
    scale = float(np.clip(scale, 0.06 * side / extent, 0.9 * side / extent))
    left, bottom, right, top = sketch.bounds()
    tall, wide = scale * (top - bottom), scale * (right - left)
    # With negative margins the border truncates an object.
    margin = rng.uniform(-0.22, 0.12) * wide
    x = rng.uniform(*sorted((margin, width - wide - margin))) - scale * left
    flies = rng.random() < KINDS[name].flies and stage.horizon > 0.2 * height
    if flies or stage.horizon > height:
        sky = min(height, max(0.9 * stage.horizon, tall))
        y = rng.uniform(0.05 * tall, max(sky, 0.1 * tall)) + 0.4 * tall
        depth = stage.horizon
    else:
        ground = stage.ground_row(scale) + rng.normal(0, 0.02) * height
        lowest = height + rng.uniform(-0.16, 0.18) * tall
        y = depth = min(max(ground, stage.floor + 0.05 * tall), lowest)
    return _Placed(CLASSES.index(name), sketch, scale, x, y + scale * bottom, depth)


def _posed(sketch: Sketch, kind: Kind, rng: np.random.Generator) -> Sketch:
    """Flip, stretch, rotate and bend a sketch at random; its lowest point stays on the ground."""
    left, bottom, right, top = sketch.bounds()
    middle, tall = (left + right) / 2, top - bottom
    mirror = rng.choice([-1, 1])
    stretch = np.exp(rng.normal(0, 0.08))
    angle = rng.normal(0, kind.tilt)
    phases = rng.uniform(0, 2 * np.pi, 2)
    waves = rng.uniform(2, 6, 2) / max(tall, right - left)
    amplitude = kind.bend * tall * rng.normal(0, 1, 2)

    def pose(points: np.ndarray) -> np.ndarray:
        x, y = points[:, 0] - middle, points[:, 1] - bottom
        bent = np.stack(
            [
                (x + amplitude[0] * np.sin(waves[0] * y + phases[0])) * mirror * stretch,
                (y + amplitude[1] * np.sin(waves[1] * x + phases[1])) / stretch,
            ],
            axis=1,
        )
        return rotated(bent, angle)

    posed = sketch.bendable(tall / 6).mapped(pose)
    low = posed.bounds()[1]
    return posed.mapped(lambda points: points - (0, low))


def _paint_object(stage: Stage, item: _Placed) -> Layer:
    layer = render(
        item.sketch, item.scale, item.x, item.y, light=stage.light, noise=stage.noise, rng=stage.rng
    )
    _cast_shadow(stage, item, layer)
    stage.canvas.paint(layer, watch=True)
    return layer


def _cast_shadow(stage: Stage, item: _Placed, layer: Layer) -> None:
    """Darken the ground below an object by its blurred outline, flattened and slanted away from the light."""
    if item.depth <= stage.horizon:
        return
    strength = stage.rng.uniform(0.25, 0.6)
    height, width = layer.alpha.shape
    flat = max(4, int(height * stage.rng.uniform(0.08, 0.22)))
    slant = float(np.clip(-stage.light.x * stage.rng.uniform(0.2, 1.2), -1, 1)) * flat * 2
    pad = int(abs(slant)) + 8
    silhouette = Image.fromarray((255 * layer.alpha).astype(np.uint8)).resize((width, flat))
    ground = Image.new("L", (width + 2 * pad, flat + 16))
    ground.paste(silhouette, (pad, 8))
    # Upper rows of the object are shifted farther to the side.
    ground = ground.transform(
        ground.size,
        Image.Transform.AFFINE,
        (1, slant / flat, -slant * (flat + 8) / flat, 0, 1, 0),
        Image.Resampling.BILINEAR,
    ).filter(ImageFilter.GaussianBlur(max(1.5, 0.02 * width)))
    shadow = strength * np.asarray(ground, dtype=np.float32) / 255
    stage.canvas.darken(shadow, layer.left - pad, layer.top + height - flat - 8 + flat // 4)


def _add_clutter(stage: Stage, setting: Setting, item: _Placed, *, beside: bool) -> None:
    """Place clutter next to an object, or in front of it so that it occludes a part."""
    rng = stage.rng
    sketch = setting.clutter[rng.integers(len(setting.clutter))](rng)
    left, bottom, right, top = sketch.bounds()
    extent = item.sketch.bounds()
    size = rng.uniform(0.25, 0.8) * item.scale * np.sqrt((extent[2] - extent[0]) * (extent[3] - extent[1]))
    scale = size / np.sqrt((right - left) * (top - bottom))
    reach = rng.choice([-1, 1]) * rng.uniform(0.5, 1.3) if beside else rng.uniform(-0.4, 0.4)
    x = item.x + item.scale * ((extent[0] + extent[2]) / 2 + reach * (extent[2] - extent[0]))
    stage.set(sketch, scale, x, item.y + (0 if beside else rng.uniform(0.0, 0.1) * size))


def _annotate(
    photo: np.ndarray, visible: list[np.ndarray], layers: list[Layer], labels: list[int], setting: str
) -> Scene:
    """Measure the visible part of each object, and omit objects that are almost hidden."""
    kept = []
    for label, mask, layer in zip(labels, visible, layers, strict=True):
        seen = mask > 0.5
        share = float(mask.sum()) / max(layer.area, 1.0)
        if not seen.any() or share < _HIDDEN:
            continue
        box = tight_box(seen)
        area = (box[2] - box[0] + 1) * (box[3] - box[1] + 1)
        if area < _SMALLEST_BOX:
            continue
        whole = tight_box(layer.alpha > 0.5)
        whole_area = (whole[2] - whole[0] + 1) * (whole[3] - whole[1] + 1)
        kept.append((label, seen, box, area < 0.9 * whole_area, share < _DIFFICULT or area < _SMALL_BOX))
    return Scene(
        image=photo,
        boxes=np.array([item[2] for item in kept], dtype=int).reshape(-1, 4),
        labels=np.array([item[0] for item in kept], dtype=int),
        masks=np.array([item[1] for item in kept], dtype=bool).reshape(-1, *photo.shape[:2]),
        truncated=np.array([item[3] for item in kept], dtype=bool),
        difficult=np.array([item[4] for item in kept], dtype=bool),
        setting=setting,
    )


def tight_box(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Return (left, top, right, bottom), inclusive, of the true pixels of a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])
