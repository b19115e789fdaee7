"""Configuration files, read and validated with errors of one line."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ermlab.errors import DataError


def load_config(config: Mapping[str, Any], root: str | Path = ".") -> dict[str, Any]:
    """Complete ``config`` with its scale's sizes and the schema's defaults, and validate it.

    What stands in ``config`` (``config/config.yaml`` and the command line) wins over
    ``config/scale/<scale>.yaml``, which wins over the defaults of the schema.
    """
    root = Path(root)
    schema = read_yaml(root / "workflow/schemas/config.schema.yaml")
    scales = sorted(path.stem for path in (root / "config/scale").glob("*.yaml"))
    scale = config.get("scale", schema["properties"]["scale"]["default"])
    if scale not in scales:
        raise DataError(f"config: scale is {scale!r}: expected one of {', '.join(scales)}")
    complete = _merge(_defaults(schema), read_yaml(root / f"config/scale/{scale}.yaml"))
    complete = _merge(complete, config)
    validate(complete, schema, "config")
    return complete


def read_yaml(path: str | Path) -> Any:
    """Read a YAML file with plain values only; say in one line where it is not valid YAML."""
    path = Path(path)
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is not there") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{path}{place}: not valid YAML: {getattr(error, 'problem', error)}") from None


def validate(document: Any, schema: Mapping[str, Any], name: str) -> None:
    """Raise a one-line `DataError` for the first thing in ``document`` that the schema forbids."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
    if error is not None:
        raise DataError(f"{name}: {_explain(error)}")


def _explain(error: jsonschema.ValidationError) -> str:
    place = ".".join(str(step) for step in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        key = f"{place}.{unknown}" if place else unknown
        close = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known keys are {', '.join(known)}"
        return f"{key} is not a known key: {hint}"
    message = error.message.splitlines()[0]
    description = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    meaning = f" ({' '.join(description.split())})" if description else ""
    return f"{place}: {message}{meaning}" if place else f"{message}{meaning}"


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the defaults that a schema gives for the properties of an object."""
    collected = {}
    for name, part in schema.get("properties", {}).items():
        if "default" in part:
            collected[name] = part["default"]
        elif part.get("type") == "object" and (inner := _defaults(part)):
            collected[name] = inner
    return collected


def _merge(base: Any, over: Any) -> Any:
    """Lay ``over`` on ``base``, mapping by mapping; anything else is replaced whole."""
    if not (isinstance(base, Mapping) and isinstance(over, Mapping)):
        return over
    return {**base, **{key: _merge(base.get(key), value) for key, value in over.items()}}
