"""Overlays: pictures and animations of tracks."""

import numpy as np
import pytest
from PIL import Image

from ermlab.exceptions import DataError
from ermlab.tracking import Lineage, track_table, write_overlay

LINEAGE = Lineage(*np.array([[1, 0, 1, 0], [2, 2, 3, 1], [3, 2, 3, 1]]).T)


@pytest.fixture(scope="module")
def film():
    masks = np.zeros((4, 40, 50), dtype=np.int32)
    masks[0, 15:25, 5:15] = masks[1, 15:25, 9:19] = 1
    masks[2, 8:16, 14:22], masks[2, 26:34, 14:22] = 2, 3
    masks[3, 8:16, 18:26], masks[3, 26:34, 18:26] = 2, 3
    images = 100 + 50.0 * (masks > 0) + np.random.default_rng(0).normal(0, 2, masks.shape)
    return images, masks, track_table(masks, LINEAGE)


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def test_a_picture_shows_outlines_paths_and_divisions(film, tmp_path):
    images, masks, table = film
    write_overlay(tmp_path / "last.png", table, images, masks)
    shown = pixels(tmp_path / "last.png")
    assert shown.shape == (40, 50, 3)
    colored = np.ptp(shown, axis=-1) > 30
    assert colored[8, 20]
    assert colored[15, 20]
    assert colored[26, 20]  # outlines
    assert not colored[10, 20]  # inside
    assert not colored[2, 40]
    assert (shown[8, 19] != shown[26, 19]).any()  # colors of tracks
    assert colored[11, 19] or colored[12, 20]  # the path
    white = (shown == 255).all(axis=-1)
    assert white.sum() >= 10  # from the parent at (19.5, 13.5) to both children
    assert white[:19].any()
    assert white[21:].any()
    write_overlay(tmp_path / "first.png", table, images, masks, frame=0)
    assert not (pixels(tmp_path / "first.png") == 255).all(axis=-1).any()


def test_points_mark_cells_without_masks(film, tmp_path):
    images, _, table = film
    write_overlay(tmp_path / "points.png", table, iter(images))
    shown = pixels(tmp_path / "points.png")
    assert np.ptp(shown[11, 21]) > 30
    assert np.ptp(shown[8, 18]) < 30
    write_overlay(tmp_path / "black.png", table, tail=0)
    shown = pixels(tmp_path / "black.png")
    assert np.ptp(shown[11, 21]) > 30
    assert (shown > 0).any(axis=-1).sum() < 100


def test_an_animation_has_all_frames(film, tmp_path):
    images, masks, table = film
    write_overlay(tmp_path / "film.gif", table, images, masks, duration=80)
    with Image.open(tmp_path / "film.gif") as animation:
        assert animation.n_frames == 4
        assert animation.info["duration"] == 80
        assert animation.size == (50, 40)
    later = table[table["frame"] > 1]
    later = later.assign(parent_track_id=0)
    write_overlay(tmp_path / "later.gif", later, images)
    assert Image.open(tmp_path / "later.gif").n_frames == 4  # images are numbered from 0
    assert [path.name for path in tmp_path.glob(".part*")] == []


def test_wrong_input_is_refused(film, tmp_path):
    images, masks, table = film
    for path, options, message in (
        ("film.mp4", {}, r"film\.mp4: the ending '\.mp4'; expected one of \.gif"),
        ("a.png", {"frame": 4}, "frame is 4: expected 0 to 3"),
        ("a.png", {"tail": -1}, "tail is -1: expected a whole number"),
        ("a.gif", {"duration": 0.5}, "duration is 0.5: expected a whole number"),
        ("a.gif", {"images": images[:2]}, "no image or mask for frame 2"),
        ("a.gif", {"masks": masks[:, 1:]}, r"a mask has shape \(39, 50\): expected \(40, 50\)"),
        ("a.gif", {"images": images[..., None]}, "expected the axes time, row and column"),
        ("a.gif", {"table": table.iloc[:0]}, "the table has no rows"),
        ("a.gif", {"table": table.assign(frame=table["frame"] - 1)}, "the table has frame -1: expected"),
    ):
        given = {"table": table, "images": images, "masks": masks} | options
        with pytest.raises((ValueError, DataError), match=message):
            write_overlay(tmp_path / path, **given)
    assert list(tmp_path.iterdir()) == []
