"""Signatures that `help` prints are as short as they are written."""

import importlib
import inspect
from pathlib import Path

import pytest

import ermlab

PACKAGES = sorted(path.parent.name for path in Path(ermlab.__file__).parent.glob("*/__init__.pyi"))
#: What the types of arrays of numpy look like if annotations are evaluated.
EXPANDED = ("numpy._typing", "numpy.dtype[", "typing.Any, ...")


def signatures(package):
    """Yield names and signatures of exported functions and classes, and of the methods of the latter."""
    module = importlib.import_module(f"ermlab.{package}")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, inspect.signature(value)
        elif inspect.isclass(value) and not issubclass(value, Exception):
            yield name, inspect.signature(value)
            for method, of in vars(value).items():
                if inspect.isfunction(of) and not method.startswith("_"):
                    yield f"{name}.{method}", inspect.signature(of)


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_not_expanded(package):
    found = {name: str(signature) for name, signature in signatures(package)}
    assert found
    assert [name for name, text in found.items() if any(part in text for part in EXPANDED)] == []
