"""Films of users: frames in order, and annotations of some cells in some frames."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from ermlab.exceptions import DataError
from ermlab.tracking.cells import film_of_masks
from ermlab.tracking.ctc_films import read_annotation, read_frames
from ermlab.tracking.events import Gates
from ermlab.tracking.films import frame_pairs
from reproduction.experiments.tracking.links import links_of

SHAPE = (6, 8)
N_FRAMES = 8
#: Of eight frames, 0, 1, 2 and 5 have masks. Cell 1 divides after frame 1, cell 4 is last seen in frame 2.
LINEAGE = "1 0 1 0\n2 2 5 1\n3 2 2 1\n4 1 2 0\n5 5 5 0\n"
MASKS = {0: [1], 1: [1, 4], 2: [2, 3, 4], 5: [2, 5]}


def save(path, image):
    Image.fromarray(image).save(path)


def save_mask(folder, frame, cells, dtype=np.uint16):
    mask = np.zeros(SHAPE, dtype=dtype)
    for cell in cells:
        mask[cell, 1:4] = cell
    save(folder / f"man_track{frame:03d}.tif", mask)


@pytest.fixture
def film(tmp_path):
    for name in ("01", "TRA"):
        (tmp_path / name).mkdir()
    for t in range(N_FRAMES):
        save(tmp_path / f"01/t{t:03d}.tif", np.full(SHAPE, t, dtype=np.uint16))
    for frame, cells in MASKS.items():
        save_mask(tmp_path / "TRA", frame, cells)
    (tmp_path / "TRA/man_track.txt").write_text(LINEAGE)
    return tmp_path


def test_frames_are_read_in_order(film):
    frames = read_frames(film / "01")
    assert [frame.max() for frame in frames] == list(range(N_FRAMES))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "t003.tif").unlink(), r"the next file is t004\.tif; expected number 3"),
        (lambda f: (f / "t000.tif").unlink(), r"the next file is t001\.tif; expected number 0"),
        (
            lambda f: save(f / "t002.tif", np.zeros((5, 8), np.uint8)),
            r"t002\.tif: shape \(5, 8\); expected \(6, 8\)",
        ),
        (lambda f: save(f / "t002.tif", np.zeros((*SHAPE, 3), np.uint8)), r"t002\.tif: .*a gray image"),
        (
            lambda f: save(f / "t002.tif", np.zeros(SHAPE, np.uint8)),
            r"t002\.tif: pixels of uint8; expected uint16 as in the first frame",
        ),
        (
            lambda f: tifffile.imwrite(f / "t002.tif", np.full(SHAPE, 2**31, np.uint32)),
            r"t002\.tif: pixels of uint32; expected one of uint8, ",
        ),
        (
            lambda f: tifffile.imwrite(f / "t002.tif", np.zeros(SHAPE)),
            r"t002\.tif: pixels of float64; expected one of uint8, .*float32",
        ),
        (
            lambda f: tifffile.imwrite(f / "t002.tif", np.zeros((5, *SHAPE), np.uint16)),
            r"t002\.tif: 5 images; expected one file per frame",
        ),
        (
            lambda f: tifffile.imwrite(f / "t002.tif", np.zeros((5, *SHAPE), np.uint16), truncate=True),
            r"t002\.tif: 5 images; expected one file per frame",
        ),
        (lambda f: (f / "t002.tif").write_bytes(b"II*"), r"t002\.tif: .*complete image"),
        (lambda f: [path.unlink() for path in f.iterdir()], r"no file t\*\.tif"),
    ],
)
def test_broken_frames_are_refused(film, damage, message):
    damage(film / "01")
    with pytest.raises(DataError, match=message):
        list(read_frames(film / "01"))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.float32])
def test_frames_of_other_numbers_are_read_as_they_are(tmp_path, dtype):
    first = -20 if np.issubdtype(dtype, np.signedinteger) or dtype == np.float32 else 0
    image = np.arange(first, first + 48).reshape(SHAPE).astype(dtype)
    tifffile.imwrite(tmp_path / "t000.tif", image)
    (frame,) = read_frames(tmp_path)
    np.testing.assert_array_equal(frame, image)


def test_a_frame_that_tells_of_the_whole_film_is_one_frame(tmp_path):
    metadata_xml = tifffile.OmeXml()
    metadata_xml.addimage("uint16", (5, *SHAPE), (5, 1, 1, *SHAPE, 1), axes="TYX")
    image = np.arange(48, dtype=np.uint16).reshape(SHAPE)
    tifffile.imwrite(tmp_path / "t000.tif", image, description=metadata_xml.tostring(), metadata=None)
    (frame,) = read_frames(tmp_path)
    np.testing.assert_array_equal(frame, image)


def test_frames_with_a_pixel_that_is_no_number_are_refused(tmp_path):
    for t, value in enumerate([1.0, np.nan]):
        save(tmp_path / f"t{t:03d}.tif", np.full(SHAPE, value, np.float32))
    frames = read_frames(tmp_path)
    with pytest.raises(DataError, match=r"t001\.tif: .*finite"):
        list(frames)


def test_a_folder_that_is_not_there_is_refused(film):
    with pytest.raises(DataError, match=r"03: no such folder; expected a folder with t000\.tif"):
        read_frames(film / "03")
    with pytest.raises(DataError, match=r"SEG: no such folder; expected a folder with man_track\.txt"):
        read_annotation(film / "SEG", read_frames(film / "01"))


def test_frames_without_a_mask_show_nothing(film):
    annotation = read_annotation(film / "TRA", read_frames(film / "01"))
    assert len(annotation.masks) == N_FRAMES
    shown = [sorted(set(np.unique(mask)) - {0}) for mask in annotation.masks]
    assert shown == [MASKS.get(t, []) for t in range(N_FRAMES)]
    with pytest.raises(IndexError, match="frame 8"):
        annotation.masks[8]


def test_tracks_may_go_on_where_no_mask_is(film):
    lineage = read_annotation(film / "TRA", read_frames(film / "01")).lineage
    # Cell 1 has children, and begins with the film. Cells 2, 3 and 4 may live on after their last mask, cell
    # 5 also before its first. Cell 4 is known to appear, since frame 0 has a mask without it.
    assert lineage.rows() == [[1, 0, 1, 0], [2, 2, 6, 1], [3, 2, 3, 1], [4, 1, 3, 0], [5, 4, 6, 0]]


def test_a_division_in_a_frame_without_a_mask_stays_where_it_is(film):
    (film / "TRA/man_track001.tif").unlink()
    (film / "TRA/man_track.txt").write_text(LINEAGE.replace("4 1 2 0", "4 2 2 0"))
    lineage = read_annotation(film / "TRA", read_frames(film / "01")).lineage
    assert lineage.rows() == [[1, 0, 1, 0], [2, 2, 6, 1], [3, 2, 3, 1], [4, 1, 3, 0], [5, 4, 6, 0]]


def test_a_cell_that_comes_back_after_a_gap_is_known_to(film):
    (film / "TRA/man_track.txt").write_text("1 0 1 0\n2 2 5 0\n3 2 2 0\n4 1 2 0\n5 5 5 1\n")
    lineage = read_annotation(film / "TRA", read_frames(film / "01")).lineage
    assert lineage.rows() == [[1, 0, 1, 0], [2, 2, 6, 0], [3, 2, 3, 0], [4, 1, 3, 0], [5, 5, 6, 1]]


def test_a_division_with_one_child_is_unknown_and_no_move(film):
    (film / "TRA/man_track.txt").write_text(LINEAGE.replace("3 2 2 1\n", ""))
    save_mask(film / "TRA", 2, [2, 4])
    annotation = read_annotation(film / "TRA", read_frames(film / "01"))
    assert annotation.lineage.rows() == [[1, 0, 2, 0], [2, 1, 6, 0], [4, 1, 3, 0], [5, 4, 6, 0]]
    pairs = frame_pairs(film_of_masks(annotation), Gates(move=9.0))
    links = [links_of(pair.hypotheses, _chosen(pair)).tolist() for pair in pairs[:2]]
    # Cell 1 moves from frame 0 to 1, where it is the first of two; cell 4, the second, moves to frame 2.
    assert links == [[[0, 0]], [[1, 1]]]


def _chosen(pair):
    return np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "man_track.txt").write_text(LINEAGE + "9 0 3 0\n"), "cell 9 is in no mask"),
        (
            lambda f: save_mask(f, 2, [2, 5, 4]),
            r"man_track002\.tif: cell 5; expected cells of man_track\.txt",
        ),
        (
            lambda f: (f / "man_track.txt").write_text(LINEAGE.replace("5 5 5 0\n", "")),
            r"man_track005\.tif: cell 5; expected cells of man_track\.txt that live in frame 5",
        ),
        (
            lambda f: (f / "man_track.txt").write_text(LINEAGE.replace("4 1 2", "4 1 1")),
            "cell 4; expected cells",
        ),
        (
            lambda f: (f / "man_track.txt").write_text("1 0 1 2\n2 0 5 0\n"),
            "expected the parent to end first",
        ),
        (lambda f: save_mask(f, 0, [1], np.float32), r"man_track000\.tif: .*float32; expected a label image"),
        (
            lambda f: tifffile.imwrite(f / "man_track000.tif", np.zeros(SHAPE)),
            r"man_track000\.tif: labels of float64; expected a label image",
        ),
        (
            lambda f: tifffile.imwrite(f / "man_track000.tif", np.ones((5, *SHAPE), np.uint16)),
            r"man_track000\.tif: 5 images; expected one",
        ),
        (
            lambda f: (f / "man_track002.tif").rename(f / "man_track01.tif"),
            r"man_track01\.tif: frame 1 as in man_track001\.tif; expected one mask per frame",
        ),
        (lambda f: save_mask(f, 8, [2]), "frame 8; expected one of the frames 0 to 7"),
        (
            lambda f: save(f / "man_track001.tif", np.zeros((3, 3), np.uint8)),
            r"shape \(3, 3\); expected \(6, 8\)",
        ),
        (lambda f: (f / "man_track.txt").unlink(), r"man_track\.txt: No such file"),
        (lambda f: [path.unlink() for path in f.glob("*.tif")], r"no file man_track\*\.tif"),
    ],
)
def test_broken_annotations_are_refused(film, damage, message):
    damage(film / "TRA")
    with pytest.raises(DataError, match=message):
        read_annotation(film / "TRA", read_frames(film / "01"))
