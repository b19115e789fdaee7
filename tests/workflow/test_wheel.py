"""The wheel, installed alone with its core dependencies: what it holds, what it loads and what it says."""

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reproduction.book.manual import python_blocks

ROOT = Path(__file__).parents[2]
OPTIONAL = ("matplotlib", "mip", "nibabel", "nilearn", "pandas", "PIL", "skimage", "tifffile")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*command, "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("ermlab-*.whl"))


def core_distributions():
    """Return the distributions that the library needs by itself, with all that these need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting, found = list(project["dependencies"]), {}
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        waiting += found[name].requires or []
    return found.values()


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python in which only the wheel and its core dependencies can be imported."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for installed in core_distributions():
        for top in {Path(file).parts[0] for file in installed.files if ".." not in Path(file).parts}:
            place = site / top
            if not place.exists():
                place.symlink_to(installed.locate_file(top))
    return folder / "bin/python"


def run(python, code):
    command = [python, "-W", "error::DeprecationWarning:ermlab", "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, cwd=python.parent)


def test_it_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"ermlab", "ermlab-0.1.0.dist-info"}
    assert {"ermlab/py.typed", "ermlab/tracking/models/cell_tracker.json"} <= set(names)
    assert wheel.stat().st_size < 1_000_000


def test_the_optional_packages_are_absent(python):
    for name in OPTIONAL:
        assert run(python, f"import {name}").returncode == 1, name


@pytest.mark.parametrize(
    "page",
    [
        "quickstart",
        "howto/own_risk",
        "howto/parameters",
        "howto/save",
        "howto/speed",
        "tutorials/segment",
        "tutorials/semi_supervised",
        "tutorials/structured_svm",
    ],
)
def test_pages_of_the_manual_run_with_the_core_dependencies(python, page):
    """Blocks that draw, or that read images and tables, need an extra and are left out."""
    blocks = python_blocks((ROOT / f"docs/{page}.md").read_text())
    core = [block for block in blocks if not re.search(r"matplotlib|plt\.|pandas|skimage", block)]
    assert core
    done = run(python, "\n".join(core))
    assert done.returncode == 0, done.stderr


def test_kernels_and_taxonomies_run_with_the_core_dependencies(python):
    done = run(
        python,
        """
        import numpy as np
        from ermlab import PyramidWL, TaxonomicSVM, Taxonomy, learn_taxonomy

        rng = np.random.default_rng(0)
        graphs = [(rng.integers(0, 6, (9, 2)), rng.normal(size=(6, 2))) for _ in range(4)]
        assert PyramidWL(h=1).fit_transform(graphs).shape[0] == 4
        X, y = rng.normal(size=(30, 3)), np.repeat([0, 1, 2], 10)
        X += 5 * np.eye(3)[y]
        assert len(learn_taxonomy(X @ X.T, y, names=["a", "b", "c"]).names) == 3
        B = Taxonomy.from_newick("((a:1,b:1):1,c:2);").covariance()
        assert TaxonomicSVM(B, kernel="linear").fit(X, y).score(X, y) > 0.9
        """,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "extra"),
    [("tracking.CellTracker", "tracking"), ("fmri.preprocess", "fmri"), ("taxonomy.plot_taxonomies", "plot")],
)
def test_a_missing_extra_is_named_in_one_line(python, name, extra):
    package, _, attribute = name.partition(".")
    code = f"""
        try:
            from ermlab.{package} import {attribute}
            {attribute}({{}}) if "plot" in "{attribute}" else None
        except ImportError as error:
            print(error)
        """
    done = run(python, code)
    assert f"pip install 'ermlab[{extra}]'" in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_importing_it_loads_nothing_heavy(python):
    done = run(
        python,
        """
        import sys
        import numpy
        before = set(sys.modules)
        import ermlab
        new = {name.partition(".")[0] for name in set(sys.modules) - before}
        assert not new & {"scipy", "sklearn", "numba", "highspy"}, new
        assert len(ermlab.__all__) >= 30
        """,
    )
    assert done.returncode == 0, done.stderr


def command(python, *args):
    """Run the command as its entry point does."""
    (entry,) = (python.parents[1] / "bin").glob("ermlab")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"capture_output": True, "text": True, "cwd": python.parent, "env": environment}
    return subprocess.run([entry, *args], **options)


@pytest.fixture(scope="module")
def installed(wheel, python):
    """The same Python with the script of the wheel, as pip installs it."""
    entries = zipfile.ZipFile(wheel).read("ermlab-0.1.0.dist-info/entry_points.txt").decode()
    module, function = re.search(r"^ermlab = ([\w.]+):(\w+)$", entries, flags=re.MULTILINE).groups()
    script = python.parent / "ermlab"
    script.write_text(f"#!{python}\nfrom {module} import {function}\n{function}()\n")
    script.chmod(0o755)
    return python


def test_the_command_runs_with_the_core_dependencies(installed):
    done = command(installed, "--help")
    assert done.returncode == 0, done.stderr
    assert "Exit codes" in done.stdout
    folder = installed.parent
    lines = [f"{k % 3} qid:{k // 5} 1:{k % 3 + 0.1 * (k % 7)} 2:{k % 4}" for k in range(30)]
    (folder / "train.txt").write_text("\n".join(lines))
    done = command(installed, "rank", "train", "train.txt", "model.ranker", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["queries"] == 6
    done = command(installed, "rank", "evaluate", "model.ranker", "train.txt", "--json")
    assert json.loads(done.stdout)["ndcg@10"] > 0.9


def test_commands_name_what_they_need(installed):
    for args, message in (
        (("exhibits", "list"), "Error: `ermlab exhibits` needs the reproduction, which is in a clone"),
        (("track", "film", "result"), "pip install 'ermlab[tracking]'"),
        (("decode", "study", "result"), "pip install 'ermlab[fmri]'"),
        (("segment", "train", "bin", "bin", "model"), "Error: "),
    ):
        done = command(installed, *args)
        assert done.returncode == 1
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_every_exported_name_can_be_imported():
    code = """
        import importlib, pkgutil, ermlab
        packages = [f"ermlab.{module.name}" for module in pkgutil.iter_modules(ermlab.__path__)]
        for module in map(importlib.import_module, ["ermlab", *packages]):
            for name in getattr(module, "__all__", []):
                getattr(module, name)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
