"""The command `ermlab segment`: equal to the library, pairing of files, and broken input."""

import numpy as np
import pytest
from PIL import Image

from ermlab.segmentation import ImageSegmenter


@pytest.fixture
def folder(workspace):
    return workspace("segment")


def images_of(folder, pattern):
    return [np.array(Image.open(path).convert("L")) for path in sorted(folder.glob(pattern))]


def test_training_and_prediction_equal_the_library(folder, summary):
    learned = summary("segment", "train", "images", "labels", "model.segmenter")
    library = ImageSegmenter().fit(
        images_of(folder, "images/*"), [mask.astype(int) for mask in images_of(folder, "labels/*")]
    )
    assert learned["classes"] == [0, 255]
    np.testing.assert_array_equal(ImageSegmenter.load("model.segmenter").coef_, library.coef_)
    new, truth = images_of(folder, "new_images/*"), images_of(folder, "new_labels/*")
    found = summary("segment", "predict", "model.segmenter", "new_images", "out", "--labels", "new_labels")
    assert found["accuracy"] == library.score(new, [mask.astype(int) for mask in truth])
    assert found["accuracy"] > 0.9
    expected = library.predict(new)
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "0_image.png",
        "0_image_overlay.jpg",
        "1_image.png",
        "1_image_overlay.jpg",
    ]
    for k in range(2):
        np.testing.assert_array_equal(np.array(Image.open(folder / f"out/{k}_image.png")), expected[k])
        assert Image.open(folder / f"out/{k}_image_overlay.jpg").size == (40, 32)


def test_pixels_of_unknown_class_are_left_out(folder, run):
    truth = np.zeros((32, 40), dtype=np.uint8)
    truth[:, 20:] = 255
    truth[:, 10:30] = 7
    for path in (folder / "labels").iterdir():
        Image.fromarray(truth).save(path.with_suffix(".png"))
        path.unlink()
    run("segment", "train", "images", "labels", "model.segmenter", "--kind", "unary", "--ignore", 7)
    assert ImageSegmenter.load("model.segmenter").classes_.tolist() == [0, 255]


def test_colors_of_a_palette_are_classes(folder, summary):
    for path in (folder / "labels").iterdir():
        image = Image.fromarray((np.array(Image.open(path)) > 0).astype(np.uint8), mode="P")
        image.putpalette([200, 0, 0, 0, 200, 0])
        image.save(path.with_suffix(".png"))
        path.unlink()
    learned = summary("segment", "train", "images", "labels", "model.segmenter", "--kind", "unary")
    assert learned["classes"] == [0, 1]


def test_broken_input(folder, run, refusal):
    (folder / "empty").mkdir()
    (folder / "other").mkdir()
    Image.new("L", (40, 32)).save(folder / "other/cat.png")
    (folder / "small").mkdir()
    (folder / "colored").mkdir()
    (folder / "constant").mkdir()
    for k in range(3):
        Image.new("L", (4, 4)).save(folder / f"small/{k}.png")
        Image.new("RGB", (40, 32)).save(folder / f"colored/{k}.png")
        Image.new("L", (40, 32)).save(folder / f"constant/{k}.png")
    for images, labels, message in (
        ("absent", "labels", "absent: no such file or folder"),
        ("images", "empty", "empty: no images"),
        ("images", "other", "other: no file for the image 0_image.tif; expected one of the same name"),
        ("images", "small", "small/0.png: shape (4, 4); expected (32, 40), that of the image"),
        ("images", "colored", "colored/0.png: shape (32, 40, 3) of uint8; expected a label image"),
        ("images", "constant", "expected at least 2 classes"),
    ):
        assert message in refusal("segment", "train", images, labels, "model.segmenter")
        assert not (folder / "model.segmenter").exists()
    run("segment", "train", "images", "labels", "model.segmenter", "--kind", "unary")
    assert "colored" not in refusal("segment", "predict", "absent", "images", "out")
    assert "3 channels: expected 1" in refusal("segment", "predict", "model.segmenter", "colored", "out")
    assert not (folder / "out").exists()
    (folder / "taken").write_text("")
    assert "taken: a file; expected a folder" in refusal("segment", "predict", "m", "images", "taken")
