import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter

from ermlab.fmri import first_level
from ermlab.fmri.glm import pooled_autocorrelation

TR, VOLUMES, SHAPE = 2.0, 160, (15, 14, 15)
BASELINE = 500.0
MASK = nib.Nifti1Image(np.ones(SHAPE, dtype=np.uint8), np.eye(4))


def block_events():
    onsets = np.arange(10, 300, 20.0)
    return pd.DataFrame(
        {"onset": onsets, "duration": 10.0, "trial_type": ["drug", "neutral", "neutral"] * 5}
    ).iloc[: len(onsets)]


EVENTS = block_events()


def regressor(events, trial_type, delay=0.0):
    """Boxes of a trial type convolved with SPM's response on steps of a tenth of a second, at the volumes."""
    step = 0.1
    times = np.arange(0, VOLUMES * TR + 40, step)
    boxes = np.zeros_like(times)
    for row in events[events["trial_type"] == trial_type].itertuples():
        boxes[(times >= row.onset - 1e-9) & (times < row.onset + row.duration - 1e-9)] = 1
    t = np.arange(0, 32, step)
    response = stats.gamma.pdf(t, 6) - stats.gamma.pdf(t, 16) / 6
    signal = np.convolve(boxes, response / response.sum())[: len(times)]
    return np.interp(np.arange(VOLUMES) * TR + delay, times, signal)


def scan(effects, seed, rho=0.3, noise=10.0, drift=0.0, delay=0.0):
    """Every voxel is a draw of autoregressive noise over the same effects."""
    rng = np.random.default_rng(seed)
    white = rng.normal(size=(*SHAPE, VOLUMES + 50)) * noise * np.sqrt(1 - rho**2)
    data = BASELINE + lfilter([1], [1, -rho], white, axis=-1)[..., 50:]
    data += drift * np.cos(np.pi * (np.arange(VOLUMES) + 0.5) / VOLUMES)
    for trial_type, size in effects.items():
        data += size * regressor(EVENTS, trial_type, delay)
    return nib.Nifti1Image(data.astype(np.float32), np.eye(4))


def values(maps):
    return {name: img.get_fdata().ravel() for name, img in maps.items()}


def test_a_known_effect_comes_back_unbiased_in_percent_of_the_mean():
    img = scan({"drug": 12.0, "neutral": 5.0}, seed=0, drift=40.0)
    contrasts = {"drug": "drug", "difference": "drug - neutral"}
    found = values(first_level(img, EVENTS, contrasts, repetition_time=TR, mask=MASK))
    mean = img.get_fdata().mean()
    for name, size in {"drug": 12.0, "difference": 7.0}.items():
        expected = 100 * size / mean
        error = found[name].mean() - expected
        # Sampling of the draws, and half a percent for the two ways of sampling the response.
        assert abs(error) < 4 * found[name].std() / np.sqrt(found[name].size) + 0.005 * expected


def test_effects_keep_the_units_of_the_series_without_scaling():
    img = scan({"drug": 12.0}, seed=1)
    found = values(first_level(img, EVENTS, {"a": "drug"}, repetition_time=TR, mask=MASK, scale=False))
    assert found["a"].mean() == pytest.approx(12.0, abs=4 * found["a"].std() / np.sqrt(1000) + 0.06)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5])
def test_without_an_effect_t_is_a_t(rho):
    img = scan({}, seed=2, rho=rho)
    contrasts = {"d": "drug - neutral"}
    t = values(first_level(img, EVENTS, contrasts, repetition_time=TR, mask=MASK, output="stat"))["d"]
    freedom = VOLUMES - 8
    assert abs(t.mean()) < 4 / np.sqrt(t.size)
    # Four standard errors: of the share of 3150 draws that are too large, and of their deviation.
    assert np.mean(np.abs(t) > stats.t.isf(0.025, freedom)) == pytest.approx(0.05, abs=0.016)
    assert t.std() == pytest.approx(np.sqrt(freedom / (freedom - 2)), abs=0.05)


