"""Images are read completely or rejected before anything is allocated."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ermlab._utils import image_files
from ermlab.exceptions import DataError


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "pgm"])
def test_truncated_image(tmp_path, suffix):
    path = tmp_path / f"image.{suffix}"
    noise = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    assert image_files.read_image(path).shape == (64, 64)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match=rf"image\.{suffix}: .*; expected a complete image"):
        image_files.read_image(path)


def test_label_images_hold_whole_numbers(tmp_path):
    path = tmp_path / "labels.tif"
    labels = np.array([[0, 300], [65535, 1]], dtype=np.uint16)
    Image.fromarray(labels).save(path)
    np.testing.assert_array_equal(image_files.read_labels(path), labels)
    Image.fromarray(labels.astype(np.float32)).save(path)
    with pytest.raises(DataError, match="float32; expected a label image of 8 or 16 bits"):
        image_files.read_labels(path)
    Image.fromarray(labels.astype(np.int32)).save(path)
    with pytest.raises(DataError, match="int32; expected a label image"):
        image_files.read_labels(path)
    Image.fromarray(np.zeros((2, 2, 3), dtype=np.uint8)).save(path)
    with pytest.raises(DataError, match="expected a label image"):
        image_files.read_labels(path)


def test_images_stay_on_disk_until_asked_for(tmp_path):
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    Image.fromarray(np.full((2, 3, 3), 7, dtype=np.uint8)).save(paths[1])
    images = image_files.ImageFiles(paths)
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


def test_a_promise_that_a_small_file_cannot_keep_is_rejected_before_anything_is_allocated(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(png_header(9000, 9000))
    with pytest.raises(DataError, match=r"image\.png: the header promises 81000000 bytes in a file of"):
        image_files.read_image(path)


def test_content_that_is_compressed_as_far_as_possible_is_read(tmp_path):
    path = tmp_path / "black.png"
    Image.fromarray(np.zeros((9000, 9000), dtype=np.uint8)).save(path)
    assert not image_files.read_image(path).any()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="a pipe or a device; expected"):
        image_files.read_image(tmp_path / "pipe")
