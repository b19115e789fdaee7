"""Imports of packages that only an extra of ermlab installs."""

from importlib import import_module
from types import ModuleType


def import_optional(name: str, extra: str) -> ModuleType:
    """Import a module, or raise an ImportError that says which extra installs it.

    Parameters
    ----------
    name : str
        Full name of the module, such as ``"matplotlib.pyplot"``.
    extra : {"tracking", "fmri", "vision", "plot"}
        The extra that installs it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is installed, but something else is missing
        raise ImportError(f"{package} is not installed: run `pip install ermlab[{extra}]`") from error
