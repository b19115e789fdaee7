"""Readers of cell sequences on tiny sequences made here, whole and broken."""

import numpy as np
import pytest
from PIL import Image

from ermlab.exceptions import DataError
from ermlab.tracking.ctc import read_lineage, read_tracked_cells
from reproduction.datasets.cell_migration import FEATURES, UNTRACKED, read_cell_migration
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth

# Cell 1 lives in frames 0 and 1, then divides into 2 and 3; frame 3 is empty.
LINEAGE = "1 0 1 0\n2 2 2 1\n3 2 2 1\n"
FRAMES = [[1], [1], [2, 3], []]


def save_masks(folder, frames=FRAMES, dtype=np.uint16):
    folder.mkdir(parents=True, exist_ok=True)
    for number, cells in enumerate(frames):
        mask = np.zeros((6, 8), dtype=dtype)
        for cell in cells:
            mask[2 * cell - 2 : 2 * cell, 1:4] = cell
        Image.fromarray(mask).save(folder / f"man_track{number:03d}.tif")


def save_pages(path, pages):
    first, *others = [Image.fromarray(page) for page in pages]
    first.save(path, save_all=True, append_images=others)


@pytest.fixture
def tracked(tmp_path):
    save_masks(tmp_path / "TRA")
    (tmp_path / "TRA/man_track.txt").write_text(LINEAGE)
    return tmp_path


def test_tracked_cells(tracked):
    data = read_ctc_sim_truth(tracked)
    assert len(data.masks) == 4
    assert np.unique(data.masks[2]).tolist() == [0, 2, 3]
    assert data.masks[3].max() == 0  # an empty frame is legal
    assert data.lineage.parent.tolist() == [0, 1, 1]
    assert data.lineage.dividing.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 1\n", "line 1: .*expected 4 finite int values per row"),
        ("1 0 1 0.5\n", "line 1"),
        ("1 0 1 0\n1 2 2 0\n", "a label below 1 or twice"),
        ("0 0 1 0\n", "a label below 1 or twice"),
        ("1 2 1 0\n", "cell 1 lives from frame 2 to 1"),
        ("1 -1 1 0\n", "cell 1 lives from frame -1 to 1"),
        ("1 0 1 0\n2 2 2 9\n", "parent 9 of cell 2 is no cell"),
        ("1 0 1 0\n2 1 2 1\n", "cell 2 begins at 1, its parent 1 ends at 1"),
        ("1 0 1 2\n2 2 2 0\n", "cell 1 begins at 0, its parent 2 ends at 2"),
        ("", "the file is empty"),
    ],
)
def test_broken_lineage(tmp_path, text, message):
    path = tmp_path / "man_track.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_lineage(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "man_track001.tif").unlink(), r"man_track002\.tif; expected number 1"),
        (lambda f: (f / "man_track.txt").unlink(), r"man_track\.txt: No such file"),
        (lambda f: save_masks(f, dtype=np.float32), "float32; expected a label image of 8 or 16 bits"),
        (lambda f: save_masks(f, [[1], [1], [2, 3], [3]]), r"cell 3 is \[2, 2\].*expected \[2, 3\]"),
        (lambda f: save_masks(f, [[1], [1], [2], []]), "expected in no frame as in the images"),
        (lambda f: (f / "man_track.txt").write_text("1 0 1 0\n2 2 2 1\n"), "cell 3 is in no line"),
        (
            lambda f: Image.fromarray(np.zeros((3, 3), dtype=np.uint16)).save(f / "man_track003.tif"),
            r"man_track003\.tif: shape \(3, 3\); expected \(6, 8\)",
        ),
        (lambda f: (f / "man_track002.tif").write_bytes(b"II*"), r"man_track002\.tif: .*complete image"),
    ],
)
def test_broken_tracked_cells(tracked, damage, message):
    damage(tracked / "TRA")
    with pytest.raises(DataError, match=message):
        read_tracked_cells(tracked / "TRA")


