"""Handwritten small letters: strokes of a pen, bent by the hand of a writer and drawn on a coarse grid.

Strokes are in units of the x-height, with y upwards from the baseline. Every writer has a slant, a width of
the letters, a pen, a form of each letter that has several, and a smooth distortion of each letter; a further,
smaller distortion differs each time the letter is written.
"""

from dataclasses import dataclass

import numpy as np

Stroke = np.ndarray  #: (points, 2)
#: Standard deviations of the coefficients of a distortion, of a writer and of each single letter.
_WRITER_SD, _LETTER_SD = 0.2, 0.16
#: Range of the radius of the pen, in pixels.
_PEN = (0.5, 0.75)


def _line(*points: tuple[float, float]) -> Stroke:
    return np.array(points)


def _arc(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Stroke:
    """Return a part of an ellipse, with angles in degrees counted from the right against the clock."""
    angle = np.radians(np.linspace(start, stop, 16))
    return np.column_stack([x + rx * np.cos(angle), y + ry * np.sin(angle)])


_BOWL = _arc(0.4, 0.5, 0.4, 0.5)
_ARCH = np.vstack([_arc(0.4, 0.6, 0.4, 0.4, 180, 0), _line((0.8, 0))])
_LEFT, _TALL = _line((0, 1), (0, 0)), _line((0, 1.8), (0, 0))
_RIGHT = _line((0.8, 1), (0.8, 0))
_TAIL = np.vstack([_line((0.8, 1)), _arc(0.4, -0.4, 0.4, 0.4, 0, -150)])
_DOT = _line((0.4, 1.45), (0.4, 1.55))

#: Forms of each letter, each with its strokes.
FORMS: dict[str, tuple[tuple[Stroke, ...], ...]] = {
    "a": ((_BOWL, _RIGHT), (_arc(0.4, 0.3, 0.35, 0.3), _arc(0.4, 0.7, 0.35, 0.3, 150, 0), _RIGHT)),
    "b": ((_TALL, _BOWL), (np.vstack([_TALL, _arc(0.4, 0.35, 0.4, 0.35, 180, 480)]),)),
    "c": ((_arc(0.4, 0.5, 0.4, 0.5, 45, 315),),),
    "d": ((_BOWL, _line((0.8, 1.8), (0.8, 0))),),
    "e": (
        (np.vstack([_line((0, 0.5), (0.8, 0.5)), _arc(0.4, 0.5, 0.4, 0.5, 0, 315)]),),
        (_arc(0.45, 0.75, 0.35, 0.25, 45, 270), _arc(0.45, 0.25, 0.4, 0.25, 90, 315)),
    ),
    "f": ((np.vstack([_arc(0.55, 1.5, 0.25, 0.3, 30, 180), _line((0.3, 0))]), _line((0, 1), (0.7, 1))),),
    "g": ((_BOWL, _TAIL), (_BOWL, np.vstack([_line((0.8, 1), (0.7, -0.1)), _arc(0.4, -0.5, 0.35, 0.35)]))),
    "h": ((_TALL, _ARCH),),
    "i": ((_line((0.4, 1), (0.4, 0)), _DOT),),
    "j": ((np.vstack([_line((0.5, 1)), _arc(0.2, -0.5, 0.3, 0.3, 0, -150)]), np.add(_DOT, [0.1, 0])),),
    "k": ((_TALL, _line((0.7, 1), (0, 0.45)), _line((0.15, 0.55), (0.8, 0))),),
    "l": (
        (_line((0.4, 1.8), (0.4, 0)),),
        (np.vstack([_line((0.3, 1.8)), _arc(0.55, 0.25, 0.25, 0.25, 180, 300)]),),
    ),
    "m": (
        (_LEFT, _ARCH * [0.6, 1], _ARCH * [0.6, 1] + [0.48, 0]),
        (_line((0, 0), (0.2, 1), (0.5, 0.3), (0.8, 1), (1, 0)),),
    ),
    "n": ((_LEFT, _ARCH), (_line((0, 0), (0, 1), (0.8, 0), (0.8, 1)),)),
    "o": ((_BOWL,),),
    "p": ((_line((0, 1), (0, -0.8)), _BOWL),),
    "q": ((_BOWL, _line((0.8, 1), (0.8, -0.8), (1, -0.5))),),
    "r": ((_LEFT, _arc(0.4, 0.6, 0.4, 0.4, 180, 45)), (_line((0, 1), (0.2, 0), (0.3, 0.9), (0.8, 0.9)),)),
    "s": ((np.vstack([_arc(0.4, 0.75, 0.3, 0.25, 30, 270), _arc(0.4, 0.25, 0.35, 0.25, 90, -150)]),),),
    "t": (
        (np.vstack([_line((0.4, 1.5)), _arc(0.65, 0.25, 0.25, 0.25, 180, 300)]), _line((0, 1), (0.8, 1))),
        (_line((0.4, 1.5), (0.4, 0)), _line((0, 1.1), (0.8, 1.1))),
    ),
    "u": ((np.vstack([_line((0, 1)), _arc(0.4, 0.4, 0.4, 0.4, 180, 360)]), _RIGHT),),
    "v": ((_line((0, 1), (0.4, 0), (0.8, 1)),),),
    "w": ((_line((0, 1), (0.25, 0), (0.5, 0.8), (0.75, 0), (1, 1)),),),
    "x": ((_line((0, 1), (0.8, 0)), _line((0.8, 1), (0, 0))),),
    "y": (
        (_line((0, 1), (0.4, 0.1)), _line((0.8, 1), (0.2, -0.8))),
        (_arc(0.4, 0.5, 0.4, 0.5, 180, 360), _TAIL),
    ),
    "z": (
        (_line((0, 1), (0.8, 1), (0, 0), (0.8, 0)),),
        (_line((0, 1), (0.8, 1), (0.1, 0.1), (0.7, 0), (0.4, -0.7)),),
    ),
}


@dataclass(frozen=True)
class Writer:
    """The hand of a person."""

    slant: float  #: shift to the right per unit of height
    width: float  #: of letters, relative to the usual one
    pen: float  #: radius in pixels
    forms: dict[str, int]  #: the form of each letter
    distortions: dict[str, np.ndarray]  #: coefficients of each letter, (2, 6)


def draw_writer(rng: np.random.Generator) -> Writer:
    """Draw the hand of a person."""
    return Writer(
        slant=rng.normal(0.15, 0.2),
        width=float(np.exp(rng.normal(0, 0.2))),
        pen=rng.uniform(*_PEN),
        forms={letter: int(rng.integers(len(forms))) for letter, forms in FORMS.items()},
        distortions={letter: rng.normal(0, _WRITER_SD, (2, 6)) for letter in FORMS},
    )


def write_word(word: str, writer: Writer, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return the letters of a word as binary images of one shape (height, width)."""
    return np.stack([_write_letter(letter, writer, rng, shape) for letter in word])


def _write_letter(
    letter: str, writer: Writer, rng: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray:
    coefficients = writer.distortions[letter] + rng.normal(0, _LETTER_SD, (2, 6))
    strokes = [
        _bent(stroke, coefficients) * [writer.width, 1] for stroke in FORMS[letter][writer.forms[letter]]
    ]
    strokes = [stroke + stroke[:, 1:] * [writer.slant, 0] for stroke in strokes]
    return _drawn(strokes, writer.pen, shape)


def _bent(stroke: Stroke, coefficients: np.ndarray) -> Stroke:
    """Move the points by a smooth field, a polynomial of degree two."""
    x, y = stroke.T - np.array([[0.4], [0.5]])
    return stroke + (coefficients @ np.stack([np.ones_like(x), x, y, x * y, x**2, y**2])).T


def _drawn(strokes: list[Stroke], pen: float, shape: tuple[int, int]) -> np.ndarray:
    """Draw strokes as large as the image allows, as the letters of the real data were cut and scaled."""
    points = np.vstack(strokes)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    room = np.array([shape[1], shape[0]]) - 2 * pen
    scale = (room / np.maximum(size, 1e-3)).min()
    margin = (np.array([shape[1], shape[0]]) - scale * size) / 2
    rows, columns = np.indices(shape)
    # The rows of an image go downwards.
    pixels = np.column_stack([columns.ravel() + 0.5, shape[0] - rows.ravel() - 0.5])
    near = np.zeros(len(pixels), dtype=bool)
    for stroke in strokes:
        near |= _distances(pixels, (stroke - low) * scale + margin) <= pen
    return near.reshape(shape).astype(np.uint8)


def _distances(pixels: np.ndarray, path: Stroke) -> np.ndarray:
    """Return the distance of each pixel to a path of straight pieces."""
    start, step = path[:-1], np.diff(path, axis=0)
    offset = pixels[:, None] - start
    along = (offset * step).sum(axis=2) / np.maximum((step**2).sum(axis=1), 1e-12)
    return np.linalg.norm(offset - np.clip(along, 0, 1)[..., None] * step, axis=2).min(axis=1)
