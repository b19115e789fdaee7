"""Readers of brain images on tiny scans made here, whole and broken."""

import os

import nibabel as nib
import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.fmri.volumes import read_volume
from reproduction.datasets.bold_files import read_regions
from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts

AFFINE = np.diag([3.0, 3.0, 3.0, 1.0])


def save_nifti(path, data, repetition_time=2.5, affine=AFFINE):
    image = nib.Nifti1Image(data, affine)
    if data.ndim == 4:
        image.header.set_zooms((3.0, 3.0, 3.0, repetition_time))
    image.to_filename(path)


def bold(value=1.0, volumes=6):
    data = np.full((4, 3, 1, volumes), 1.0, dtype=np.float32)
    data[0, 0, 0, 0] = value
    return data


@pytest.fixture
def haxby(tmp_path):
    save_nifti(tmp_path / "bold.nii.gz", bold())
    mask = np.zeros((4, 3, 1), dtype=np.int16)
    mask[1:3] = 2
    save_nifti(tmp_path / "mask.nii.gz", mask)
    (tmp_path / "attributes_literal.txt").write_text("rest 0\nface 0\nrest 0\nrest 1\ncat 1\nrest 1\n")
    return tmp_path


def test_haxby2001_slice(haxby):
    data = read_haxby2001_slice(haxby)
    assert data.bold.shape == (4, 3, 1, 6)
    assert data.mask.dtype == bool
    assert data.mask.sum() == 6
    assert data.labels.tolist() == ["rest", "face", "rest", "rest", "cat", "rest"]
    assert data.runs.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.repetition_time == 2.5
    np.testing.assert_allclose(data.affine, AFFINE)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "bold.nii.gz").unlink(), r"bold\.nii\.gz: no such file"),
        (lambda f: (f / "bold.nii.gz").write_bytes(b"junk"), r"bold\.nii\.gz: .*of 4 dimensions"),
        (
            lambda f: (f / "bold.nii.gz").write_bytes((f / "bold.nii.gz").read_bytes()[:-20]),
            r"bold\.nii\.gz: .*of 4 dimensions",
        ),
        (lambda f: save_nifti(f / "bold.nii.gz", bold(np.nan)), "NaN or infinite voxels"),
        (lambda f: save_nifti(f / "bold.nii.gz", bold()[..., 0]), r"shape \(4, 3, 1\)"),
        (lambda f: save_nifti(f / "bold.nii.gz", bold(), 0.0), "repetition time 0.0; expected seconds"),
        (lambda f: save_nifti(f / "bold.nii.gz", bold(volumes=5)), "6 lines; expected one for each of 5"),
        (lambda f: save_nifti(f / "mask.nii.gz", np.ones((3, 3, 1))), r"mask\.nii\.gz: shape \(3, 3, 1\)"),
        (lambda f: save_nifti(f / "mask.nii.gz", np.zeros((4, 3, 1))), "no voxel in the mask"),
        (
            lambda f: save_nifti(f / "mask.nii.gz", np.ones((4, 3, 1)), affine=2 * AFFINE),
            r"mask\.nii\.gz: .*expected those of bold",
        ),
        (lambda f: (f / "attributes_literal.txt").write_text("rest 0\nface"), "line 2: 'face'"),
        (lambda f: (f / "attributes_literal.txt").write_text("rest x"), "line 1: 'rest x'"),
        (lambda f: (f / "attributes_literal.txt").write_text(""), "the file is empty"),
    ],
)
def test_broken_haxby2001_slice(haxby, damage, message):
    damage(haxby)
    with pytest.raises(DataError, match=message):
        read_haxby2001_slice(haxby)


def save_map(folder, subject, data):
    nib.Spm2AnalyzeImage(data.astype(np.float32), AFFINE).to_filename(folder / f"older/con_{subject:04d}.img")


@pytest.fixture
def wager(tmp_path):
    (tmp_path / "older").mkdir()
    for subject in (1, 2, 3):
        data = np.full((4, 3, 2, 1), subject)
        save_map(tmp_path, subject, data)
    data = data.astype(float)
    data[0, 0, 0] = np.nan
    save_map(tmp_path, 3, data)
    table = "X_RVLPFC\tY_Reappraisal_Success\n1.5\t0.5\n-2\t0.25\n3\t-1\n"
    (tmp_path / "Wager_2008_emotionreg_behavioral_data.txt").write_text(table)
    return tmp_path


