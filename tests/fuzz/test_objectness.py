"""Windows that may hold objects, and their cues, in hostile images."""

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from numpy.typing import NDArray

from reproduction.experiments.window_cascade.objectness.cues import ImageCues
from reproduction.experiments.window_cascade.objectness.windows import (
    WindowPrior,
    initial_windows,
    superpixel_windows,
)


def objectness() -> Cases:
    """Measure the cues of windows of images without edges, of one colour, and of one pixel."""
    rng = np.random.default_rng(0)
    plain = rng.random((20, 24, 3))
    y, x = np.indices((20, 24))
    for name, image in {
        "plain": plain,
        "black": np.zeros((20, 24, 3)),
        "white": np.ones((20, 24, 3)),
        "grey": np.repeat(plain[..., :1], 3, axis=2),
        "one bright pixel": np.repeat(((y == 5) & (x == 7))[..., None], 3, axis=2).astype(float),
        "checkers": np.repeat(((y + x) % 2)[..., None], 3, axis=2).astype(float),
        "denormal": 5e-324 * rng.integers(0, 9, (20, 24, 3)),
        "nearly white": 1 - 1e-16 * rng.integers(0, 2, (20, 24, 3)),
        "bytes": (255 * plain).astype(np.uint8),
        "half precision": plain.astype(np.float16),
        "other byte order": plain.astype(">f8"),
        "one pixel": plain[:1, :1],
        "one row": plain[:1],
        "one column": plain[:, :1],
        "two pixels": plain[:1, :2],
        "three rows": plain[:3],
        "above 1": 1.001 * np.ones((4, 4, 3)),
        "NaN": np.full((4, 4, 3), np.nan),
        "empty": np.zeros((0, 4, 3)),
        "no colours": np.zeros((4, 4)),
    }.items():
        yield name, lambda image=image: show_objects(image, None)
    for name, labels in {
        "one superpixel": np.zeros((20, 24), dtype=int),
        "each pixel": np.arange(480).reshape(20, 24),
        "scattered": rng.integers(0, 9, (20, 24)),
        "labels far apart": np.where(x < 12, -(2**62), 2**62),
        "unsigned": np.where(x < 12, 0, 2**63).astype(np.uint64),
    }.items():
        yield name, lambda labels=labels: show_objects(plain, labels)
    cues = ImageCues(plain)
    for window in ([0, 0, 24, 3], [-1, 0, 3, 3], [3, 3, 2, 3], [0, 0, 0.5, 1], [0, 0, np.nan, 1]):
        yield f"window {window}", lambda window=window: refused(lambda: cues([window]))
    for labels in (np.zeros((20, 23), dtype=int), np.zeros((20, 24))):
        yield (
            f"labels {labels.shape} of {labels.dtype}",
            lambda labels=labels: refused(lambda: ImageCues(plain, labels)),
        )
    for bins, smoothing in (
        (0, 1.0),
        (1.5, 1.0),
        (np.inf, 1.0),
        (5, np.nan),
        (5, -1.0),
        (5, np.inf),
        (10**9, 1.0),
    ):
        yield (
            f"{bins} bins, smoothing {smoothing}",
            lambda b=bins, s=smoothing: refused(lambda: WindowPrior.fit([[[0, 0, 3, 3]]], [(9, 9)], b, s)),
        )
    prior = WindowPrior.fit([[[0, 0, 3, 3]]], [(9, 9)])
    for n in (-1, 0.5, np.nan, np.inf):
        yield f"{n} windows", lambda n=n: refused(lambda: prior.sample(n, (9, 9), rng))
        yield f"first {n}", lambda n=n: refused(lambda: initial_windows(plain, prior, n, rng))
    for shape in ((0, 3), (3,), (np.nan, 3)):
        yield f"shape {shape}", lambda s=shape: refused(lambda: prior.sample(3, s, rng))


def show_objects(image: NDArray, labels: NDArray | None) -> NDArray:
    """Draw windows and measure their cues."""
    cues = ImageCues(image, labels)
    height, width = cues.shape
    prior = WindowPrior.fit([[[0, 0, width - 1, height - 1], [0, 0, 0, 0]]], [cues.shape], 4)
    drawn = initial_windows(image, prior, 30, np.random.default_rng(0), labels)
    corners = [[0, 0, width - 1, height - 1], [0, 0, 0, 0], [width - 1, height - 1, width - 1, height - 1]]
    return cues(np.concatenate([drawn, superpixel_windows(cues.labels), corners]))


SUBJECTS = {"objectness": objectness}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
