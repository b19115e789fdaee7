"""Detection of nuclei, cells, patches and the tracker on hostile images and films."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from numpy.typing import NDArray
from scipy import ndimage

from ermlab.tracking.active_learning import MEASURES, ActiveLearner
from ermlab.tracking.cell_detection import DetectionSettings, detect, film_of_images, typical_diameter
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.cells import film_of_masks, join_frames, match_tracks, measure, settle_tracks
from ermlab.tracking.ctc import Lineage, TrackedCells
from ermlab.tracking.events import Cells, Gates, hypotheses_between
from ermlab.tracking.films import CellFilm
from ermlab.tracking.patches import film_patches, patch_numbers
from ermlab.tracking.task import PartialTrackingRisk
from reproduction.experiments.transfer.patch_training import PatchPool, PatchRisk

Image = NDArray[np.float64]
#: Large enough for two nuclei, small enough to look at often.
SHAPE = (48, 60)


def blobs(shape: tuple[int, int], places: NDArray, width: float = 3.0) -> Image:
    """Return an image of round nuclei of brightness 1."""
    image = np.zeros(shape)
    image[tuple(np.transpose(places))] = 2 * np.pi * width**2
    return ndimage.gaussian_filter(image, width)


def hostile_images(seed: int = 0) -> dict[str, Image]:
    """Return images that have no nuclei, touching ones, or values of any size."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=SHAPE)
    plain = 50 * blobs(SHAPE, [[15, 15], [30, 42]]) + noise
    y, x = np.indices(SHAPE)
    return {
        "plain": plain,
        "constant": np.full(SHAPE, 7.0),
        "zeros": np.zeros(SHAPE),
        "negative": -plain,
        "noise": noise,
        "one bright pixel": np.where((y == 20) & (x == 30), 1e6, 0.0),
        "one dark pixel": np.where((y == 20) & (x == 30), -1e6, 0.0),
        "heavy tails": rng.standard_cauchy(SHAPE) ** 3,
        "checkers": ((y + x) % 2).astype(float),
        "stripes": (x % 4 < 2).astype(float),
        "ramp": x.astype(float),
        "half": np.where(x < 30, 0.0, 100.0),
        "bytes": np.clip(plain, 0, 255).astype(np.uint8),
        "single precision": plain.astype(np.float32),
        "other byte order": plain.astype(">f8"),
        "Fortran order": np.asfortranarray(plain),
        "large offset": plain + 1e9,
        "nearly constant": 1e6 + 1e-9 * noise,
        "times 1e9": 1e9 * plain,
        "times 1e-9": 1e-9 * plain,
        "times 1e30": 1e30 * plain,
        "times 1e-30": 1e-30 * plain,
        "times 1e150": 1e150 * plain,
        "times 1e-150": 1e-150 * plain,
        "denormal": 5e-324 * rng.integers(0, 9, SHAPE),
        "largest floats": np.sign(noise) * np.finfo(np.float64).max,
        "magnitudes mixed": 10.0 ** rng.uniform(-300, 300, SHAPE),
        "one pixel": np.ones((1, 1)),
        "two pixels": np.array([[0.0, 1.0]]),
        "one row": plain[:1],
        "one column": plain[:, :1],
        "narrow": plain[:, :3],
        "one NaN": np.where(x + y == 30, np.nan, plain),
        "one infinity": np.where(x + y == 30, np.inf, plain),
        "no rows": np.empty((0, 60)),
        "three axes": np.zeros((4, 5, 3)),
        "complex": plain + 1j,
        "truth values": plain > 10,
    }


def images() -> Cases:
    """Detect the nuclei of every image, with usual settings and with extreme ones."""
    settings = {
        "usual": None,
        "smallest nuclei": DetectionSettings(diameter=1e-3),
        "large nuclei": DetectionSettings(diameter=40.0),
        "everything bright": DetectionSettings(contrast=1e-6, core=1e-6, peak=1e-6, smallest=1e-6),
        "nothing bright": DetectionSettings(contrast=1e6),
        "wide": DetectionSettings(smoothing=10.0, blob=10.0),
    }
    for name, image in hostile_images().items():
        for how, chosen in settings.items():
            yield f"{name}, {how}", lambda image=image, chosen=chosen: detect_film(image, chosen)


