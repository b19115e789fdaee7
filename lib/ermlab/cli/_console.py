"""What commands print: a summary as text or JSON, and on a terminal their progress."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

#: Type of arguments that name a file or a folder. Readers report what is wrong with it.
PATH = click.Path(path_type=Path)
T = TypeVar("T")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace existing results.")
#: Seconds between two updates of the status of a computation.
_INTERVAL = 0.2


def examples(*lines: str) -> str:
    """Return the end of a help text with an example."""
    return "\n".join(["\b", "Example:", *(f"  {line}" for line in lines)])


def show(summary: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Print the summary as JSON, or the text."""
    click.echo(json.dumps(plain(summary), indent=1, ensure_ascii=False) if as_json else text)


def bar(length: int, label: str) -> Any:
    """Return a progress bar on a terminal, hidden elsewhere."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


class Watched(Sequence[T]):
    """A sequence that advances a progress bar when items are first used."""

    def __init__(self, items: Sequence[T], progress: Any):
        self._items, self._progress, self._n_used = items, progress, 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        item = self._items[index]
        if isinstance(index, int):
            with self._lock:
                self._progress.update(max(index + 1 - self._n_used, 0))
                self._n_used = max(self._n_used, index + 1)
        return item


@contextmanager
def working(label: str) -> Iterator[None]:
    """Show on a terminal that a computation runs: for how long, and how far its solver is."""
    from ermlab._utils.progress import watched

    if not sys.stderr.isatty():
        yield
        return
    status, done = _Status(label), threading.Event()
    thread = threading.Thread(target=status.repeat, args=(done,), daemon=True)
    thread.start()
    try:
        with watched(status.note):
            yield
    finally:
        done.set()
        thread.join()
        click.echo("\r\x1b[K", nl=False, err=True)


class _Status:
    """A line that is written again and again."""

    def __init__(self, label: str, clock: Callable[[], float] = time.monotonic):
        self._label, self._clock, self._began, self._state = label, clock, clock(), ""

    def note(self, unit: str, number: int, figures: Mapping[str, float]) -> None:
        """Keep the state of a solver."""
        shown = [f"{unit} {number}", *(f"{what.replace('_', ' ')} {figures[what]:.3g}" for what in figures)]
        self._state = ": " + ", ".join(shown)

    def line(self) -> str:
        """Return the text of the line."""
        width = shutil.get_terminal_size().columns - 1
        return f"{self._label}, {self._clock() - self._began:.0f} s{self._state}"[:width]

    def repeat(self, done: threading.Event) -> None:
        """Write the line until the computation has ended."""
        while not done.wait(_INTERVAL):
            click.echo(f"\r\x1b[K{self.line()}", nl=False, err=True)


def plain(value: Any) -> Any:
    """Return a value for JSON, with null for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        return plain(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
