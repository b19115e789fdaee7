"""Imports of optional packages, and that importing a package of ermlab is cheap."""

import subprocess
import sys

import pytest

from ermlab._utils.optional import import_optional

PACKAGES = ("cca", "detection", "features", "kernels", "sparse", "taxonomy")
HEAVY = ("matplotlib", "numba", "PIL", "skimage", "sklearn", "pandas", "nilearn")


def test_a_module_that_is_there():
    assert import_optional("os.path", "plot").join("a", "b") == "a/b"


def test_a_missing_package_names_the_extra():
    with pytest.raises(ImportError, match=r"^nowhere is not installed: run `pip install ermlab\[plot\]`$"):
        import_optional("nowhere.pyplot", "plot")


def test_an_error_inside_the_package_is_passed_on(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import nowhere")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"):
        import_optional("half_installed", "plot")


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
        assert callable(getattr(module, name))
        assert getattr(module, name).__doc__


HIDE = "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'matplotlib.pyplot', 'PIL', 'skimage']))"


def test_search_without_the_optional_packages():
    found = run(f"{HIDE}\nfrom ermlab.detection import search\nprint(search([[1, 2]], [3.0], (4, 5)).score)")
    assert found.strip() == "3.0"


def test_plotting_names_the_extra():
    code = "try: import ermlab.taxonomy.plotting\nexcept ImportError as error: print(error)"
    assert run(f"{HIDE}\n{code}").strip() == "matplotlib is not installed: run `pip install ermlab[plot]`"
