"""Frames from folders, TIFF stacks and zarr arrays, read one at a time."""

import sys

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

from ermlab.exceptions import DataError
from ermlab.tracking import read_stack

FRAMES = np.random.default_rng(0).integers(0, 60_000, (12, 20, 30)).astype(np.uint16)


def folder_of(path, ending=".tif"):
    path.mkdir()
    for t, frame in enumerate(FRAMES):
        if ending == ".png":
            Image.fromarray(frame).save(path / f"frame{t}.png")
        else:
            tifffile.imwrite(path / f"frame{t}_masks{ending}", frame)
    return path


def ome_zarr(path, version):
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    group.create_array("full", data=FRAMES[:, None, None])
    group.create_array("half", data=FRAMES[:, None, None, ::2, ::2])
    scales = {"multiscales": [{"datasets": [{"path": "full"}, {"path": "half"}]}]}
    group.attrs.update({"ome": scales} if version == 3 else scales)


WRITERS = {
    "folder": folder_of,
    "folder of png": lambda path: folder_of(path, ".png"),
    "stack.tif": lambda path: tifffile.imwrite(path, FRAMES),
    "zipped.tiff": lambda path: tifffile.imwrite(path, FRAMES, compression="zlib"),
    "pages.tif": lambda path: [tifffile.imwrite(path, frame, append=True) for frame in FRAMES],
    "time.ome.tif": lambda path: tifffile.imwrite(path, FRAMES, metadata={"axes": "TYX"}),
    "slices.tif": lambda path: tifffile.imwrite(path, FRAMES, imagej=True, metadata={"axes": "ZYX"}),
    "array.zarr": lambda path: zarr.save_array(str(path), FRAMES),
    "image2.ome.zarr": lambda path: ome_zarr(path, 2),
    "image3.ome.zarr": lambda path: ome_zarr(path, 3),
}


@pytest.mark.parametrize("name", WRITERS)
def test_frames_are_read_in_order(name, tmp_path):
    WRITERS[name](tmp_path / name)
    stack = read_stack(tmp_path / name)
    assert len(stack) == 12
    for found, frame in zip(stack, FRAMES, strict=True):
        np.testing.assert_array_equal(found, frame)
    np.testing.assert_array_equal(stack[-1], FRAMES[-1])
    np.testing.assert_array_equal(np.stack(list(stack[2:5])), FRAMES[2:5])
    np.testing.assert_array_equal(read_stack(str(tmp_path / name))[7], FRAMES[7])
    with pytest.raises(IndexError):
        stack[12]


def test_a_pattern_selects_masks(tmp_path):
    folder_of(tmp_path / "both")
    for t in range(3):
        tifffile.imwrite(tmp_path / "both" / f"frame{t}.tif", FRAMES[t] * 0)
    assert len(read_stack(tmp_path / "both")) == 15
    np.testing.assert_array_equal(read_stack(tmp_path / "both", "*_masks.tif")[10], FRAMES[10])
    with pytest.raises(DataError, match=r"both: no image \*_cp\.tif; expected files that end with"):
        read_stack(tmp_path / "both", "*_cp.tif")


def test_labels_of_32_bits_are_kept(tmp_path):
    labels = FRAMES.astype(np.uint32) << 15
    tifffile.imwrite(tmp_path / "one.tif", labels[0])
    np.testing.assert_array_equal(read_stack(tmp_path / "one.tif")[0], labels[0])


@pytest.mark.parametrize(
    ("name", "array", "axes"),
    [
        ("volume.ome.tif", FRAMES, "ZYX"),
        ("volumes.ome.tif", FRAMES.reshape(3, 4, 20, 30), "TZYX"),
        ("channels.ome.tif", FRAMES.reshape(6, 2, 20, 30), "TCYX"),
        ("color.tif", FRAMES[..., None].repeat(3, axis=-1).astype(np.uint8), None),
    ],
)
def test_volumes_and_channels_are_refused(name, array, axes, tmp_path):
    tifffile.imwrite(tmp_path / name, array, metadata=axes and {"axes": axes}, photometric=None)
    with pytest.raises(DataError, match=r"axes \w+ of lengths .*volumes \(3-D\) and channels are not supp"):
        read_stack(tmp_path / name)


def test_volumes_in_zarr_are_refused(tmp_path):
    zarr.save_array(str(tmp_path / "a.zarr"), FRAMES.reshape(3, 4, 20, 30))
    with pytest.raises(DataError, match=r"a\.zarr: shape \(3, 4, 20, 30\); expected frames of two axes"):
        read_stack(tmp_path / "a.zarr")
    zarr.open_group(str(tmp_path / "empty.zarr"), mode="w")
    with pytest.raises(DataError, match=r"empty\.zarr: .*; expected a zarr array"):
        read_stack(tmp_path / "empty.zarr")


def test_broken_files_are_refused(tmp_path):
    for name, content, message in (
        ("text.tif", b"no image", "expected a TIFF file"),
        ("empty.tif", b"", "expected a TIFF file"),
        ("film.avi", b"RIFF", r"a file with the ending '\.avi'"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_stack(tmp_path / name)
    with pytest.raises(DataError, match="No such file"):
        read_stack(tmp_path / "nothing.tif")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: no image"):
        read_stack(tmp_path / "folder")
    tifffile.imwrite(tmp_path / "folder" / "t0.tif", FRAMES)
    with pytest.raises(DataError, match=r"t0\.tif: 12 images; expected one per file"):
        read_stack(tmp_path / "folder")[0]
    tifffile.imwrite(tmp_path / "cut.tif", FRAMES, compression="zlib")
    whole = (tmp_path / "cut.tif").read_bytes()
    for n in range(8, len(whole), len(whole) // 40):
        (tmp_path / "cut.tif").write_bytes(whole[:n])
        with pytest.raises(DataError, match=r"cut\.tif"):
            list(read_stack(tmp_path / "cut.tif"))


def test_zarr_is_named_if_it_is_missing(tmp_path, monkeypatch):
    WRITERS["array.zarr"](tmp_path / "array.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"needs zarr: run `pip install 'ermlab\[zarr\]'`"):
        read_stack(tmp_path / "array.zarr")
