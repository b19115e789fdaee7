"""Decoders find what is there with few runs, report chance where nothing is, and refuse broken input."""

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from ermlab.cca import LaplacianKCCA
from ermlab.cca.centered_kernels import CenteredGram, Rows
from ermlab.cca.rules import effective_dimensions, one_standard_error
from ermlab.cca.single_targets import SingleTargets
from ermlab.exceptions import DataError
from ermlab.fmri import FMRIDecoder, decode
from ermlab.fmri.chance import block_bootstrap, shuffled_orders
from ermlab.fmri.targets import Target, condition_of_volumes, response_columns

TR, VOLUMES, VOXELS = 2.0, 100, 120


def simulate(seed, runs, amplitude):
    """Return runs of correlated noise with common components, and events that drive some voxels."""
    rng = np.random.default_rng(seed)
    pattern = rng.normal(size=VOXELS) * (rng.random(VOXELS) < 0.15)
    common = rng.normal(size=(3, VOXELS))
    rows, events = [], []
    for _ in range(runs):
        onsets = np.cumsum(rng.uniform(28, 42, size=5))
        table = pd.DataFrame({"onset": onsets, "duration": 14.0, "trial_type": "tapping"})
        y = response_columns(table, VOLUMES, TR)["tapping"].to_numpy()
        noise = lfilter([0.8], [1, -0.6], rng.normal(size=(VOLUMES + 30, VOXELS + 3)), axis=0)[30:]
        signal = np.outer((y - y.mean()) / y.std(), pattern)
        rows.append(noise[:, :VOXELS] + 2 * noise[:, VOXELS:] @ common + amplitude * signal)
        events.append(table)
    return rows, events


@pytest.mark.parametrize(("runs", "amplitude"), [(2, 1.0), (3, 0.7)])
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_signal_is_found_with_one_or_two_training_runs(runs, amplitude, seed):
    rows, events = simulate(seed, runs, amplitude)
    found = decode(rows, events=events, target="tapping", repetition_time=TR, n_permutations=60).decoding_
    assert found.score > 0.4
    assert found.score > found.chance_interval[1]
    assert found.p_value < 0.05
    # The choice is not far from what any other eps would have given, nor from ridge regression.
    assert found.score > found.curve["held_out"].max() - 0.15
    assert found.score > found.ridge - 0.1


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_p_values_without_signal_are_spread(runs):
    found = []
    for seed in range(24):
        rows, events = simulate(seed, runs, 0.0)
        decoder = decode(rows, events=events, target="tapping", repetition_time=TR, n_permutations=39)
        found.append(decoder.decoding_)
    p = np.array([result.p_value for result in found])
    assert abs(np.mean([result.score for result in found])) < 0.12
    assert 0.3 < p.mean() < 0.7
    assert np.mean(p <= 0.1) < 0.3
    inside = [r.chance_interval[0] <= r.score <= r.chance_interval[1] for r in found]
    assert np.mean(inside) > 0.75


def conditions(seed=0, effect=1.0, repeats=6):
    rng = np.random.default_rng(seed)
    labels = np.tile(np.repeat(["a", "b", "rest"], 9), repeats)
    X = rng.normal(size=(len(labels), 40))
    X[labels == "a", :5] += effect
    X[labels == "b", 5:9] += effect
    return X, labels, np.arange(len(labels)) * 2 // len(labels)


def test_contrasts_and_classes_are_told_apart():
    X, labels, groups = conditions()
    settings = {"groups": groups, "repetition_time": TR, "gap": 4.0, "n_permutations": 60}
    two = decode(X, labels=labels, contrast=["a", "b"], **settings)
    assert two.decoding_.scoring == "balanced accuracy"
    assert two.decoding_.score > 0.75
    assert abs(two.decoding_.chance - 1 / 2) < 0.06
    assert two.coef_[0, :5].sum() < 0 < two.coef_[0, 5:9].sum()
    three = decode(X, labels=labels, **settings)
    assert three.classes_.tolist() == ["a", "b", "rest"]
    assert three.decoding_.score > 0.55
    assert abs(three.decoding_.chance - 1 / 3) < 0.06
    assert np.mean(three.predict(X[groups == 0]) == labels[groups == 0]) > 0.6


