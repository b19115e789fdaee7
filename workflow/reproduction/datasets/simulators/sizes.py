"""What all simulators share."""

from collections.abc import Collection


def check_size(size: str, sizes: Collection[str]) -> None:
    """Raise ValueError unless a simulator knows the size; call it before anything is written."""
    if size not in sizes:
        raise ValueError(f"size is {size!r}: expected one of {', '.join(sizes)}")
