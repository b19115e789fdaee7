"""Scaling and filtering of series in time (thesis, section 4.1.3): rows are volumes, columns voxels."""

from numbers import Real

import numpy as np
from nilearn.glm.first_level import make_first_level_design_matrix, spm_hrf
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import convolve1d

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import largest_magnitude
from ermlab.fmri.images import check_repetition_time, check_rows

#: Mean of every volume after global scaling, as in SPM.
GLOBAL_MEAN = 100.0
#: Samples of the haemodynamic response for each volume; every so many-th is taken.
OVERSAMPLING = 16


def scale_globally(series: ArrayLike, mean: float = GLOBAL_MEAN) -> NDArray[np.floating]:
    """Multiply each volume by a factor that brings its mean over the voxels to ``mean``."""
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
    """Take out drifts slower than a period of ``cutoff`` seconds: the cosine basis, by least squares.

    The basis is SPM's: ``cos(pi k (i + 1/2) / n)`` for ``k = 1 .. floor(2 n TR / cutoff)``. Means stay.
    """
    rows = check_rows(series)
    repetition_time = check_repetition_time(repetition_time)
    if not cutoff > 2 * repetition_time:
        raise ValueError(f"cutoff is {cutoff!r} s: expected more than two volumes, {2 * repetition_time} s")
    drifts = _cosines(len(rows), repetition_time, cutoff).astype(rows.dtype)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _finite(rows - drifts @ (drifts.T @ rows), rows)


def _cosines(n: int, repetition_time: float, cutoff: float) -> NDArray[np.float64]:
    """Return the cosine basis without the constant, (n, number), orthonormal."""
    if n < 2:
        return np.zeros((n, 0))
    design = make_first_level_design_matrix(
        np.arange(n) * repetition_time, drift_model="cosine", high_pass=1 / cutoff
    )
    return design.drop(columns="constant").to_numpy()


def low_pass(series: ArrayLike, repetition_time: float) -> NDArray[np.floating]:
    """Smooth in time with the temporal properties of the haemodynamic response.

    As SPM's filter "hrf": the kernel has the amplitudes of the response's spectrum, and phase 0, so that
    nothing is delayed. Its weights sum to 1 at every volume, those that reach beyond the series left out.
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
    """Return the symmetric kernel, one weight a volume, whose spectrum is the response's amplitude."""
    response = spm_hrf(repetition_time, OVERSAMPLING)[::OVERSAMPLING]
    size = 2 * len(response)
    kernel = np.fft.irfft(np.abs(np.fft.rfft(response, n=size)), n=size)
    kernel = np.fft.fftshift(kernel)
    kernel = np.append(kernel, kernel[0])  # the weight at half the length belongs to either side
    kernel[[0, -1]] /= 2
    return kernel / kernel.sum()
