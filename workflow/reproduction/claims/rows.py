"""What the lists of `config/` have in common."""

from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError


def unique_ids(path: str | Path, rows: list[dict[str, Any]], what: str) -> None:
    """Refuse two rows with one id."""
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(f"{path}: {what} {row['id']}: this id is given twice, each row needs its own")
        seen.add(row["id"])
