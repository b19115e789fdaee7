"""The small descriptor against its definition, pixel by pixel, and on crops whose histograms are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.features.hog_crops import HogLayout, cell_edges, small_hog

LAYOUTS = [
    HogLayout(),
    HogLayout(levels=((2, 1), (6, 3), (12, 6)), blocks=(2, 1), root=False),
    HogLayout(levels=((12, 6),), blocks=(1, 1), orientations=9, floor=5.0),
]


def random_crops(seed, n=3, shape=(36, 18)):
    return np.random.default_rng(seed).integers(0, 256, size=(n, *shape), dtype=np.uint8)


def slow_descriptor(crop, layout):
    """The definition, in real numbers: no rounding of votes, no symmetric bookkeeping."""
    crop = np.pad(crop.astype(float), 1, mode="edge")
    dx, dy = crop[1:-1, 2:] - crop[1:-1, :-2], crop[2:, 1:-1] - crop[:-2, 1:-1]
    strength, angle = np.hypot(dx, dy), np.arctan2(dy, dx) % math.pi
    width = math.pi / layout.orientations
    centres = (np.arange(layout.orientations) + 0.5) * width
    distance = np.abs(angle[..., None] - centres)
    votes = strength[..., None] * np.maximum(0, 1 - np.minimum(distance, math.pi - distance) / width)
    numbers = []
    for rows, columns in layout.levels:
        ys, xs = cell_edges(crop.shape[0] - 2, rows), cell_edges(crop.shape[1] - 2, columns)
        for i in range(rows):
            for j in range(columns):
                cell = votes[ys[i] : ys[i + 1], xs[j] : xs[j + 1]]
                tall, wide = rows // layout.blocks[0], columns // layout.blocks[1]
                top, left = i // tall * tall, j // wide * wide
                block = votes[ys[top] : ys[top + tall], xs[left] : xs[left + wide]]
                shares = cell.sum((0, 1)) / (block.sum() + layout.floor * block.shape[0] * block.shape[1])
                numbers.append(np.sqrt(shares) if layout.root else shares)
    return np.concatenate(numbers)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(36, 18), (34, 16)])
def test_equals_the_definition(layout, shape):
    crops = random_crops(1, shape=shape)
    expected = np.stack([slow_descriptor(crop, layout) for crop in crops])
    described = small_hog(crops, layout)
    assert described.shape == (len(crops), layout.dimension)
    assert described.dtype == np.float32
    # Votes are rounded to 1/1024 of a grey level, and square roots are steep at 0.
    assert np.abs(described**2 - expected**2).max() < 1e-5
    assert np.abs(described - expected).max() < 3e-3


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [0, 17, 255])
def test_a_constant_crop_has_no_orientation(layout, value):
    assert (small_hog(np.full((2, 36, 18), value), layout) == 0).all()


@pytest.mark.parametrize(
    ("slope", "bins"),
    [
        ((0, 3), {0: 0.5, 7: 0.5}),
        ((3, 0), {3: 0.5, 4: 0.5}),
        ((2, 2), {1: 0.5, 2: 0.5}),
        ((2, -2), {5: 0.5, 6: 0.5}),
    ],
)
def test_a_ramp_votes_for_its_direction(slope, bins):
    """Down and to the right: the angle of (right, down), shared by the two nearest of 8 orientations."""
    rows, columns = np.mgrid[:36, :18]
    crop = 100.0 + slope[0] * rows + slope[1] * columns
    layout = HogLayout(levels=((12, 6),), blocks=(12, 6), root=False, floor=1e-9)
    inner = small_hog(crop[None], layout).reshape(12, 6, 8)[1:-1, 1:-1]
    expected = np.array([bins.get(k, 0.0) for k in range(8)])
    assert np.abs(inner - expected).max() < 1e-3


@given(
    seed=st.integers(0, 2**32 - 1),
    layout=st.sampled_from(LAYOUTS),
    shape=st.sampled_from([(36, 18), (34, 16), (13, 20)]),
)
def test_mirroring_is_a_permutation_to_the_last_bit(seed, layout, shape):
    crops = random_crops(seed, shape=shape)
    assert np.array_equal(small_hog(crops[:, :, ::-1], layout), small_hog(crops, layout)[:, layout.mirror])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mirroring_twice_changes_nothing(layout):
    assert np.array_equal(layout.mirror[layout.mirror], np.arange(layout.dimension))


def test_shares_of_a_block_add_up_to_one_without_a_floor():
    layout = HogLayout(levels=((4, 2), (12, 6)), blocks=(4, 2), root=False, floor=1e-12)
    described = small_hog(random_crops(2), layout)
    assert np.allclose(described.sum(axis=1), 2 * 8, rtol=1e-5)


def test_contrast_and_brightness_hardly_matter():
    crops = random_crops(3).astype(float) / 2
    assert np.abs(small_hog(crops) - small_hog(2 * crops + 10)).max() < 0.01


def test_the_same_for_any_number_of_threads():
    crops = random_crops(4, n=300)
    assert np.array_equal(small_hog(crops, n_jobs=1), small_hog(crops, n_jobs=3))


@given(length=st.integers(2, 60), cells=st.integers(1, 20))
def test_cells_cover_the_length_evenly_and_symmetrically(length, cells):
    edges = cell_edges(length, cells)
    assert edges[0] == 0
    assert edges[-1] == length
    assert np.abs(edges - np.arange(cells + 1) * length / cells).max() <= 0.5
    if length % 2 == 0 or cells % 2 == 1:
        assert np.array_equal(edges, length - edges[::-1])


@pytest.mark.parametrize(
    ("crops", "message"),
    [
        (np.zeros((36, 18)), "expected \\(n, height, width\\)"),
        (np.zeros((1, 11, 18)), "11 x 18 pixels"),
        (np.full((1, 36, 18), np.inf), "not finite"),
    ],
)
def test_bad_crops(crops, message):
    with pytest.raises(ValueError, match=message):
        small_hog(crops)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": ()}, "at least one level"),
        ({"levels": ((5, 2),)}, "5 x 2 cells"),
        ({"levels": ((0, 2),)}, "0 x 2 cells"),
        ({"orientations": 0}, "orientation"),
        ({"floor": 0.0}, "positive floor"),
    ],
)
def test_bad_layout(change, message):
    with pytest.raises(ValueError, match=message):
        HogLayout(**change)


def test_grey_levels_whose_votes_overflow_are_refused():
    with pytest.raises(ValueError, match=r"gray levels up to 1e\+17: expected at most"):
        small_hog(np.full((1, 36, 18), 1e17))


@pytest.mark.parametrize("levels", [((-4, -2),), ((4.5, 2),), ((4,),)])
def test_grids_of_no_cells_are_refused(levels):
    with pytest.raises(ValueError, match="expected"):
        HogLayout(levels)


def test_whole_numbers_of_any_type_are_a_layout():
    layout = HogLayout(levels=((4.0, np.int8(2)),), blocks=(4.0, 2.0), orientations=8.0)
    expected = small_hog(random_crops(0), HogLayout(levels=((4, 2),)))
    np.testing.assert_array_equal(small_hog(random_crops(0), layout), expected)


@pytest.mark.parametrize(
    "options", [{"orientations": "8"}, {"floor": "1"}, {"levels": (4, 2)}, {"levels": None}, {"blocks": 4}]
)
def test_layouts_of_other_things_are_refused(options):
    with pytest.raises(ValueError, match="expected"):
        HogLayout(**options)


def test_descriptors_larger_than_memory_are_refused():
    with pytest.raises(ValueError, match="GiB of memory"):
        small_hog(random_crops(0), HogLayout(orientations=10**12))
