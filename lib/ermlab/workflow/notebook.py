"""Parameterised notebooks, run so that a mistake cannot pass unseen."""

import ast
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
from traitlets.config import Config

from ermlab.errors import DataError


def declared_parameters(notebook: str | Path) -> list[str]:
    """Name the parameters that a notebook declares in its one cell tagged ``parameters``."""
    path = Path(notebook)
    try:
        cells = nbformat.read(path, as_version=4).cells
    except FileNotFoundError:
        raise DataError(f"there is no notebook {path}") from None
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise DataError(f"{path} is not a notebook: {str(error).splitlines()[0]}") from None
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise DataError(f"{path} has {len(tagged)} cells tagged 'parameters': expected exactly one")
    names = []
    for statement in ast.parse(tagged[0].source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                raise DataError(f"{path}: the parameters cell holds more than simple assignments")
    return names


def check_parameters(notebook: str | Path, parameters: Mapping[str, Any]) -> None:
    """Raise unless ``parameters`` are just those that the notebook declares."""
    declared = set(declared_parameters(notebook))
    if unknown := sorted(set(parameters) - declared):
        raise DataError(f"{notebook} does not declare the parameter {', '.join(unknown)}")
    if missing := sorted(declared - set(parameters)):
        raise DataError(f"{notebook} was given no value for the parameter {', '.join(missing)}")


def run_notebook(
    notebook: str | Path,
    output: str | Path,
    parameters: Mapping[str, Any],
    *,
    log: str | Path,
    folder: str | Path = ".",
) -> None:
    """Run ``notebook`` with ``parameters`` in ``folder`` and write the executed copy to ``output``.

    The notebook runs into ``log``, which is moved to ``output`` only when every cell succeeded, so
    a failure leaves its traceback to read and no output. Each run has its own IPython and Jupyter
    folders and talks to its kernel through sockets in them: runs side by side do not meet.
    """
    check_parameters(notebook, parameters)
    log, output = Path(log), Path(output)
    for path in (log, output):
        path.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    with _private_jupyter() as private:
        papermill.execute_notebook(
            notebook,
            log,
            parameters=dict(parameters),
            kernel_name="python3",
            cwd=folder,
            progress_bar=False,
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{private}/kernel"}}),
        )
    shutil.move(log, output)


@contextmanager
def _private_jupyter() -> Iterator[str]:
    """Give IPython and Jupyter a folder of their own, and take the kernel of this environment."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory(prefix="ermlab-") as private:
        os.environ["IPYTHONDIR"] = f"{private}/ipython"
        os.environ["JUPYTER_CONFIG_DIR"] = f"{private}/config"
        os.environ["JUPYTER_RUNTIME_DIR"] = f"{private}/runtime"
        os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
        try:
            yield private
        finally:
            os.environ.clear()
            os.environ.update(before)
