"""Validation of the size of a simulated data set."""

from collections.abc import Collection


def check_size(size: str, sizes: Collection[str]) -> None:
    """Raise ValueError for an unknown size; call this before anything is written."""
    if size not in sizes:
        raise ValueError(f"size is {size!r}: expected one of {', '.join(sizes)}")
