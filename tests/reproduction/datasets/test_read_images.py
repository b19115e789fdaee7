"""Readers of image collections on tiny collections made here, whole and broken."""

import shutil

import numpy as np
import pytest
from PIL import Image

from ermlab.exceptions import DataError
from reproduction.datasets import flowers17
from reproduction.datasets.daimler_pedestrians import read_daimler_pedestrians
from reproduction.datasets.drive_vessels import read_drive_vessels
from reproduction.datasets.flowers17 import read_flowers17
from reproduction.datasets.kit_ais_cars import read_kit_ais_cars
from reproduction.datasets.uiuc_cars import read_uiuc_cars
from reproduction.datasets.voc2007_sample import CLASSES, read_voc2007_sample


def save(path, shape, value=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(shape, value, dtype=np.uint8)).save(path)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.fixture
def uiuc(tmp_path):
    for number in range(11):
        save(tmp_path / f"TrainImages/pos-{number}.pgm", (40, 100), number)
        save(tmp_path / f"TestImages/test-{number}.pgm", (60, 150), number)
    save(tmp_path / "TrainImages/neg-0.pgm", (40, 100))
    for number in range(2):
        save(tmp_path / f"TestImages_Scale/test-{number}.pgm", (60, 150), number)
    lines = ["0: (48,26)", "1: (6,-2) (3,40)", *(f"{number}:" for number in range(2, 11))]
    (tmp_path / "trueLocations.txt").write_text("\n".join(lines))
    (tmp_path / "trueLocations_Scale.txt").write_text("0: (67,-1,156)\n1: (5,28,91)\n")
    return tmp_path


def test_uiuc_cars(uiuc):
    data = read_uiuc_cars(uiuc)
    assert data.cars.shape == (11, 40, 100)
    assert data.cars[:, 0, 0].tolist() == list(range(11))  # by number, not by name
    assert [image[0, 0] for image in data.single_scale.images] == list(range(11))
    # (row, column) of the top left corner; 100 x 40 pixels with inclusive corners
    assert data.single_scale.boxes[0].tolist() == [[26, 48, 125, 87]]
    assert data.single_scale.boxes[1].tolist() == [[-2, 6, 97, 45], [40, 3, 139, 42]]
    assert data.single_scale.boxes[2].shape == (0, 4)
    # height .4 of the width: 62 for 156, 36 for 91
    assert data.multi_scale.boxes[0].tolist() == [[-1, 67, 154, 128]]
    assert data.multi_scale.boxes[1].tolist() == [[28, 5, 118, 40]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "trueLocations.txt").unlink(), r"trueLocations\.txt: No such file"),
        (lambda f: (f / "trueLocations.txt").write_text("0: (1,2)\n1: 3,4"), "line 2: '1: 3,4'"),
        (lambda f: (f / "trueLocations.txt").write_text("0: (1,2,3)"), r"line 1: .*3 values in \(1,2,3\)"),
        (lambda f: (f / "trueLocations.txt").write_text("0: (1,2)"), "expected one line, in order, for each"),
        (lambda f: (f / "trueLocations_Scale.txt").write_text("0: (1,2,0)\n1:"), "width 0"),
        (lambda f: (f / "trueLocations_Scale.txt").write_text("0: (1,nan,9)\n1:"), "line 1"),
        (lambda f: truncate(f / "TrainImages/pos-3.pgm"), r"pos-3\.pgm: 3980 bytes of pixels"),
        (lambda f: truncate(f / "TestImages/test-3.pgm"), r"test-3\.pgm: .*expected a complete image"),
        (lambda f: save(f / "TrainImages/neg-0.pgm", (100, 40)), r"neg-0\.pgm: 100 rows of 40 pixels"),
        (lambda f: (f / "TestImages/test-4.pgm").unlink(), r"test-5\.pgm; expected number 4"),
        (lambda f: shutil.rmtree(f / "TestImages_Scale"), "TestImages_Scale: no such folder"),
        (lambda f: (f / "TrainImages/neg-0.pgm").unlink(), r"no file neg-\*\.pgm"),
    ],
)
def test_broken_uiuc_cars(uiuc, damage, message):
    damage(uiuc)
    with pytest.raises(DataError, match=message):
        read_uiuc_cars(uiuc)


ANNOTATION = """<annotation><filename>a.jpg</filename><size><width>30</width><height>20</height></size>
<object><name>cat</name><difficult>1</difficult>
<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>20</ymax></bndbox></object></annotation>"""


@pytest.fixture
def voc(tmp_path):
    save(tmp_path / "JPEGImages/a.jpg", (20, 30, 3))
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations/a.xml").write_text(ANNOTATION)
    return tmp_path


def test_voc2007_sample(voc):
    data = read_voc2007_sample(voc)
    assert data.images[0].shape == (20, 30, 3)
    assert data.boxes[0].tolist() == [[0, 1, 29, 19]]  # the files count from 1
    assert CLASSES[data.labels[0][0]] == "cat"
    assert data.difficult[0].tolist() == [True]


