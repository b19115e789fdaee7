"""Maps of weights over the anatomy: slices for print, and a viewer to click through.

Both show positive weights warm and negative ones cold, and nothing below a threshold in standard deviations.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from nibabel import Nifti1Image
from nilearn import plotting
from nilearn.image import resample_img
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.garbage import old_objects_kept
from ermlab._utils.palette import GREEN
from ermlab.fmri.weight_maps import threshold_level, threshold_weights

# Orange against blue is told apart with any colour vision; voxels are shown as they are, not interpolated.
_COLOURS = {"cmap": "cold_hot", "black_bg": False, "resampling_interpolation": "nearest"}
_ROW = 2.1  # inches
#: A threshold in deviations that shows every weight and leaves voxels without one transparent.
_EVERY = 1e-6


def to_image(values: ArrayLike, mask: NDArray[np.bool_], affine: ArrayLike) -> Nifti1Image:
    """Put the value of each voxel of a mask into a volume that is 0 elsewhere."""
    values, mask = np.asarray(values), np.asarray(mask, dtype=bool)
    if values.shape != (np.count_nonzero(mask),):
        raise ValueError(
            f"values of shape {values.shape}: expected one for each of {np.count_nonzero(mask)} voxels"
        )
    volume = np.zeros(mask.shape, dtype=np.float32)
    volume[mask] = values
    return Nifti1Image(volume, np.asarray(affine, dtype=np.float64))


def threshold_image(
    image: Nifti1Image, sd: float = 2.0, mask: NDArray[np.bool_] | None = None
) -> Nifti1Image:
    """Return the map with weights of at most ``sd`` standard deviations, in size, set to 0.

    The standard deviation is that over the voxels of ``mask``; without one, over those that are not 0.
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
) -> Figure:
    """Draw thresholded maps over slices of the anatomy, a row a map, each in units of its own deviation.

    Parameters
    ----------
    maps
        Title of each row to its weights.
    sd
        Threshold in deviations; at 0 every weight is shown, and voxels without one stay transparent.
    cut_coords
        Where to cut, in millimetres; as nilearn's ``plot_stat_map`` has it for the ``display_mode``.
    mask
        Voxels over which deviations are taken; without it those that are not 0.
    target
        A region whose outline is drawn, 0 outside.
    """
    if not maps:
        raise ValueError("no maps: expected at least one")
    height = 1 / len(maps)
    fig = plt.figure(figsize=(7.2, _ROW * len(maps)), layout="constrained")
    # The slices have their own places. Made without a layout, the figure would take the style's when saved.
    fig.set_layout_engine("none")
    for row, (title, image) in enumerate(maps.items()):
        bottom = 1 - (row + 1) * height
        shown = _in_deviations(image, sd, mask)
        with _empty_maps_allowed():
            display = plotting.plot_stat_map(
                shown,
                bg_img=background,
                display_mode=display_mode,
                cut_coords=cut_coords,
                axes=(0.01, bottom + 0.04 * height, 0.98, 0.82 * height),
                figure=fig,
                vmax=_largest(shown, sd),
                draw_cross=False,
                threshold=max(sd, _EVERY),
                **_COLOURS,
            )
        fig.text(0.01, bottom + 0.99 * height, title, ha="left", va="top", fontsize=10)
        if target is not None:
            display.add_contours(target, levels=[0.5], colors=[GREEN], linewidths=1.2)
    return fig


@dataclass(frozen=True)
class InteractiveMap:
    """A viewer that a notebook page shows; the page needs nothing but itself."""

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
    """Return nilearn's viewer of a thresholded map over the anatomy, in units of the map's deviation.

    Parameters
    ----------
    voxel
        Edge in millimetres to which the background is resampled: the page's size goes with its inverse cube.
    width
        Of the viewer, in pixels.
    """
    if not voxel > 0:
        raise ValueError(f"voxel is {voxel!r}: expected millimetres above 0")
    shown = _in_deviations(image, sd, mask)
    background = resample_img(
        background, np.eye(3) * voxel, interpolation="linear", copy_header=True, force_resample=True
    )
    with _empty_maps_allowed():
        view = plotting.view_img(
            shown,
            bg_img=background,
            vmax=_largest(shown, sd),
            cut_coords=cut_coords,
            threshold=max(sd, _EVERY),
            title=title,
            width_view=width,
            **_COLOURS,
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
    """Silence what nilearn says of a map with nothing above the threshold: it is shown as such."""
    with warnings.catch_warnings():
        for message in ("The given float value must not exceed", "Given img is empty", "empty mask"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


def _largest(shown: Nifti1Image, sd: float) -> float:
    """Return the end of the colour scale, one deviation above the threshold at least."""
    return max(float(np.abs(_volume(shown)).max()), sd + 1)


def _volume(image: Nifti1Image) -> NDArray[np.float32]:
    volume = np.asarray(image.dataobj, dtype=np.float32)
    if volume.ndim != 3:
        raise ValueError(f"a map of shape {volume.shape}: expected three dimensions")
    return volume
