"""Descriptors of images, visual words, voxel graphs and resampled volumes on hostile input."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables
from scipy import ndimage

from ermlab.features.hog_cells import hog
from ermlab.features.hog_crops import HogLayout, small_hog
from ermlab.features.patches import Region, RegionGrids, turned, turned_patch
from ermlab.features.surf import dense_surf, describe, grid_points
from ermlab.features.words import Vocabulary, histogram
from ermlab.fmri._splines_numba import reslice, sample
from ermlab.fmri.voxel_graphs import maps_to_graphs, neighbor_graph
from reproduction.datasets.simulators.bold_motion_numba import resample
from reproduction.experiments.flowers_taxonomy.descriptors import mean_kernel
from reproduction.experiments.flowers_taxonomy.mask import boundary_points, foreground

BAD_NUMBERS = (0, -1, 1.5, np.nan, np.inf, None, "two")


def images(height: int = 27, width: int = 31, seed: int = 0) -> dict[str, np.ndarray]:
    """Return grey images of all types and magnitudes."""
    rng = np.random.default_rng(seed)
    plain = rng.random((height, width)) * 255
    return {
        "plain": plain,
        "bytes": plain.astype(np.uint8),
        "truths": plain > 128,
        "whole numbers": plain.astype(np.int64),
        "largest whole numbers": np.where(plain > 128, np.iinfo(np.int64).max, np.iinfo(np.int64).min),
        "half precision": plain.astype(np.float16),
        "extended precision": plain.astype(np.longdouble),
        "other byte order": plain.astype(">f8"),
        "Fortran order": np.asfortranarray(plain),
        "every second": np.repeat(np.repeat(plain, 2, axis=0), 2, axis=1)[::2, ::-2],
        "flat": np.full((height, width), 7.0),
        "zeros": np.zeros((height, width)),
        "denormal": 5e-324 * rng.integers(0, 99, (height, width)),
        "tiny": 1e-150 * plain,
        "times 1e-9": 1e-9 * plain,
        "times 1e9": 1e9 * plain,
        "times 1e15": 1e15 * plain,
        "times 1e30": 1e30 * plain,
        "huge": 1e150 * plain,
        "largest floats": np.where(plain > 128, 1.0, -1.0) * np.finfo(np.float64).max,
        "one NaN": np.where(plain == plain.max(), np.nan, plain),
        "one infinity": np.where(plain == plain.max(), np.inf, plain),
        "empty": plain[:0],
        "one pixel": plain[:1, :1],
        "one row": plain[:1],
        "a vector": plain[0],
        "complex": plain + 1j,
        "text": plain.astype(str),
    }


def gradients() -> Cases:
    """Both histograms of oriented gradients, cells of all sizes around that of the image."""
    for name, image in images().items():
        for cell in (1, 5, 9, 10, 13, 100):
            yield f"{name}, cells of {cell}", lambda image=image, cell=cell: hog(image, cell)
            yield f"{name}, cells of {cell}, padded", lambda image=image, cell=cell: hog(image, cell, pad=1)
        yield f"crops, {name}", lambda image=image: small_hog(np.array([image, image]))
        yield f"frame, {name}", lambda image=image: [hog(pd.DataFrame(image)), small_hog([image.tolist()])]
    plain = images()["plain"]
    yield "channels", lambda: hog(np.dstack([plain] * 5))
    yield "no channel", lambda: refused(lambda: hog(plain[..., None][..., :0]))
    for bad in BAD_NUMBERS:
        yield f"cell {bad}", lambda bad=bad: refused(lambda: hog(plain, bad))
        yield f"orientations {bad}", lambda bad=bad: refused(lambda: hog(plain, n_orientations=bad))
    yield "cells larger than memory", lambda: refused(lambda: hog(plain, 10**9, pad=1))
    for levels in (((-4, -2),), ((4.5, 2),), ((0, 2),), ((4,),), ((5, 2),), ()):
        yield f"levels {levels}", lambda levels=levels: refused(lambda: HogLayout(levels))
    for layout in (
        HogLayout(((1, 1),), (1, 1), 1),
        HogLayout(((27, 31),), (27, 31)),
        HogLayout(floor=5e-324),
    ):
        yield f"{layout}", lambda layout=layout: small_hog(plain[None], layout)
    yield "no crops", lambda: small_hog(np.empty((0, 36, 18)))


def surf() -> Cases:
    """SURF on a dense grid and at points; descriptors have length 1 or 0."""
    for name, image in images().items():
        for scale in (1e-300, 0.3, 1.0, 7.7):
            yield f"{name}, scale {scale}", lambda image=image, scale=scale: dense(image, scale)
    plain = images()["plain"]
    for scale in (0.0, -1.0, np.nan, np.inf, 1e9, 1e300):
        yield f"scale {scale}", lambda scale=scale: refused(lambda: describe(plain, [[0, 0]], scale))
    for step in BAD_NUMBERS:
        yield f"step {step}", lambda step=step: refused(lambda: dense_surf(plain, step=step))
        yield f"grid, step {step}", lambda step=step: refused(lambda: grid_points((3, 3), step))
    for point in ([31, 0], [0, 27], [-1, 0], [0.5, 0], [2**62, 0], [np.nan, 0]):
        yield f"point {point}", lambda point=point: refused(lambda: describe(plain, [point]))
    corners = [[0, 0], [30, 0], [0, 26], [30, 26]]
    yield "corners", lambda: describe(plain, np.array(corners, dtype=">u8"))
    yield "no points", lambda: describe(plain, [])


def dense(image: np.ndarray, scale: float) -> list[np.ndarray]:
    """Check the lengths of the descriptors."""
    points, descriptors = dense_surf(image, step=5, scales=(scale,))
    lengths = np.linalg.norm(descriptors, axis=1)
    assert (np.isclose(lengths, 1) | (lengths == 0)).all(), "a descriptor has another length than 1"
    return [points, descriptors]


def words() -> Cases:
    """Words are the nearest centres, whatever the magnitude; boxes and points of all kinds."""
    for name, X in all_tables(n=40).items():
        yield f"vocabulary of {name}", lambda X=X: nearest_words(X)
    plain = all_tables(n=40)["plain"]
    for scale in (1e-300, 1e-30, 1e-20, 1e20, 1e30, 1e60, 1e149):
        yield f"times {scale:g}", lambda scale=scale: nearest_words(scale * plain)
        yield f"descriptors times {scale:g}", lambda scale=scale: nearest_words(plain, scale)
    for n in (0, 1, 1023, 1024, 1025):
        yield f"{n} descriptors", lambda n=n: nearest_words(plain, rows=np.arange(n) % 40)
    points, named = np.array([[0, 0], [5, 3], [9, 9]]), np.array([0, 1, 2])
    for box in ([0, 0, 9, 9], [-5, -5, 99, 99], [3, 3, 3, 3], [0, 0, 2**31, 2**31], [-(2**31), 0, 0, 0]):
        for levels in ((1,), (1, 2, 4, 8), (7, 3)):
            yield f"box {box}, {levels}", lambda b=box, levels=levels: count(points, named, b, levels)
    for box in ([0, 0, 2**62, 2**62], [-(2**62), 0, 5, 5], [5, 5, 4, 4], [0, 0, 1], [0.0, 0.0, 9.0, 9.0]):
        yield f"box {box}", lambda b=box: refused(lambda: histogram(points, named, b, 3))
    far = np.array([[np.iinfo(np.int64).min] * 2, [np.iinfo(np.int64).max] * 2, [2**40, 2**40]])
    yield "points far away", lambda: count(far, named, [-(2**31), -(2**31), 2**31, 2**31], (1, 8))
    for kind in (np.uint8, np.uint64, np.int16, ">i8", "<u4"):
        yield (
            f"type {kind}",
            lambda kind=kind: count(points.astype(kind), named.astype(kind), [0, 0, 9, 9], (1, 2)),
        )
    yield "frames", lambda: count(pd.DataFrame(points), pd.Series(named), [0, 0, 9, 9], (2,))
    for bad in (-1, 3):
        yield (
            f"word {bad}",
            lambda bad=bad: refused(lambda: histogram(points, named * 0 + bad, [0, 0, 9, 9], 3)),
        )
    for levels in ((), (0,), (-2,), (1.5,), (np.nan,), (np.inf,), (2**20,), (2**32,), (2**31, 2**31)):
        yield (
            f"levels {levels}",
            lambda v=levels: refused(lambda: histogram(points, named, [0, 0, 9, 9], 3, v)),
        )


def nearest_words(X: np.ndarray, scale: float = 1.0, rows: np.ndarray | None = None) -> list[np.ndarray]:
    """Learn a vocabulary and name descriptors; in units of the largest, the word is a nearest centre."""
    model = Vocabulary(min(5, max(len(X), 1)), random_state=0, max_iter=2).fit(X)
    found = scale * (X if rows is None else X[rows])
    named = model.assign(found)
    unit = max(np.abs(found).max(initial=0.0), np.abs(model.centers_).max())
    if len(found) and unit > 0:
        distances = np.square(found[:, None] / unit - model.centers_ / unit).sum(axis=2)
        chosen = distances[np.arange(len(found)), named]
        assert (chosen <= distances.min(axis=1) * (1 + 1e-9) + 1e-15).all(), "not the nearest centre"
    return [model.centers_, named]


def count(points: np.ndarray, named: np.ndarray, box: list[int], levels: tuple[int, ...]) -> np.ndarray:
    """Check that each level counts the points inside the box."""
    counts = histogram(points, named, box, 3, levels)
    left, top, right, bottom = box
    inside = sum(left <= x <= right and top <= y <= bottom for x, y in np.asarray(points).tolist())
    first = 0
    for cells in levels:
        assert counts[first : first + cells**2].sum() == inside, f"level {cells} lost a point"
        first += cells**2
    return counts


def patches() -> Cases:
    """Turned patches inside, at the border of and far off the image."""
    for name, image in images().items():
        for centre in ((3.0, 3.0), (-1e9, 1e300), (30.0, 26.0)):
            yield f"{name} at {centre}", lambda image=image, c=centre: turned_patch(image, c, 9, 0.3)
    plain = images()["plain"]
    for centre in ((np.nan, 0), (0, np.nan), (np.inf, 0), (0, -np.inf)):
        yield f"centre {centre}", lambda c=centre: refused(lambda: turned_patch(plain, c, 5))
    for angle in (np.nan, np.inf):
        yield f"angle {angle}", lambda a=angle: refused(lambda: turned_patch(plain, (0, 0), 5, a))
        yield f"points, angle {angle}", lambda a=angle: refused(lambda: turned([[0, 1]], a))
    for side in BAD_NUMBERS:
        yield f"side {side}", lambda side=side: refused(lambda: turned_patch(plain, (0, 0), side))
    yield "list", lambda: turned_patch(plain.tolist(), (3, 3), 5)
    yield "read-only", lambda: turned_patch(np.broadcast_to(plain[:1], plain.shape), (3, 3), 5)
    for number in (-1, 1):
        grids = RegionGrids([plain], 3)
        yield f"image {number}", lambda g=grids, n=number: refused(lambda: g.grid(Region(n, 3, 3)))


def voxels() -> Cases:
    """Graphs of voxels, and volumes resampled by motions of all kinds."""
    for name, X in all_tables(n=20).items():
        for k in (1, 5, 100):
            yield f"{name}, {k} neighbours", lambda X=X, k=k: neighbor_graph(X, k)
        yield f"maps of {name}", lambda X=X: [graph for graph, _ in maps_to_graphs(X[:3], np.eye(X.shape[1]))]
    for shape in ((4, 5, 6), (1, 5, 6), (4, 1, 1), (1, 1, 1), (2, 2, 2), (0, 3, 3)):
        for kind in ("identity", "far", "huge", "NaN", "infinite"):
            yield f"{shape}, {kind}", lambda shape=shape, kind=kind: move(shape, kind)
    for name, points in (
        ("NaN", [[0, 0, np.nan]]),
        ("two columns", [[0, 0]]),
        ("infinite", [[np.inf, 0, 0]]),
    ):
        yield (
            f"points, {name}",
            lambda points=points: refused(lambda: look(np.ones((3, 3, 3)), np.array(points))),
        )


def move(shape: tuple[int, int, int], kind: str) -> list[np.ndarray]:
    """Resample a volume by both kernels; the identity changes nothing."""
    motion = np.eye(3, 4)
    motion[:, 3] += {"identity": 0.0, "far": 1e6, "huge": 1e200, "NaN": np.nan, "infinite": np.inf}[kind]
    volume = np.random.default_rng(0).random(shape)
    coefficients = ndimage.spline_filter(volume, mode="mirror") if volume.size else volume
    found, inside = np.empty(shape), np.ones(shape, dtype=bool)
    reslice(coefficients, motion, found, inside)
    moved = resample(volume, motion[:, :3], motion[:, 3])
    if kind == "identity":
        np.testing.assert_allclose(found, volume, atol=1e-9)
        np.testing.assert_allclose(moved, volume, atol=1e-9)
        assert inside.all(), "a voxel was lost"
    else:
        assert not inside.any(), "a voxel beyond the volume was seen"
        assert not moved.any(), "a voxel beyond the volume was seen"
    return [found, moved, look(coefficients, np.argwhere(volume >= 0).astype(np.float64))]


def look(coefficients: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the values at points."""
    values, inside = np.empty(len(points)), np.empty(len(points), dtype=bool)
    sample(coefficients, np.eye(3, 4), points, values, inside)
    return values


def flowers() -> Cases:
    """Masks of flowers and the mean kernel of bags."""
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (1, 9), (9, 1), (8, 8), (30, 17)):
        for name, image in (
            ("black", np.zeros((*shape, 3), dtype=np.uint8)),
            ("random", rng.integers(0, 256, (*shape, 3), dtype=np.uint8)),
        ):
            yield f"{name} of {shape}", lambda image=image: boundary_points(foreground(image), 3)
    for name, X in all_tables(n=8).items():
        train = np.arange(len(X))
        yield f"bags of {name}", lambda X=X, train=train: mean_kernel({"colour": np.abs(X)}, train)
    for train in ([8], [-1], [0.5], [[0]]):
        yield (
            f"train {train}",
            lambda t=train: refused(lambda: mean_kernel({"colour": rng.random((8, 3))}, t)),
        )


# Few child processes, as each takes seconds to start.
SUBJECTS = {
    "images": lambda: chain(gradients(), surf(), patches(), flowers()),
    "places": lambda: chain(words(), voxels()),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
