"""Trees as text in the Newick format: ``(cat:1,dog:2)pets:0.5;``."""

from __future__ import annotations

import re

#: A quoted name, a comment, a bracket, comma, colon or semicolon, or a plain name or number.
_TOKENS = re.compile(r"\s*(?:'((?:[^']|'')*)'|(\[[^\]]*\])|([(),:;])|([^\s()\[\]',:;]+))")
_PLAIN = re.compile(r"[^\s()\[\]',:;]+")
#: Length of an edge without one: path lengths are then numbers of edges.
UNIT = 1.0


def parse_newick(text: str) -> tuple[list[int], list[float], list[str]]:
    """Return the parent, the edge length and the name of each node, parents before their children.

    Edges without a length have length 1, the one above the root 0; nodes without a name have an empty one.
    """
    if not isinstance(text, str):
        raise ValueError(f"newick is a {type(text).__name__}: expected text")
    parents, lengths, names = [-1], [0.0], [""]
    node, named, closed, open_brackets = 0, False, False, 0
    tokens = iter(_tokens(text))
    for kind, value, place in tokens:
        if kind == "name":
            if named:
                raise _malformed(text, place, f"a second name {value!r}", "a comma between two names")
            names[node], named = value, True
        elif value == "(":
            if named or closed:
                raise _malformed(text, place, "'(' after a node", "a comma between two nodes")
            open_brackets += 1
            node = _add(parents, lengths, names, node)
        elif value == ":":
            lengths[node], named = _length(text, tokens, place), True
        elif value in ",)":
            if open_brackets == 0:
                raise _malformed(text, place, f"{value!r} outside of brackets", "an open bracket before it")
            node = parents[node]
            if value == ",":
                node = _add(parents, lengths, names, node)
            else:
                open_brackets -= 1
            named, closed = False, value == ")"
            continue
        else:
            if open_brackets:
                raise _malformed(text, place, f"the end inside {open_brackets} open brackets", "as many ')'")
            if rest := text[place + 1 :].strip():
                raise _malformed(text, place, f"{rest[:20]!r} after the end", "one tree")
            return parents, lengths, names
        closed = closed and kind == "name"
    raise _malformed(text, len(text), "the end of the text", "';' at the end of the tree")


def format_newick(parents: list[int], lengths: list[float], names: list[str]) -> str:
    """Return the text of a tree, children in the order of their numbers; names are quoted if necessary."""
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    root = parents.index(-1)
    parts: list[str] = []
    pending: list[int | str] = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        label = _quoted(names[item])
        if item != root or lengths[item] > 0:
            label += f":{lengths[item]!r}"
        if not children[item]:
            parts.append(label)
            continue
        parts.append("(")
        pending.append(")" + label)
        for place, child in enumerate(reversed(children[item])):
            pending += [",", child] if place else [child]
    return "".join(parts) + ";"


def _add(parents: list[int], lengths: list[float], names: list[str], parent: int) -> int:
    parents.append(parent)
    lengths.append(UNIT)
    names.append("")
    return len(parents) - 1


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found, place = [], 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKENS.match(text, place)
        if match is None:
            bad = len(text) - len(text[place:].lstrip())
            raise _malformed(text, bad, f"{text[bad]!r}", "names, '(', ')', ',', ':' and lengths")
        quoted, comment, sign, plain = match.groups()
        start, place = match.start(match.lastindex or 0), match.end()
        if quoted is not None:
            found.append(("name", quoted.replace("''", "'"), start))
        elif comment is None:
            found.append(("sign", sign, start) if sign else ("name", plain, start))
    return found


def _length(text: str, tokens, place: int) -> float:
    kind, value, _ = next(tokens, ("end", "the end of the text", place))
    try:
        if kind == "name":
            return float(value)
    except ValueError:
        pass
    raise _malformed(text, place, f"{value!r} after ':'", "a number, the length of the edge")


def _malformed(text: str, place: int, found: str, expected: str) -> ValueError:
    around = text[max(place - 15, 0) : place + 15]
    return ValueError(f"newick at character {place}, ...{around!r}...: {found}; expected {expected}")


def _quoted(name: str) -> str:
    return name if not name or _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'"
