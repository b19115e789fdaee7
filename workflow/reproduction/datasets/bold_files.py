"""Reading and writing of BIDS files of a study: series, sidecars and tables."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from ermlab._utils.files import broken, read_json, read_text, reading
from ermlab.fmri.volumes import read_volume
from reproduction.datasets.simulators.bold_series import Acquisition

#: Larger repetition times in seconds are invalid.
_LONGEST_REPETITION = 1e5
_MOST_REGIONS = np.iinfo(np.int16).max


def write_series(path: Path, series: np.ndarray, affine: np.ndarray, repetition_time: float) -> None:
    """Write a series (x, y, z, volumes); the gzip header has neither time nor name."""
    image = nib.Nifti1Image(series, affine)
    image.header.set_xyzt_units("mm", "sec")
    image.header.set_zooms((*image.header.get_zooms()[:3], repetition_time))
    _save(path, image)


def write_map(path: Path, values: np.ndarray, affine: np.ndarray) -> None:
    """Write one volume."""
    image = nib.Nifti1Image(values, affine)
    image.header.set_xyzt_units("mm")
    _save(path, image)


def _save(path: Path, image: nib.Nifti1Image) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.to_filename(path)


def write_sidecar(path: Path, task: str, when: Acquisition) -> None:
    """Write the BIDS sidecar of the series of a task."""
    facts = {
        "TaskName": task,
        "RepetitionTime": when.repetition_time,
        "SliceTiming": [round(float(time), 6) for time in when.slice_times],
    }
    path.write_text(json.dumps(facts, indent=2) + "\n")


def write_tsv(path: Path, table: pd.DataFrame) -> None:
    """Write a tab-separated table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, sep="\t", index=False, float_format="%.4f", lineterminator="\n")


def read_sidecar(path: Path) -> tuple[float, np.ndarray]:
    """Return repetition time and slice times."""
    facts = read_json(path)
    if not isinstance(facts, dict):
        raise broken(path, type(facts).__name__, "an object with RepetitionTime and SliceTiming")
    repetition_time, slice_times = facts.get("RepetitionTime"), facts.get("SliceTiming")
    if isinstance(repetition_time, bool) or not isinstance(repetition_time, int | float):
        raise broken(path, f"RepetitionTime {repetition_time!r}", "seconds above 0")
    if not 0 < repetition_time < _LONGEST_REPETITION:
        raise broken(path, f"RepetitionTime {repetition_time!r}", "seconds above 0")
    with reading(path, "a list of seconds as SliceTiming"):
        times = np.array(slice_times, dtype=float)
    if times.ndim != 1 or not len(times) or not ((times >= 0) & (times < repetition_time)).all():
        raise broken(path, f"SliceTiming {slice_times!r:.60}", f"seconds from 0 to below {repetition_time}")
    return float(repetition_time), times


def check_series(path: Path, repetition_time: float, slices: int) -> tuple[int, ...]:
    """Read a series completely, to find damage here, and return its shape."""
    series = read_volume(path, ndim=4)
    if not np.isclose(series.steps[3], repetition_time, rtol=1e-4):
        raise broken(path, f"repetition time {series.steps[3]:g}", f"{repetition_time:g} as in the sidecar")
    if series.data.shape[2] != slices:
        raise broken(path, f"{series.data.shape[2]} slices", f"one for each of {slices} slice times")
    check_finite(path, series.data)
    return series.data.shape


def check_finite(path: Path, data: np.ndarray) -> None:
    """Reject NaN and infinity."""
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise broken(path, "NaN or infinite voxels", "finite ones")


def read_regions(path: Path) -> nib.Nifti1Image:
    """Read numbered regions."""
    regions = read_volume(path, ndim=3)
    numbers = np.unique(regions.data)
    if (
        not np.array_equal(numbers, np.rint(numbers))
        or numbers[0] < 0
        or not 1 <= numbers[-1] <= _MOST_REGIONS
    ):
        raise broken(path, f"values {numbers[:5].tolist()}", "0 outside and integers from 1 in regions")
    return nib.Nifti1Image(regions.data.astype(np.int16), regions.affine)


def read_tsv(path: Path, columns: Sequence[str], numeric: Sequence[str]) -> pd.DataFrame:
    """Read a table that must have ``columns``; those in ``numeric`` must be finite numbers."""
    expected = f"a table with the columns {', '.join(columns)}"
    text = read_text(path)
    with reading(path, expected):
        table = pd.read_csv(StringIO(text), sep="\t", dtype=str, keep_default_na=False)
    if missing := [name for name in columns if name not in table.columns]:
        raise broken(path, f"no column {missing[0]}", expected)
    if table.empty:
        raise broken(path, "no rows", expected)
    table = table[list(columns)]
    if table.shape[1] != len(columns):
        raise broken(path, "a duplicate column", expected)
    for name in numeric:
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(float)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise broken(f"{path}, line {row + 2}", f"{name} {table[name].iloc[row]!r}", "a finite number")
        table = table.assign(**{name: values})
    return table
