"""The simulated slice: the layout and the design of the real one, and responses where they should be."""

import itertools

import numpy as np
import pytest
from nilearn.glm.first_level import spm_hrf
from threadpoolctl import threadpool_limits

from reproduction.acquire.treehash import tree_hash
from reproduction.datasets import haxby2001_slice
from reproduction.datasets.haxby2001_slice import (
    CATEGORIES,
    REST,
    read_haxby2001_slice,
    simulate_haxby2001_slice,
)
from reproduction.datasets.simulators.bold_series import Acquisition, hemodynamic
from reproduction.experiments.fmri_studies.haxby import detrend_runs, prepare_haxby

SEED = 1


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("haxby")
    simulate_haxby2001_slice(folder, SEED, "smoke")
    return folder


def test_layout_and_design_are_those_of_the_real_slice(simulated):
    data = read_haxby2001_slice(simulated)
    assert data.bold.shape == (40, 20, 1, 1452)
    assert data.bold.dtype == np.int16
    assert data.repetition_time == 2.5
    np.testing.assert_allclose(np.diag(data.affine), [-3.1, 3.75, 3.75, 1], rtol=1e-5)
    assert 400 < data.mask.sum() < 700
    assert not data.bold[~data.mask].any()
    for run in range(12):
        blocks = [
            (name, len(list(group))) for name, group in itertools.groupby(data.labels[data.runs == run])
        ]
        assert sum(length for _, length in blocks) == 121
        assert sorted(name for name, _ in blocks if name != REST) == sorted(CATEGORIES)
        assert all(length == 9 for name, length in blocks if name != REST)


def test_voxels_answer_to_each_kind_of_picture_as_they_should(simulated):
    """Least squares with the true design: the estimated maps are the true ones, but for noise."""
    data = read_haxby2001_slice(simulated)
    rng = np.random.default_rng([SEED, 0])
    evoked, _ = haxby2001_slice._draw_maps(rng, haxby2001_slice._draw_slice(rng))
    truth = (evoked[0] + evoked[1:])[:, data.mask]
    voxels = data.bold[data.mask].astype(float)
    voxels /= voxels.mean(axis=1, keepdims=True)
    design = np.zeros((1452, 8 + 12 * 3))
    for run in range(12):
        rows = data.runs == run
        when = Acquisition(121, 2.5, np.zeros(1))
        shown = haxby2001_slice._shown(data.labels[rows].tolist())[1:]
        design[rows, :8] = when.sample(hemodynamic(shown))[:, 0].T
        drift = np.polynomial.legendre.legvander(np.linspace(-1, 1, 121), 2)
        design[rows, 8 + 3 * run : 11 + 3 * run] = drift
    estimate = np.linalg.lstsq(design, voxels.T, rcond=None)[0][:8]
    for wanted, found in ((truth, estimate), (truth - truth.mean(axis=0), estimate - estimate.mean(axis=0))):
        assert (wanted * found).sum() / (wanted**2).sum() == pytest.approx(1, abs=0.2)


def test_labels_follow_the_response_as_those_of_the_real_file_do(simulated):
    """Moved by a volume either way, or convolved with a response once more, they explain less."""
    data = read_haxby2001_slice(simulated)
    series = prepare_haxby(data)

    def explained(labels):
        labels = detrend_runs(labels, data.runs)
        fitted = labels @ np.linalg.lstsq(labels, series.volumes, rcond=None)[0]
        return (fitted**2).sum() / (series.volumes**2).sum()

    named = np.column_stack([data.labels == name for name in CATEGORIES]).astype(float)
    late, early = (np.roll(named, shift, axis=0) for shift in (1, -1))
    response = spm_hrf(2.5, 16)[::16]
    delayed = np.column_stack([np.convolve(column, response)[: len(named)] for column in named.T])
    assert explained(named) > max(explained(late), explained(early))
    assert explained(named) > 1.3 * explained(delayed)


def test_same_bytes_for_a_seed_and_any_number_of_threads_but_not_for_another_seed(simulated, tmp_path):
    with threadpool_limits(2):
        simulate_haxby2001_slice(tmp_path / "threads", SEED, "demo")
    assert tree_hash(tmp_path / "threads") == tree_hash(simulated)
    simulate_haxby2001_slice(tmp_path / "other", SEED + 1, "smoke")
    assert tree_hash(tmp_path / "other").sha256 != tree_hash(simulated).sha256


def test_an_unknown_size_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="size is 'huge': expected one of smoke, demo, paper"):
        simulate_haxby2001_slice(tmp_path / "x", 0, "huge")
    assert not (tmp_path / "x").exists()
