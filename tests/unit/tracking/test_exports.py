"""The public names of the packages for tracking and fMRI, which are loaded on first use."""

import subprocess
import sys

import pytest

import ermlab.fmri
import ermlab.tracking

MISSING = """
import sys
sys.modules[{module!r}] = None  # as if it were not installed
import {package}
try:
    {package}.{name}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("package", [ermlab.tracking, ermlab.fmri])
def test_all_names_can_be_loaded(package):
    assert all(getattr(package, name) is not None for name in package.__all__)


def test_importing_the_packages_loads_no_optional_package():
    heavy = ("matplotlib", "mip", "nibabel", "nilearn", "numba", "pandas", "skimage", "tifffile")
    code = f"import sys, ermlab.tracking, ermlab.fmri; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "name", "module", "extra"),
    [
        ("ermlab.tracking", "detect", "skimage.filters", "tracking"),
        ("ermlab.tracking", "solve_assignment", "mip", "tracking"),
        ("ermlab.tracking", "read_frames", "tifffile", "tracking"),
        ("ermlab.fmri", "preprocess", "nibabel", "fmri"),
        ("ermlab.fmri", "weight_map_figure", "matplotlib.pyplot", "plot"),
    ],
)
def test_a_missing_package_is_reported_with_its_extra(package, name, module, extra):
    code = MISSING.format(package=package, name=name, module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (message,) = done.stdout.splitlines()
    assert module.partition(".")[0] in message
    assert f"ermlab[{extra}]" in message