def test_voc_image_without_objects(voc):
    (voc / "Annotations/a.xml").write_text(ANNOTATION.replace("object", "part"))
    assert read_voc2007_sample(voc).boxes[0].shape == (0, 4)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a.jpg", "../Annotations/a.xml", "leaves"),
        ("a.jpg", "b.jpg", r"b\.jpg: .*No such file"),
        ("<filename>a.jpg</filename>", "", "has no <filename>"),
        ("cat", "unicorn", "class 'unicorn'; expected one of aeroplane"),
        ("<xmax>30", "<xmax>31", "expected one inside 30 x 20 pixels"),
        ("<xmin>1<", "<xmin>0<", "expected one inside 30 x 20 pixels"),
        ("<ymax>20", "<ymax>1", "expected one inside 30 x 20 pixels"),
        ("<xmin>1<", "<xmin>nan<", "<bndbox/xmin> is 'nan'; expected a number"),
        ("<height>20", "<height>21", r"height and width \(21, 30\); expected \(20, 30\)"),
        ("</annotation>", "", "expected well-formed XML"),
        ("<annotation>", '<!DOCTYPE a [<!ENTITY b "c">]><annotation>', "EntitiesForbidden"),
    ],
)
def test_broken_voc_annotation(voc, old, new, message):
    (voc / "Annotations/a.xml").write_text(ANNOTATION.replace(old, new))
    with pytest.raises(DataError, match=message):
        read_voc2007_sample(voc)


def test_broken_voc_image(voc):
    data = read_voc2007_sample(voc)
    (voc / "JPEGImages/a.jpg").write_bytes(b"not an image")
    with pytest.raises(DataError, match=r"a\.jpg: .*expected a complete image"):
        data.images[0]
    with pytest.raises(DataError, match=r"a\.jpg: .*expected a complete image"):
        read_voc2007_sample(voc)


@pytest.fixture
def daimler(tmp_path):
    for name in ("1", "2", "3", "T1", "T2"):
        for number in range(12):
            save(tmp_path / name / f"ped_examples/img_{number:05d}.pgm", (36, 18), number)
        save(tmp_path / name / "non-ped_examples/img_00000.pgm", (36, 18))
    return tmp_path


def test_daimler_pedestrians(daimler):
    data = read_daimler_pedestrians(daimler)
    assert len(data.train) == 3
    assert len(data.test) == 2
    assert data.train[0].pedestrians.shape == (12, 36, 18)
    assert data.test[1].base[:, 0, 0].tolist() == [0, 6]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "T2"), "ped_examples: no such folder"),
        (lambda f: (f / "2/ped_examples/img_00011.pgm").unlink(), "11 images; expected blocks of 6"),
        (lambda f: (f / "2/ped_examples/img_00003.pgm").unlink(), "expected number 3"),
        (lambda f: truncate(f / "3/ped_examples/img_00003.pgm"), r"img_00003\.pgm: 628 bytes"),
        (lambda f: save(f / "1/non-ped_examples/img_00000.pgm", (18, 36)), "18 rows of 36"),
        (lambda f: (f / "1/non-ped_examples/img_00000.pgm").unlink(), r"no file img_\*\.pgm"),
    ],
)
def test_broken_daimler_pedestrians(daimler, damage, message):
    damage(daimler)
    with pytest.raises(DataError, match=message):
        read_daimler_pedestrians(daimler)


@pytest.fixture
def aerial(tmp_path):
    for name in ("MOS74", "MOS76", "MOS100", "MOS103", "Street-MOS74"):
        save(tmp_path / f"{name}.png", (50, 100, 3))
        (tmp_path / f"{name}.txt").write_text("0 0.5 0.5 0.2 0.1\n2 0.1 0.2 0.01 0.02\n")
    return tmp_path


def test_kit_ais_cars(aerial):
    data = read_kit_ais_cars(aerial)
    assert data.scenes.tolist() == ["MOS74-76", "MOS74-76", "MOS100-103", "MOS100-103", "Street"]
    assert [path.stem for path in data.images.paths] == ["MOS74", "MOS76", "MOS100", "MOS103", "Street-MOS74"]
    assert data.labels[0].tolist() == [0, 2]
    # 20 x 5 pixels around (50, 25): columns 40 to 59
    np.testing.assert_allclose(data.cars(0), [[40, 22.5, 59, 26.5]])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "MOS74.txt").unlink(), r"MOS74\.txt: No such file"),
        (lambda f: (f / "MOS74.txt").write_text("0 0.5 0.5 0.2"), "line 1: .*expected 5 finite float"),
        (lambda f: (f / "MOS74.txt").write_text("0 0.5 nan 0.2 0.1"), "not finite"),
        (lambda f: (f / "MOS74.txt").write_text("0 50 25 20 5"), r"shares in \[0, 1\]"),
        (lambda f: (f / "MOS74.txt").write_text("0.5 0.5 0.5 0.2 0.1"), "an integer"),
        (lambda f: (f / "MOS74.txt").write_text(""), "the file is empty"),
        (lambda f: (f / "MOS74.png").write_bytes(b""), r"MOS74\.png: .*expected a complete image"),
        (lambda f: [path.unlink() for path in f.glob("*.png")], r"no file \*\.png"),
    ],
)
def test_broken_kit_ais_cars(aerial, damage, message):
    damage(aerial)
    with pytest.raises(DataError, match=message):
        read_kit_ais_cars(aerial)


