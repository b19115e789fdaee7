"""Checks shared by the lists in `config/`."""

from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError


def unique_ids(path: str | Path, rows: list[dict[str, Any]], what: str) -> None:
    """Raise an error if two rows have the same id."""
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(f"{path}: {what} {row['id']}: this id is given twice, each row needs its own")
        seen.add(row["id"])
