"""What a fuzz case may expect of a call."""

from collections.abc import Callable


def refused(call: Callable[[], object]) -> None:
    """Raise an AssertionError if a call raises no ValueError."""
    try:
        call()
    except ValueError:
        return
    raise AssertionError("expected a ValueError")
