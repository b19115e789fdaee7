"""The UIUC cars as a test bench: what is read, what is searched, what a change of settings changes."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.detection.word_grids import WordGrid, save_word_grids
from ermlab.exceptions import DataError
from reproduction.datasets.uiuc_cars import read_uiuc_cars, simulate_uiuc_cars
from reproduction.experiments.joint_kernel_support.protocol import CarBench, Settings, read_cars

STEP, N_WORDS = 4, 5
CROP = (10, 25)  # rows and columns of places of a crop of 40 x 100 pixels
SETTINGS = Settings(
    n_words=N_WORDS,
    levels=(1,),
    normalisation="unit",
    margin=2,
    max_boxes=2,
    max_overlap=0.2,
    ssvm_tol=1e-2,
    C=(1.0,),
    nu=(0.5,),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cars") / "uiuc"
    simulate_uiuc_cars(folder, 0, "smoke")
    return folder


@pytest.fixture
def data(folder):
    return read_cars(folder, 3, 4)


@pytest.fixture
def bench(data, tmp_path):
    """The bench with words that are drawn at random, as nothing here depends on them."""
    rng = np.random.default_rng(0)

    def grid(image):
        shape = (1, *(side // STEP for side in image.shape))
        return WordGrid(rng.integers(N_WORDS, size=shape).astype(np.int32), (0, 0), STEP)

    images = {
        "train": data.multi_scale.images,
        "test": data.single_scale.images,
        "cars": data.cars,
        "others": data.others,
    }
    path = tmp_path / "words.npz"
    save_word_grids(path, {name: [grid(image) for image in some] for name, some in images.items()})
    return CarBench.of(data, path, SETTINGS)


def test_the_first_scenes_and_crops_are_read(folder, data):
    everything = read_uiuc_cars(folder)
    assert len(data.single_scale.images) == len(data.multi_scale.images) == 3
    assert len(data.cars) == len(data.others) == 4
    np.testing.assert_array_equal(data.multi_scale.images[2], everything.multi_scale.images[2])
    np.testing.assert_array_equal(data.single_scale.boxes[2], everything.single_scale.boxes[2])
    np.testing.assert_array_equal(data.others[3], everything.others[3])


def test_more_than_there_is_means_all(folder):
    everything, asked = read_uiuc_cars(folder), read_cars(folder, 10**6, 10**6)
    assert len(asked.multi_scale.images) == len(everything.multi_scale.images)
    assert len(asked.cars) == len(everything.cars)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(DataError):
        read_cars(tmp_path / "nowhere", 1, 1)


def test_scenes_have_a_margin_and_crops_have_none(data, bench):
    rows, columns = (side // STEP for side in data.multi_scale.images[0].shape)
    assert bench.train[0].words.shape == (1, rows + 4, columns + 4)
    assert (bench.train[0].words[:, :2] == -1).all()
    assert bench.train[0].corner == (-2 * STEP, -2 * STEP)
    assert {grid.words.shape for grid in bench.crops.grids} == {(1, *CROP)}
    assert bench.crops.labels.tolist() == [True] * 4 + [False] * 4
    assert bench.shapes == [image.shape for image in data.multi_scale.images]
    assert len(bench.pairs) == sum(map(len, data.multi_scale.boxes))


def test_the_free_sizes_lead_from_the_smallest_car_to_the_largest(bench):
    sides = bench.pairs.boxes[:, 2:] - bench.pairs.boxes[:, :2] + 1
    columns, rows = np.array(bench.free_sizes).T
    assert columns[0] == round(sides[:, 0].min() / STEP)
    assert columns[-1] == round(sides[:, 0].max() / STEP)
    assert (columns[1:] <= 1.25 * columns[:-1] + 1).all()  # to the next whole place
    np.testing.assert_allclose(rows / columns, 0.4, atol=0.5 / columns.min())


def test_the_test_images_are_searched_for_cars_of_the_size_of_the_crops(bench):
    (windows,) = bench.test_windows(bench.trainer("jkse_linear"))[0]
    rows, columns = bench.test[0].words.shape[1:]
    places = windows.places()
    assert len(places) == (rows - CROP[0] + 1) * (columns - CROP[1] + 1)
    assert {tuple(size) for size in places[:, 2:] - places[:, :2] + 1} == {CROP[::-1]}


def test_other_settings_leave_the_bench_as_it_was(bench):
    varied = bench.varied({"normalisation": "counts"})
    assert varied.settings == replace(SETTINGS, normalisation="counts")
    assert bench.settings == SETTINGS
    assert varied.train is bench.train
    assert varied.trainer("ssvm").kernel.normalization == "counts"