@pytest.fixture
def flowers(tmp_path):
    for number in range(1, 35):
        save(tmp_path / f"image_{number:04d}.jpg", (8, 8, 3), number)
    return tmp_path


def test_flowers17(flowers):
    data = read_flowers17(flowers)
    assert len(data.images) == 34
    assert data.labels.tolist() == np.repeat(range(17), 2).tolist()
    assert len(flowers17.CLASSES) == 17
    assert data.images[-1].shape == (8, 8, 3)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "image_0034.jpg").unlink(), "33 images; expected the same number of each of the 17"),
        (lambda f: (f / "image_0004.jpg").unlink(), "expected number 4"),
        (lambda f: shutil.rmtree(f), "no such folder"),
    ],
)
def test_broken_flowers17(flowers, damage, message):
    damage(flowers)
    with pytest.raises(DataError, match=message):
        read_flowers17(flowers)


def test_broken_flower_image(flowers):
    truncate(flowers / "image_0002.jpg")
    with pytest.raises(DataError, match=r"image_0002\.jpg: .*expected a complete image"):
        read_flowers17(flowers).images[1]


def save_mask(path, shape, levels=(0, 255)):
    """Save a mask whose first row is bright."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mask = np.full(shape, levels[0], dtype=np.uint8)
    mask[0] = levels[1]
    Image.fromarray(mask).save(path)


@pytest.fixture
def retinas(tmp_path):
    for part, first in (("training", 21), ("test", 1)):
        for number in range(first, first + 5):
            save(tmp_path / part / f"images/{number:02d}_{part}.tif", (6, 5, 3), number)
            save_mask(tmp_path / part / f"mask/{number:02d}_{part}_mask.gif", (6, 5))
            save_mask(tmp_path / part / f"1st_manual/{number:02d}_manual1.gif", (6, 5))
            if part == "test":
                save_mask(tmp_path / part / f"2nd_manual/{number:02d}_manual2.gif", (6, 5), (4, 252))
    return tmp_path


def test_drive_vessels(retinas):
    data = read_drive_vessels(retinas)
    assert data.training.numbers.tolist() == [21, 22, 23, 24, 25]
    assert data.training.pathological.tolist() == [False] * 4 + [True]
    assert data.test.pathological.tolist() == [False, False, True, False, False]
    assert data.test.images[2][0, 0].tolist() == [3, 3, 3]
    assert len(data.training.second) == 0
    for masks in (data.test.fields, data.test.first, data.test.second, data.training.first):
        assert masks[0].dtype == bool
        assert masks[0].sum(axis=1).tolist() == [5, 0, 0, 0, 0, 0]


def test_masks_with_a_palette(retinas):
    """The masks of the second observer are indices into a palette of two colors that need not be in order."""
    path = retinas / "test/2nd_manual/01_manual2.gif"
    indices = np.zeros((6, 5), dtype=np.uint8)
    indices[2:] = 1
    for palette, bright in (([4, 2, 4, 252, 254, 252], 1), ([252, 254, 252, 4, 2, 4], 0)):
        image = Image.fromarray(indices, mode="P")
        image.putpalette(palette)
        image.save(path)
        np.testing.assert_array_equal(read_drive_vessels(retinas).test.second[0], indices == bright)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "test"), r"test/images: no such folder"),
        (
            lambda f: (f / "test/images/02_test.tif").unlink(),
            "the next file is 03_test.tif; expected number 2",
        ),
        (lambda f: (f / "training/mask/21_training_mask.gif").unlink(), "21_training_mask.gif: No such file"),
        (lambda f: (f / "test/2nd_manual/05_manual2.gif").unlink(), "05_manual2.gif: No such file"),
        (
            lambda f: save_mask(f / "test/1st_manual/02_manual1.gif", (5, 6)),
            "02_manual1.gif: 5 rows of 6 pixels; expected 6 rows of 5, as 02_test.tif",
        ),
        (lambda f: (f / "test/mask/01_test_mask.gif").write_bytes(b"GIF89a"), "expected a complete image"),
    ],
)
def test_broken_drive_vessels(retinas, damage, message):
    damage(retinas)
    with pytest.raises(DataError, match=message):
        read_drive_vessels(retinas)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda f: save_mask(f / "test/mask/01_test_mask.gif", (6, 5), (0, 0)),
            "01_test_mask.gif: a mask of zeros",
        ),
        (lambda f: save_mask(f / "test/mask/01_test_mask.gif", (6, 5), (0, 128)), "a pixel of level 128"),
        (lambda f: save(f / "test/images/01_test.tif", (6, 5)), "an image of mode L; expected an RGB image"),
        (lambda f: truncate(f / "test/images/01_test.tif"), r"01_test\.tif: .*expected a complete image"),
    ],
)
def test_broken_drive_photograph(retinas, damage, message):
    damage(retinas)
    test = read_drive_vessels(retinas).test
    with pytest.raises(DataError, match=message):
        _ = test.images[0], test.fields[0]
