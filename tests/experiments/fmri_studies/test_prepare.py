"""The scripts of the rules write each study to its own file."""

import json

import numpy as np
import pytest

from reproduction.datasets.drug_stroop import COCAINE, CONTROL
from reproduction.datasets.wager2008_contrasts import WagerContrasts
from reproduction.experiments.fmri_studies import (
    prepare_contrast_maps,
    prepare_contrast_part,
    prepare_film_study,
    prepare_group_studies,
)
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps
from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.fmri_studies.movie_series import MovieSeries
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.ksupport import prepare as prepare_ksupport


def contrasts(groups):
    n = len(groups)
    maps = np.arange(8.0 * n, dtype=np.float32).reshape(n, 8)
    mask, kept = np.ones((2, 2, 2), dtype=bool), np.ones(n, dtype=bool)
    return ContrastMaps(
        maps, mask, np.eye(4), np.array(groups), np.zeros(8, dtype=bool), np.zeros((n, 2)), kept
    )


@pytest.fixture
def film(tmp_path):
    rng = np.random.default_rng(0)
    series = MovieSeries(
        rng.normal(size=(60, 4)).astype(np.float32),
        rng.normal(size=(60, 4)).astype(np.float32),
        rng.normal(size=(60, 1)),
        np.array(["temporal_contrast"]),
        np.ones((4, 1, 1), dtype=bool),
        np.eye(4),
        np.array([0, 1, 1, 0]),
        np.array(["temporal_contrast"]),
        np.zeros((2, 2)),
    )
    series.write(tmp_path / "film.npz")
    return series


def files(folder, *names):
    return {name: str(folder / f"{name}.npz") for name in names}


@pytest.mark.parametrize(("part", "expected"), [(0, [0, 1, 2]), (1, [3, 4])])
def test_subjects_are_divided_in_order(tmp_path, monkeypatch, part, expected):
    class Data:
        subjects = range(5)

    class Prepared(list):
        def write(self, path):
            assert path == "part.npz"
            assert self == [*expected, 8.0]

    monkeypatch.setattr(prepare_contrast_part, "read_drug_stroop", lambda folder: Data)
    monkeypatch.setattr(prepare_contrast_part, "prepare_contrasts", lambda d, s, fwhm: Prepared([*s, fwhm]))
    (tmp_path / "receipt.json").write_text(json.dumps({"folder": "raw"}))
    inputs = {"receipt": tmp_path / "receipt.json"}
    prepare_contrast_part.main(inputs, {"part": "part.npz"}, part=part, parts=2, fwhm=8.0)


def test_parts_are_joined_in_order(tmp_path):
    paths = [tmp_path / "0.npz", tmp_path / "1.npz"]
    for path, groups in zip(paths, ([COCAINE, CONTROL], [CONTROL]), strict=True):
        contrasts(groups).write(path)
    prepare_contrast_maps.main({"parts": paths}, {"contrasts": tmp_path / "all.npz"})
    assert ContrastMaps.read(tmp_path / "all.npz").group.tolist() == [COCAINE, CONTROL, CONTROL]


def test_groups_are_cocaine_users_and_scores_above_the_median(tmp_path, monkeypatch):
    contrasts([CONTROL, COCAINE, COCAINE]).write(tmp_path / "stroop.npz")
    (tmp_path / "wager.json").write_text(json.dumps({"folder": "raw"}))
    affine = np.diag([20.0, 20, 20, 1])
    affine[:3, 3] = [-20, -20, 0]
    maps = np.arange(32, dtype=np.float32).reshape(4, 2, 2, 2)
    data = WagerContrasts(maps, np.ones((2, 2, 2), bool), affine, np.array([3.0, 1, 4, 2]), np.zeros(4))
    monkeypatch.setattr(prepare_group_studies, "read_wager2008_contrasts", lambda folder: data)
    inputs = {"stroop": tmp_path / "stroop.npz", "wager": tmp_path / "wager.json"}
    outputs = {name: tmp_path / f"{name}_study.npz" for name in ("stroop", "wager", "wager_scores")}
    prepare_group_studies.main(inputs, outputs, pool=1)
    assert Study.read(outputs["stroop"]).y.tolist() == [-1, 1, 1]
    assert Study.read(outputs["wager"]).y.tolist() == [1, -1, 1, -1]
    assert Study.read(outputs["wager_scores"]).y.tolist() == [3, 1, 4, 2]


def test_a_film_is_cut_with_its_target_and_with_the_target_reversed(tmp_path, film):
    outputs = files(tmp_path, "cut", "control")
    outputs = {"film": outputs["cut"], "reversed": outputs["control"]}
    prepare_film_study.main(files(tmp_path, "film"), outputs, stretches=3, gap=4)
    cut, control = (Study.read(outputs[name]) for name in ("film", "reversed"))
    assert np.bincount(cut.runs).tolist() == [18, 16, 18]
    np.testing.assert_array_equal(cut.X, control.X)
    # Stretches of 3 lie symmetrically in the film, so the control is the target from the end to the start.
    first = film.labels[:18, 0] - film.labels[:18, 0].mean()
    np.testing.assert_allclose(cut.y[:18], first, atol=1e-9)
    np.testing.assert_allclose(control.y[-18:], first[::-1], atol=1e-9)


def test_the_whole_film_and_faces_of_the_haxby_slice(tmp_path, film):
    rng = np.random.default_rng(1)
    haxby = HaxbySeries(
        rng.normal(size=(6, 4)),
        rng.normal(size=(6, 2)),
        np.array(["cat", "face"]),
        np.repeat([0, 1], 3),
        np.ones((4, 1, 1), dtype=bool),
        np.eye(4),
    )
    haxby.write(tmp_path / "series.npz")
    inputs = {"film": tmp_path / "film.npz", "haxby": tmp_path / "series.npz"}
    outputs = files(tmp_path, "film_whole", "reversed_whole", "haxby")
    prepare_ksupport.main(inputs, outputs)
    whole, control, faces = (Study.read(outputs[name]) for name in ("film_whole", "reversed_whole", "haxby"))
    assert whole.y.tolist() == film.labels[:, 0].tolist()
    assert control.y.tolist() == film.labels[::-1, 0].tolist()
    assert faces.y.tolist() == haxby.categories[:, 1].tolist()
    assert faces.runs.tolist() == [0, 0, 0, 1, 1, 1]
