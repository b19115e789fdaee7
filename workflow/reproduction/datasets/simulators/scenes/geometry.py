"""Outlines as (n, 2) arrays of points (x, y), in meters with y upwards and the ground at 0."""

from collections.abc import Sequence

import numpy as np

Points = Sequence[Sequence[float]] | np.ndarray


def ellipse(x: float, y: float, rx: float, ry: float, angle: float = 0.0, n: int = 32) -> np.ndarray:
    """Return an ellipse around (x, y), rotated by ``angle`` radians."""
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return moved(rotated(np.stack([rx * np.cos(turn), ry * np.sin(turn)], axis=1), angle), x, y)


def box(left: float, bottom: float, right: float, top: float) -> np.ndarray:
    """Return a rectangle."""
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top)], dtype=float)


def rounded_box(left: float, bottom: float, right: float, top: float, radius: float) -> np.ndarray:
    """Return a rectangle with rounded corners."""
    radius = min(radius, (right - left) / 2, (top - bottom) / 2)
    corners = [
        (right - radius, top - radius),
        (left + radius, top - radius),
        (left + radius, bottom + radius),
        (right - radius, bottom + radius),
    ]
    turns = np.linspace(0, np.pi / 2, 5)
    arcs = [
        np.stack([x + radius * np.cos(turns + k * np.pi / 2), y + radius * np.sin(turns + k * np.pi / 2)], 1)
        for k, (x, y) in enumerate(corners)
    ]
    return np.concatenate(arcs)


def smooth(points: Points, n: int = 6) -> np.ndarray:
    """Return the closed Catmull-Rom curve through ``points``, with ``n`` points between neighbors."""
    p = np.asarray(points, dtype=float)
    before, after, beyond = np.roll(p, 1, axis=0), np.roll(p, -1, axis=0), np.roll(p, -2, axis=0)
    t = np.linspace(0, 1, n, endpoint=False)[:, None, None]
    curve = p + 0.5 * t * (
        after
        - before
        + t * (2 * before - 5 * p + 4 * after - beyond + t * (3 * (p - after) + beyond - before))
    )
    return curve.transpose(1, 0, 2).reshape(-1, 2)


def limb(points: Points, widths: Sequence[float]) -> np.ndarray:
    """Return the outline of a tube along ``points`` with a width at each, rounded at its end."""
    p, half = np.asarray(points, dtype=float), np.asarray(widths, dtype=float)[:, None] / 2
    along = np.gradient(p, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    tip = p[-1:] + along[-1:] * half[-1:]
    return np.concatenate([p + across * half, tip, (p - across * half)[::-1]])


def lathe(profile: Points, x: float = 0.0) -> np.ndarray:
    """Return the outline of a body of revolution; ``profile`` lists (half-width, height) from the bottom."""
    p = np.asarray(profile, dtype=float)
    return moved(np.concatenate([p, (p * (-1, 1))[::-1]]), x, 0)


def moved(points: np.ndarray, x: float, y: float) -> np.ndarray:
    """Shift points."""
    return points + np.array([x, y])


def rotated(points: np.ndarray, angle: float) -> np.ndarray:
    """Rotate points about the origin, from x to y."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s], [-s, c]])


def subdivided(points: np.ndarray, step: float) -> np.ndarray:
    """Return a closed outline with points at most ``step`` apart, so that it can be bent."""
    ends = np.roll(points, -1, axis=0)
    counts = np.maximum(np.ceil(np.linalg.norm(ends - points, axis=1) / step), 1).astype(int)
    index = np.repeat(np.arange(len(points)), counts)
    t = (np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[index]
    return points[index] + t[:, None] * (ends - points)[index]