def detect_film(image: Image, settings: DetectionSettings | None) -> CellFilm:
    """Detect the nuclei of an image and of a film of it."""
    labels = detect(image, settings)
    assert labels.shape == np.shape(image), "a label for each pixel"
    film = film_of_images([image, image], settings)
    assert len(film.frame) == 2 * len(np.unique(labels[labels > 0])), "as many cells as labels"
    return film


def settings() -> Cases:
    """Make settings that cannot be, or that would take all memory or all time."""
    image = hostile_images()["plain"]
    for name in ("diameter", "contrast", "smoothing", "blob", "core", "peak", "neck", "level", "smallest"):
        for value in (0.0, -1.0, 1e-300, 1e300, np.nan, np.inf):
            yield f"{name} {value}", lambda n=name, v=value: refused(lambda: DetectionSettings(**{n: v}))
    for name, value in (("smoothing", 1e9), ("blob", 1e9)):
        yield f"{name} {value}", lambda n=name, v=value: refused(lambda: DetectionSettings(**{n: v}))
    for value in (1e4, 1e6):
        yield (
            f"diameter {value}",
            lambda v=value: refused(lambda: detect(image, DetectionSettings(diameter=v))),
        )
    yield "no images", lambda: refused(lambda: film_of_images([]))
    yield "frames of two shapes", lambda: refused(lambda: film_of_images([image, image[1:]]))
    yield "typical diameter of nothing", lambda: typical_diameter([])


def touching_nuclei() -> Cases:
    """Detect some thousand nuclei that touch each other."""
    y, x = np.indices((240, 240)) % 8 - 3.5
    for name, image in {
        "discs": (y**2 + x**2 < 15).astype(float),
        "cones": np.maximum(4 - np.hypot(y, x), 0.0),
        "without gaps": 2 + np.cos(y) * np.cos(x),
    }.items():
        yield name, lambda image=image: detect_film(image, DetectionSettings(diameter=8.0))


def hostile_cells(seed: int = 0) -> dict[str, dict[str, NDArray]]:
    """Return what cells measure, by name: some of it is to be refused."""
    rng = np.random.default_rng(seed)
    n = 12
    plain = {
        "position": rng.uniform(0, 60, (n, 2)),
        "area": rng.uniform(50, 150, n),
        "intensity": rng.uniform(1, 2, n),
        "eccentricity": rng.random(n),
    }
    ones = np.ones(n)
    return {
        "plain": plain,
        "none": {name: values[:0] for name, values in plain.items()},
        "one": {name: values[:1] for name, values in plain.items()},
        "in one place": plain | {"position": np.full((n, 2), 30.0)},
        "on a line": plain | {"position": np.outer(np.arange(n), [0.0, 5.0])},
        "all alike": plain | {"area": 100 * ones, "intensity": ones, "eccentricity": 0 * ones},
        "outside": plain | {"position": plain["position"] - 1e6},
        "lists": {name: values.tolist() for name, values in plain.items()},
        "integers": {name: np.ceil(values).astype(int) for name, values in plain.items()},
        "largest allowed": plain | {"position": 1e100 * rng.choice([-1, 1], (n, 2)), "area": 1e100 * ones},
        "least allowed": plain | {"area": 1e-100 * ones, "intensity": 1e-100 * ones},
        "areas mixed": plain | {"area": 10.0 ** rng.uniform(-99, 99, n)},
        "intensities mixed": plain | {"intensity": 10.0 ** rng.uniform(-99, 99, n)},
        "too far": plain | {"position": 1e200 * plain["position"]},
        "too small": plain | {"area": 1e-300 * ones},
        "denormal": plain | {"intensity": 5e-324 * ones},
        "too large": plain | {"intensity": 1e308 * ones},
        "no area": plain | {"area": 0 * ones},
        "NaN": plain | {"eccentricity": np.nan * ones},
        "infinite": plain | {"position": np.full((n, 2), np.inf)},
        "too few": plain | {"area": ones[1:]},
    }


