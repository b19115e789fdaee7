"""Read and check the parameters that a notebook declares."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError


def declared_parameters(notebook: str | Path) -> list[str]:
    """Return the names of the parameters that a notebook declares in its one cell tagged ``parameters``."""
    path = Path(notebook)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        trees = [ast.parse("".join(cell["source"])) for cell in tagged]
    except FileNotFoundError:
        raise DataError(f"there is no notebook {path}") from None
    except Exception as error:  # JSON of any form, and text that is no Python
        raise DataError(f"{path} is not a notebook: {error}") from None
    if len(tagged) != 1:
        raise DataError(f"{path} has {len(tagged)} cells tagged 'parameters': expected exactly one")
    names = []
    for statement in trees[0].body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                raise DataError(f"{path}: the parameters cell holds more than simple assignments")
    return names


def check_parameters(notebook: str | Path, parameters: Mapping[str, Any]) -> None:
    """Raise an error unless ``parameters`` are exactly those that the notebook declares."""
    declared = set(declared_parameters(notebook))
    if unknown := sorted(set(parameters) - declared):
        raise DataError(f"{notebook} does not declare the parameter {', '.join(unknown)}")
    if missing := sorted(declared - set(parameters)):
        raise DataError(f"{notebook} was given no value for the parameter {', '.join(missing)}")
