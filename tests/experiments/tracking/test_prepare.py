"""Nuclei on drawn frames are detected, cut out and numbered for the pictures of tracks."""

import numpy as np
import pytest
from scipy import ndimage

from ermlab.tracking.ctc import Lineage, TrackedCells
from ermlab.tracking.films import CellFilm
from reproduction.claims.results import write_json
from reproduction.datasets.ctc_hela02_images import HelaImages
from reproduction.datasets.nuclei_films import NucleiFilm
from reproduction.experiments.tracking import prepare
from reproduction.experiments.tracking.scenes import DetectedFrames

SHAPE = (80, 120)
#: Centers of the nuclei, labels 4 and 9, in three frames; the second divides before the last one.
FRAMES = [{4: (20, 20), 9: (50, 80)}, {4: (22, 20), 9: (50, 82)}, {4: (24, 20), 1: (44, 80), 2: (62, 80)}]


def draw(centers):
    """Return a frame with blurred discs, and their label image."""
    row, column = np.indices(SHAPE)
    mask = np.zeros(SHAPE, dtype=np.uint16)
    for label, (y, x) in centers.items():
        mask[(row - y) ** 2 + (column - x) ** 2 <= 49] = label
    noise = np.random.default_rng(0).normal(0, 3, SHAPE)
    return (ndimage.gaussian_filter(200.0 * (mask > 0), 1.0) + 100 + noise).astype(np.uint16), mask


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    images, masks = zip(*map(draw, FRAMES), strict=True)
    rows = [[1, 2, 2, 9], [2, 2, 2, 9], [4, 0, 2, 0], [9, 0, 1, 0]]
    film = NucleiFilm("02", images, TrackedCells(masks, Lineage(*np.array(rows).T)))
    empty = NucleiFilm("01", images[:1], None)
    hela = HelaImages(np.stack(images), np.stack(masks))
    monkeypatch.setattr(prepare, "read_nuclei_films", lambda folder: (empty, film))
    monkeypatch.setattr(prepare, "read_ctc_hela02_images", lambda folder: hela)
    write_json(tmp_path / "receipt.json", {"folder": "anywhere"})
    names = ("nuclei_film", "nuclei_frames", "few_cells", "few_images", "hela_film", "hela_frames")
    paths = {name: tmp_path / f"{name}.npz" for name in names}
    inputs = dict.fromkeys(("nuclei", "hela"), tmp_path / "receipt.json")
    prepare.main(inputs, paths, hela_frames=2, picture={"side": 80, "small": 100})
    return paths


def test_detections_have_the_true_tracks_of_the_last_film(outputs):
    film = CellFilm.read(outputs["nuclei_film"])
    assert [sorted(map(tuple, film.tracks_in(t))) for t in range(3)] == [
        [(4,), (9,)],
        [(4,), (9,)],
        [(1,), (2,), (4,)],
    ]
    assert film.lineage.tolist() == [[1, 2, 2, 9], [2, 2, 2, 9], [4, 0, 2, 0], [9, 0, 1, 0]]


def test_hela_nuclei_are_detected_in_the_first_frames_without_truth(outputs):
    film = CellFilm.read(outputs["hela_film"])
    assert (len(film), len(film.frame), len(film.tracks)) == (2, 4, 0)
    assert DetectedFrames.read(outputs["hela_frames"]).images.shape == (2, 80, 80)


def test_the_middle_of_the_frames_has_the_numbers_of_the_detections(outputs):
    film, frames = CellFilm.read(outputs["nuclei_film"]), DetectedFrames.read(outputs["nuclei_frames"])
    assert frames.images.shape == frames.detections.shape == (3, 40, 40)
    # The view of 80 x 120 is cut from row 20 and column 40 on, where only the right nuclei reach.
    np.testing.assert_array_equal(frames.images[0], draw(FRAMES[0])[0][20:60, 40:80])
    for t in range(3):
        tracks = {film.tracks[number - 1, 1] for number in np.unique(frames.detections[t]) if number}
        assert tracks == set(FRAMES[t]) - {4}


def test_the_small_square_shows_the_division(outputs):
    few = CellFilm.read(outputs["few_cells"])
    assert [sorted(map(tuple, few.tracks_in(t))) for t in (0, 1)] == [[(9,)], [(1,), (2,)]]
    with np.load(outputs["few_images"]) as content:
        images = content["images"]
    assert images.shape == (2, 50, 50)
    # The square around row 50 and column 82 begins at row 25 and column 57, in the second frame.
    for k in (0, 1):
        np.testing.assert_array_equal(images[k], draw(FRAMES[1 + k])[0][25:75, 57:107])
