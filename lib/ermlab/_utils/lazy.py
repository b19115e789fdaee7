"""Packages whose modules are loaded when one of their names is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import lazy_loader

from ermlab._utils.compilation import announce_if_numba

#: Modules of optional dependencies, and the extra that installs each.
EXTRAS = {
    "PIL": "vision",
    "geff": "zarr",
    "geff_spec": "zarr",
    "matplotlib": "plot",
    "mip": "tracking",
    "nibabel": "fmri",
    "nilearn": "fmri",
    "pandas": "tracking",
    "skimage": "vision",
    "tifffile": "tracking",
    "zarr": "zarr",
}


def import_optional(module: str, purpose: str) -> ModuleType:
    """Return a module of an optional dependency, or raise an ImportError that names its extra.

    Parameters
    ----------
    module : str
        The module, which may be one of the library that imports the dependency.
    purpose : str
        What needs it, the beginning of the message.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        raise ImportError(
            f"{purpose} needs {missing}: run `pip install 'ermlab[{EXTRAS[missing]}]'`", name=missing
        ) from error


def attach(
    package: str, file: str, *, extra: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the names in the ``__init__.pyi`` of a package.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.
    extra : str, optional
        The extra of the distribution that installs what the package needs; by default the one of the missing
        module in `EXTRAS`.
    """
    load, names, exported = lazy_loader.attach_stub(package, file)

    def getattr_or_name_extra(name: str) -> Any:
        try:
            value = load(name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            chosen = "plot" if missing == "matplotlib" else extra or EXTRAS[missing]
            raise ImportError(
                f"{package}.{name} needs {missing}: run `pip install 'ermlab[{chosen}]'`", name=missing
            ) from error
        announce_if_numba()
        return value

    return getattr_or_name_extra, names, exported