def test_a_model_without_unlabeled_volumes_is_laplacian_kcca_and_ridge():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 8)), rng.normal(size=(30, 3))
    eps, gamma = (0.1, 10.0), (0.0, 2.0)
    gram, K_test = CenteredGram.of(Rows("X", "linear", X)).split(np.arange(24), np.arange(24, 30), "X")
    for (i, j), predicted in SingleTargets(gram, eps, gamma).predictions(K_test, Y[:24]):
        for k in range(3):
            model = LaplacianKCCA(eps_x=eps[i], gamma_x=gamma[j]).fit(X[:24], Y[:24, k])
            expected = model.transform(X[24:])[:, 0]
            assert np.corrcoef(expected, predicted[:, k])[0, 1] == pytest.approx(1)
        if gamma[j] == 0:
            centered = X[:24] - X[:24].mean(axis=0)
            penalty = eps[i] * np.trace(centered @ centered.T) / 24 * np.eye(8)
            w = np.linalg.solve(centered.T @ centered + penalty, centered.T @ Y[:24])
            np.testing.assert_allclose(predicted, (X[24:] - X[:24].mean(axis=0)) @ w, atol=1e-10)


def test_one_standard_error_moves_to_half_the_degrees_of_freedom():
    scores = np.array([[0.3, 0.4, 0.5], [0.5, 0.42, 0.5]]).reshape(2, 3, 1)
    dimensions = [0.9, 0.45, 0.1]
    # The best mean is .5 without an error: nothing else is within it.
    assert one_standard_error(scores, dimensions) == (2, 0)
    scores[:, 2, 0] = 0.3, 0.7
    assert one_standard_error(scores, dimensions) == (1, 0)
    scores[:, 1, 0] = 0.0
    assert one_standard_error(scores, dimensions) in [(0, 0), (2, 0)]


def test_degrees_of_freedom_are_the_trace_of_the_smoother():
    X = np.random.default_rng(0).normal(size=(12, 5))
    model = SingleTargets(CenteredGram.of(Rows("X", "linear", X)), (0.5,), (0.0,))
    centered = X - X.mean(axis=0)
    K = centered @ centered.T
    smoother = K @ np.linalg.inv(K + 0.5 * np.trace(K) / 12 * np.eye(12))
    assert effective_dimensions(model.view, [0.5]) == pytest.approx([np.trace(smoother) / 12])


def test_shuffled_targets_stay_in_their_run_and_keep_most_neighbors():
    runs = np.repeat([0, 1], [60, 50])
    orders = shuffled_orders(runs, 10, 20, np.random.RandomState(0))
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(110))
        np.testing.assert_array_equal(runs[order], runs)
        assert np.mean(np.abs(np.diff(order)) == 1) > 0.8
    assert len({tuple(order) for order in orders}) == 20


def test_resampled_means_vary_as_they_should():
    values = np.random.default_rng(0).normal(size=400)
    means = block_bootstrap([400], 1, lambda rows: values[rows[0]].mean(), 400, np.random.RandomState(0))
    assert means.std() == pytest.approx(values.std() / 20, rel=0.15)
    short = block_bootstrap([8], 99, lambda rows: values[rows[0]].mean(), 50, np.random.RandomState(0))
    assert short.std() > 0


def test_conditions_follow_the_response():
    events = pd.DataFrame({"onset": [10.0, 60.0], "duration": 20.0, "trial_type": ["a", "b"]})
    found = condition_of_volumes(response_columns(events, 50, TR), ["a", "b"])
    for name, onset in (("a", 10.0), ("b", 60.0)):
        seconds = np.flatnonzero(found == name) * TR - onset
        assert 2 <= seconds.min() <= 8
        assert 20 <= seconds.max() <= 30


def write_images(rows, folder):
    """Write runs as images of 4 x 5 x 6 voxels."""
    paths = []
    for number, part in enumerate(rows):
        data = 100 + np.moveaxis(part.reshape(-1, 4, 5, 6), 0, 3)
        img = nib.Nifti1Image(data.astype(np.float32), np.diag([3.0, 3, 3, 1]))
        img.header.set_xyzt_units("mm", "sec")
        img.header.set_zooms((3, 3, 3, TR))
        paths.append(str(folder / f"run{number}.nii.gz"))
        nib.save(img, paths[-1])
    return paths, nib.Nifti1Image(np.ones((4, 5, 6), np.uint8), np.diag([3.0, 3, 3, 1]))


