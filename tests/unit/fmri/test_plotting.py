"""Weight maps over the anatomy show what lies above the threshold, and need no network."""

import re
import warnings

import numpy as np
import pytest
from matplotlib import pyplot as plt
from nibabel import Nifti1Image

from ermlab.fmri.plotting import interactive_map, threshold_image, to_image, weight_map_figure

pytestmark = pytest.mark.usefixtures("figure_style")

AFFINE = np.diag([10.0, 10.0, 10.0, 1.0])
SHAPE = (8, 9, 7)


@pytest.fixture
def mask():
    inside = np.zeros(SHAPE, dtype=bool)
    inside[1:-1, 1:-1, 1:-1] = True
    return inside


@pytest.fixture
def weights(mask):
    """A map of small weights with a single large one."""
    values = np.random.default_rng(0).normal(scale=0.1, size=np.count_nonzero(mask))
    values[0] = 5.0
    return to_image(values, mask, AFFINE)


@pytest.fixture
def anatomy(mask):
    return Nifti1Image(100 * mask.astype(np.float32), AFFINE)


def test_values_go_to_their_voxels(mask):
    values = np.arange(np.count_nonzero(mask))
    volume = to_image(values, mask, AFFINE).get_fdata()
    assert (volume[mask] == values).all()
    assert not volume[~mask].any()


def test_values_that_do_not_fit_the_mask_are_refused(mask):
    with pytest.raises(ValueError, match=r"shape \(3,\).*one per voxel, 210"):
        to_image([1, 2, 3], mask, AFFINE)


def test_only_the_large_weight_is_left(weights, mask):
    for given in (None, mask):
        volume = threshold_image(weights, 2.0, given).get_fdata()
        assert np.argwhere(volume).tolist() == [[1, 1, 1]]
        assert volume[1, 1, 1] == 5.0


def test_zeros_inside_a_mask_count_for_the_deviation(mask):
    values = np.zeros(np.count_nonzero(mask))
    values[:2] = 1.0, -1.0
    image = to_image(values, mask, AFFINE)
    assert np.count_nonzero(threshold_image(image, 2.0, mask).get_fdata()) == 2
    assert np.count_nonzero(threshold_image(image, 2.0).get_fdata()) == 0  # both are one deviation from 0


@pytest.mark.parametrize(
    ("volume", "mask", "message"),
    [
        (np.zeros(SHAPE), None, "no voxel to threshold"),
        (np.ones(SHAPE), np.ones((2, 2, 2), dtype=bool), r"mask of shape \(2, 2, 2\)"),
        (np.ones((3, 3)), None, "three dimensions"),
        (np.full(SHAPE, np.inf), None, "NaN or infinite"),
    ],
)
def test_broken_maps_are_refused(volume, mask, message):
    with pytest.raises(ValueError, match=message):
        threshold_image(Nifti1Image(volume.astype(np.float32), AFFINE), mask=mask)


def test_without_a_threshold_every_weight_is_drawn_and_zeros_are_not(anatomy, mask):
    values = np.zeros(np.count_nonzero(mask))
    values[:2] = 1e-3, -1.0
    fig = weight_map_figure({"one": to_image(values, mask, AFFINE)}, anatomy, (10.0, 10.0, 10.0), sd=0.0)
    drawn = np.concatenate([np.ma.compressed(image.get_array()) for ax in fig.axes for image in ax.images])
    weights = set(np.round(drawn[drawn != 100] * np.std([1e-3, -1.0]), 6))
    assert weights == {1e-3, -1.0}
    plt.close("all")


def test_a_figure_has_a_titled_row_for_each_map(weights, anatomy, mask):
    target = Nifti1Image(mask.astype(np.float32), AFFINE)
    fig = weight_map_figure(
        {"one": weights, "two": weights}, anatomy, (10.0, 10.0, 10.0), mask=mask, target=target
    )
    titles = {text.get_text(): text.get_position()[1] for text in fig.texts}
    assert titles["one"] > titles["two"]
    single = weight_map_figure({"one": weights}, anatomy, (10.0, 10.0, 10.0), mask=mask)
    assert len(fig.axes) == 2 * len(single.axes)
    drawn = np.concatenate([np.ma.compressed(image.get_array()) for ax in single.axes for image in ax.images])
    height = 5 / weights.get_fdata()[mask].std()
    assert np.isclose(drawn, height).any()
    assert (np.isclose(drawn, height) | np.isclose(drawn, 100)).all()  # nothing else but the anatomy
    plt.close("all")


def test_a_figure_can_be_saved_in_the_shared_style_without_a_warning(weights, anatomy, tmp_path):
    with plt.rc_context({"figure.constrained_layout.use": True}), warnings.catch_warnings():
        warnings.filterwarnings("error", message="There are no gridspecs")
        fig = weight_map_figure({"one": weights}, anatomy, (10.0, 10.0, 10.0))
        fig.savefig(tmp_path / "once.svg")
        fig.savefig(tmp_path / "twice.svg")
    plt.close(fig)


def test_a_figure_without_maps_is_refused(anatomy):
    with pytest.raises(ValueError, match="no maps"):
        weight_map_figure({}, anatomy, (0, 0, 0))


def test_the_viewer_carries_all_it_needs(weights, anatomy, mask):
    html = interactive_map(weights, anatomy, title="a title", mask=mask, voxel=5.0)._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "brainsprite" in html
    assert "jQuery" in html
    assert "a title" in html
    assert re.findall(r"(?:src|href)=&quot;(?!data:)\w+", html) == []
    assert "http" not in re.sub(r"[A-Za-z0-9+/=]{200,}", "", html)


def test_a_map_with_nothing_above_the_threshold_can_be_looked_at(anatomy, mask):
    flat = to_image(np.ones(np.count_nonzero(mask)) * np.where(np.arange(210) % 2, 1, -1), mask, AFFINE)
    assert interactive_map(flat, anatomy, mask=mask, voxel=10.0).html
    assert weight_map_figure({"flat": flat}, anatomy, (10.0, 10.0, 10.0), mask=mask).axes
    plt.close("all")


def test_a_viewer_of_no_size_is_refused(weights, anatomy):
    with pytest.raises(ValueError, match="voxel is 0"):
        interactive_map(weights, anatomy, voxel=0)
