"""Scaling and temporal filtering of series of shape (n_volumes, n_voxels) (thesis, section 4.1.3)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import convolve1d

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import largest_magnitude
from ermlab.fmri.images import check_repetition_time, check_rows

#: Mean of every volume after global scaling, as in SPM.
GLOBAL_MEAN = 100.0
#: Samples of the hemodynamic response per volume, of which one is used.
OVERSAMPLING = 16


def scale_globally(series: ArrayLike, mean: float = GLOBAL_MEAN) -> NDArray[np.floating]:
    """Scale each volume such that its mean over the voxels is ``mean``.

    Parameters
    ----------
    series : array-like of shape (n_volumes, n_voxels)
        The series.
    mean : float, default=100.0
        The common mean.
    """
    rows = check_rows(series)
    if not (isinstance(mean, Real) and np.isfinite(mean)):
        raise ValueError(f"mean is {mean!r}: expected a finite number")
    with np.errstate(over="ignore", invalid="ignore"):
        means = rows.mean(axis=1, dtype=np.float64)
        if not (means > 0).all():
            wrong = int(np.argmin(means))
            raise ValueError(f"the mean of volume {wrong} is {means[wrong]:g}: expected one above 0")
        scaled = rows * (mean / means)[:, None].astype(rows.dtype)
    if not np.isfinite(means).all():
        wrong = int(np.argmax(means))
        raise ValueError(f"the mean of volume {wrong} is {means[wrong]:g}: expected a finite one")
    return _finite(scaled, rows)


def high_pass(series: ArrayLike, repetition_time: float, cutoff: float = 512.0) -> NDArray[np.floating]:
    """Remove drifts by least squares on SPM's cosine basis; means stay.

    The basis is ``cos(pi k (i + 1/2) / n)`` for ``k = 1 .. floor(2 n TR / cutoff)``.

    Parameters
    ----------
    series : array-like of shape (n_volumes, n_voxels)
        The series.
    repetition_time : float
        Seconds between volumes.
    cutoff : float, default=512.0
        Shortest period of a drift, in seconds.
    """
    rows = check_rows(series)
    repetition_time = check_repetition_time(repetition_time)
    if not cutoff > 2 * repetition_time:
        raise ValueError(f"cutoff is {cutoff!r} s: expected more than two volumes, {2 * repetition_time} s")
    drifts = _cosines(len(rows), repetition_time, cutoff).astype(rows.dtype)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _finite(rows - drifts @ (drifts.T @ rows), rows)


def _cosines(n: int, repetition_time: float, cutoff: float) -> NDArray[np.float64]:
    """Return the orthonormal cosine basis without the constant, one column per function."""
    if n < 2:
        return np.zeros((n, 0))
    from nilearn.glm import first_level  # here, as it takes longer to load than all the rest

    design = first_level.make_first_level_design_matrix(
        np.arange(n) * repetition_time, drift_model="cosine", high_pass=1 / cutoff
    )
    return design.drop(columns="constant").to_numpy()


def low_pass(series: ArrayLike, repetition_time: float) -> NDArray[np.floating]:
    """Smooth in time with the spectrum of the hemodynamic response, as SPM's filter "hrf".

    The kernel has the amplitudes of the response's spectrum and phase 0, so that nothing is delayed. At the
    ends of the series its weights are rescaled to sum to 1.

    Parameters
    ----------
    series : array-like of shape (n_volumes, n_voxels)
        The series.
    repetition_time : float
        Seconds between volumes.
    """
    rows = check_rows(series)
    kernel = response_kernel(check_repetition_time(repetition_time))
    smoothed = convolve1d(rows.astype(np.float64), kernel, axis=0, mode="constant")
    sums = convolve1d(np.ones(len(rows)), kernel, mode="constant")
    with np.errstate(over="ignore"):
        return _finite((smoothed / sums[:, None]).astype(rows.dtype), rows)


def _finite(result: NDArray[np.floating], rows: NDArray[np.floating]) -> NDArray[np.floating]:
    if not np.isfinite(result).all():
        raise ValueError(
            f"the filtered series of values up to {largest_magnitude(rows):.3g} is not finite in "
            f"{rows.dtype}: expected other units"
        )
    return result


def response_kernel(repetition_time: float) -> NDArray[np.float64]:
    """Return the symmetric kernel, one weight per volume, with the amplitude spectrum of the response."""
    from nilearn.glm import first_level  # here, as it takes longer to load than all the rest

    response = first_level.spm_hrf(repetition_time, OVERSAMPLING)[::OVERSAMPLING]
    size = 2 * len(response)
    kernel = np.fft.irfft(np.abs(np.fft.rfft(response, n=size)), n=size)
    kernel = np.fft.fftshift(kernel)
    kernel = np.append(kernel, kernel[0])  # the weight at half the length belongs to both sides
    kernel[[0, -1]] /= 2
    return kernel / kernel.sum()
