"""The simulator of the VOC sample: files that the reader reads, the same for the same seed."""

from pathlib import Path

import numpy as np
import pytest

from reproduction.acquire.registry import acquire
from reproduction.datasets.simulators.scenes import draw_scene
from reproduction.datasets.simulators.scenes.writing import write_scenes
from reproduction.datasets.voc2007_sample import (
    CLASSES,
    SIMULATED_IMAGES,
    read_voc2007_sample,
    simulate_voc2007_sample,
)

REGISTRY = Path(__file__).parents[3] / "data/registry.yaml"


def test_the_reader_gets_what_was_drawn(tmp_path):
    write_scenes(tmp_path, seed=3, count=4)
    data = read_voc2007_sample(tmp_path)
    assert len(data.images) == 4
    for k in range(4):
        drawn = draw_scene(np.random.default_rng([3, k + 1]))
        np.testing.assert_array_equal(data.boxes[k], drawn.boxes)
        np.testing.assert_array_equal(data.labels[k], drawn.labels)
        np.testing.assert_array_equal(data.difficult[k], drawn.difficult)
        # JPEG compression changes values a little.
        assert np.abs(data.images[k].astype(float) - drawn.image).mean() < 8


def test_annotations_count_from_one_and_tell_what_is_truncated(tmp_path):
    write_scenes(tmp_path, seed=0, count=1)
    drawn = draw_scene(np.random.default_rng([0, 1]))
    text = (tmp_path / "Annotations/000001.xml").read_text()
    assert text.count("<truncated>1</truncated>") == drawn.truncated.sum()
    for left, top, right, bottom in drawn.boxes + 1:
        for tag, value in (("xmin", left), ("ymin", top), ("xmax", right), ("ymax", bottom)):
            assert f"<{tag}>{value}</{tag}>" in text
    height, width, _ = drawn.image.shape
    assert f"<width>{width}</width>" in text
    assert f"<height>{height}</height>" in text


def test_more_scenes_begin_with_the_same_ones(tmp_path, contents):
    for name, seed, count in (("few", 5, 2), ("many", 5, 3), ("other", 6, 2)):
        write_scenes(tmp_path / name, seed, count)
    few, many, other = (contents(tmp_path / name) for name in ("few", "many", "other"))
    assert (len(few), len(many)) == (4, 6)
    assert few.items() <= many.items()
    assert all(few[name] != other[name] for name in few)


@pytest.mark.parametrize(
    ("seed", "size", "message"),
    [
        (0, "huge", "size is 'huge': expected one of smoke, demo, paper"),
        (-1, "smoke", "seed is -1: expected at least 0"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, seed, size, message):
    with pytest.raises(ValueError, match=message):
        simulate_voc2007_sample(tmp_path, seed, size)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=message):
        acquire(
            "voc2007_sample", tmp_path / "raw", policy="simulated", seed=seed, size=size, registry=REGISTRY
        )  # fmt: skip
    assert not [path for path in (tmp_path / "raw").iterdir() if "voc2007_sample" in path.name]


@pytest.mark.parametrize("policy", ["simulated", "auto"])
def test_the_registry_simulates_where_nothing_else_is_allowed_or_there(tmp_path, monkeypatch, policy):
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)
    monkeypatch.setitem(SIMULATED_IMAGES, "smoke", 2)
    receipt = acquire("voc2007_sample", tmp_path, policy=policy, seed=1, size="smoke", registry=REGISTRY)
    assert (receipt.status, receipt.kind, receipt.source) == ("available", "simulated", "simulator")
    assert receipt.files == 4
    assert len(read_voc2007_sample(tmp_path / "voc2007_sample").images) == 2
    again = acquire("voc2007_sample", tmp_path, policy=policy, seed=1, size="smoke", registry=REGISTRY)
    assert again == receipt


def test_demo_size_is_like_the_sample_in_what_can_be_counted(tmp_path):
    """Of the real sample: 20 classes, 2.7 objects an image, sizes of .16, .34 and .51 at the quartiles."""
    simulate_voc2007_sample(tmp_path, 0, "demo")
    data = read_voc2007_sample(tmp_path)
    assert len(data.images) == SIMULATED_IMAGES["demo"]
    labels = np.concatenate(data.labels)
    assert set(labels) == set(range(len(CLASSES)))
    assert np.bincount(labels).max() < 0.4 * len(labels)
    counts = [len(boxes) for boxes in data.boxes]
    assert min(counts) >= 1
    assert 2 <= np.mean(counts) <= 3
    assert 0.03 < np.mean(np.concatenate(data.difficult)) < 0.25
    shapes = [image.shape[:2] for image in data.images]
    assert {height > width for height, width in shapes} == {True, False}
    assert all(max(shape) == 500 and min(shape) >= 333 for shape in shapes)
    sizes = np.concatenate(
        [
            np.sqrt(np.prod(boxes[:, 2:] - boxes[:, :2] + 1, axis=1) / np.prod(shape))
            for boxes, shape in zip(data.boxes, shapes, strict=True)
        ]
    )
    # By the bootstrap over images, the difference of two such quartiles is uncertain by about .03.
    np.testing.assert_allclose(np.percentile(sizes, [25, 50, 75]), [0.16, 0.34, 0.51], atol=0.09)
    assert np.percentile(sizes, 5) < 0.12
    assert np.percentile(sizes, 95) > 0.65
