"""Validation of sparse matrices for compiled loops, which do not check indices."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

#: Attributes with the indices of each format, which scipy does not check when it converts a matrix.
_INDICES = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "bsr": ("indptr", "indices")}
_INDICES |= {"dia": ("offsets",), "coo": ()}


def all_sound(matrices: Sequence[csr_array]) -> bool:
    """Return whether the indices of many square matrices are valid as in `sound_csr`, in a few passes.

    The result may also be false for a valid matrix with unused capacity.
    """
    if not matrices:
        return True
    sizes = np.array([matrix.shape[0] for matrix in matrices])
    ends = np.cumsum([len(matrix.indptr) for matrix in matrices])
    starts = np.concatenate([matrix.indptr for matrix in matrices])
    indices = np.concatenate([matrix.indices for matrix in matrices])
    counts = np.array([len(matrix.indices) for matrix in matrices])
    # The last test below interprets the bytes of the indices as native integers.
    if not all(values.dtype.isnative and values.dtype.kind in "iu" for values in (starts, indices)):
        return False
    if (np.diff(ends, prepend=0) != sizes + 1).any() or starts[0] != 0 or starts[ends[:-1]].any():
        return False
    if [len(matrix.data) for matrix in matrices] != counts.tolist() or (starts[ends - 1] != counts).any():
        return False
    falls = starts[1:] < starts[:-1]
    falls[ends[:-1] - 1] = False  # from a matrix to the next one
    if falls.any():
        return False
    return not (indices.view(f"u{indices.itemsize}") >= np.repeat(sizes, counts)).any()


def sound_csr(matrix: Any, name: str) -> csr_array:
    """Return a CSR matrix with valid indices, or raise a ValueError.

    scipy does not check the indices of a matrix that is made from arrays or changed in place.
    """
    if not issparse(matrix) or matrix.ndim != 2:
        raise ValueError(f"{name} is a {type(matrix).__name__}: expected a sparse matrix")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} has entries of type {matrix.dtype}: expected real numbers")
    if matrix.format in _INDICES:
        matrix = _native(matrix, name)
        _require_sound(matrix, name)
    rows = matrix if matrix.format == "csr" else matrix.tocsr()
    if rows is not matrix:
        _require_sound(rows, name)
    if max(len(rows.indices), len(rows.data)) > rows.indptr[-1]:  # unused capacity after the last row
        rows = rows.copy()
        rows.prune()
    return rows


def _native(matrix: Any, name: str) -> Any:
    """Return the matrix in native byte order, which compiled loops expect."""
    coords = matrix.coords if matrix.format == "coo" else ()
    arrays = [*coords, *(getattr(matrix, which) for which in _INDICES[matrix.format])]
    for values in arrays:
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(
                f"indices of {name} have shape {values.shape} and type {values.dtype}: expected vectors of "
                "whole numbers"
            )
    if all(values.dtype.isnative for values in (*arrays, matrix.data)):
        return matrix
    matrix = copy(matrix)  # unlike the method of the matrix, this works for any byte order
    for which in ("data", *_INDICES[matrix.format]):
        values = getattr(matrix, which)
        setattr(matrix, which, values.astype(values.dtype.newbyteorder("=")))
    if coords:
        matrix.coords = tuple(values.astype(values.dtype.newbyteorder("=")) for values in coords)
    return matrix


def _require_sound(matrix: Any, name: str) -> None:
    if matrix.format == "dia":
        if matrix.data.ndim != 2 or len(matrix.offsets) != len(matrix.data):
            raise ValueError(
                f"{name} has {len(matrix.offsets)} offsets and diagonals of shape {matrix.data.shape}: "
                "expected one offset per diagonal"
            )
        return
    if matrix.format == "coo":
        for axis, (indices, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
            _require_range(indices, size, f"index of axis {axis}", name)
        return
    count, size = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    if matrix.format == "bsr":
        count, size = count // matrix.blocksize[0], size // matrix.blocksize[1]
    starts, indices = matrix.indptr, matrix.indices
    if len(starts) != count + 1 or starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"indptr of {name} is not valid: expected {count + 1} ascending numbers from 0")
    if starts[-1] > (most := min(len(indices), len(matrix.data))):
        raise ValueError(f"indptr of {name} ends with {starts[-1]}: expected at most {most}")
    _require_range(indices[: starts[-1]], size, "index", name)


def _require_range(indices: np.ndarray, size: int, what: str, name: str) -> None:
    # As unsigned integers, negative numbers are the largest: one pass finds both errors.
    if len(indices) and indices.view(f"u{indices.itemsize}").max() >= size:
        wrong = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise ValueError(f"{name} has the {what} {wrong}: expected 0 to {size - 1}")
