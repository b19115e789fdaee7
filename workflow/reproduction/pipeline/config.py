"""Merge configuration file, command line, scale and defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError
from reproduction.pipeline.documents import read_yaml, validate


def load_config(config: Mapping[str, Any], root: str | Path = ".") -> dict[str, Any]:
    """Complete ``config`` with its scale's sizes and the schema's defaults, and validate it.

    Values in ``config`` (``config/config.yaml`` and the command line) take precedence over
    ``config/scale/<scale>.yaml``, which takes precedence over the defaults of the schema.
    """
    schema = config_schema(root)
    scales = sorted(path.stem for path in Path(root, "config/scale").glob("*.yaml"))
    scale = config.get("scale", schema["properties"]["scale"]["default"])
    if scale not in scales:
        raise DataError(f"config: scale is {scale!r}: expected one of {', '.join(scales)}")
    complete = _merge(scale_config(scale, schema, root), config)
    validate(complete, schema, "config")
    return complete


def config_schema(root: str | Path = ".") -> dict[str, Any]:
    """Read the schema of the configuration."""
    return read_yaml(Path(root, "workflow/schemas/config.schema.yaml"))


def scale_config(scale: str, schema: Mapping[str, Any], root: str | Path = ".") -> dict[str, Any]:
    """Return the settings of a scale: its file, completed with the defaults of the schema."""
    return _merge(_defaults(schema), read_yaml(Path(root, f"config/scale/{scale}.yaml")))


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
    """Merge ``over`` into ``base`` recursively; values other than mappings are replaced."""
    if not (isinstance(base, Mapping) and isinstance(over, Mapping)):
        return over
    return {**base, **{key: _merge(base.get(key), value) for key, value in over.items()}}
