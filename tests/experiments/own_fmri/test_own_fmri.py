"""A scan of the user: preprocessing, held-out correlations, weight maps, and messages for broken input."""

from types import SimpleNamespace

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from nilearn.datasets import load_mni152_template
from scipy import stats

from ermlab.exceptions import DataError
from ermlab.fmri.stretches import filtered_parts, stretches_of_runs
from reproduction.claims.results import read_results
from reproduction.experiments.own_fmri import evaluate, prepare
from reproduction.experiments.own_fmri.evaluate import decode_own, ksupport_scores
from reproduction.experiments.own_fmri.prepare import (
    OwnScan,
    OwnSeries,
    prepare_own_scan,
    stretches_without_drifts,
)

TR, VOLUMES, VOXEL, GAP = 2.5, 48, 10, 2
PLACE = (-30, -60, 20)


def delayed(stimulus):
    """Convolve a stimulus, given at each volume, with the response of SPM."""
    t = np.arange(0, 32, TR)
    response = stats.gamma.pdf(t, 6) - stats.gamma.pdf(t, 16) / 6
    return np.convolve(stimulus, response / response.sum())[: len(stimulus)]


def write_scan(folder, runs=2, effect=0.04, seed=0):
    """Write runs with labels and one without; a stimulus activates one place of the brain."""
    rng, template = np.random.default_rng(seed), load_mni152_template(VOXEL)
    brain = template.get_fdata()
    grid = np.stack(np.meshgrid(*map(np.arange, brain.shape), indexing="ij"), axis=-1)
    near = np.linalg.norm(nib.affines.apply_affine(template.affine, grid) - PLACE, axis=-1) < 18
    for run in range(runs + 1):
        stimulus = np.repeat(rng.integers(0, 2, size=VOLUMES // 4), 4).astype(float)
        data = 1000 * brain[..., None] * (1 + effect * near[..., None] * delayed(stimulus))
        data += rng.normal(scale=12, size=data.shape)
        img = nib.Nifti1Image(data.astype(np.float32), template.affine)
        img.header.set_xyzt_units("mm", "sec")
        img.header.set_zooms((VOXEL, VOXEL, VOXEL, TR))
        nib.save(img, folder / f"run{run}.nii.gz")
        labels = pd.DataFrame({"faces": stimulus, "noise": rng.normal(size=VOLUMES), "flat": 1.0})
        labels.to_csv(folder / f"run{run}.tsv", sep="\t", index=False)
        begins = np.flatnonzero(np.diff(stimulus, prepend=0) == 1)
        ends = np.flatnonzero(np.diff(stimulus, append=0) == -1)
        events = pd.DataFrame({"onset": begins * TR, "duration": (ends - begins + 1) * TR})
        events = events.assign(trial_type="faces", response_time=0.5)
        events.to_csv(folder / f"run{run}_events.tsv", sep="\t", index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    write_scan(folder)
    return folder


def block(folder, **changes):
    """Return the block of a configuration; None removes an entry."""
    entries = {
        "bold": [str(folder / "run0.nii.gz"), str(folder / "run1.nii.gz")],
        "labels": [str(folder / "run0.tsv"), str(folder / "run1.tsv")],
        "repetition_time": TR,
        "target": "faces",
        "template": False,
        "gap": GAP * TR,
        **changes,
    }
    return {name: value for name, value in entries.items() if value is not None}


@pytest.fixture(scope="module")
def series(folder):
    return prepare_own_scan(OwnScan(**block(folder, unlabelled=str(folder / "run2.nii.gz"))))


@pytest.fixture(scope="module")
def single(folder):
    files = {"bold": str(folder / "run0.nii.gz"), "labels": str(folder / "run0.tsv")}
    return prepare_own_scan(OwnScan(**block(folder, **files, folds=4)))


def strongest(series, values):
    """Return the center of the strongest voxels in millimeters."""
    best = np.argsort(values)[-10:]
    return nib.affines.apply_affine(series.affine, np.argwhere(series.mask)[best]).mean(axis=0)


def test_runs_come_one_after_another_and_show_the_stimulus_where_it_is(series):
    assert series.X.shape == (2 * VOLUMES, series.mask.sum())
    assert series.unlabelled.shape == (VOLUMES, series.mask.sum())
    assert series.motion.shape == (3 * VOLUMES, 6)
    assert series.background.shape == series.mask.shape
    np.testing.assert_array_equal(series.runs, np.repeat([0, 1], VOLUMES))
    assert np.bincount(series.stretches + 1).tolist() == [2 * 3 * GAP, *2 * [11, 10, 10, 11]]
    for run in (0, 1):
        np.testing.assert_allclose(series.X[series.runs == run].mean(axis=0), 0, atol=1e-3)
        assert abs(series.y[series.runs == run].mean()) < 1e-9
    assert np.linalg.norm(strongest(series, series.y @ series.X) - PLACE) < 2 * VOXEL


def test_events_and_labels_of_one_stimulus_give_one_target(folder, series):
    events = [str(folder / f"run{run}_events.tsv") for run in (0, 1)]
    found = prepare_own_scan(OwnScan(**block(folder, labels=None, events=events)))
    # They are sampled differently, which matters more after the means of short stretches are removed.
    assert np.corrcoef(found.y, series.y)[0, 1] > 0.9


def test_a_run_on_another_grid_is_resampled_on_request(folder, tmp_path, series):
    second = nib.load(folder / "run1.nii.gz")
    data = np.pad(second.get_fdata(dtype=np.float32), ((1, 1), (0, 0), (0, 0), (0, 0)))
    affine = second.affine.copy()
    affine[:3, 3] -= affine[:3, 0]
    nib.save(nib.Nifti1Image(data, affine, second.header), tmp_path / "padded.nii.gz")
    bold = [str(folder / "run0.nii.gz"), str(tmp_path / "padded.nii.gz")]
    with pytest.raises(DataError, match=r"padded.nii.gz has shape .* use resample"):
        prepare_own_scan(OwnScan(**block(folder, bold=bold)))
    found = prepare_own_scan(OwnScan(**block(folder, bold=bold, resample=True)))
    assert np.linalg.norm(strongest(found, found.y @ found.X) - PLACE) < 2 * VOXEL


def test_labels_that_are_delayed_already_stay_as_they_are(folder):
    files = {"bold": str(folder / "run0.nii.gz"), "labels": str(folder / "run0.tsv")}
    found = prepare_own_scan(OwnScan(**block(folder, **files, convolve=False)))
    column = pd.read_csv(folder / "run0.tsv", sep="\t")["faces"]
    (stretches,) = stretches_of_runs([VOLUMES], 5, GAP)
    for number in range(5):
        shown = column[stretches == number]
        np.testing.assert_allclose(found.y[found.stretches == number], shown - shown.mean(), atol=1e-12)
    assert found.unlabelled.shape[0] == 0


def test_a_head_that_moved_between_runs_is_realigned(folder, tmp_path):
    second = nib.load(folder / "run1.nii.gz")
    moved = np.roll(second.get_fdata(dtype=np.float32), 1, axis=1)
    nib.save(nib.Nifti1Image(moved, second.affine, second.header), tmp_path / "moved.nii.gz")
    bold = [str(folder / "run0.nii.gz"), str(tmp_path / "moved.nii.gz")]
    found = prepare_own_scan(OwnScan(**block(folder, bold=bold)))
    np.testing.assert_allclose(found.motion[VOLUMES:, 1], VOXEL, atol=0.3)
    for run in (0, 1):
        rows = found.runs == run
        assert np.linalg.norm(strongest(found, found.y[rows] @ found.X[rows]) - PLACE) < 2 * VOXEL


def test_a_normalized_scan_is_on_the_grid_of_the_template(folder):
    found = prepare_own_scan(OwnScan(**block(folder, template=True, resolution=VOXEL)))
    assert found.mask.shape == load_mni152_template(VOXEL).shape
    assert np.linalg.norm(strongest(found, found.y @ found.X) - PLACE) < 2 * VOXEL


def test_series_are_read_back_as_written(series, tmp_path):
    series.write(tmp_path / "series.npz")
    again = OwnSeries.read(tmp_path / "series.npz")
    np.testing.assert_array_equal(again.X, series.X)
    np.testing.assert_array_equal(again.mask, series.mask)
    (tmp_path / "cut.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"cut.npz is not what OwnSeries.write has written"):
        OwnSeries.read(tmp_path / "cut.npz")


def results_in(folder):
    files = {
        "values": "values.json",
        "correlations": "correlations.csv",
        "curve": "curve.csv",
        "weights": "weights.nii.gz",
        "map": "map.html",
    }
    return {name: folder / file for name, file in files.items()}


def test_each_run_is_held_out_and_predicted_by_the_others(monkeypatch):
    """Two voxels and two runs; the weights are the mean target of the training part and 1."""
    y = np.array([1.0, 2, 4, 3.0, 5, 1])
    X = np.column_stack([y, -y]).astype(np.float32)
    runs = np.repeat([0, 1], 3)
    data = OwnSeries(X, y, runs, runs, X[:0], *[np.zeros(0)] * 4)

    def learn(X, y, stretches):
        return np.array([y.mean(), 2.8]), {"trained_on": sorted(set(stretches.tolist()))}

    monkeypatch.setattr(evaluate, "learn_ksupport", learn)
    table = ksupport_scores(data, folds=5)
    assert table["part"].tolist() == [0, 1]
    assert table["volumes"].tolist() == [3, 3]
    assert table["trained_on"].tolist() == [[1], [0]]
    # Run 0 is predicted by 3 y - 2.8 y, run 1 by 7/3 y - 2.8 y.
    assert table["score"].tolist() == pytest.approx([1, -1], abs=1e-6)


def test_results_have_the_numbers_of_the_scan(tmp_path, monkeypatch):
    """Six volumes of two voxels, the second of which is minus the first, in two runs."""
    y = np.array([1.0, 2, 4, 3.0, 5, 1])
    runs, motion = np.repeat([0, 1], 3), np.zeros((8, 6))
    motion[3, 1], motion[5, 4] = -1.5, 0.5
    geometry = np.ones((2, 1, 1), bool), np.diag([3.0, 3, 3, 1]), np.ones((2, 1, 1), np.float32)
    X = np.column_stack([y, -y]).astype(np.float32)
    OwnSeries(X, y, runs, runs, X[:2], *geometry, motion).write(tmp_path / "series.npz")
    decoding = SimpleNamespace(
        parts=None,
        weights=np.zeros((1, 2)),
        score=0.25,
        eps=0.1,
        gamma=0.0,
        curve=pd.DataFrame({"eps": [0.1], "gamma": [0.0], "held_out": [0.25]}),
        interval=(0.1, 0.4),
        chance=0.01,
        chance_interval=(-0.2, 0.2),
        p_value=0.04,
        ridge=0.3,
        summary=lambda: "summary",
    )
    monkeypatch.setattr(evaluate, "decode_own", lambda data, scan: decoding)
    monkeypatch.setattr(
        evaluate, "learn_ksupport", lambda X, y, stretches: (np.array([1.0, 0]), {"k": len(X)})
    )
    monkeypatch.setattr(evaluate, "_write_page", lambda path, title, *rest: path.write_text(title))
    outputs = results_in(tmp_path / "own_fmri")
    scan = OwnScan("bold.nii", TR, "faces", "ksupport", labels="labels.tsv")
    evaluate.main({"series": tmp_path / "series.npz"}, outputs, scan=scan)
    values = read_results(tmp_path / "own_fmri")["values"]
    assert values.pop("correlations") == pytest.approx([1, 1])
    assert values == {
        "method": "ksupport",
        "target": "faces",
        "correlation": pytest.approx(1),
        "laplacian_kcca": 0.25,
        "interval": [0.1, 0.4],
        "chance": 0.01,
        "chance_interval": [-0.2, 0.2],
        "p_value": 0.04,
        "ridge": 0.3,
        "held_out": "runs",
        "chosen": {"k": 6},
        "volumes": 6,
        "unlabelled_volumes": 2,
        "voxels": 2,
        "largest_translation_mm": 1.5,
        "largest_rotation_degrees": 0.5,
        "excessive_motion": False,
    }
    assert nib.load(outputs["weights"]).get_fdata().ravel().tolist() == [1, 0]
    assert (
        outputs["map"].read_text()
        == "faces, ksupport: weights above 2 SD. Correlation on held-out volumes: 1.000."
    )


def test_motion_is_written_for_each_volume(series, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "prepare_own_scan", lambda scan: series)
    outputs = {"series": tmp_path / "series.npz", "motion": tmp_path / "motion.csv"}
    prepare.main({}, outputs, scan=OwnScan("bold.nii", TR, "faces", labels="labels.tsv"))
    motion = pd.read_csv(outputs["motion"], index_col="volume")
    assert motion.columns.tolist() == ["x_mm", "y_mm", "z_mm", "x_degrees", "y_degrees", "z_degrees"]
    np.testing.assert_allclose(motion, series.motion, atol=1e-4)


@pytest.mark.parametrize(("method", "runs"), [("laplacian_kcca", 1), ("laplacian_kcca", 2), ("ksupport", 1)])
def test_the_target_is_predicted_and_mapped(series, single, tmp_path, method, runs):
    data = series if runs == 2 else single
    data.write(tmp_path / "series.npz")
    folder = tmp_path / "own_fmri"
    scan = OwnScan("bold.nii", TR, "<faces>", method, labels="labels.tsv", folds=4)
    evaluate.main({"series": tmp_path / "series.npz"}, results_in(folder), scan=scan)
    values = read_results(folder)["values"]
    table = pd.read_csv(folder / "correlations.csv")
    assert values["correlation"] == pytest.approx(table["correlation"].mean())
    assert values["correlation"] > 0.5
    assert values["interval"][0] < values["laplacian_kcca"] < values["interval"][1]
    assert values["chance_interval"][0] < values["chance"] < values["chance_interval"][1]
    # One run of 42 volumes has too few blocks for a small p.
    assert values["p_value"] <= (0.05 if runs == 2 else 0.3)
    assert values["ridge"] > 0.3
    curve = pd.read_csv(folder / "curve.csv")
    assert curve["selected"].sum() == 1
    assert curve["held_out"].between(-1, 1).all()
    assert values["volumes"] == len(data.X)
    assert values["held_out"] == ("runs" if runs == 2 else "stretches")
    assert len(table) == (4 if runs == 1 else 2)
    weights = nib.load(folder / "weights.nii.gz")
    assert weights.shape == series.mask.shape
    assert not weights.get_fdata()[~series.mask].any()
    assert np.linalg.norm(strongest(series, weights.get_fdata()[series.mask]) - PLACE) < 2.5 * VOXEL
    page = (folder / "map.html").read_text()
    assert "&lt;faces&gt;" in page
    assert "<faces>" not in page
    assert "chance:" in page
    assert "ridge regression:" in page
    assert "selection_score" in page


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_a_scan_without_signal_is_not_predicted(film_of_nothing, runs):
    """Filters over a whole run leak, unless drifts are removed from each part that is held out."""
    scan = OwnScan(["bold"] * runs, 3.2, "target", labels=["labels"] * runs, permutations=19)
    found = []
    stretches = stretches_of_runs([300] * runs, folds=5, gap=5)
    parts = filtered_parts(stretches)
    for seed in range(3):
        films = [film_of_nothing([seed, run], voxels=150) for run in range(runs)]
        for column in range(6):
            pairs = [
                [stretches_without_drifts(rows, where, scan) for rows in (film.film1, film.labels[:, column])]
                for film, where in zip(films, parts, strict=True)
            ]
            X, y = (np.concatenate(sides) for sides in zip(*pairs, strict=True))
            numbers = np.concatenate([of[part >= 0] for of, part in zip(stretches, parts, strict=True)])
            run_of = np.repeat(np.arange(runs), [len(rows) for rows, _ in pairs])
            found.append(decode_own(OwnSeries(X, y, run_of, numbers, X[:0], *[np.zeros(0)] * 4), scan))
    assert len(found[0].parts) == (5 if runs == 1 else runs)
    assert abs(np.mean([result.score for result in found])) < 0.08
    assert np.mean([result.p_value for result in found]) > 0.3


def test_runs_that_are_too_short_to_cut_are_refused_first(folder):
    with pytest.raises(
        DataError, match="own_fmri: nothing is left of stretch 1: expected more than 16 volumes"
    ):
        prepare_own_scan(OwnScan(**block(folder, gap=40.0)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "both or neither of labels and events: expected one of them"),
        ({"events": ["a.tsv", "b.tsv"]}, "both or neither of labels and events"),
        ({"labels": "run0.tsv"}, "2 bold series and 1 files of labels: expected one for each"),
        ({"labels": ["{}/none.tsv"] * 2}, "none.tsv: No such file or directory; expected a table"),
        ({"target": "houses"}, "run0.tsv: no column 'houses'; expected one of faces, noise, flat"),
        ({"target": "flat"}, "run0.tsv: flat is the same at all volumes; expected a target that varies"),
        ({"repetition_time": 2.0}, "repetition_time is 2.0 s, but the header of the image says 2.5 s"),
        ({"slice_times": [0.0, 1.0]}, "expected one per slice, 20"),
        ({"bold": ["{}/run0.nii.gz", "{}/single.nii.gz"]}, "single.nii.gz has shape .* of 4 dimensions"),
        ({"bold": ["{}/run0.nii.gz", "{}/other.nii.gz"]}, "other.nii.gz has the affine .* use resample"),
        ({"bold": ["{}/run0.nii.gz", "{}/holes.nii.gz"]}, "holes.nii.gz has 1 NaN or infinite voxels"),
        (
            {"labels": ["{}/run0.tsv", "{}/long.tsv"]},
            "long.tsv: 49 rows; expected one for each of 48",
        ),
        ({"labels": ["{}/run0.tsv", "{}/gap.tsv"]}, "gap.tsv, row 3: faces is nan; expected a finite number"),
        ({"labels": None, "events": ["{}/run0.tsv"] * 2}, "no column onset, duration, trial_type"),
        (
            {"labels": None, "events": ["{}/run0_events.tsv"] * 2, "target": "no"},
            "no event of trial_type 'no'",
        ),
        ({"labels": None, "events": ["{}/late.tsv"] * 2}, "late.tsv: no event begins in the series of 120 s"),
    ],
)
def test_bad_input_is_refused(folder, changes, message):
    img = nib.load(folder / "run0.nii.gz")
    data = img.get_fdata(dtype=np.float32)
    nib.save(nib.Nifti1Image(data[..., 0], img.affine), folder / "single.nii.gz")
    nib.save(nib.Nifti1Image(data, img.affine + 0.5 * np.eye(4)), folder / "other.nii.gz")
    holes = data.copy()
    holes[2, 2, 2, 2] = np.nan
    nib.save(nib.Nifti1Image(holes, img.affine), folder / "holes.nii.gz")
    labels = pd.read_csv(folder / "run0.tsv", sep="\t")
    pd.concat([labels, labels[:1]]).to_csv(folder / "long.tsv", sep="\t", index=False)
    labels.assign(faces=labels["faces"].where(labels.index != 2)).to_csv(
        folder / "gap.tsv", sep="\t", index=False
    )
    events = pd.DataFrame({"onset": [1e4], "duration": [1.0], "trial_type": ["faces"]})
    events.to_csv(folder / "late.tsv", sep="\t", index=False)

    def placed(value):
        return [name.format(folder) for name in value] if np.ndim(value) and value[0] != 0 else value

    entries = block(folder, **{name: placed(value) for name, value in changes.items()})
    with pytest.raises(ValueError, match=message):
        prepare_own_scan(OwnScan(**entries))