def test_images_give_what_arrays_give_and_a_map(tmp_path):
    rows, events = simulate(0, 2, 1.0)
    paths, mask = write_images(rows, tmp_path)
    settings = {"events": events, "target": "tapping", "repetition_time": TR, "n_permutations": 20}
    arrays, images = decode(rows, **settings), decode(paths, mask=mask, **settings)
    np.testing.assert_allclose(images.coef_, arrays.coef_, atol=1e-4)
    assert arrays.coef_img_ is None
    np.testing.assert_allclose(images.coef_img_.get_fdata()[..., 0].ravel(), images.coef_[0], atol=1e-6)
    np.testing.assert_allclose(images.predict(paths), arrays.predict(rows), atol=1e-3)

    other = nib.load(paths[1]).slicer[1:]
    nib.save(other, tmp_path / "other.nii.gz")
    mixed = [paths[0], str(tmp_path / "other.nii.gz")]
    with pytest.raises(DataError, match=r"other.nii.gz has shape \(3, 5, 6\).* grid of .*run0.nii.gz, use"):
        decode(mixed, mask=mask, **settings)
    assert decode(mixed, mask=mask, resample=True, **settings).coef_.shape == (1, VOXELS)


def test_results_do_not_depend_on_threads_nor_on_constant_voxels():
    rows, events = simulate(1, 2, 1.0)
    settings = {"events": events, "target": "tapping", "repetition_time": TR, "n_permutations": 20}
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(decode(rows, **settings))
    np.testing.assert_array_equal(results[0].coef_, results[1].coef_)
    assert results[0].decoding_.p_value == results[1].decoding_.p_value
    flat = [np.hstack([part, np.full((len(part), 2), 7.0)]) for part in rows]
    found = decode(flat, **settings)
    assert found.decoding_.score == pytest.approx(results[0].decoding_.score)
    np.testing.assert_array_equal(found.coef_[:, -2:], 0)


def test_unlabeled_runs_are_used_and_parameters_are_kept():
    rows, events = simulate(2, 3, 1.0)
    y = [response_columns(table, VOLUMES, TR)["tapping"].to_numpy() for table in events[:2]]
    decoder = clone(FMRIDecoder(TR, n_permutations=5, gamma=(1.0,)))
    plain = decoder.fit(rows[:2], y).coef_
    assert not np.allclose(decoder.fit(rows[:2], y, X_extra=rows[2]).coef_, plain)
    assert decoder.gamma_ == 1.0


X, LABELS, GROUPS = conditions()
LATE = pd.DataFrame({"onset": [9e3], "duration": [1.0], "trial_type": ["a"]})


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        ([X[:1], X[:40]], {"labels": [LABELS[:1], LABELS[:40]]}, "run 0 has 1 volumes: expected at least 4"),
        (np.where(X[3, 2] == X, np.nan, X), {"labels": LABELS}, r"run 0\[3, 2\] is nan: expected finite"),
        (np.ones_like(X), {"labels": LABELS}, "is constant over"),
        (X, {"labels": LABELS[:-1]}, r"y has shapes \[\(161,\)\]: expected \[162\] values"),
        (X, {"labels": [None, *LABELS[1:]]}, r"y\[0\] is None: expected the class"),
        (X, {"labels": np.full(162, "a")}, "all volumes are of class a"),
        (X, {"labels": np.r_[np.nan, np.arange(161.0)]}, r"y\[0\] is nan"),
        (X, {"labels": LABELS, "contrast": ["a", "c"]}, "no 'c' in the labels: expected some of a, b, rest"),
        (X, {"labels": LABELS, "contrast": ["a"]}, "expected 2 or more different ones"),
        (X, {"labels": np.r_[["x"] * 5, LABELS[5:]], "groups": GROUPS}, "class x occurs in one held-out"),
        (X, {"labels": LABELS, "groups": GROUPS[:5]}, r"groups has shape \(5,\)"),
        (X, {"labels": LABELS, "groups": np.arange(162) % 2}, "groups alternate"),
        ([X, X[:, :3]], {"labels": [LABELS, LABELS]}, "run 1 has 3 voxels: expected 40"),
        ([], {"labels": LABELS}, "no runs"),
        (X, {}, "both or neither of events and labels"),
        (X, {"events": LATE, "target": "a"}, "no event begins in the series"),
        (X, {"events": LATE.assign(onset=1.0), "target": "b"}, "no 'b' in the events"),
        (X, {"labels": LABELS, "target": "a"}, "target is given with contrast or labels"),
        (X, {"labels": LABELS, "repetition_time": 2000.0}, "expected seconds, not milliseconds"),
        (X, {"labels": LABELS, "gap": -1.0}, "gap is -1.0"),
        (X, {"labels": LABELS, "n_splits": 1}, "n_splits is 1"),
        (X, {"labels": LABELS, "eps": (1.0, 0.1)}, "expected increasing values"),
        (X, {"labels": LABELS, "n_permutations": 0}, "n_permutations is 0"),
    ],
)
def test_bad_input_is_refused(X, settings, message):
    with pytest.raises(ValueError, match=message):
        decode(X, **{"repetition_time": TR, "gap": 4.0, "n_permutations": 3, **settings})


