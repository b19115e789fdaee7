"""Features of pixels that the literature on retinal vessels uses.

All work on the inverted green channel minus its local mean, where vessels are bright ridges: line detectors
of several lengths, oriented Gabor filters, eigenvalues of the Hessian, top-hats, gray levels, and the
contrast of the neighborhood. Each feature of an image has mean 0 and standard deviation 1 in its field of
view.
"""

from functools import lru_cache

import numpy as np
from scipy import fft
from scipy.ndimage import distance_transform_edt, gaussian_filter, grey_opening, uniform_filter

from reproduction.experiments.vessels._lines_numba import line_responses

#: Side of the window of the line detectors, and half the lengths of their lines, in pixels.
_LINE_WINDOW, _LINE_REACHES = 15, (1, 2, 3, 4, 5, 6, 7)
_N_ORIENTATIONS = 12
#: Standard deviations across and along the vessel of the Gabor filters, and their wavelengths.
_GABORS = ((1.2, 4.0, 4.5), (1.8, 5.5, 7.0), (2.6, 7.0, 10.0), (3.8, 9.0, 14.0))
#: Pixels beyond the border of the image that the filters see.
_GABOR_MARGIN = 24
_HESSIAN_SCALES = (1.0, 1.6, 2.5, 4.0)
_TOPHAT_SIDES = (7, 13, 21)
#: Standard deviations of the Gaussians that estimate the background and the contrast around a pixel.
_BACKGROUND, _CONTRAST = 18.0, 8.0
#: Pixels next to the border of the field of view that are replaced before filtering: the border is blurred.
_RIM = 3

NAMES = (
    *(f"line {2 * reach + 1}" for reach in _LINE_REACHES),
    *(f"Gabor {wavelength:g}" for _, _, wavelength in _GABORS),
    *(f"ridge {scale:g}" for scale in _HESSIAN_SCALES),
    *(f"blob {scale:g}" for scale in _HESSIAN_SCALES),
    *(f"top-hat {side}" for side in _TOPHAT_SIDES),
    "level 0",
    "level 1",
    "level 2",
    "contrast",
)
#: Where the piecewise linear functions of a feature bend.
_KNOTS = (0.0, 1.0)


def pixel_features(image: np.ndarray, field: np.ndarray) -> np.ndarray:
    """Return the features (height, width, len(NAMES)) of an RGB image; 0 outside the field of view."""
    even = even_background(255.0 - image[..., 1], field)
    maps = [*_line_features(even), *_gabor_features(even), *_hessian_features(even)]
    maps += [even - grey_opening(even, size=(side, side)) for side in _TOPHAT_SIDES]
    maps += [even, gaussian_filter(even, 1.0), gaussian_filter(even, 2.0)]
    maps.append(np.sqrt(gaussian_filter(even**2, _CONTRAST)))
    features = np.zeros((*field.shape, len(maps)), dtype=np.float32)
    for k, values in enumerate(maps):
        inside = values[field]
        features[field, k] = (inside - inside.mean()) / max(inside.std(), 1e-12)
    return features


def bent(features: np.ndarray) -> np.ndarray:
    """Return a constant, the features, and their positive parts above the knots, as columns.

    A linear function of these columns is a sum of piecewise linear functions of single features.
    """
    parts = [np.maximum(features - knot, 0) for knot in _KNOTS]
    return np.hstack([np.ones((len(features), 1)), features, *parts]).astype(float)


def even_background(levels: np.ndarray, field: np.ndarray) -> np.ndarray:
    """Return gray levels minus their local mean in the field of view, continued outside it."""
    if field.shape != levels.shape or not field.any():
        raise ValueError(
            f"field of view of shape {field.shape} with {field.sum()} pixels: "
            f"expected shape {levels.shape} and at least one pixel"
        )
    inner = distance_transform_edt(np.pad(field, 1))[1:-1, 1:-1] > _RIM
    inner = inner if inner.any() else field
    share = np.maximum(gaussian_filter(inner.astype(float), _BACKGROUND), 1e-3)
    background = gaussian_filter(np.where(inner, levels, 0.0), _BACKGROUND) / share
    nearest = distance_transform_edt(~inner, return_distances=False, return_indices=True)
    return (levels - background)[tuple(nearest)]


def _line_features(even: np.ndarray) -> np.ndarray:
    """Multi-scale line detectors: brightness of the best line through a pixel over that of its window."""
    angles = np.arange(_N_ORIENTATIONS) * np.pi / _N_ORIENTATIONS
    offsets = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    padded = np.pad(even, _LINE_REACHES[-1] + 1, mode="edge")
    return line_responses(padded, uniform_filter(even, _LINE_WINDOW), offsets, np.array(_LINE_REACHES))


def _gabor_features(even: np.ndarray) -> list[np.ndarray]:
    """Largest response over orientations of even Gabor filters without mean, for each scale."""
    padded = np.pad(even, _GABOR_MARGIN, mode="symmetric").astype(np.float32)
    shape = tuple(fft.next_fast_len(length, real=True) for length in padded.shape)
    spectrum = fft.rfft2(padded, shape)
    inside = tuple(slice(_GABOR_MARGIN, _GABOR_MARGIN + length) for length in even.shape)
    return [
        np.max([fft.irfft2(spectrum * kernel, shape)[inside] for kernel in kernels], axis=0)
        for kernels in _gabor_spectra(shape)
    ]


@lru_cache(maxsize=2)
def _gabor_spectra(shape: tuple[int, int]) -> list[list[np.ndarray]]:
    """Return the spectra of all orientations for each scale, which take longer to compute than to use."""
    rows, columns = (fft.fftfreq(length) * length for length in shape)
    spectra = []
    for across, along, wavelength in _GABORS:
        kernels = []
        for angle in np.arange(_N_ORIENTATIONS) * np.pi / _N_ORIENTATIONS:
            u = np.cos(angle) * columns + np.sin(angle) * rows[:, None]
            v = -np.sin(angle) * columns + np.cos(angle) * rows[:, None]
            envelope = np.exp(-0.5 * ((u / across) ** 2 + (v / along) ** 2))
            wave = np.cos(2 * np.pi * u / wavelength)
            kernel = envelope * (wave - (envelope * wave).sum() / envelope.sum())
            kernels.append(fft.rfft2((kernel / np.abs(kernel).sum()).astype(np.float32)))
        spectra.append(kernels)
    return spectra


def _hessian_features(even: np.ndarray) -> list[np.ndarray]:
    """Strength of the ridge (largest negative curvature), and curvature along it, for each scale."""
    ridges, blobs = [], []
    for scale in _HESSIAN_SCALES:
        rr, cc, rc = (gaussian_filter(even, scale, order=order) for order in ((2, 0), (0, 2), (1, 1)))
        middle, radius = (rr + cc) / 2, np.hypot((rr - cc) / 2, rc)
        ridges.append(-(middle - radius))
        blobs.append(-(middle + radius))
    return [*ridges, *blobs]
