"""Read a YAML file of `config/` and hold it against its schema, with errors of one line."""

from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ermlab.errors import DataError


def read_document(path: str | Path, schema: str | Path | None = None) -> dict[str, Any]:
    """Return the content of a YAML file that fits its schema.

    Parameters
    ----------
    path
        The file, such as ``config/claims.yaml``.
    schema
        The JSON schema, in YAML; by default the one of this name in ``workflow/schemas`` beside ``config``.
    """
    path = Path(path)
    schema = Path(schema) if schema else path.parent.parent / "workflow/schemas" / f"{path.stem}.schema.yaml"
    document = _read_yaml(path)
    validator = jsonschema.Draft202012Validator(_read_yaml(schema))
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error is not None:
        place = _place(document, list(error.absolute_path))
        raise DataError(f"{path}: {place}: {_problem(error)}")
    return document


def unique_ids(path: str | Path, rows: list[dict[str, Any]], what: str) -> None:
    """Refuse two rows with one id."""
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            raise DataError(f"{path}: {what} {row['id']}: this id is given twice, each row needs its own")
        seen.add(row["id"])


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is not there: it is part of the repository, restore it") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def _place(document: Any, steps: list[str | int]) -> str:
    """Name the row by its id where it has one: positions in a long list help nobody."""
    names = []
    for step in steps:
        document = document[step]
        named = isinstance(step, int) and isinstance(document, dict) and isinstance(document.get("id"), str)
        names.append(document["id"] if named else str(step))
    return " ".join(names) or "the file"


def _problem(error: jsonschema.ValidationError) -> str:
    """Say what is wrong; a schema's own description of a rule reads better than the rule."""
    if error.validator in ("oneOf", "anyOf", "pattern", "not") and "description" in error.schema:
        return f"{error.schema['description']}; got {error.instance!r:.120}"
    return f"{error.message:.300}"
