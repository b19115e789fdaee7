"""Link the names on a page of the manual to their entries in the API reference."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module

from reproduction.book.api_reference import exported_names

_FENCED = re.compile(r"(^```.*?^```$)", flags=re.DOTALL | re.MULTILINE)
# A name in backticks that is not yet part of a link or a role.
_CODE = re.compile(r"(?<![\[}`])`([A-Za-z_][\w.]*)`(?![\]`])")


def page_links(blocks: Iterable[str]) -> dict[str, str]:
    """Return the links of names on a page with the given blocks of Python.

    These are names with their package, names that the page imports, and those that can mean nothing else.
    """
    links = dict(_general_links())
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ermlab":
                for alias in node.names:
                    if package := _package_of(node.module, alias.name):
                        links[alias.name] = _link(package, alias.name)
    return links


def link_names(text: str, links: Mapping[str, str]) -> str:
    """Link names in backticks, outside of headings and blocks of code."""
    parts = _FENCED.split(text)
    for i in range(0, len(parts), 2):
        lines = parts[i].split("\n")
        parts[i] = "\n".join(
            line if line.startswith("#") else _CODE.sub(lambda found: links.get(found[1], found[0]), line)
            for line in lines
        )
    return "".join(parts)


def _link(package: str, name: str) -> str:
    return f"{{py:obj}}`{name} <{package}.{name}>`"


@cache
def _general_links() -> dict[str, str]:
    """Return links of qualified names, and of bare ones that are neither words nor methods nor ambiguous."""
    packages = exported_names()
    count = Counter(name for names in packages.values() for name in names)
    methods, links = set(), {}
    for package, names in packages.items():
        values = [getattr(import_module(package), name) for name in names]
        methods.update(key for value in values if inspect.isclass(value) for key in dir(value))
    for package, names in packages.items():
        links[package] = f"{{py:mod}}`{package}`"
        for name in names:
            links[f"{package}.{name}"] = f"{{py:obj}}`{package}.{name}`"
            is_word = name.islower() and "_" not in name
            if count[name] == 1 and not is_word and name not in methods:
                links[name] = _link(package, name)
    return links


def _package_of(module: str, name: str) -> str | None:
    """Return the package whose reference has the name that is imported from a module."""
    packages = exported_names()
    if name in packages.get(module, ()):
        return module
    value = getattr(import_module(module), name)
    same = (p for p, names in packages.items() if name in names and getattr(import_module(p), name) is value)
    return next(same, None)
