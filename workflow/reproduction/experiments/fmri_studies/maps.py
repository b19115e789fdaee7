"""Weight maps against a known region, and as tables of voxels."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.voxel_graphs import voxel_coordinates


def overlap(weights: NDArray[np.float64], region: NDArray[np.bool_]) -> dict[str, float]:
    """Return the overlap of a map with a region.

    ``weight_inside`` and ``selected_inside`` are the shares of absolute weight and of selected voxels that
    lie in the region, ``region_found`` is the share of the region that is selected. ``chance`` is the share
    of the region among all voxels, the expected value of the first two for a map without information.
    """
    if region.shape != weights.shape or not region.any():
        raise ValueError(f"region of shape {region.shape}: expected a voxel or more of {weights.shape}")
    size, selected = np.abs(weights), weights != 0
    return {
        "weight_inside": float(size[region].sum() / max(size.sum(), 1e-300)),
        "selected_inside": float((selected & region).sum() / max(selected.sum(), 1)),
        "region_found": float((selected & region).sum() / region.sum()),
        "chance": float(region.mean()),
    }


def overlap_table(overlaps: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the results of `overlap` in percent, one row per map."""
    columns = {
        "weight_inside": "weight inside",
        "selected_inside": "selected voxels inside",
        "chance": "by chance",
        "region_found": "part of the region found",
    }
    return 100 * pd.DataFrame(overlaps).T.reindex(columns=list(columns)).rename(columns=columns)


def voxel_table(
    arrays: Mapping[str, NDArray], used: NDArray[np.bool_], columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return the used voxels of a mask, with x, y, z in millimeters and the given arrays as columns."""
    places = voxel_coordinates(arrays["mask"], arrays["affine"])[used]
    values = {name: arrays[key][used] for name, key in columns.items()}
    return pd.DataFrame({**dict(zip("xyz", places.T, strict=True)), **values})
