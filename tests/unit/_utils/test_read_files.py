"""The shared reading functions: what is read is right, what is broken is named."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ermlab._utils import files
from ermlab.exceptions import DataError

BOMB = """<!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><annotation>&b;</annotation>"""
EXTERNAL = """<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><annotation>&e;</annotation>"""


def test_files_are_ordered_by_number(tmp_path):
    for number in (10, 9, 100):
        (tmp_path / f"test-{number}.pgm").touch()
    assert [path.name for path in files.list_files(tmp_path, "*.pgm")] == [
        "test-9.pgm",
        "test-10.pgm",
        "test-100.pgm",
    ]


def test_a_gap_in_a_series_is_named(tmp_path):
    for number in (0, 1, 3):
        (tmp_path / f"t{number}.tif").touch()
    with pytest.raises(DataError, match=r"t3\.tif; expected number 2"):
        files.list_series(tmp_path, "t*.tif")


def test_missing_folder_and_empty_folder(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: no such folder; run `make`"):
        files.list_files(tmp_path / "nowhere", "*")
    with pytest.raises(DataError, match=r"no file \*\.png; expected at least one"):
        files.list_files(tmp_path, "*.png")


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/hostname", "a/../../b.jpg", ""])
def test_names_that_leave_the_folder_are_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"list\.xml: file name .* leaves"):
        files.inside(tmp_path, name, tmp_path / "list.xml")


def test_a_link_that_leaves_the_folder_is_refused(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "link.jpg").symlink_to(tmp_path / "outside.jpg")
    with pytest.raises(DataError, match="leaves"):
        files.inside(tmp_path / "images", "link.jpg", tmp_path / "list.xml")


def test_names_inside_the_folder_are_found(tmp_path):
    assert files.inside(tmp_path, "a.jpg", tmp_path / "list.xml") == tmp_path / "a.jpg"


@pytest.mark.parametrize("document", [BOMB, EXTERNAL, "<annotation>", ""])
def test_hostile_and_broken_xml(tmp_path, document):
    path = tmp_path / "a.xml"
    path.write_text(document)
    with pytest.raises(DataError, match=r"a\.xml: .*; expected well-formed XML without entities"):
        files.read_xml(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", "line 2: '3' .*; expected 2 finite float values a row"),
        ("1 2\n\n3 x\n", "line 3: '3 x'"),
        ("1 nan\n", "line 1: .*not finite"),
        ("1 inf\n", "line 1: .*not finite"),
        ("\n \n", "the file is empty"),
    ],
)
def test_broken_tables_name_the_line(tmp_path, text, message):
    path = tmp_path / "table.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        files.read_table(path, columns=2)


def test_tables_by_comma_or_blank_below_a_header(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("name, other\n1, 2\n3\t4\n\n5 6")
    np.testing.assert_array_equal(
        files.read_table(path, columns=2, dtype=int, header=1), [[1, 2], [3, 4], [5, 6]]
    )


def test_text_of_another_encoding(tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes(b"1 \xff")
    with pytest.raises(DataError, match=r"table\.txt: byte 2 is not utf-8"):
        files.read_table(path)


def test_pgm_stack_equals_pillow(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 5, 4), dtype=np.uint8)
    paths = [tmp_path / f"{i}.pgm" for i in range(3)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    paths[0].write_bytes(b"P5\n# a comment\n4 5\n255\n" + images[0].tobytes())
    np.testing.assert_array_equal(files.read_pgm_stack(paths, (5, 4)), images)
    np.testing.assert_array_equal([files.read_image(path) for path in paths], images)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"P5\n4 5\n255\n" + bytes(19), "19 bytes of pixels; expected 20"),
        (b"P5\n4 5\n255\n" + bytes(21), "21 bytes of pixels; expected 20"),
        (b"P5\n5 4\n255\n" + bytes(20), "4 rows of 5 pixels; expected 5 rows of 4"),
        (b"P2\n4 5\n255\n" + bytes(20), "expected a binary PGM of 8 bits"),
        (b"", "expected a binary PGM of 8 bits"),
    ],
)
def test_broken_pgm(tmp_path, content, message):
    path = tmp_path / "crop.pgm"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"crop\.pgm: .*{message}"):
        files.read_pgm_stack([path], (5, 4))


def test_missing_pgm(tmp_path):
    with pytest.raises(DataError, match=r"crop\.pgm: No such file or directory"):
        files.read_pgm_stack([tmp_path / "crop.pgm"], (5, 4))


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "pgm"])
def test_truncated_image(tmp_path, suffix):
    path = tmp_path / f"image.{suffix}"
    noise = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    assert files.read_image(path).shape == files.image_size(path) == (64, 64)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match=rf"image\.{suffix}: .*; expected a complete image"):
        files.read_image(path)


def test_label_images_hold_whole_numbers(tmp_path):
    path = tmp_path / "labels.tif"
    labels = np.array([[0, 300], [65535, 1]], dtype=np.uint16)
    Image.fromarray(labels).save(path)
    np.testing.assert_array_equal(files.read_labels(path), labels)
    Image.fromarray(labels.astype(np.float32)).save(path)
    with pytest.raises(DataError, match="float32; expected a label image of 8 or 16 bits"):
        files.read_labels(path)
    Image.fromarray(labels.astype(np.int32)).save(path)
    with pytest.raises(DataError, match="int32; expected a label image"):
        files.read_labels(path)
    Image.fromarray(np.zeros((2, 2, 3), dtype=np.uint8)).save(path)
    with pytest.raises(DataError, match="expected a label image"):
        files.read_labels(path)


def test_images_stay_on_disk_until_asked_for(tmp_path):
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    Image.fromarray(np.full((2, 3, 3), 7, dtype=np.uint8)).save(paths[1])
    images = files.ImageFiles(paths)
    assert len(images) == 3
    assert images[1].shape == (2, 3, 3)
    assert images[1:].paths == tuple(paths[1:])
    with pytest.raises(DataError, match=r"0\.png"):
        images[0]


def png_header(height, width):
    """Return a PNG file that promises so many pixels, and holds none."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [header, b"IDAT" + zlib.compress(b""), b"IEND"]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