HEADER = ",".join(["label", "centroid-0", "centroid-1", *FEATURES, "frame", "track"])
ROWS = [
    "7,1,2,6,.5,.6,.7,.8,1,1",
    "5,1.5,2,6,.5,.6,.7,.8,0,1",
    "9,4,6,6,.5,.6,.7,.8,0,",
    "1,2,2,6,.5,.6,.7,.8,2,2",
    "2,4,2,6,.5,.6,.7,.8,2,3",
]


@pytest.fixture
def migration(tmp_path):
    for step in range(1, 8):
        folder = tmp_path / f"organized_data/Sparse{step}"
        (folder / "02_GT/TRA").mkdir(parents=True)
        (folder / "02_GT/TRA/man_track.txt").write_text(LINEAGE)
        (folder / "regionprops.csv").write_text("\n".join([HEADER, *ROWS]))
    save_masks(tmp_path / "organized_data/Sparse1/02_GT/TRA")
    for name in ("example_images.tif", "example_label.tif"):
        save_pages(tmp_path / name, np.zeros((6, 5, 4), dtype=np.uint16))
    return tmp_path


def test_cell_migration(migration):
    data = read_cell_migration(migration)
    assert list(data.sequences) == [1, 2, 3, 4, 5, 6, 7]
    detections = data.sequences[4].detections
    assert detections.frame.tolist() == [0, 0, 1, 2, 2]
    assert detections.track.tolist() == [1, UNTRACKED, 1, 2, 3]
    assert detections.centroid[0].tolist() == [1.5, 2]
    assert detections.features.shape == (5, len(FEATURES))
    assert data.example_images.shape == (6, 5, 4)
    assert len(data.truth.lineage) == 3


def detections(*rows):
    def damage(folder):
        (folder / "organized_data/Sparse2/regionprops.csv").write_text("\n".join(rows))

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (detections(HEADER), "no rows; expected numbers"),
        (detections(HEADER.replace("track", "trace"), ROWS[0]), "expected columns frame, label"),
        (detections(HEADER, "7,x,2,6,.5,.6,.7,.8,1,1"), "expected columns .* of numbers"),
        (detections(HEADER, ROWS[0], "7,,2,6,.5,.6,.7,.8,1,1"), r"no finite numbers in rows \[2\]"),
        (detections(HEADER, "7,1,2,6,.5,.6,.7,.8,1,8"), "track 8 in frame 1"),
        (detections(HEADER, "7,1,2,6,.5,.6,.7,.8,2,1"), "track 1 in frame 2"),
        (detections(), r"regionprops\.csv: EmptyDataError"),
        (lambda f: (f / "organized_data/Sparse7/regionprops.csv").unlink(), "No such file"),
        (lambda f: (f / "example_label.tif").unlink(), r"example_label\.tif: .*complete image"),
    ],
)
def test_broken_cell_migration(migration, damage, message):
    damage(migration)
    with pytest.raises(DataError, match=message):
        read_cell_migration(migration)


IMAGES, SEGMENTATION = "Fluo_Hela_02_img.tif", "Fluo_Hela_02_ERR_SEG.tif"


@pytest.fixture
def hela(tmp_path):
    pages = np.arange(2 * 5 * 4, dtype=np.uint16).reshape(2, 5, 4)
    save_pages(tmp_path / IMAGES, pages)
    save_pages(tmp_path / SEGMENTATION, pages % 2)
    return tmp_path


def test_ctc_hela02_images(hela):
    data = read_ctc_hela02_images(hela)
    np.testing.assert_array_equal(data.images, np.arange(40).reshape(2, 5, 4))
    assert data.segmentation.max() == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / IMAGES).unlink(), r"img\.tif: No such file"),
        (lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes()[:60]), "expected a complete image"),
        (lambda f: save_pages(f / SEGMENTATION, np.zeros((3, 5, 4), np.uint16)), r"shape \(3, 5, 4\)"),
        (lambda f: save_pages(f / SEGMENTATION, np.zeros((2, 5, 4), np.float32)), "of float32"),
        (lambda f: save_pages(f / IMAGES, np.zeros((2, 5, 4, 3), np.uint8)), "expected gray pages"),
    ],
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_broken_ctc_hela02_images(hela, damage, message):
    damage(hela)
    with pytest.raises(DataError, match=message):
        read_ctc_hela02_images(hela)
