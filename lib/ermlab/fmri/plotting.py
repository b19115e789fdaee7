"""Plots of weight maps over the anatomy: slices, and an interactive viewer.

Both show positive weights in warm and negative ones in cold colors, above a threshold in standard deviations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from nibabel import Nifti1Image
from nilearn import plotting as nilearn_plotting
from nilearn.image import resample_img
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.garbage import old_objects_kept
from ermlab._utils.palette import GREEN
from ermlab.fmri.weight_maps import threshold_level, threshold_weights

# Orange and blue are distinguishable with any color vision; voxels are not interpolated.
_COLORS = {"cmap": "cold_hot", "black_bg": False, "resampling_interpolation": "nearest"}
_ROW = 2.1  # inches
#: Threshold that shows every nonzero weight.
_EVERY = 1e-6


def to_image(values: ArrayLike, mask: NDArray[np.bool_], affine: ArrayLike) -> Nifti1Image:
    """Return a volume with the given values in the voxels of a mask, and 0 elsewhere.

    Parameters
    ----------
    values : array-like of shape (n_voxels,)
        One value per voxel of the mask.
    mask : ndarray of bool of shape (x, y, z)
        The mask.
    affine : array-like of shape (4, 4)
        From voxels to millimeters.
    """
    values, mask = np.asarray(values), np.asarray(mask, dtype=bool)
    if values.shape != (np.count_nonzero(mask),):
        raise ValueError(f"values of shape {values.shape}: expected one per voxel, {np.count_nonzero(mask)}")
    volume = np.zeros(mask.shape, dtype=np.float32)
    volume[mask] = values
    return Nifti1Image(volume, np.asarray(affine, dtype=np.float64))


def threshold_image(
    image: Nifti1Image, sd: float = 2.0, mask: NDArray[np.bool_] | None = None
) -> Nifti1Image:
    """Return the map with weights of magnitude up to ``sd`` standard deviations set to 0.

    The standard deviation is over the voxels of ``mask``, by default over the nonzero ones.
    """
    volume = _volume(image)
    inside = volume != 0 if mask is None else np.asarray(mask, dtype=bool)
    if inside.shape != volume.shape:
        raise ValueError(f"mask of shape {inside.shape}: expected that of the map, {volume.shape}")
    if not inside.any():
        raise ValueError(
            "no voxel to threshold: expected a map that is not 0 everywhere, or a mask of voxels"
        )
    kept = np.zeros(volume.shape, dtype=np.float32)
    kept[inside] = threshold_weights(volume[inside], sd)
    return Nifti1Image(kept, image.affine)


@old_objects_kept()
def weight_map_figure(
    maps: Mapping[str, Nifti1Image],
    background: Nifti1Image,
    cut_coords: Sequence[float],
    *,
    sd: float = 2.0,
    mask: NDArray[np.bool_] | None = None,
    display_mode: str = "ortho",
    target: Nifti1Image | None = None,
) -> plt.Figure:
    """Plot thresholded maps over slices of the anatomy, one row per map, in units of its standard deviation.

    Parameters
    ----------
    maps : mapping of str to image
        The title and the weights of each row.
    background : image
        The anatomy.
    cut_coords : sequence of float
        Positions of the slices in millimeters, as in nilearn's ``plot_stat_map`` for the ``display_mode``.
    sd : float, default=2.0
        Threshold in standard deviations; 0 shows every nonzero weight.
    mask : ndarray of bool, optional
        Voxels for the standard deviation, by default those that are not 0.
    display_mode : str, default="ortho"
        As in ``plot_stat_map``.
    target : image, optional
        A region whose outline is drawn, 0 outside.
    """
    if not maps:
        raise ValueError("no maps: expected at least one")
    height = 1 / len(maps)
    fig = plt.figure(figsize=(7.2, _ROW * len(maps)), layout="constrained")
    # The slices are placed by hand. Without a layout, the figure would use that of the style when saved.
    fig.set_layout_engine("none")
    for row, (title, image) in enumerate(maps.items()):
        bottom = 1 - (row + 1) * height
        shown = _in_deviations(image, sd, mask)
        with _empty_maps_allowed():
            display = nilearn_plotting.plot_stat_map(
                shown,
                bg_img=background,
                display_mode=display_mode,
                cut_coords=cut_coords,
                axes=(0.01, bottom + 0.04 * height, 0.98, 0.82 * height),
                figure=fig,
                vmax=_largest(shown, sd),
                draw_cross=False,
                threshold=max(sd, _EVERY),
                **_COLORS,
            )
        fig.text(0.01, bottom + 0.99 * height, title, ha="left", va="top", fontsize=10)
        if target is not None:
            display.add_contours(target, levels=[0.5], colors=[GREEN], linewidths=1.2)
    return fig


@dataclass(frozen=True)
class InteractiveMap:
    """A self-contained viewer for notebooks."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


@old_objects_kept()
def interactive_map(
    image: Nifti1Image,
    background: Nifti1Image,
    *,
    title: str | None = None,
    sd: float = 2.0,
    mask: NDArray[np.bool_] | None = None,
    cut_coords: Sequence[float] | None = None,
    voxel: float = 3.0,
    width: int = 720,
) -> InteractiveMap:
    """Return nilearn's viewer of a thresholded map over the anatomy, in units of its standard deviation.

    Parameters
    ----------
    image, background : image
        The weights, and the anatomy.
    title : str, optional
        Title of the viewer.
    sd, mask
        As in `weight_map_figure`.
    cut_coords : sequence of float, optional
        Initial position in millimeters.
    voxel : float, default=3.0
        Size of the voxels of the background in millimeters; smaller ones make the page larger.
    width : int, default=720
        Width of the viewer in pixels.
    """
    if not voxel > 0:
        raise ValueError(f"voxel is {voxel!r}: expected millimeters above 0")
    shown = _in_deviations(image, sd, mask)
    background = resample_img(
        background, np.eye(3) * voxel, interpolation="linear", copy_header=True, force_resample=True
    )
    with _empty_maps_allowed():
        view = nilearn_plotting.view_img(
            shown,
            bg_img=background,
            vmax=_largest(shown, sd),
            cut_coords=cut_coords,
            threshold=max(sd, _EVERY),
            title=title,
            width_view=width,
            **_COLORS,
        )
    return InteractiveMap(view.get_iframe())


def _in_deviations(image: Nifti1Image, sd: float, mask: NDArray[np.bool_] | None) -> Nifti1Image:
    """Return the thresholded map divided by its standard deviation."""
    volume = _volume(image)
    kept = threshold_image(image, sd, mask)
    inside = volume != 0 if mask is None else np.asarray(mask, dtype=bool)
    deviation = threshold_level(volume[inside], 1.0)
    return Nifti1Image(_volume(kept) / np.float32(deviation if deviation > 0 else 1.0), image.affine)


@contextmanager
def _empty_maps_allowed() -> Iterator[None]:
    """Ignore the warnings of nilearn about maps without a weight above the threshold."""
    with warnings.catch_warnings():
        for message in ("The given float value must not exceed", "Given img is empty", "empty mask"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


def _largest(shown: Nifti1Image, sd: float) -> float:
    """Return the end of the color scale, at least one standard deviation above the threshold."""
    return max(float(np.abs(_volume(shown)).max()), sd + 1)


def _volume(image: Nifti1Image) -> NDArray[np.float32]:
    volume = np.asarray(image.dataobj, dtype=np.float32)
    if volume.ndim != 3:
        raise ValueError(f"a map of shape {volume.shape}: expected three dimensions")
    return volume