def events() -> Cases:
    """List the events between cells of any kind, cut them into patches and find the best."""
    usual = hostile_cells(1)["plain"]
    gates = {
        "usual gates": Gates(),
        "one neighbour": Gates(n_neighbors=1),
        "many neighbours": Gates(n_neighbors=10**9, move=1.0, division=0.5, pieces=0.5),
        "wide gates": Gates(n_neighbors=3, move=1e300, division=1e300, pieces=1e300),
        "narrow gates": Gates(move=1e-300, division=1e-300, pieces=1e-300),
    }
    for name, given in hostile_cells().items():
        for how, gate in gates.items():
            for order in (1, -1):
                yield (
                    f"{name}, {how}, {'from' if order > 0 else 'to'}",
                    lambda given=given, gate=gate, order=order: list_events(
                        *[Cells(**measures, shape=(60, 60)) for measures in (given, usual)][::order], gate
                    ),
                )
    for name in ("n_neighbors", "move", "division", "pieces"):
        for value in (0, -1, np.nan, np.inf, 0.5 if name == "n_neighbors" else -np.inf):
            yield f"{name} {value}", lambda n=name, v=value: refused(lambda: Gates(**{n: v}))


def list_events(before: Cells, after: Cells, gates: Gates) -> None:
    """List events, and cut the cells into patches."""
    hypotheses = hypotheses_between(before, after, gates)
    film = join_frames([before, after])
    tracker = CellTracker.pretrained()
    tracker.gates = gates
    tracks = tracker.predict(film)
    assert len(tracks.label) == len(before) + len(after), "a label for each detection"
    assert hypotheses.n_sources == len(before)
    for most in (1, 5, 10**6):
        numbers = patch_numbers(before, after, gates, most)
        counts = np.bincount(numbers[0]) if len(before) else np.zeros(1)
        assert counts.max() <= most, "a patch has too many cells"


def label_images() -> Cases:
    """Measure regions and match them with the true ones, whatever their labels."""
    rng = np.random.default_rng(0)
    plain = rng.integers(0, 5, (12, 14))
    largest = (1 << 31) - 1
    for name, labels in {
        "plain": plain,
        "no regions": np.zeros((5, 6), dtype=int),
        "one pixel": np.ones((1, 1), dtype=np.uint8),
        "no pixels": np.zeros((0, 5), dtype=int),
        "each pixel": np.arange(1, 31).reshape(5, 6),
        "largest labels": np.where(plain > 2, largest, largest - 1) * (plain > 0),
        "other byte order": plain.astype(">i4"),
        "Fortran order": np.asfortranarray(plain),
    }.items():
        yield name, lambda labels=labels: match_with_itself(labels)
    for name, labels in {
        "too large": np.array([[2**31]]),
        "beyond 64 bits": np.array([[2**63]], dtype=np.uint64),
        "negative": np.array([[-1]]),
        "fractions": np.array([[0.5]]),
        "three axes": np.zeros((2, 2, 2), dtype=int),
    }.items():
        yield name, lambda labels=labels: refused(lambda: measure(labels))
        yield f"match {name}", lambda labels=labels: refused(lambda: match_tracks(labels, labels))
    for name, image in hostile_images().items():
        here = np.ones(np.shape(image), dtype=int)
        yield f"light {name}", lambda here=here, image=image: measure(here, image)


def match_with_itself(labels: NDArray) -> tuple:
    """Match regions with themselves, each with its own."""
    numbers = np.unique(labels[labels > 0])
    assert np.array_equal(match_tracks(labels, labels), np.column_stack([numbers, numbers]))
    found, cells = measure(labels)
    assert np.array_equal(found, numbers)
    lineage = Lineage(*np.column_stack([numbers, 0 * numbers, 1 + 0 * numbers, 0 * numbers]).astype(int).T)
    film = film_of_masks(TrackedCells([labels, labels], lineage))
    return cells, settle_tracks(film)


