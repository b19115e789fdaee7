"""Docstrings of all exported names: there is one, and it names the parameters of the signature."""

import inspect
from importlib import import_module

import pytest
from numpydoc.validate import validate

from reproduction.book.api_reference import exported_names

# No docstring, no summary, parameters that the signature does not have or has in another order, without a
# description, sections that numpydoc does not know or that are out of order.
FAULTS = {"GL06", "GL07", "GL08", "PR02", "PR03", "SS01", "SS02"}


def documented(package):
    """Name the exported classes, their own public methods, and the functions of a package."""
    module = import_module(package)
    for name in exported_names()[package]:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            yield f"{package}.{name}"
        if inspect.isclass(value):
            own = [key for key, member in vars(value).items() if inspect.isroutine(member)]
            yield from (f"{package}.{name}.{key}" for key in own if not key.startswith("_"))


@pytest.mark.parametrize("package", exported_names())
def test_docstrings_fit_the_signatures(package):
    names = list(documented(package))
    assert names
    found = [
        f"{name}: {message}" for name in names for code, message in validate(name)["errors"] if code in FAULTS
    ]
    assert found == []
