"""Small pieces of MyST and HTML: safe text, tables, badges, numbers and durations."""

import html
import re
from collections.abc import Iterable, Sequence

from ermlab.errors import DataError

#: Status words of a claim, with the sign that tells them apart without colour.
STATUS_SIGNS = {"reproduced": "✓", "not reproduced": "✗", "not tested": "○"}
#: Kinds of data, likewise.
DATA_SIGNS = {"real data": "●", "simulated data": "◐", "no data": "∅"}

_MATHS = re.compile(r"(?<![\\$])(\$[^$\n]+\$)(?!\$)")
# The dollar is left out: what is not mathematics by then is escaped apart.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~^@:<>&-])")


def text(plain: object) -> str:
    """Escape ``plain`` for the inside of a MyST paragraph or table cell; ``$...$`` stays mathematics."""
    pieces = _MATHS.split(" ".join(str(plain).split()))
    return "".join(
        piece.replace("|", r"\vert ") if i % 2 else _MARKDOWN.sub(r"\\\1", piece).replace("$", r"\$")
        for i, piece in enumerate(pieces)
    )


def html_text(plain: object) -> str:
    """Escape ``plain`` for HTML that MyST passes through, in one line."""
    return html.escape(" ".join(str(plain).split()), quote=True)


def link(label: str, target: str) -> str:
    """Return a MyST link whose label is already safe."""
    return f"[{label}](<{target}>)"


def code(plain: object) -> str:
    """Return ``plain`` as inline code."""
    return f"<code>{html_text(plain)}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], css: str = "") -> str:
    """Return a MyST table of cells that are already safe; ``css`` names classes for the style sheet."""
    rows = [list(row) for row in rows]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a table row has {len(row)} cells: expected {len(header)} ({', '.join(header)})")
    lines = [header, ["---"] * len(header), *rows]
    body = "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)
    return f"{{.{css.replace(' ', ' .')}}}\n{body}\n" if css else f"{body}\n"


def status_badge(status: str) -> str:
    """Return the badge of a claim's status: sign, word and colour."""
    if status not in STATUS_SIGNS:
        raise DataError(f"a claim has status {status!r}: expected one of {', '.join(STATUS_SIGNS)}")
    kind = status.replace(" ", "-")
    return f'<span class="badge {kind}"><span aria-hidden="true">{STATUS_SIGNS[status]}</span> {status}</span>'


def data_badge(badge: str | None, datasets: Iterable[str] = ()) -> str:
    """Return the badge of the data behind a result, with the names of the data sets."""
    if not badge:
        return ""
    kind = badge.split()[0].strip(":,").lower()
    sign = DATA_SIGNS.get(badge, "●")
    names = ", ".join(datasets)
    title = f' title="{html_text(names)}"' if names else ""
    return (
        f'<span class="badge data-{html_text(kind)}"{title}>'
        f'<span aria-hidden="true">{sign}</span> {html_text(badge)}</span>'
    )


def number(value: object) -> str:
    """Return a value as a reader wants it: four significant digits, truth values as yes and no."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(number(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {number(item)}" for name, item in value.items())
    return str(value)


def duration(seconds: float) -> str:
    """Return seconds as words: ``8.3 s``, ``4 min 05 s``, ``2 h 10 min``."""
    if seconds < 0:
        raise ValueError(f"a duration of {seconds} seconds: expected zero or more")
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: float) -> str:
    """Return a number of bytes as words: ``812 B``, ``3.4 MB``."""
    if count < 1000:
        return f"{count:.0f} B"
    unit = ""
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.95:
            break
    return f"{count:.1f} {unit}"
