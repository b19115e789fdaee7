"""Results of a tracker: written whole or not at all, and read back as they were."""

from pathlib import Path

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.tracking.ctc import Lineage, read_lineage
from ermlab.tracking.ctc_results import read_tracking, write_tracking

LINEAGE = Lineage(*np.array([[1, 0, 1, 0], [2, 2, 2, 1], [3, 2, 2, 1]]).T)
FRAMES = [[[1, 1, 0]], [[0, 1, 1]], [[2, 0, 3]], [[0, 0, 0]]]


def images():
    return [np.array(frame) for frame in FRAMES]


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_tracking_comes_back_as_it_was_written(tmp_path):
    write_tracking(tmp_path / "deep/01_RES", iter(images()), LINEAGE)
    again = read_tracking(tmp_path / "deep/01_RES")
    assert again.lineage.rows() == LINEAGE.rows()
    assert [mask.tolist() for mask in again.masks] == FRAMES
    assert all(mask.dtype == np.uint16 for mask in again.masks)
    assert (tmp_path / "deep/01_RES/res_track.txt").read_text() == "1 0 1 0\n2 2 2 1\n3 2 2 1\n"
    assert names(tmp_path / "deep") == [
        "01_RES",
        *(f"01_RES/mask00{t}.tif" for t in range(4)),
        "01_RES/res_track.txt",
    ]


def test_a_film_without_cells_is_legal(tmp_path):
    write_tracking(tmp_path / "RES", [np.zeros((2, 3), dtype=int)], Lineage.empty())
    again = read_tracking(tmp_path / "RES")
    assert len(again.lineage) == 0
    assert again.masks[0].max() == 0


def failing_images():
    yield from images()[:2]
    raise RuntimeError("the disc is full")


@pytest.mark.parametrize(
    ("label_images", "lineage", "message"),
    [
        (failing_images, LINEAGE, "the disc is full"),
        (lambda: [*images()[:3], np.zeros((1, 3))], LINEAGE, r"frame 3 has shape \(1, 3\) of float64"),
        (lambda: [*images()[:3], np.zeros((2, 3), int)], LINEAGE, r"frame 3 has shape \(2, 3\)"),
        (lambda: [np.array([[70_000]])], LINEAGE, "labels 70000 to 70000: expected 0 to 65535"),
        (lambda: [np.array([[-1]])], LINEAGE, "labels -1"),
        (lambda: images()[:2], LINEAGE, "cell 2 is .* in no frame"),
        (lambda: [np.array([[1, 9, 0]]), *images()[1:]], LINEAGE, "cell 9 is in no line"),
        (list, LINEAGE, "no label images"),
        (images, Lineage(*np.array([[1, 0, 1, 2], [2, 2, 2, 0]]).T), "cell 1 begins at 0, its parent 2 ends"),
    ],
)
def test_after_an_error_all_is_as_before(tmp_path, label_images, lineage, message):
    folder = tmp_path / "RES"
    with pytest.raises((ValueError, RuntimeError), match=message):
        write_tracking(folder, label_images(), lineage)
    assert names(tmp_path) == []
    write_tracking(folder, images(), LINEAGE)
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    with pytest.raises((ValueError, RuntimeError), match=message):
        write_tracking(folder, label_images(), lineage)
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before
    assert names(tmp_path) == ["RES", *(f"RES/{name}" for name in before)]


def test_an_earlier_tracking_is_replaced_and_other_files_are_left_alone(tmp_path):
    folder = tmp_path / "RES"
    write_tracking(folder, images(), LINEAGE)
    write_tracking(folder, images()[:2], Lineage(*np.array([[1, 0, 1, 0]]).T))
    assert names(folder) == ["mask000.tif", "mask001.tif", "res_track.txt"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"RES: there is notes\.txt; expected a new folder, or one with"):
        write_tracking(folder, images(), LINEAGE)
    assert (folder / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="file: a file; expected a folder"):
        write_tracking(tmp_path / "file", images(), LINEAGE)


def test_a_link_to_a_folder_stays_one(tmp_path):
    (tmp_path / "disc").mkdir()
    (tmp_path / "RES").symlink_to(tmp_path / "disc", target_is_directory=True)
    for _ in range(2):
        write_tracking(tmp_path / "RES", images(), LINEAGE)
    assert (tmp_path / "RES").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["RES", "disc"]
    assert read_tracking(tmp_path / "disc").lineage.rows() == LINEAGE.rows()


def test_names_of_a_thousand_masks_are_in_the_order_of_frames(tmp_path):
    n = 1002
    lineage = Lineage(*np.array([[1, 0, 0, 0], [2, n - 1, n - 1, 0]]).T)
    last = [np.array([[label]]) for label in (1, *[0] * (n - 2), 2)]
    write_tracking(tmp_path / "RES", last, lineage)
    masks = names(tmp_path / "RES")[:-1]
    assert masks == [f"mask{frame:04d}.tif" for frame in range(n)]
    assert read_tracking(tmp_path / "RES").masks[n - 1].tolist() == [[2]]


def test_a_run_that_was_stopped_at_the_worst_moment_loses_nothing(tmp_path):
    folder = tmp_path / "RES"
    write_tracking(folder, images(), LINEAGE)
    folder.rename(tmp_path / ".old-RES")
    with pytest.raises(ValueError, match="no label images"):
        write_tracking(folder, [], LINEAGE)
    assert read_tracking(folder).lineage.rows() == LINEAGE.rows()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "mask001.tif").unlink(), r"mask002\.tif; expected number 1"),
        (lambda f: (f / "res_track.txt").unlink(), r"res_track\.txt: No such file"),
        (lambda f: (f / "res_track.txt").write_text("1 0 1 0\n"), "cell 2 is in no line"),
        (lambda f: (f / "mask003.tif").write_bytes(b"II*"), r"mask003\.tif: .*complete image"),
    ],
)
def test_broken_results_are_refused(tmp_path, damage, message):
    write_tracking(tmp_path / "RES", images(), LINEAGE)
    damage(tmp_path / "RES")
    with pytest.raises(DataError, match=message):
        read_tracking(tmp_path / "RES")


def test_places_where_no_folder_can_be_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", 253 * "a", 300 * "a"):
        with pytest.raises(DataError, match="expected a folder to write to"):
            write_tracking(tmp_path / name, images(), LINEAGE)
    assert names(tmp_path) == ["loop"]


def test_what_an_earlier_run_left_in_the_way_is_removed(tmp_path):
    (tmp_path / ".part-RES").write_text("a file")
    write_tracking(tmp_path / "RES", images(), LINEAGE)
    assert not (tmp_path / ".part-RES").exists()


def test_nothing_is_lost_if_the_new_folder_cannot_take_its_place(tmp_path, monkeypatch):
    write_tracking(tmp_path / "RES", images(), LINEAGE)
    before = names(tmp_path)
    rename = Path.rename

    def fail(self, target):
        if self.name == ".part-RES":
            raise OSError("no space left")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="no space"):
        write_tracking(tmp_path / "RES", images()[:3], LINEAGE)
    assert names(tmp_path) == before


def test_paths_may_be_text(tmp_path):
    (tmp_path / "res_track.txt").write_text("1 0 3 0\n2 4 5 1\n")
    text, path = (read_lineage(kind(tmp_path / "res_track.txt")) for kind in (str, Path))
    assert text.label.tolist() == path.label.tolist() == [1, 2]