def test_targets_score_what_they_decide():
    target = Target.labels(["b", "a", "b", "b"])
    columns = np.array([[0.2], [0.1], [-1.0], [3.0]])
    assert target.decide(columns).tolist() == ["b", "b", "a", "b"]
    assert target.score(columns, target.columns) == pytest.approx((0 + 2 / 3) / 2)


@pytest.mark.parametrize("kind", ["regression", "classes", "images"])
def test_a_saved_decoder_answers_as_before(kind, tmp_path):
    if kind == "classes":
        rows, labels, groups = conditions()
        settings = {"groups": groups, "repetition_time": TR, "gap": 4.0, "n_permutations": 20}
        found, given = decode(rows, labels=labels, **settings), {}
    else:
        rows, events = simulate(0, 2, 1.0)
        rows, mask = write_images(rows, tmp_path) if kind == "images" else (rows, None)
        given = {"mask": mask} if kind == "images" else {}
        settings = {"events": events, "target": "tapping", "repetition_time": TR, "n_permutations": 20}
        found = decode(rows, mask=mask, **settings)
    found.save(tmp_path / "decoder")
    again = FMRIDecoder.load(tmp_path / "decoder", **given)
    np.testing.assert_array_equal(again.predict(rows), found.predict(rows))
    assert again.decoding_.summary() == found.decoding_.summary()
    for name in ("parts", "curve"):
        pd.testing.assert_frame_equal(getattr(again.decoding_, name), getattr(found.decoding_, name))
    np.testing.assert_array_equal(again.decoding_.predictions, found.decoding_.predictions)
    if kind == "images":
        np.testing.assert_array_equal(again.coef_img_.get_fdata(), found.coef_img_.get_fdata())
        with pytest.raises(ValueError, match="does not contain the parameter mask"):
            FMRIDecoder.load(tmp_path / "decoder")
    else:
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "decoder").read_bytes()


def test_only_fitted_decoders_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        FMRIDecoder(TR).save(tmp_path / "decoder")
    (tmp_path / "decoder").write_bytes(b"no decoder")
    with pytest.raises(DataError, match="decoder"):
        FMRIDecoder.load(tmp_path / "decoder")


def test_two_blocks_in_each_run_are_told_apart():
    # What differs between two long blocks of a run is as slow as a drift; the classes must not lose it.
    rng = np.random.default_rng(0)
    onsets = rng.permuted(np.tile([20.0, 70.0, 120.0, 170.0, 220.0, 270.0], (6, 1)), axis=1)
    pattern = np.zeros(60)
    pattern[:30] = 0.5
    runs, tables = [], []
    for first, second in onsets[:, :2]:
        events = pd.DataFrame({"onset": [first, second], "duration": 22.5, "trial_type": ["face", "house"]})
        responses = response_columns(events, 121, 2.5)
        contrast = (responses["face"] - responses["house"]).to_numpy()
        runs.append(np.outer(contrast, pattern) + rng.normal(size=(121, 60)))
        tables.append(events)
    found = decode(
        runs, events=tables, contrast=["face", "house"], repetition_time=2.5, n_permutations=20
    ).decoding_
    assert found.ridge > 0.9
    assert found.score > found.ridge - 0.05
    assert found.p_value < 0.1
    assert 0.3 < found.chance < 0.7
