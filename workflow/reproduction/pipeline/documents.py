"""YAML documents and their schemas, with errors of one line that name the place."""

import difflib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ermlab._utils.files import read_text, reading
from ermlab.exceptions import DataError

# The parser in C takes a tenth of the time, and each command reads a few thousand lines.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: Limits far above any document of this project: collections within each other, and values in all.
_MAX_DEPTH = 100
_MAX_VALUES = 1_000_000
#: Characters of a number; those to the base of 60, as 1:30, take quadratic time.
_MAX_DIGITS = 1000
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def read_document(path: str | Path, schema: str | Path | None = None) -> Any:
    """Return the content of a YAML file that fits its schema.

    Parameters
    ----------
    path
        The file, such as ``config/claims.yaml``.
    schema
        Its JSON schema, in YAML; by default the one of the same name in the project's ``workflow/schemas``.
    """
    path = Path(path)
    document = read_yaml(path)
    schemas = path.resolve().parent.parent / "workflow/schemas"
    validate(document, read_yaml(schema or schemas / f"{path.stem}.schema.yaml"), str(path))
    return document


def read_yaml(path: str | Path) -> Any:
    """Return the content of a YAML file of plain values."""
    path = Path(path)
    with reading(path, "a readable file"):
        is_there = path.exists()
    if not is_there:
        raise DataError(f"{path} is not there")
    text = read_text(path)
    with reading(path, "valid YAML"):
        try:
            return _load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f", line {mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or " ".join(str(error).split())
            raise DataError(f"{path}{place}: not valid YAML: {problem}") from None


def _load(text: str) -> Any:
    """Return plain values; refuse aliases that expand to very many values, or to themselves."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:  # the composer, which is recursive, would overflow the stack
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=event.start_mark)
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _count_values(root, {})
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _count_values(node: yaml.Node, counts: dict[yaml.Node, float]) -> float:
    """Return the number of values below a node, those behind an alias each time it is used."""
    if isinstance(node, yaml.ScalarNode):
        if node.tag in _NUMBERS and len(node.value) > _MAX_DIGITS:
            problem = f"a number of {len(node.value)} characters"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return 1
    if node not in counts:
        counts[node] = math.inf  # which is met again only by a collection that contains itself
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
        pairs = node.value if isinstance(node, yaml.MappingNode) else [(child,) for child in node.value]
        counts[node] = 1 + sum(_count_values(child, counts) for pair in pairs for child in pair)
    if counts[node] > _MAX_VALUES:
        problem = f"aliases that expand to more than {_MAX_VALUES:,} values"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return counts[node]


def _check_keys(node: yaml.MappingNode) -> None:
    """Refuse a repeated key: its first value would be lost silently."""
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (key.tag, key.value) in seen and key.tag != "tag:yaml.org,2002:merge":
            raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
        seen.add((key.tag, key.value))


def validate(document: Any, schema: Mapping[str, Any], name: str) -> None:
    """Raise a one-line `DataError` for the first thing in ``document`` that the schema forbids."""
    with reading(name, "a document that fits its schema"):
        errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
        error = jsonschema.exceptions.best_match(errors)
    if error is not None:
        place = _place(document, list(error.absolute_path))
        raise DataError(": ".join(part for part in (name, place, _problem(error)) if part))


def _place(document: Any, steps: list[str | int]) -> str:
    """Name the steps to a value, a row by its id where it has one."""
    names = []
    for step in steps:
        document = document[step]
        named = (
            isinstance(step, int) and isinstance(document, Mapping) and isinstance(document.get("id"), str)
        )
        names.append(document["id"] if named else str(step))
    return " ".join(names)


def _problem(error: jsonschema.ValidationError) -> str:
    """Say what is wrong; a schema's own description of a rule reads better than the rule."""
    description = " ".join(error.schema.get("description", "").split())
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        return _unknown_key(error)
    if error.validator in ("oneOf", "anyOf", "pattern", "not") and description:
        return f"{description}; got {error.instance!r:.120}"
    message = f"{error.message.splitlines()[0]:.300}"
    return f"{message} ({description})" if description else message


def _unknown_key(error: jsonschema.ValidationError) -> str:
    known = list(error.schema.get("properties", {}))
    unknown = next(str(key) for key in error.instance if key not in known)
    close = difflib.get_close_matches(unknown, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known keys are {', '.join(known)}"
    return f"{unknown} is not a known key: {hint}"
