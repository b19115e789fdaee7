"""A message when numba compiles kernels of the library, which takes seconds and happens once per machine."""

from __future__ import annotations

import logging
import sys
from functools import cache

logger = logging.getLogger("ermlab")


@cache
def announce_compilation() -> None:
    """Log a warning before the first kernel of each package is compiled, not read from the cache."""
    from numba.core import event  # not at the top: loading numba takes longer than most imports

    class Announcement(event.Listener):
        """Names each package once."""

        def __init__(self) -> None:
            self._named: set[str] = set()

        def on_start(self, event: event.Event) -> None:
            module = getattr(event.data["dispatcher"].py_func, "__module__", None) or ""
            package = ".".join(module.split(".")[:2])
            if module.startswith("ermlab.") and package not in self._named:
                self._named.add(package)
                logger.warning(
                    "compiling %s for this machine: the first call takes some seconds more; later calls, and "
                    "other processes, use the cache",
                    package,
                )

        def on_end(self, event: event.Event) -> None:
            """Do nothing."""

    event.register("numba:compile", Announcement())


def announce_if_numba() -> None:
    """Call `announce_compilation` if numba is loaded."""
    if "numba.core.event" in sys.modules:
        announce_compilation()
