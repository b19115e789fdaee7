"""Format pieces of MyST and HTML: escaped text, tables, badges, numbers and durations."""

import html
import re
from collections.abc import Iterable, Sequence

from ermlab.exceptions import DataError
from reproduction.claims.ledger import (
    NO_DATA,
    NOT_REPRODUCED,
    NOT_TESTED,
    REAL_DATA,
    REPRODUCED,
    SIMULATED_DATA,
    UNDECIDED,
)

#: Sign of a claim's status, for readers who do not see its color.
STATUS_SIGNS = {REPRODUCED: "✓", NOT_REPRODUCED: "✗", UNDECIDED: "≈", NOT_TESTED: "○"}
#: What a status is called for a control.
CONTROL_WORDS = {REPRODUCED: "holds", NOT_REPRODUCED: "does not hold"}
#: Sign of a data badge, for readers who do not see its color.
DATA_SIGNS = {REAL_DATA: "●", SIMULATED_DATA: "◐", NO_DATA: "–"}

_KEPT = re.compile(r"(?<![\\$])(\$[^$]+\$|`[^`]+`)(?!\$)")
# The dollar is left out: what is not mathematics by then is escaped apart.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|~^@:<>&%=-])")


def text(plain: object) -> str:
    """Escape ``plain`` for the inside of a MyST paragraph or table cell.

    Mathematics between dollars and code between backticks stay what they are.
    """
    pieces = _KEPT.split(" ".join(str(plain).split()))
    return "".join(_kept(piece) if i % 2 else _escaped(piece) for i, piece in enumerate(pieces))


def _kept(piece: str) -> str:
    """Return mathematics or code with no bar in it, which would end a table cell."""
    return code(piece[1:-1]) if piece[0] == "`" else piece.replace("|", r"\vert ")


def _escaped(piece: str) -> str:
    return _MARKDOWN.sub(r"\\\1", piece).replace("$", r"\$")


def html_text(plain: object) -> str:
    """Escape ``plain`` for HTML that MyST passes through, in one line."""
    return html.escape(" ".join(str(plain).split()), quote=True)


def code(plain: object) -> str:
    """Return ``plain`` as inline code."""
    return f"<code>{html_text(plain).replace('|', '&#124;')}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], css: str = "") -> str:
    """Return a MyST table of cells that are already safe; ``css`` names classes for the style sheet."""
    rows = [list(row) for row in rows]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a table row has {len(row)} cells: expected one for each of {list(header)}")
    lines = [header, ["---"] * len(header), *rows]
    body = "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)
    return f"{{.{css.replace(' ', ' .')}}}\n{body}\n" if css else f"{body}\n"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values that are already safe."""
    return table(["Fact", "Value"], rows, "facts")


def digest(value: str) -> str:
    """Return a long hash as code that may break anywhere."""
    return f'<code class="hash">{html_text(value)}</code>'


def anchor(name: str) -> str:
    """Return a place that a link can name exactly."""
    return f'<span class="anchor" id="{html_text(name)}"></span>'


def status_badge(status: str, count: int | None = None, words: str | None = None) -> str:
    """Return the badge of a claim's status: sign, words and color; or of ``count`` claims that share it."""
    if status not in STATUS_SIGNS:
        raise DataError(f"a claim has status {status!r}: expected one of {', '.join(STATUS_SIGNS)}")
    sign = f'<span aria-hidden="true">{STATUS_SIGNS[status]}</span>'
    words = words or (status if count is None else f"{count} {status}")
    return f'<span class="badge {status.replace(" ", "-")}">{sign} {words}</span>'


def data_badge(badge: str, datasets: Iterable[str] = ()) -> str:
    """Return the badge of the data behind a result, followed by the names of the data sets."""
    if badge not in DATA_SIGNS:
        raise DataError(f"a result has the data badge {badge!r}: expected one of {', '.join(DATA_SIGNS)}")
    sign = f'<span aria-hidden="true">{DATA_SIGNS[badge]}</span>'
    names = ", ".join(datasets)
    return f'<span class="badge {badge.replace(" ", "-")}">{sign} {badge}</span>' + (
        note(names) if names else ""
    )


def note(plain: object) -> str:
    """Return a small remark on a line of its own."""
    return f'<span class="note">{text(plain)}</span>'


def number(value: object) -> str:
    """Format a value for reading: four significant digits, truth values as yes and no."""
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
    units = ["GB", "MB", "kB"]
    count /= 1000
    while count >= 999.95 and len(units) > 1:
        count /= 1000
        units.pop()
    return f"{count:.1f} {units[-1]}"
