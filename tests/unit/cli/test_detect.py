"""The command `ermlab detect`: equal to the library, with tables and XML files, and with broken input."""

import json

import numpy as np
import pytest
from PIL import Image

from ermlab.detection import BoxDetector, read_boxes

XML = """<annotation><filename>{name}</filename><object><name>{label}</name>
<bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object></annotation>"""


@pytest.fixture
def folder(workspace):
    return workspace("detect")


def test_training_and_prediction_equal_the_library(folder, run, summary):
    learned = summary("detect", "train", "images", "boxes.csv", "model.detector", "--cells", 24)
    assert (learned["images"], learned["boxes"]) == (6, 5)
    given = read_boxes("boxes.csv")
    images = [np.array(Image.open(folder / f"images/{k}.png")) for k in range(6)]
    boxes = [given.get(f"{k}.png", np.empty((0, 4), int)) for k in range(6)]
    library = BoxDetector(n_cells=24).fit(images, boxes)
    np.testing.assert_allclose(BoxDetector.load("model.detector").coef_, library.coef_, rtol=1e-6, atol=1e-9)
    args = ("new_images", "found.json", "--boxes", "new_boxes.csv", "--overlay", "pictures")
    found = summary("detect", "predict", "model.detector", *args)
    assert found["average_precision"] == 1
    assert (found["right"], found["true_boxes"]) == (2, 2)
    new = [np.array(Image.open(folder / f"new_images/{k}.png")) for k in range(3)]
    expected = library.predict(new)
    content = json.loads((folder / "found.json").read_text())
    assert list(content) == ["0.png", "1.png", "2.png"]
    for of_image, (boxes, scores) in zip(content.values(), zip(*expected, strict=True), strict=True):
        assert [row["box"] for row in of_image] == boxes.tolist()
        np.testing.assert_allclose([row["score"] for row in of_image], scores, rtol=1e-4)
    run("detect", "predict", "model.detector", "new_images", "found.csv")
    lines = (folder / "found.csv").read_text().splitlines()
    assert lines[0] == "image,x0,y0,x1,y1,score"
    assert len(lines) - 1 == sum(map(len, content.values()))
    for k in range(3):
        picture = np.array(Image.open(folder / f"pictures/{k}.png"))
        assert picture.shape == (90, 120, 3)
        boxes = [row["box"] for row in content[f"{k}.png"]]
        colored = (picture == (213, 94, 0)).all(axis=2)
        assert colored.any() == bool(boxes)
        for left, top, *_ in boxes:
            assert colored[top, left]


def test_boxes_as_in_pascal_voc(folder, run, summary):
    (folder / "xml").mkdir()
    for name, boxes in read_boxes("boxes.csv").items():
        text = XML.format(*(boxes[0] + 1), name=name, label="frame")
        (folder / "xml" / name.replace(".png", ".xml")).write_text(text)
    run("detect", "train", "images", "boxes.csv", "a.detector", "--cells", 24)
    run("detect", "train", "images", "xml", "b.detector", "--cells", 24, "--label", "frame")
    one, other = BoxDetector.load("a.detector"), BoxDetector.load("b.detector")
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_no_detection_is_explained(folder, run):
    run("detect", "train", "images", "boxes.csv", "model.detector", "--cells", 24)
    args = ("model.detector", "new_images/0.png", "found.csv", "--min-score", 1e6)
    assert "lower --min-score" in run("detect", "predict", *args).stdout


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("image,x0,y0,x1\n0.png,1,1,5\n", "no column 'y1'"),
        ("image,x0,y0,x1,y1\n", "no rows below"),
        ("image,x0,y0,x1,y1\n0.png,1,1,nan,5\n", "row 1, column 'x1': nan; expected a finite number"),
        ("image,x0,y0,x1,y1\n0.png,9,1,5,5\n", "the box [9, 1, 5, 5]; expected x0 <= x1"),
        ("image,x0,y0,x1,y1\nother.png,1,1,5,5\n", "boxes of other.png; expected images of images"),
        (
            "image,x0,y0,x1,y1\n0.png,500,1,505,5\n",
            "[500, 1, 505, 5] of 0.png; expected boxes inside",
        ),
    ],
)
def test_broken_boxes(folder, refusal, table, message):
    (folder / "bad.csv").write_text(table)
    assert message in refusal("detect", "train", "images", "bad.csv", "model.detector")
    assert not (folder / "model.detector").exists()


def test_broken_images_and_outputs(folder, run, refusal):
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken/0.png").write_bytes((folder / "images/0.png").read_bytes()[:100])
    assert "absent: no such file or folder" in refusal("detect", "train", "absent", "boxes.csv", "m")
    assert "empty: no images" in refusal("detect", "train", "empty", "boxes.csv", "m")
    assert "broken/0.png: " in refusal("detect", "train", "broken", "boxes.csv", "m")
    assert "absent.csv: No such file" in refusal("detect", "train", "images", "absent.csv", "m")
    run("detect", "predict", "m", "images", "found.txt", code=2)
    run("detect", "train", "images", "boxes.csv", "m", "--cells", 24)
    (folder / "pictures").mkdir()
    (folder / "pictures/mine.txt").write_text("mine")
    args = ("detect", "predict", "m", "new_images", "found.csv", "--overlay", "pictures")
    assert "pictures: there is mine.txt; expected an empty folder, or --force" in refusal(*args)
    assert not (folder / "found.csv").exists()
    run(*args, "--force")
    assert (folder / "pictures/mine.txt").read_text() == "mine"
    assert (folder / "pictures/0.png").exists()