@pytest.mark.parametrize("rho", [-0.2, 0.0, 0.4])
def test_the_correlation_of_the_noise_is_found_below_a_large_design(rho):
    rng = np.random.default_rng(6)
    Y = scan({}, seed=6, rho=rho).get_fdata().reshape(-1, VOLUMES).T
    design = np.column_stack([np.ones(VOLUMES), rng.normal(size=(VOLUMES, 39)).cumsum(axis=0)])
    residuals = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    plain = np.mean(np.sum(residuals[1:] * residuals[:-1], axis=0) / np.sum(residuals**2, axis=0))
    found = pooled_autocorrelation(Y, design)
    assert abs(found - rho) < 0.02 < 0.1 < abs(plain - rho)


def test_autoregressive_noise_would_mislead_plain_least_squares():
    """The test above can fail: with white noise assumed, it does."""
    img = scan({}, seed=2, rho=0.5)
    design = np.column_stack([regressor(EVENTS, "drug"), regressor(EVENTS, "neutral"), np.ones(VOLUMES)])
    Y = img.get_fdata().reshape(-1, VOLUMES).T
    beta, residual, _, _ = np.linalg.lstsq(design, Y, rcond=None)
    contrast = np.array([1.0, -1.0, 0.0])
    spread = contrast @ np.linalg.inv(design.T @ design) @ contrast
    t = contrast @ beta / np.sqrt(residual / (VOLUMES - 3) * spread)
    assert t.std() > 1.15


def test_the_reference_time_of_slice_timing_is_minded():
    img = scan({"drug": 30.0}, seed=3, noise=2.0, delay=1.0)
    arguments = {"repetition_time": TR, "mask": MASK, "scale": False}
    right = values(first_level(img, EVENTS, {"a": "drug"}, reference_time=1.0, **arguments))["a"]
    wrong = values(first_level(img, EVENTS, {"a": "drug"}, **arguments))["a"]
    assert abs(right.mean() - 30) < 0.3 < abs(wrong.mean() - 30)


def test_confounds_take_motion_out():
    rng = np.random.default_rng(4)
    bump = rng.normal(size=VOLUMES) + regressor(EVENTS, "drug")
    img = scan({}, seed=4, noise=3.0)
    moved = nib.Nifti1Image((img.get_fdata() + 20 * bump).astype(np.float32), img.affine)
    arguments = {"repetition_time": TR, "mask": MASK, "scale": False}
    plain = values(first_level(moved, EVENTS, {"a": "drug"}, **arguments))["a"]
    confounds = pd.DataFrame({"bump": bump})
    free = values(first_level(moved, EVENTS, {"a": "drug"}, confounds=confounds, **arguments))["a"]
    assert abs(plain.mean()) > 10 > 1 > abs(free.mean())


