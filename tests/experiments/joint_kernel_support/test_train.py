"""Stages before the evaluation of section 3.1: prepared files, windows that are searched, trained rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.detection.word_grids import WordGrid, load_word_grids, save_word_grids
from reproduction.datasets.uiuc_cars import read_uiuc_cars, simulate_uiuc_cars
from reproduction.experiments.joint_kernel_support import prepare, select, train, train_controls
from reproduction.experiments.joint_kernel_support.measures import detection_error
from reproduction.experiments.joint_kernel_support.protocol import (
    METHODS,
    READINGS,
    SIDES,
    CarData,
    Choice,
    Settings,
    Trainer,
)

STEP, N_WORDS = 4, 5
CROP = (10, 25)  # rows and columns of places of a crop of 40 x 100 pixels
SETTINGS = Settings(
    n_words=N_WORDS,
    levels=(1,),
    margin=2,
    stride=2,
    max_boxes=2,
    ssvm_tol=0.1,
    C=(0.1, 1.0),
    nu=(0.5, 1.0),
)
FILES = {"words": "npz", "scenes": "json", "choice": "json"}
CHOICE = Choice((0,), {"linear": "length", "chi2": "area"}, 0.2)
#: Height and width of the images, and their cars; the second test image has none.
TRAIN = [((60, 140), [[4, 8, 103, 47]]), ((50, 130), [[0, 0, 99, 39]]), ((64, 260), [[8, 4, 119, 51]])]
TEST = [((60, 120), [[10, 10, 109, 49]]), ((48, 112), [])]


def described(scenes):
    return {"shapes": [shape for shape, _ in scenes], "boxes": [boxes for _, boxes in scenes]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Scenes with words that are drawn at random."""
    folder, rng = tmp_path_factory.mktemp("cars"), np.random.default_rng(0)

    def grid(height, width):
        shape = (1, height // STEP, width // STEP)
        return WordGrid(rng.integers(N_WORDS, size=shape).astype(np.int32), (0, 0), STEP)

    grids = {name: [grid(*shape) for shape, _ in part] for name, part in (("train", TRAIN), ("test", TEST))}
    save_word_grids(
        folder / "words.npz", grids | {"cars": [grid(40, 100)] * 3, "others": [grid(40, 100)] * 2}
    )
    (folder / "scenes.json").write_text(json.dumps({"train": described(TRAIN), "test": described(TEST)}))
    choice = {"scales": [0], "normalization": CHOICE.normalization, "max_overlap": 0.2}
    (folder / "choice.json").write_text(json.dumps(dict.fromkeys(READINGS, choice)))
    return {name: str(folder / f"{name}.{kind}") for name, kind in FILES.items()}


@pytest.fixture
def cars(files):
    return CarData.read(files["words"], files["scenes"], SETTINGS)


def test_prepare_takes_the_first_scenes_and_crops(tmp_path):
    simulate_uiuc_cars(tmp_path / "uiuc", 0, "smoke")
    (tmp_path / "receipt.json").write_text(json.dumps({"folder": str(tmp_path / "uiuc")}))
    outputs = {name: str(tmp_path / name) for name in ("words.npz", "scenes.json", "pictures.npz")}
    prepare.main(
        {"receipt": str(tmp_path / "receipt.json")},
        {name.split(".")[0]: path for name, path in outputs.items()},
        seed=0,
        scenes=5,
        crops=3,
        n_words=4,
        max_samples=100,
        step=16,
        scales=[1.0],
    )
    data = read_uiuc_cars(tmp_path / "uiuc")
    grids, scenes = load_word_grids(outputs["words.npz"]), json.loads((tmp_path / "scenes.json").read_text())
    assert [len(grids[name]) for name in ("train", "test", "cars", "others")] == [5, 5, 3, 3]
    assert scenes["crops"] == 6
    pictures = np.load(outputs["pictures.npz"])
    for name, part in (("train", data.multi_scale), ("test", data.single_scale)):
        assert scenes[name]["shapes"] == [list(image.shape) for image in part.images[:5]]
        assert scenes[name]["boxes"] == [boxes.tolist() for boxes in part.boxes[:5]]
        counts = [len(boxes) for boxes in part.boxes[:5]]
        shown = [i for i in range(5) if counts[i] > 1][:2] + [i for i in range(5) if counts[i] == 1][:4]
        assert [key for key in pictures if key.startswith(name)] == [f"{name}_{i}" for i in shown]
        np.testing.assert_array_equal(pictures[f"{name}_{shown[-1]}"], part.images[shown[-1]])


def test_scenes_have_a_margin_and_crops_have_none(cars):
    assert cars.train[0].words.shape == (1, 15 + 4, 35 + 4)
    assert (cars.train[0].words[:, :2] == -1).all()
    assert cars.train[0].corner == (-2 * STEP, -2 * STEP)
    assert {grid.words.shape for grid in cars.crops.grids} == {(1, *CROP)}
    assert cars.crops.labels.tolist() == [True] * 3 + [False] * 2
    assert cars.shapes == [(60, 140), (50, 130), (64, 260)]
    assert cars.pairs.boxes.tolist() == [[4, 8, 103, 47], [0, 0, 99, 39], [8, 4, 119, 51]]
    assert [len(boxes) for boxes in cars.test_boxes] == [1, 0]
    assert cars.test_boxes[1].shape == (0, 4)


def test_the_test_images_are_searched_for_cars_of_the_size_of_the_crops(cars):
    (windows,) = cars.test_windows(cars.trainer("jkse_linear", "known", CHOICE))[0]
    rows, columns = cars.test[0].words.shape[1:]
    places = windows.places()
    assert len(places) == (rows - CROP[0] + 1) * (columns - CROP[1] + 1)
    assert {tuple(size) for size in places[:, 2:] - places[:, :2] + 1} == {CROP[::-1]}


def test_free_sizes_range_from_the_smallest_to_the_largest_car(cars):
    # Widths of 100 and 112 pixels: one step of at most a quarter; heights are 0.4 of the widths.
    assert cars.free_sizes() == [(25, 10), (28, 11)]
    parts = cars.test_windows(cars.trainer("jkse_linear", "free", CHOICE))[0]
    assert [(part.columns, part.rows, part.stride) for part in parts] == [(25, 10, 2), (28, 11, 2)]


def test_known_sizes_are_those_of_the_boxes_in_the_image(cars):
    boxes = [cars.train_boxes[image] for image in (0, 2)]
    windows = select.training_windows(cars.trainer("ssvm", "known", CHOICE), [0, 2], boxes)
    first = [[of_size.places()[0].tolist() for of_size in of_image] for of_image in windows]
    assert first == [[[0, 0, 24, 9]], [[0, 0, 27, 11]]]
    free = select.training_windows(cars.trainer("ssvm", "free", CHOICE), [0, 2], boxes)
    assert [[(part.columns, part.rows) for part in parts] for parts in free] == [cars.free_sizes()] * 2


def test_each_method_has_its_kernel(cars):
    kernels = {method: cars.trainer(method, "free", CHOICE).kernel for method in METHODS}
    assert {method: kernel.name for method, kernel in kernels.items()} == {
        "ssvm": "linear",
        "jkse_linear": "linear",
        "jkse_chi2": "chi2",
    }
    assert [kernel.normalization for kernel in kernels.values()] == ["length", "length", "area"]


def test_descriptor_sizes_are_planes_of_the_words(cars):
    doubled = np.concatenate([cars.train[0].words, cars.train[0].words[:, ::-1]])
    grid = cars.train[0]._replace(words=doubled)
    both = replace(cars, train=[grid], test=[grid, grid], crops=replace(cars.crops, grids=[grid]))
    for scales, expected in (([1], doubled[1:]), ([0, 1], doubled)):
        chosen = both.with_scales(scales)
        for part in [*chosen.train, *chosen.test, *chosen.crops.grids]:
            np.testing.assert_array_equal(part.words, expected)


def test_training_writes_what_was_found_chosen_and_labelled(files, tmp_path):
    outputs = {name: str(tmp_path / name) for name in ("detections", "choices", "labels", "timings")}
    train.main(files, outputs, seed=3, noise=[0, 1], settings=SETTINGS)
    detections, choices, labels = (pd.read_csv(outputs[name]) for name in ("detections", "choices", "labels"))
    columns = ["reading", "method", "noise"]
    keys = [(reading, method, r) for reading in READINGS for method in METHODS for r in (0, 1)]
    assert list(detections.groupby(columns, sort=False).groups) == keys
    assert set(detections["image"]) == {0, 1}
    widths, heights = (detections[last] - detections[first] + 1 for first, last in (SIDES[::2], SIDES[1::2]))
    assert set(zip(detections["reading"], widths, heights, strict=True)) <= {
        ("known", 100, 40),
        ("free", 100, 40),
        ("free", 112, 44),
    }
    assert list(choices.groupby(columns, sort=False).groups) == keys
    for (_, method, _), table in choices.groupby(columns):
        assert table["parameter"].tolist() == list(SETTINGS.C if method == "ssvm" else SETTINGS.nu)
        assert table["chosen"].tolist() == (np.arange(2) == table["area"].to_numpy().argmax()).tolist()
        assert (table["searches"] > 0).all() == (method == "ssvm")
    clean, noisy = labels[labels["noise"] == 0], labels[labels["noise"] == 1]
    assert clean[SIDES].to_numpy().tolist() == [box for _, boxes in TRAIN for box in boxes]
    assert clean["overlap"].tolist() == [1, 1, 1]
    # All three boxes pass on; the images stay.
    assert noisy["image"].tolist() == [0, 1, 2]
    assert (noisy["overlap"] < 1).all()
    timings = json.loads((tmp_path / "timings").read_text())
    assert [(row["reading"], row["method"], row["noise"]) for row in timings] == keys
    assert all(0 <= row["search_seconds"] <= row["seconds"] for row in timings)
    # Grids of 15 x 30 and 12 x 28 places, with margins of 2: medians of 10 x 10 and 7 x 8 known windows, and
    # at every second place of 5 x 5 + 5 x 4 and 4 x 4 + 3 x 3 free ones.
    assert {(row["reading"], row["windows"]) for row in timings} == {("known", 78), ("free", 35)}


def test_the_error_depends_on_what_was_found():
    # A car, a box that overlaps it by a third, another car.
    boxes = np.array([[0, 0, 9, 9], [5, 0, 14, 9], [40, 0, 49, 9]])
    truth = [boxes[[0, 2]]]
    assert detection_error([(boxes[[0, 2]], np.array([3.0, 1.0]))], truth) == 0
    # A false box before the only car that is found: both rates are one half there.
    assert detection_error([(boxes[[1, 2]], np.array([3.0, 2.0]))], truth) == 0.5


def test_cross_validation_trains_on_the_images_of_the_other_folds(cars, monkeypatch):
    trainer, trained_on = cars.trainer("jkse_linear", "free", CHOICE), []

    def train_and_record(pairs):
        trained_on.append(pairs.images.tolist())
        return Trainer.train(trainer, pairs)

    monkeypatch.setattr(trainer, "train", train_and_record)
    errors = train_controls.cross_validate(trainer, cars.pairs, 2, 0.2)
    assert trained_on == [[1], [0, 2]]
    assert len(errors) == len(SETTINGS.nu)


def test_joint_kernel_support_estimation_is_cross_validated(files, tmp_path, monkeypatch):
    monkeypatch.setattr(train_controls, "cross_validate", lambda *_: [0.9, 0.1])
    outputs = {"validated": str(tmp_path / "validated")}
    train_controls.main(files, outputs, seed=0, noise=[0, 1], cross_validated=[1], folds=2, settings=SETTINGS)
    validated = pd.read_csv(outputs["validated"])
    assert validated["method"].tolist() == ["jkse_linear", "jkse_chi2"]
    assert validated["noise"].tolist() == [1] * 2
    assert validated["parameter_folds"].tolist() == [1, 1]  # the second value, of the smallest error


# ------------------------------------------------------------------------------------ choice of the settings


def errors_of(rows):
    columns = ["scales", "max_overlap", "method", "kernel", "normalization", "error"]
    return pd.DataFrame(rows, columns=columns)


def test_the_choice_has_the_lowest_mean_error_over_the_methods():
    rows = [
        # Sizes 0 and 1: linear methods have .2 and .3 with areas, .1 and .2 with lengths, chi2 .5: mean .267.
        ("0 1", 0.1, "a", "linear", "area", 0.2),
        ("0 1", 0.1, "b", "linear", "area", 0.3),
        ("0 1", 0.1, "a", "linear", "length", 0.1),
        ("0 1", 0.1, "b", "linear", "length", 0.2),
        ("0 1", 0.1, "c", "chi2", "area", 0.5),
        # Size 1: the mean is .25, although no linear error is as low as .1.
        ("1", 0.1, "a", "linear", "area", 0.2),
        ("1", 0.1, "b", "linear", "area", 0.25),
        ("1", 0.1, "a", "linear", "length", 0.3),
        ("1", 0.1, "b", "linear", "length", 0.3),
        ("1", 0.1, "c", "chi2", "area", 0.3),
    ]
    chosen = select.choose(errors_of(rows))
    assert chosen == {
        "scales": [1],
        "normalization": {"linear": "area", "chi2": "area"},
        "max_overlap": 0.1,
    }
    # The same errors at another overlap: the first is kept.
    again = [(scales, 0.2, *rest) for scales, _, *rest in rows]
    assert select.choose(errors_of([*rows, *again])) == chosen
    better = [(scales, 0.2, *rest, error - 0.01) for scales, _, *rest, error in rows]
    assert select.choose(errors_of([*rows, *better]))["max_overlap"] == 0.2


def test_settings_are_chosen_on_training_images_that_were_held_out(files, cars, tmp_path, monkeypatch):
    trained_on = []

    def train_and_record(self, pairs, train=Trainer.train):
        trained_on.append((self.method, self.sizes is None, pairs.images.tolist()))
        return train(self, pairs)

    monkeypatch.setattr(Trainer, "train", train_and_record)
    monkeypatch.setattr(CarData, "test_windows", lambda *_: pytest.fail("test images were searched"))
    outputs = {name: str(tmp_path / name) for name in ("choice", "variants")}
    select.main(files, outputs, scales=[1.0], settings=SETTINGS)
    # The first of three images is held out; linear kernels have three scalings, the chi2 kernel two.
    jkse = ["jkse_linear"] * 3 + ["jkse_chi2"] * 2
    assert [method for method, *_ in trained_on] == [*jkse, *["ssvm"] * 3] * 2
    assert {(known, tuple(images)) for _, known, images in trained_on} == {(False, (1, 2)), (True, (1, 2))}
    variants, chosen = pd.read_csv(outputs["variants"]), json.loads((tmp_path / "choice").read_text())
    assert list(chosen) == sorted(READINGS)
    assert len(variants) == 2 * 8 * len(select.OVERLAPS)
    for reading in READINGS:
        table = variants[variants["reading"] == reading].astype({"scales": str})
        assert chosen[reading] == select.choose(table.sort_values("method", ascending=False, kind="stable"))
