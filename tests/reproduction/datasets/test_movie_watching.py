"""The simulated viewer: the files, the effect where it should be, and what sharing and signal mean."""

import shutil

import nibabel as nib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ermlab.exceptions import DataError
from reproduction.acquire.treehash import tree_hash
from reproduction.datasets import movie_watching
from reproduction.datasets.movie_watching import SIZES, read_movie_watching, simulate_movie_watching
from reproduction.datasets.simulators.bold_anatomy import draw_head
from reproduction.datasets.simulators.bold_films import KINDS, LABELS, draw_film
from reproduction.datasets.simulators.bold_series import Acquisition, hemodynamic, interleaved

SEED = 3
SMOKE = SIZES["smoke"]
WHEN = Acquisition(SMOKE.volumes, 3.2, interleaved(SMOKE.shape[2], 3.2))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("movie")
    simulate_movie_watching(folder, SEED, "smoke")
    return folder


def draw_brain(sharing=1.0, seed=SEED):
    rng = np.random.default_rng([seed, 0])
    return movie_watching._draw_brain(rng, draw_head(rng, SMOKE.shape, SMOKE.resolution), sharing)


def test_the_reader_reads_what_is_simulated(simulated):
    data = read_movie_watching(simulated)
    assert list(data.bold) == ["film1", "film2"]
    for path in data.bold.values():
        image = nib.load(path)
        assert image.shape == (*SMOKE.shape, SMOKE.volumes)
        assert image.header.get_zooms()[3] == pytest.approx(3.2)
        assert image.get_data_dtype() == np.int16
    assert tuple(data.labels.columns) == LABELS
    assert len(data.labels) == SMOKE.volumes
    assert data.labels.to_numpy().min() >= 0
    assert data.repetition_time == 3.2
    assert sorted(data.slice_times) == pytest.approx(3.2 * np.arange(16) / 16)
    assert set(data.region_names) == set(LABELS)
    assert set(np.unique(data.regions.get_fdata())) == {0, *data.region_names.values()}
    assert nib.load(data.anatomy).ndim == 3


def test_paper_size_is_that_of_the_study():
    assert (SIZES["paper"].shape, SIZES["paper"].resolution, SIZES["paper"].volumes) == ((64, 64, 46), 3, 350)


def test_same_bytes_for_a_seed_and_any_number_of_threads_but_not_for_another_seed(simulated, tmp_path):
    with threadpool_limits(2):
        simulate_movie_watching(tmp_path / "threads", SEED, "smoke")
    with threadpool_limits(1):
        simulate_movie_watching(tmp_path / "one", SEED, "smoke")
    expected = tree_hash(simulated)
    assert tree_hash(tmp_path / "threads") == tree_hash(tmp_path / "one") == expected
    simulate_movie_watching(tmp_path / "other", SEED + 1, "smoke")
    assert tree_hash(tmp_path / "other").sha256 != expected.sha256


def test_regions_answer_to_their_labels_by_the_percentage_they_should(tmp_path):
    """Least squares with the true design, on what the film adds to the same run without signal."""
    series = {}
    for signal in (0.0, 10.0):
        simulate_movie_watching(tmp_path / str(signal), SEED, "smoke", signal=signal)
        path = tmp_path / str(signal) / "sub-01/func/sub-01_task-film1_bold.nii.gz"
        series[signal] = nib.load(path).get_fdata()
    film = draw_film(np.random.default_rng([SEED, 1, 0]), WHEN.fine_count)
    shown = np.concatenate([film.content, np.eye(len(KINDS))[:, film.kinds]])
    design = WHEN.sample(hemodynamic(shown)).transpose(1, 2, 0)  # slices, volumes, columns
    brain = draw_brain()
    for number, (name, (_, percent)) in enumerate(movie_watching._REGIONS.items()):
        weight = brain.regions[number]
        estimates = []
        for x, y, z in zip(*np.nonzero(weight > 0.5), strict=True):
            quiet = series[0.0][x, y, z]
            change = 100 * (series[10.0][x, y, z] - quiet) / quiet.mean() / 10
            estimates.append(np.linalg.lstsq(design[z], change, rcond=None)[0][number])
        # Voxels differ in their hemodynamics from the design, and a moving head blurs a little.
        assert np.mean(estimates) == pytest.approx(percent * weight[weight > 0.5].mean(), rel=0.1), name