def test_a_vector_of_weights_is_a_contrast_and_outside_the_mask_there_is_nothing():
    img = scan({"drug": 12.0}, seed=5)
    inside = np.zeros(SHAPE, dtype=np.uint8)
    inside[2:8] = 1
    mask = nib.Nifti1Image(inside, np.eye(4))
    contrasts = {"words": "drug - neutral", "weights": [1, -1]}
    maps = first_level(img, EVENTS, contrasts, repetition_time=TR, mask=mask)
    np.testing.assert_allclose(maps["words"].get_fdata(), maps["weights"].get_fdata())
    assert not maps["words"].get_fdata()[:2].any()
    assert maps["words"].get_fdata()[2:8].all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"events": EVENTS.drop(columns="onset")}, "events has columns without onset: expected onset"),
        ({"events": EVENTS.rename(columns={"onset": "start"})}, "without onset and with unknown start"),
        ({"events": EVENTS.assign(reward=1)}, "with unknown reward: expected onset, duration, trial_type"),
        ({"events": EVENTS.assign(onset="soon")}, "events, row 0: onset is 'soon': expected a finite"),
        ({"events": EVENTS.assign(duration=-1.0)}, "events, row 0: duration is -1.0"),
        ({"events": EVENTS.assign(trial_type=[None] * 15)}, "events, row 0: no trial_type: expected a name"),
        ({"events": EVENTS.assign(onset="10000")}, "no event begins in the series of 320 s"),
        ({"events": EVENTS.assign(onset=10_000.0)}, "no event begins in the series of 320 s"),
        ({"events": [1, 2]}, "events is a list: expected a table"),
        ({"contrasts": {"a": "cocaine - neutral"}}, "contrast 'a' names cocaine: expected of drug, neutral"),
        ({"contrasts": {"a": "drug -"}}, "contrast 'drug -' is no expression of trial types"),
        ({"contrasts": {"a": np.zeros(2)}}, r"contrast 'a' has shape \(2,\): expected weights"),
        ({"repetition_time": 2000.0}, "expected seconds, not milliseconds"),
        ({"high_pass": 3.0}, "high_pass is 3.0 s: expected more than two volumes"),
        ({"reference_time": 2.0}, "reference_time is 2.0: expected from 0 to below 2.0 s"),
        ({"output": "f"}, "output is 'f': expected one of"),
        ({"confounds": pd.DataFrame({"a": [1.0]})}, "confounds has 1 rows: expected one per volume, 160"),
        ({"mask": nib.Nifti1Image(np.zeros(SHAPE), np.eye(4))}, "the mask is empty"),
        ({"mask": nib.Nifti1Image(np.ones((4, 4, 4)), np.eye(4))}, r"mask has shape \(4, 4, 4\)"),
        ({"mask": nib.Nifti1Image(np.ones(SHAPE), 2 * np.eye(4))}, "mask has the affine"),
        ({"img": MASK}, "expected a NIfTI image of 4 dimensions"),
        ({"img": nib.Nifti1Image(np.full((*SHAPE, 160), np.nan), np.eye(4))}, "NaN or infinite voxels"),
        ({"img": nib.Nifti1Image(np.full((*SHAPE, 160), -1.0), np.eye(4))}, "mean over the mask is -1"),
    ],
)
def test_bad_input_is_rejected(change, message):
    given = {
        "img": nib.Nifti1Image(np.ones((*SHAPE, VOLUMES), dtype=np.float32), np.eye(4)),
        "events": EVENTS,
        "contrasts": {"a": "drug"},
        "repetition_time": TR,
        "mask": MASK,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        first_level(**given)


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**-60, 2.0**50, 2.0**300])
def test_units_of_confounds_do_not_matter(unit):
    # Least squares with columns of very different size takes the small ones for rounding.
    img = scan({"drug": 12.0}, seed=6)
    confounds = pd.DataFrame({"motion": np.random.default_rng(6).normal(size=VOLUMES)})
    arguments = {"repetition_time": TR, "mask": MASK}
    contrasts = {"events": "drug - neutral"}
    expected = values(first_level(img, EVENTS, contrasts, confounds=confounds, **arguments))
    found = values(first_level(img, EVENTS, contrasts, confounds=confounds * unit, **arguments))
    np.testing.assert_allclose(found["events"], expected["events"], rtol=1e-5, atol=1e-6)


def test_effects_have_the_units_of_the_strengths_and_of_the_confounds():
    img, unit = scan({"drug": 12.0}, seed=7), 2.0**50
    confounds = pd.DataFrame({"motion": np.random.default_rng(7).normal(size=VOLUMES)})
    events = EVENTS.assign(modulation=1.0)
    strong = events.assign(modulation=np.where(EVENTS["trial_type"] == "drug", unit, 1.0))
    arguments = {"repetition_time": TR, "mask": MASK}
    contrasts = {"drug": "drug", "neutral": "neutral", "motion": "motion"}
    expected = values(first_level(img, events, contrasts, confounds=confounds, **arguments))
    found = values(first_level(img, strong, contrasts, confounds=confounds * unit, **arguments))
    for name, factor in (("drug", unit), ("neutral", 1.0), ("motion", unit)):
        np.testing.assert_allclose(found[name] * factor, expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("contrast", [[np.nan, 1.0], [np.inf, 1.0], [1e300, 1.0], "drug / 0", "drug * 1e400"])
def test_contrasts_that_are_not_finite_are_rejected(contrast):
    with pytest.raises(ValueError, match="expected finite weights"):
        first_level(scan({}, 8), EVENTS, {"a": contrast}, repetition_time=TR, mask=MASK)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confounds": np.ones((VOLUMES, 2))}, "confounds is a ndarray"),
        ({"confounds": pd.DataFrame(np.random.default_rng(0).normal(size=(VOLUMES, 200)))}, "more volumes"),
        ({"events": EVENTS.assign(modulation=1e300)}, "in other units"),
    ],
)
def test_models_that_cannot_be_fitted_are_rejected(change, message):
    options = {"events": EVENTS, "repetition_time": TR, "mask": MASK} | change
    with pytest.raises(ValueError, match=message):
        first_level(scan({}, 8), contrasts={"a": "drug"}, **options)
