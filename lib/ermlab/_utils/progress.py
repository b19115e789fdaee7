"""Progress of long fits, printed for estimators with ``verbose``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Seconds between two lines.
INTERVAL = 1.0


class _Printer:
    """Prints at most one line per interval, and the last one in any case."""

    def __init__(self, name: str, interval: float):
        self._name, self._interval, self._began = name, interval, time.perf_counter()
        self._last, self._waiting = -interval, None

    def show(self, unit: str, number: int, figures: dict[str, float]) -> None:
        seconds = time.perf_counter() - self._began
        shown = ", ".join(f"{what.replace('_', ' ')} {value:.6g}" for what, value in figures.items())
        self._waiting = f"[{self._name}] {unit} {number}, {seconds:.1f} s: {shown}"
        if seconds - self._last >= self._interval:
            self._last = seconds
            self.flush()

    def flush(self) -> None:
        if self._waiting is not None:
            print(self._waiting, flush=True)
        self._waiting = None


class _Watcher:
    """Passes what is reported on to a function."""

    def __init__(self, note: Callable[[str, int, Mapping[str, float]], None]):
        self.show = note


_PRINTER: ContextVar[_Printer | _Watcher | None] = ContextVar("ermlab_progress", default=None)


@contextmanager
def progress(estimator: Any) -> Iterator[None]:
    """Return a context in which what the solvers `report` is printed if ``estimator.verbose``.

    A line is printed at most once per second with ``verbose=True``, and for each iteration with a ``verbose``
    of at least 2.
    """
    if not estimator.verbose:
        yield
        return
    printer = _Printer(type(estimator).__name__, INTERVAL if estimator.verbose < 2 else 0.0)
    token = _PRINTER.set(printer)
    try:
        yield
    finally:
        _PRINTER.reset(token)
        printer.flush()


@contextmanager
def watched(note: Callable[[str, int, Mapping[str, float]], None]) -> Iterator[None]:
    """Return a context in which ``note(unit, number, figures)`` is called with what the solvers `report`."""
    token = _PRINTER.set(_Watcher(note))
    try:
        yield
    finally:
        _PRINTER.reset(token)


def report(unit: str, number: int, **figures: float) -> None:
    """Report the state of a search, such as ``report("iteration", 3, objective=1.5)``."""
    printer = _PRINTER.get()
    if printer is not None:
        printer.show(unit, number, figures)
