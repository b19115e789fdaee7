"""Simulated stand-ins of three films of cells: the readers take them, frame rates agree, seeds decide."""

import numpy as np
import pytest

from ermlab.tracking.events import Gates
from ermlab.tracking.films import frame_pairs
from reproduction.acquire.treehash import tree_hash
from reproduction.datasets.cell_migration import (
    STEPS,
    UNTRACKED,
    read_cell_migration,
    simulate_cell_migration,
)
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images, simulate_ctc_hela02_images
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth, simulate_ctc_sim_truth
from reproduction.experiments.cell_films.prepare_migration import film_of_migration


@pytest.fixture(scope="module")
def tissue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tissue")
    simulate_cell_migration(folder, 0, "smoke")
    return folder


def test_every_frame_rate_shows_the_same_cells(tissue):
    data = read_cell_migration(tissue)
    every = data.sequences[1]
    for step in STEPS:
        some = data.sequences[step].detections
        same = every.detections.frame % step == 0
        np.testing.assert_array_equal(some.frame, every.detections.frame[same] // step)
        np.testing.assert_allclose(some.centroid, every.detections.centroid[same])
        tracked = some.track != UNTRACKED
        np.testing.assert_array_equal(some.track[tracked], every.detections.track[same][tracked])
    assert len(data.example_images) == len(data.example_labels) == 6


def test_cells_at_the_border_are_detected_but_not_tracked(tissue):
    data = read_cell_migration(tissue)
    found = data.sequences[1].detections
    untracked = found.track == UNTRACKED
    side = data.truth.masks[0].shape[0] - 1
    room = np.minimum(found.centroid, side - found.centroid).min(axis=1)
    assert 0 < untracked.mean() < 0.5
    assert np.median(room[untracked]) < np.median(room[~untracked])
    for mask in data.truth.masks:
        mask[1:-1, 1:-1] = 0
        assert not mask.any()


def test_true_events_are_found_at_every_frame_rate(tissue):
    data = read_cell_migration(tissue)
    for step in (1, 4):
        pairs = frame_pairs(film_of_migration(data.sequences[step], data.truth.masks[0].shape), Gates())
        assert all(len(pair.annotation.events) > 10 for pair in pairs)
        assert sum(len(pair.annotation.lost) for pair in pairs) <= 2


def test_truth_and_frames_are_read(tmp_path):
    simulate_ctc_sim_truth(tmp_path / "truth", 0, "smoke")
    truth = read_ctc_sim_truth(tmp_path / "truth")
    assert len(truth.masks) == 6
    areas = np.bincount(truth.masks[0].ravel())[1:]
    assert 800 < np.median(areas[areas > 0]) < 2500
    simulate_ctc_hela02_images(tmp_path / "frames", 0, "smoke")
    hela = read_ctc_hela02_images(tmp_path / "frames")
    assert hela.images.shape == hela.segmentation.shape == (4, 240, 300)
    inside = hela.segmentation > 0
    assert hela.images[inside].mean() > 2 * hela.images[~inside].mean()


@pytest.mark.parametrize(
    "simulate", [simulate_cell_migration, simulate_ctc_sim_truth, simulate_ctc_hela02_images]
)
def test_the_seed_alone_decides(tmp_path, simulate):
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        simulate(tmp_path / name, seed, "smoke")
    first, again, other = (tree_hash(tmp_path / name) for name in ("first", "again", "other"))
    assert first == again != other
    with pytest.raises(ValueError, match="size is 'large'"):
        simulate(tmp_path / "none", 0, "large")
    assert not (tmp_path / "none").exists()