def tiff_of_one_strip(side, n_pages):
    """Return a TIFF file whose black pages are all made of the same few bytes."""
    strip = zlib.compress(bytes(side * side))
    tags = {256: side, 257: side, 258: 8, 259: 8, 262: 1, 273: 8, 277: 1, 278: side, 279: len(strip)}
    length = 2 + 12 * len(tags) + 4
    first = 8 + len(strip) + len(strip) % 2
    content = struct.pack("<2sHI", b"II", 42, first) + strip + bytes(len(strip) % 2)
    for page in range(n_pages):
        following = first + (page + 1) * length if page + 1 < n_pages else 0
        entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
        content += struct.pack("<H", len(tags)) + entries + struct.pack("<I", following)
    return content


def test_a_promise_that_a_small_file_cannot_keep_is_refused_before_anything_is_allocated(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(png_header(9000, 9000))
    with pytest.raises(DataError, match=r"image\.png: the header promises 81000000 bytes in a file of"):
        files.read_image(path)
    path = tmp_path / "pages.tif"
    path.write_bytes(tiff_of_one_strip(side=2000, n_pages=100))
    with pytest.raises(DataError, match=r"pages\.tif: the header promises 400000000 bytes in a file of"):
        files.read_pages(path)


def test_content_that_is_compressed_as_far_as_possible_is_read(tmp_path):
    path = tmp_path / "black.png"
    Image.fromarray(np.zeros((9000, 9000), dtype=np.uint8)).save(path)
    assert not files.read_image(path).any()
    path = tmp_path / "pages.tif"
    path.write_bytes(tiff_of_one_strip(side=20, n_pages=3))
    assert files.read_pages(path).shape == (3, 20, 20)


@pytest.mark.parametrize(
    "text", ["9" * 30, "9" * 5000, "-" + "9" * 30, "1.5", "x", "nan", "\N{ARABIC-INDIC DIGIT THREE} x", ","]
)
def test_tables_of_integers_hold_integers_of_64_bits(tmp_path, text):
    path = tmp_path / "table.txt"
    path.write_text(f"1\n{text}\n")
    with pytest.raises(DataError, match=r"table\.txt, line 2: "):
        files.read_table(path, columns=1, dtype=int)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', ", line 1: Expecting value"),
        ("[" * 100_000, ": maximum recursion"),
        ("9" * 5000, ": .*4300 digits"),
    ],
)
def test_broken_json(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"a\.json{message}.*; expected valid JSON"):
        files.read_json(path)


def test_any_exception_of_a_format_library_becomes_a_data_error_that_names_the_file(tmp_path):
    path = tmp_path / "a.bin"
    for error in (OverflowError("too large"), TypeError("no"), RecursionError(), MemoryError(), KeyError(1)):
        message = rf"a\.bin: {type(error).__name__}.*; expected a file"
        with pytest.raises(DataError, match=message), files.reading(path, "a file"):
            raise error
    with pytest.raises(KeyboardInterrupt), files.reading(tmp_path / "a.bin", "a file"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("read", [files.read_bytes, files.read_image, files.image_size, files.read_xml])
def test_a_pipe_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="a pipe or a device; expected"):
        read(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    with pytest.raises(DataError, match="a pipe or a device; expected"):
        read(tmp_path / "endless")


def test_underscores_are_no_part_of_numbers(tmp_path):
    (tmp_path / "table.txt").write_text("1 2\n1_0 2\n")
    with pytest.raises(DataError, match=r"line 2: '1_0 2' \(an underscore\)"):
        files.read_table(tmp_path / "table.txt", dtype=int)
    with pytest.raises(ValueError, match="1_0 is no whole number"):
        files.parse_integer("1_0")


def test_a_name_that_no_folder_can_have_is_an_error_of_data():
    with pytest.raises(DataError, match="File name too long"):
        files.require_folder(300 * "a")
