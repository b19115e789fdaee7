"""Checks shared by the lists in `config/`."""

import difflib
from collections.abc import Iterable
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


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the known name that is most similar, or nothing if none is."""
    lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[near[0]]}?" if near else ""
