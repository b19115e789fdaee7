"""Run parameterized notebooks."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import papermill
from traitlets.config import Config

from reproduction.pipeline.parameters import check_parameters


def run_notebook(
    notebook: str | Path,
    output: str | Path,
    parameters: Mapping[str, Any],
    *,
    log: str | Path,
    folder: str | Path = ".",
) -> None:
    """Run ``notebook`` with the ``parameters`` that it declares in ``folder``, as `execute_notebook` does."""
    check_parameters(notebook, parameters)
    execute_notebook(notebook, output, parameters, log=log, folder=folder)


def execute_notebook(
    notebook: str | Path,
    output: str | Path,
    parameters: Mapping[str, Any],
    *,
    log: str | Path,
    folder: str | Path = ".",
) -> None:
    """Run ``notebook`` in ``folder`` and write the executed copy to ``output``.

    The notebook runs into ``log``, which is moved to ``output`` only when every cell succeeded, so
    a failure leaves its traceback to read and no output. Each run has its own IPython and Jupyter
    folders and talks to its kernel through sockets in them: runs side by side do not meet.
    """
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
