"""Importing a package of ermlab is cheap, and a missing optional package is named with its extra."""

import re
import subprocess
import sys
from types import FunctionType

import pytest

PACKAGES = (
    "cca",
    "detection",
    "features",
    "kernels",
    "optimize",
    "ranking",
    "semisupervised",
    "sparse",
    "structured",
    "taxonomy",
)
HEAVY = ("matplotlib", "numba", "PIL", "skimage", "sklearn", "pandas", "nilearn")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_is_cheap(package):
    loaded = run(f"import sys, ermlab.{package}; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_all_public_names_can_be_imported(package):
    module = __import__(f"ermlab.{package}", fromlist=["__all__"])
    for name in module.__all__:
        value = getattr(module, name)
        assert value.__doc__ or not isinstance(value, type | FunctionType)


HIDE = "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'matplotlib.pyplot', 'PIL', 'skimage']))"


def test_search_without_the_optional_packages():
    found = run(f"{HIDE}\nfrom ermlab.detection import search\nprint(search([[1, 2]], [3.0], (4, 5)).score)")
    assert found.strip() == "3.0"


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("taxonomy.plot_taxonomies", "plot"),
        ("tracking.detect", "tracking"),
        ("fmri.weight_map_figure", "plot"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name, extra):
    package, _, function = name.partition(".")
    code = f"try: from ermlab.{package} import {function}\nexcept ImportError as error: print(error)"
    told = run(f"{HIDE}\n{code}").strip()
    assert re.fullmatch(rf"ermlab\.{name} needs \w+: run `pip install 'ermlab\[{extra}\]'`", told), told
