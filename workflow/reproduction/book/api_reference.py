"""Write the pages of the API reference: one for each package, with every name that it exports.

The tables of summaries are written here: Sphinx's autosummary would cut them at a period, as in ``eq. 3.9``.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path

from sphinx.pycode import ModuleAnalyzer

import ermlab

# The help of the command line has a page of its own.
_ELSEWHERE = ("cli",)
_TITLE = "API reference"
_LEAD = """\
Every name that a package of ermlab exports, from its docstring. The main names can also be imported from
``ermlab`` itself, as in ``from ermlab import RankingSVM``."""


def exported_names() -> dict[str, list[str]]:
    """Return the exported names of each public package, by the name of the package."""
    found = {}
    for module in pkgutil.iter_modules(ermlab.__path__):
        if module.ispkg and not module.name.startswith("_") and module.name not in _ELSEWHERE:
            package = importlib.import_module(f"{ermlab.__name__}.{module.name}")
            if names := getattr(package, "__all__", []):
                found[package.__name__] = sorted(names, key=str.lower)
    # What the library itself exports from plain modules, such as its exceptions.
    elsewhere = {name for names in found.values() for name in names}
    for name in sorted(set(ermlab.__all__) - elsewhere):
        found.setdefault(getattr(ermlab, name).__module__, []).append(name)
    return dict(sorted(found.items()))


def write_api_reference(folder: str | Path) -> None:
    """Write ``index.rst`` and one page for each package into ``folder``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    packages = exported_names()
    (folder / "index.rst").write_text(_index(packages), encoding="utf-8")
    for package, names in packages.items():
        (folder / f"{_page_name(package)}.rst").write_text(_page(package, names), encoding="utf-8")


def _page_name(package: str) -> str:
    return package.rpartition(".")[2]


def _heading(title: str, line: str) -> list[str]:
    return [title, line * len(title), ""]


def _index(packages: dict[str, list[str]]) -> str:
    main = set(ermlab.__all__)
    rows = ["   * - package", "     - main names"]
    for package, names in packages.items():
        shown = ", ".join(f":py:obj:`~{package}.{name}`" for name in names if name in main)
        rows += [f"   * - :py:mod:`{package}`", f"     - {shown}"]
    lines = [*_heading(_TITLE, "="), _LEAD, ""]
    lines += [".. list-table::", "   :header-rows: 1", "   :widths: 30 70", "", *rows, ""]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {_page_name(package)}" for package in packages), ""]
    return "\n".join(lines)


def _page(package: str, names: list[str]) -> str:
    module = importlib.import_module(package)
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants and types": []}
    for name in names:
        value = getattr(module, name)
        callables = "Functions" if inspect.isroutine(value) else "Constants and types"
        kinds["Classes" if inspect.isclass(value) else callables].append(name)
    kinds = {kind: members for kind, members in kinds.items() if members}
    lines = [*_heading(package, "="), f".. automodule:: {package}", "", f".. currentmodule:: {package}", ""]
    lines += [".. list-table::", "   :class: summary", "   :widths: 30 70", ""]
    for name in (name for members in kinds.values() for name in members):
        lines += [f"   * - :py:obj:`{name} <{package}.{name}>`", f"     - {_summary(package, name)}"]
    for kind, members in kinds.items():
        lines += ["", *_heading(kind, "-")]
        for name in members:
            lines += _entry(package, name)
    return "\n".join(lines)


def _docstring(package: str, name: str) -> str:
    """Return the docstring of a class or function, or the comment ``#:`` above a constant."""
    value = getattr(importlib.import_module(package), name)
    if inspect.isclass(value) or inspect.isroutine(value):
        return inspect.getdoc(value) or ""
    for module in _modules(package):
        comments = ModuleAnalyzer.for_module(module).find_attr_docs()
        if ("", name) in comments:
            return "\n".join(comments["", name]).strip()
    return ""


def _modules(package: str) -> list[str]:
    folder = importlib.import_module(package).__path__
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(folder)]


def _summary(package: str, name: str) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join(_docstring(package, name).partition("\n\n")[0].split())


def _entry(package: str, name: str) -> list[str]:
    value = getattr(importlib.import_module(package), name)
    place = f"{package}.{name}"
    if inspect.isclass(value):
        directive = "autoexception" if issubclass(value, BaseException) else "autoclass"
        return [f".. {directive}:: {place}", "   :members:", "   :inherited-members:", ""]
    if inspect.isroutine(value):
        return [f".. autofunction:: {place}", ""]
    lines = _docstring(package, name).splitlines()
    return [f".. py:data:: {name}", "", *(f"   {line}".rstrip() for line in lines), ""]