def film_of_steps(seed: int, n: int, n_frames: int, scale: float = 1.0, known: bool = True) -> CellFilm:
    """Return a film of cells that take random steps."""
    rng = np.random.default_rng(seed)
    paths = rng.uniform(10, 90, (n, 2)) + np.cumsum(rng.normal(0, 3, (n_frames, n, 2)), axis=0)
    detections = n * n_frames
    tracks = np.column_stack([np.arange(detections), np.tile(np.arange(1, n + 1), n_frames)])
    return CellFilm(
        frame=np.repeat(np.arange(n_frames), n),
        position=scale * paths.reshape(-1, 2),
        area=scale**2 * np.full(detections, 100.0),
        intensity=np.ones(detections),
        eccentricity=np.zeros(detections),
        shape=np.array([100, 100]),
        n_frames=n_frames,
        tracks=tracks[: len(tracks) if known else 0],
        lineage=np.array([[k, 0, n_frames - 1, 0] for k in range(1, n + 1)], dtype=np.int64).reshape(-1, 4),
    )


def trackers() -> Cases:
    """Train on films without cells, without truth, of one frame, and of any magnification; track images."""
    plain = film_of_steps(0, 6, 4)
    films = {
        "plain": plain,
        "no cells": film_of_steps(0, 0, 4),
        "one cell": film_of_steps(0, 1, 3),
        "one frame": film_of_steps(0, 6, 1),
        "two frames": film_of_steps(0, 6, 2),
        "unknown": film_of_steps(0, 6, 4, known=False),
        "times 1e9": film_of_steps(0, 6, 4, 1e9),
        "times 1e-9": film_of_steps(0, 6, 4, 1e-9),
        "times 1e45": film_of_steps(0, 6, 4, 1e45),
        "in one place": replace(plain, position=np.full_like(plain.position, 50.0)),
        "far apart": replace(plain, position=1e90 * plain.position),
        "crowded": film_of_steps(1, 40, 3),
    }
    for name, film in films.items():
        for norm in ("l2", "l1") if len(film.frame) < 30 else ("l2",):
            yield f"fit {name}, {norm}", lambda film=film, norm=norm: train(film, norm)
        yield f"track {name}", lambda film=film: CellTracker.pretrained().predict(film)
        yield f"patches of {name}", lambda film=film: learn_from_patches(film)
    shipped = CellTracker.pretrained()
    for name, image in hostile_images().items():
        yield f"track image {name}", lambda image=image: shipped.track_images([image, image])


def train(film: CellFilm, norm: str) -> dict[str, object]:
    """Train a tracker and use it."""
    tracker = CellTracker(norm=norm, n_jobs=1).fit(film)
    return {"weights": tracker.coef_, "score": tracker.score(film), "labels": tracker.predict(film).label}


def learn_from_patches(film: CellFilm) -> None:
    """Learn actively, and evaluate the risk of patches, with hostile weights, too."""
    patches = [patch for patch in film_patches(film, Gates(), 4) if len(patch.annotation.events)]
    if not patches:
        raise ValueError("no patch has a known event")
    for measure_name in MEASURES:
        learner = ActiveLearner(patches, measure_name, window=1, n_jobs=1)
        while not learner.stopped and len(learner.labeled) < 4:
            number = learner.query()
            learner.annotate(number, patches[number].annotation.events)
    pool = PatchPool(patches, n_jobs=1)
    known = [pool.events(i) for i in range(len(pool))]
    risks = [PatchRisk(pool), PartialTrackingRisk([patch.assigner for patch in patches], known)]
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-300, 1e-9, 1.0, 1e9, 1e100):
        w = scale * rng.normal(size=pool.dimension)
        risks[0].search(w)
        for risk in risks:
            for value, slope in (risk.convex_part(w), risk.reward(w)):
                assert np.isfinite(value), f"a risk is {value}"
                assert np.isfinite(slope).all(), "a subgradient is not finite"
    for wrong in (np.full(pool.dimension, np.nan), np.full(pool.dimension, 1e300), w[:-1], np.append(w, 0.0)):
        refused(lambda wrong=wrong: risks[0].search(wrong))
        refused(lambda wrong=wrong: risks[1].convex_part(wrong))
    refused(lambda: risks[0].convex_part(np.append(w, 0.0)))
    for numbers in ([len(pool)], [-1], [0.5], []):
        refused(lambda numbers=numbers: PatchRisk(pool, numbers))
    refused(lambda: PatchPool(patches, pool.truth[:-1]))


# Cases of one subject share a process: to start one takes longer than most of them.
SUBJECTS = {
    "detections": lambda: chain(images(), settings(), touching_nuclei(), label_images()),
    "films": lambda: chain(events(), trackers()),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
