"""The reading functions of the data sets: what is read is right, what is broken is named."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ermlab._utils.image_files import read_image
from ermlab.exceptions import DataError
from reproduction.datasets import files

BOMB = """<!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><annotation>&b;</annotation>"""
EXTERNAL = """<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><annotation>&e;</annotation>"""


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


def test_pgm_stack_equals_pillow(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 5, 4), dtype=np.uint8)
    paths = [tmp_path / f"{i}.pgm" for i in range(3)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    paths[0].write_bytes(b"P5\n# a comment\n4 5\n255\n" + images[0].tobytes())
    np.testing.assert_array_equal(files.read_pgm_stack(paths, (5, 4)), images)
    np.testing.assert_array_equal([read_image(path) for path in paths], images)


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


def test_pages_that_a_small_file_cannot_hold_are_rejected(tmp_path):
    path = tmp_path / "pages.tif"
    path.write_bytes(tiff_of_one_strip(side=20, n_pages=3))
    assert files.read_pages(path).shape == (3, 20, 20)
    path.write_bytes(tiff_of_one_strip(side=2000, n_pages=100))
    with pytest.raises(DataError, match=r"pages\.tif: the header promises 400000000 bytes in a file of"):
        files.read_pages(path)


def test_size_of_an_image_is_in_its_header(tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(np.zeros((4, 7), dtype=np.uint8)).save(path)
    assert files.image_size(path) == (4, 7)


@pytest.mark.parametrize("read", [files.image_size, files.read_xml])
def test_a_pipe_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="a pipe or a device; expected"):
        read(tmp_path / "pipe")


def test_integers(tmp_path):
    assert files.parse_integer("-12") == -12
    for text, message in (("1_0", "is not an integer"), ("9" * 30, "does not fit into 64 bits")):
        with pytest.raises(ValueError, match=message):
            files.parse_integer(text)
    assert files.as_integers(tmp_path, np.array([1.0, 2.0]), "class").tolist() == [1, 2]
    with pytest.raises(DataError, match=r"class 1\.5 in row 2; expected an integer"):
        files.as_integers(tmp_path, np.array([1.0, 1.5]), "class")