def test_without_signal_the_brain_knows_nothing_of_the_film():
    brain = draw_brain()
    films = [draw_film(np.random.default_rng(k), WHEN.fine_count) for k in range(2)]

    def courses(film, signal):
        return brain.watch(np.random.default_rng(9), "film1", film, WHEN, signal).courses

    np.testing.assert_array_equal(courses(films[0], 0.0), courses(films[1], 0.0))
    change = courses(films[0], 1.0) - courses(films[0], 0.0)
    assert np.abs(change[: len(LABELS)]).max() > 0.004
    np.testing.assert_allclose(
        courses(films[0], 2.0) - courses(films[0], 0.0), 2 * change, rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("sharing", [0.0, 0.5, 1.0])
def test_sharing_is_the_overlap_of_the_networks_of_both_films(sharing):
    brain = draw_brain(sharing)
    first, second = (
        np.linalg.qr(maps.reshape(len(maps), -1).T.astype(float))[0] for maps in brain.networks.values()
    )
    overlap = np.mean(np.linalg.svd(first.T @ second, compute_uv=False) ** 2)
    assert overlap == pytest.approx(sharing, abs=0.08)  # sampling in the head makes them slightly oblique


def test_measured_films_share_their_structured_variance(tmp_path):
    """How much varies along the networks of film 1: as much in film 2 if they are shared, else far less."""
    ratio = {}
    for sharing in (0.0, 1.0):
        simulate_movie_watching(tmp_path / str(sharing), SEED, "smoke", sharing=sharing)
        networks = draw_brain(sharing).networks["film1"]
        variance = {}
        for film, path in read_movie_watching(tmp_path / str(sharing)).bold.items():
            series = nib.load(path).get_fdata()
            brain = series.mean(axis=3) > 600
            change = series[brain] / series[brain].mean(axis=1, keepdims=True) - 1
            time = np.polynomial.legendre.legvander(np.linspace(-1, 1, change.shape[1]), 3)
            change = change - (time @ np.linalg.lstsq(time, change.T, rcond=None)[0]).T
            variance[film] = np.mean((np.linalg.qr(networks[:, brain].T)[0].T @ change) ** 2)
        ratio[sharing] = variance["film2"] / variance["film1"]
    assert ratio[1.0] == pytest.approx(1, abs=0.3)
    assert ratio[0.0] < 0.5


def test_signal_and_sharing_leave_the_labels_alone(simulated, tmp_path):
    simulate_movie_watching(tmp_path, SEED, "smoke", sharing=0.0, signal=0.0)
    name = "film1_labels.tsv"
    assert (tmp_path / name).read_bytes() == (simulated / name).read_bytes()
    bold = "sub-01/func/sub-01_task-film1_bold.nii.gz"
    assert (tmp_path / bold).read_bytes() != (simulated / bold).read_bytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": "huge"}, "size is 'huge': expected one of smoke, demo, paper"),
        ({"sharing": 1.5}, "sharing is 1.5: expected a number from 0 to 1"),
        ({"sharing": np.nan}, "sharing is nan"),
        ({"signal": -1.0}, "signal is -1.0: expected a finite number from 0"),
        ({"signal": np.inf}, "signal is inf"),
    ],
)
def test_wrong_arguments_write_nothing(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        simulate_movie_watching(tmp_path / "x", **({"seed": 0, "size": "smoke"} | wrong))
    assert not (tmp_path / "x").exists()


FILM2 = "sub-01/func/sub-01_task-film2_bold.nii.gz"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f, harm: (f / FILM2).unlink(), r"film2_bold\.nii\.gz: no such file"),
        (lambda f, harm: harm.truncate(f / FILM2), r"film2_bold\.nii\.gz: .*of 4 dimensions"),
        (lambda f, harm: harm.series(f / FILM2, change=harm.with_nan), r"film2_bold\.nii\.gz: NaN"),
        (lambda f, harm: harm.series(f / FILM2, change=lambda d: d[..., 0]), r"shape \(22, 22, 16\)"),
        (lambda f, harm: harm.series(f / FILM2, change=lambda d: d[1:]), r"shape \(21, .*the grid of film1"),
        (
            lambda f, harm: harm.series(f / FILM2, change=lambda d: d[:, :, 1:]),
            "15 slices; expected one for each of 16",
        ),
        (lambda f, harm: harm.series(f / FILM2, repetition_time=2.0), "repetition time 2; expected 3.2"),
        (lambda f, harm: (f / "task-film_bold.json").unlink(), r"task-film_bold\.json: "),
        (lambda f, harm: (f / "task-film_bold.json").write_text("{"), r"task-film_bold\.json, line 1"),
        (lambda f, harm: (f / "task-film_bold.json").write_text("[]"), "list; expected an object"),
        (
            lambda f, harm: harm.json(f / "task-film_bold.json", RepetitionTime=-1),
            "RepetitionTime -1; expected",
        ),
        (lambda f, harm: harm.json(f / "task-film_bold.json", RepetitionTime="3"), "RepetitionTime '3'"),
        (lambda f, harm: harm.json(f / "task-film_bold.json", SliceTiming=None), "SliceTiming None"),
        (
            lambda f, harm: harm.json(f / "task-film_bold.json", SliceTiming=[4.0]),
            r"SliceTiming \[4.0\]; .*below 3.2",
        ),
        (lambda f, harm: (f / "film1_labels.tsv").unlink(), r"film1_labels\.tsv"),
        (lambda f, harm: (f / "film1_labels.tsv").write_text(""), r"film1_labels\.tsv"),
        (
            lambda f, harm: harm.drop_last_line(f / "film1_labels.tsv"),
            "79 rows; expected one for each of 80 volumes",
        ),
        (lambda f, harm: harm.replace_text(f / "film1_labels.tsv", "faces", "face"), "no column faces"),
        (
            lambda f, harm: harm.replace_text(f / "film1_labels.tsv", "0.", "x."),
            r"tsv, line \d+: .*a finite number",
        ),
        (lambda f, harm: (f / "sub-01/anat/sub-01_T1w.nii.gz").unlink(), "T1w"),
        (lambda f, harm: harm.series(f / "sub-01/anat/sub-01_T1w.nii.gz", change=harm.with_nan), "T1w.*NaN"),
        (lambda f, harm: harm.replace_text(f / "truth/regions.tsv", "faces", "face"), "no region faces"),
        (lambda f, harm: harm.replace_text(f / "truth/regions.tsv", "6\t", "7\t"), "no name for region 6"),
        (
            lambda f, harm: harm.series(f / "truth/regions.nii.gz", change=np.zeros_like),
            "integers from 1",
        ),
        (
            lambda f, harm: harm.series(f / "truth/regions.nii.gz", change=harm.with_nan),
            "integers from 1",
        ),
    ],
)
def test_broken_movie_watching(simulated, tmp_path, harm, damage, message):
    folder = shutil.copytree(simulated, tmp_path / "copy")
    damage(folder, harm)
    with pytest.raises(DataError, match=message):
        read_movie_watching(folder)