def test_wager2008_contrasts(wager):
    data = read_wager2008_contrasts(wager)
    assert data.maps.shape == (3, 4, 3, 2)
    assert data.maps[:, 1, 1, 1].tolist() == [1, 2, 3]
    assert data.mask.sum() == 4 * 3 * 2 - 1
    assert not data.mask[0, 0, 0]
    assert data.score.tolist() == [0.5, 0.25, -1]
    assert data.prefrontal.tolist() == [1.5, -2, 3]


def scores(text):
    return lambda folder: (folder / "Wager_2008_emotionreg_behavioral_data.txt").write_text(text)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (scores("X\tY\n1\t2\n"), "1 subjects; expected one for each of 3 maps"),
        (scores("X\tY\n1\t2\n3\n"), "line 3: '3'"),
        (scores("X\tY\n1\tnan\n"), "line 2: .*not finite"),
        (scores("X\tY\n"), "the file is empty"),
        (lambda f: (f / "older/con_0002.hdr").unlink(), r"con_0002\.img"),
        (lambda f: (f / "older/con_0002.img").write_bytes(b"short"), r"con_0002\.img"),
        (lambda f: save_map(f, 2, np.ones((4, 3, 3))), r"con_0002\.img: shape \(4, 3, 3\)"),
        (lambda f: save_map(f, 2, np.ones((4, 3, 2, 2))), r"shape \(4, 3, 2, 2\); .*3 dimensions"),
        (lambda f: save_map(f, 2, np.full((4, 3, 2), np.nan)), "no voxel is finite in all maps"),
        (lambda f: [path.unlink() for path in f.glob("older/*")], r"no file con_\*\.img"),
    ],
)
def test_broken_wager2008_contrasts(wager, damage, message):
    damage(wager)
    with pytest.raises(DataError, match=message):
        read_wager2008_contrasts(wager)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_promise_that_a_small_file_cannot_keep_is_refused_before_anything_is_allocated(tmp_path, name):
    save_nifti(tmp_path / name, bold())
    image = nib.load(tmp_path / name)
    header = image.header.copy()
    header["dim"][1:5] = 1000
    with nib.openers.ImageOpener(str(tmp_path / name), "wb") as file:
        file.write(header.binaryblock + bytes(400))
    with pytest.raises(DataError, match="the header promises 4000000000000 bytes in a file of"):
        read_volume(tmp_path / name, ndim=4)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("datatype", 7, "HeaderDataError: data code 7 not recognized"),
        ("datatype", 128, "expected real numbers"),
        ("dim", (4, 3, 0, 2, 2, 1, 1, 1), r"shape \(3, 0, 2, 2\)"),
        ("srow_x", (np.nan, 0, 0, 0), "not finite"),
        ("vox_offset", np.inf, "OverflowError"),
    ],
)
def test_nonsense_in_a_header_is_reported(tmp_path, field, value, message):
    path = tmp_path / "a.nii"
    save_nifti(path, bold())
    content = bytearray(path.read_bytes())
    header = np.frombuffer(content[:348], dtype=nib.Nifti1Header.template_dtype).copy()
    header["sform_code"], header["qform_code"] = 1, 0
    header[field] = value
    path.write_bytes(header.tobytes() + content[348:])
    with pytest.raises(DataError, match=rf"a\.nii: .*{message}"):
        read_volume(path, ndim=4)


@pytest.mark.parametrize("partner", [".hdr", ".mat"])
def test_a_pipe_beside_an_analyze_image_is_not_waited_for(tmp_path, partner):
    nib.Spm2AnalyzeImage(np.ones((2, 2, 2), dtype=np.float32), np.eye(4)).to_filename(tmp_path / "con.img")
    (tmp_path / f"con{partner}").unlink(missing_ok=True)
    os.mkfifo(tmp_path / f"con{partner}")
    with pytest.raises(DataError, match=r"con\.(hdr|mat): a pipe"):
        read_volume(tmp_path / "con.img", ndim=3)


def test_voxels_without_a_size_are_refused(tmp_path):
    image = nib.Nifti1Image(np.ones((2, 2, 2), dtype=np.int16), np.eye(4))
    content = bytearray(image.to_bytes())
    content[312:328] = bytes(16)  # srow_z, which nibabel sets anew from the affine
    content[252:256] = bytes([0, 0, 1, 0])
    (tmp_path / "regions.nii").write_bytes(content)
    with pytest.raises(DataError, match=r"regions\.nii: an affine with voxels of size 0"):
        read_regions(tmp_path / "regions.nii")
