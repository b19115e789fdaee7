import numpy as np
import pytest
from scipy import stats
from scipy.fft import dct, idct

from ermlab.fmri import high_pass, low_pass, scale_globally

TR, VOLUMES = 3.2, 350
TIMES = np.arange(VOLUMES) * TR


def response(step):
    """SPM's canonical response, sampled every ``step`` seconds for 32 seconds."""
    t = np.arange(0, 32, step)
    values = stats.gamma.pdf(t, 6) - stats.gamma.pdf(t, 16) / 6
    return values / values.sum()


def spm_low_pass(n):
    """SPM's filter matrix "hrf": amplitudes of the response's spectrum, phase 0, rows that sum to 1."""
    h = response(TR / 16)[::16]
    size = 2 * len(h)
    kernel = np.real(np.fft.ifft(np.abs(np.fft.fft(h, size))))
    lags = (np.arange(n)[:, None] - np.arange(n)) % size
    matrix = kernel[lags]
    matrix[np.abs(np.arange(n)[:, None] - np.arange(n)) > size // 2] = 0
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_volume_gets_the_same_mean_and_keeps_its_pattern(dtype):
    rng = np.random.default_rng(0)
    series = (rng.uniform(1, 9, size=(20, 50)) * rng.uniform(0.5, 2, size=(20, 1))).astype(dtype)
    scaled = scale_globally(series)
    np.testing.assert_allclose(scaled.mean(axis=1), 100, rtol=1e-5)
    ratios = scaled / series
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[:, :1], ratios.shape), rtol=1e-5)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scale_globally(series, mean=7.0).mean(axis=1), 7, rtol=1e-5)


def test_high_pass_takes_out_the_slow_terms_of_the_cosine_transform_and_no_other():
    rng = np.random.default_rng(1)
    series = 50 + rng.normal(size=(VOLUMES, 4))
    spectrum = dct(series, axis=0, norm="ortho")
    slow = int(2 * VOLUMES * TR / 512)
    assert slow == 4
    spectrum[1 : slow + 1] = 0  # the constant stays
    np.testing.assert_allclose(high_pass(series, TR), idct(spectrum, axis=0, norm="ortho"), atol=1e-10)


def test_high_pass_removes_drift_and_keeps_what_is_fast():
    fast = np.sin(2 * np.pi * TIMES / 40)
    drift = 5 * TIMES / TIMES[-1] + 2 * np.cos(2 * np.pi * TIMES / 1100)
    kept = high_pass((fast + drift)[:, None], TR)[:, 0]
    left = high_pass(drift[:, None], TR)[:, 0]
    assert left.std() < 0.05 * drift.std()
    assert np.corrcoef(kept, fast)[0, 1] > 0.99
    np.testing.assert_allclose(kept.std(), fast.std(), rtol=0.02)


def test_a_cutoff_longer_than_the_series_takes_nothing():
    series = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_array_equal(high_pass(series, TR), series)


def test_low_pass_is_the_filter_of_spm():
    n = 60
    series = np.random.default_rng(3).normal(size=(n, 5))
    expected = spm_low_pass(n) @ series
    np.testing.assert_allclose(low_pass(series, TR), expected, atol=0.02)
    np.testing.assert_allclose(low_pass(np.full((n, 2), 8.0), TR), 8.0)


def test_low_pass_damps_each_frequency_as_the_response_does_and_delays_none():
    for period in (60.0, 25.0, 12.0, 8.0):
        wave = np.exp(2j * np.pi * TIMES / period)
        filtered = low_pass(np.stack([wave.real, wave.imag], axis=1), TR) @ [1, 1j]
        h = response(TR / 16)[::16]
        gain = np.abs(np.sum(h * np.exp(-2j * np.pi * np.arange(len(h)) * TR / period))) / h.sum()
        ratio = (filtered / wave)[20:-20]
        np.testing.assert_allclose(ratio.real, gain, atol=0.03)
        np.testing.assert_allclose(ratio.imag, 0, atol=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale_globally(np.ones(4)), r"series has shape \(4,\): expected \(volumes, voxels\)"),
        (lambda: scale_globally(np.ones((3, 0))), r"series has shape \(3, 0\)"),
        (lambda: scale_globally([[1.0, 2.0], [1.0, np.nan]]), r"series\[1, 1\] is nan: expected finite"),
        (lambda: scale_globally([[1.0, 2.0], [1.0, -1.0]]), "mean of volume 1 is 0: expected one above 0"),
        (lambda: high_pass(np.ones((9, 2)), -1.0), "repetition_time is -1.0: expected at least 0.001 s"),
        (
            lambda: high_pass(np.ones((9, 2)), TR, cutoff=5.0),
            "cutoff is 5.0 s: expected more than two",
        ),
        (lambda: high_pass(np.ones((9, 2)), 3200), "expected seconds, not milliseconds"),
        (lambda: low_pass(np.full((9, 2), np.inf), TR), r"series\[0, 0\] is inf: expected finite"),
        (lambda: low_pass(np.ones((9, 2)), np.nan), "repetition_time is nan"),
    ],
)
def test_bad_input_is_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("series", [np.full((3, 4), 1e308), np.full((3, 4), 1e-320)])
def test_means_that_overflow_or_vanish_are_rejected(series):
    with pytest.raises(ValueError, match="finite"):
        scale_globally(series)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale_globally(np.full((3, 4), 1e-40, dtype=np.float32)), "not finite in float32"),
        (lambda: scale_globally(np.ones((3, 4)), np.nan), "mean is nan"),
        (lambda: low_pass(np.full((3, 4), 1.7e308), 2.0), "not finite"),
        (lambda: low_pass(np.ones((3, 4)), 1e-7), "at least 0.001 s"),
        (lambda: high_pass(np.ones((3, 4)) * 1j, 2.0), "complex"),
    ],
)
def test_numbers_out_of_range_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
