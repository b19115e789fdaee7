"""Reading tables with named columns: CSV, tab-separated values and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.files import broken, read_text, reading, require_file

if TYPE_CHECKING:
    import pandas as pd

#: Separators of the columns of text files, by the ending of the name.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*SEPARATORS, *PARQUET)


class TableFile:
    """A table of at least one row, whose columns are read by name.

    Parameters
    ----------
    path : str or Path
        The file. Names that end in ``.parquet`` or ``.pq`` are read by pandas, ``.tsv`` as tab-separated and
        all others as comma-separated values with a line of column names.

    Attributes
    ----------
    path : Path
        The file.
    names : list of str
        The columns, which must have different names.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._frame: pd.DataFrame | None = None
        if self.path.suffix.lower() in PARQUET:
            self._frame = _read_parquet(self.path)
            self.names = [str(name) for name in self._frame.columns]
            self._frame.columns = self.names
        else:
            self._separator = SEPARATORS.get(self.path.suffix.lower(), ",")
            self._text = read_text(self.path, "utf-8-sig")
            with reading(self.path, "a table with a line of column names"):
                header = next(csv.reader(io.StringIO(self._text), delimiter=self._separator), [])
            self.names = [name.strip() for name in header]
        if not any(self.names):
            raise broken(self.path, "the file is empty", "a line of column names, and rows")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise broken(self.path, f"the column {twice!r} twice", "different names of columns")

    def require(self, names: Sequence[str]) -> None:
        """Raise a DataError unless the table has the columns."""
        for name in names:
            if name not in self.names:
                found = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
                raise broken(self.path, f"no column {name!r} among {found}", f"the column {name!r}")

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns of finite numbers, (n_rows, n_columns)."""
        self.require(names)
        with reading(self.path, "rows of numbers"):
            if self._frame is not None:
                values = self._frame[list(names)].to_numpy(np.float64, na_value=np.nan)
            else:
                values = self._load(names, np.float64)
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            row, column = wrong[0]
            place = f"{self.path}, row {row + 1}, column {names[column]!r}"
            raise broken(place, str(values[row, column]), "a finite number")
        return values

    def text(self, name: str) -> NDArray[np.str_]:
        """Return a column as strings."""
        self.require([name])
        with reading(self.path, "rows with as many fields as there are names of columns"):
            if self._frame is not None:
                return self._frame[name].astype(str).to_numpy(dtype=str)
            return np.char.strip(self._load([name], np.str_)[:, 0])

    def _load(self, names: Sequence[str], dtype: type) -> NDArray:
        columns = [self.names.index(name) for name in names]
        # Checked here: a file without rows is a warning of numpy.
        if len(self._text.strip().splitlines()) < 2:
            raise ValueError("no rows below the names of the columns")
        return np.loadtxt(
            io.StringIO(self._text),
            dtype=dtype,
            delimiter=self._separator,
            skiprows=1,
            usecols=columns,
            ndmin=2,
            quotechar='"',
            comments=None,
        )


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ImportError(f"{path}: Parquet needs pandas and pyarrow: pip install pandas pyarrow") from error
    with reading(path, "a Parquet file"):
        require_file(path)
        try:
            frame = pd.read_parquet(path)
        except ImportError as error:
            raise ValueError("pandas has no Parquet engine: pip install pyarrow") from error
        if frame.empty:
            raise ValueError("no rows")
        return frame
