import json

import pytest

from ermlab.workflow.digest import Library, compiled_digest

MODULES = {
    "ermlab/__init__.py": "",
    "ermlab/a/__init__.py": '"""A package."""\n',
    "ermlab/a/one.py": "from ermlab.a import two\nX = 1\n",
    "ermlab/a/two.py": "from . import three\nfrom .three import Y\n",
    "ermlab/a/three.py": "Y = 2\n",
    "ermlab/b.py": "import numpy\n\n\ndef f():\n    from ermlab.a import three\n    return three\n",
    "ermlab/unused.py": "Z = 3\n",
}


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "lib"
    for name, text in MODULES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def script(tmp_path, text):
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


def test_modules_are_followed_through_others(tmp_path, library):
    source = script(tmp_path, "import json\nfrom ermlab.a.one import X\n")
    modules = ["ermlab", "ermlab.a", "ermlab.a.one", "ermlab.a.three", "ermlab.a.two"]
    assert Library(library).modules(source) == modules


def test_imports_inside_functions_and_of_submodules_count(tmp_path, library):
    assert Library(library).modules(script(tmp_path, "from ermlab import b\n")) == [
        "ermlab",
        "ermlab.a",
        "ermlab.a.three",
        "ermlab.b",
    ]
    assert Library(library).modules(script(tmp_path, "import numpy\n")) == []


def test_a_notebook_is_read_cell_by_cell(tmp_path, library):
    path = tmp_path / "notebook.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["from ermlab import unused"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "from ermlab.a.three import Y"]},
        {"cell_type": "code", "source": "import ermlab.b"},
    ]
    path.write_text(json.dumps({"cells": cells}))
    assert Library(library).modules(path) == ["ermlab", "ermlab.a", "ermlab.a.three", "ermlab.b"]


def test_the_digest_follows_just_the_meaning_of_what_is_used(tmp_path, library):
    source = script(tmp_path, "from ermlab.a.one import X\n")
    before = Library(library).digest(source)
    three = library / "ermlab/a/three.py"

    (library / "ermlab/unused.py").write_text("Z = 4\n")
    three.write_text('"""Now with a docstring."""\n\n# and a comment\nY = (\n    2\n)\n')
    assert Library(library).digest(source) == before

    three.write_text("Y = 5\n")
    assert Library(library).digest(source) != before


def test_a_function_is_digested_with_its_own_module(library):
    before = Library(library).function_digest("ermlab.b.f")
    (library / "ermlab/unused.py").write_text("Z = 4\n")
    assert Library(library).function_digest("ermlab.b.f") == before
    (library / "ermlab/a/three.py").write_text("Y = 5\n")
    through_another = Library(library).function_digest("ermlab.b.f")
    (library / "ermlab/b.py").write_text("def f():\n    return 1\n")
    assert len({before, through_another, Library(library).function_digest("ermlab.b.f")}) == 3


def test_no_function_has_no_digest(library):
    assert Library(library).function_digest(None) is None


def test_the_digest_of_compiled_code_is_of_all_modules_with_kernels(library):
    before = compiled_digest(library)
    (library / "ermlab/unused.py").write_text("Z = 4\n")
    assert compiled_digest(library) == before
    (library / "ermlab/unused.py").write_text("from numba import njit\n")
    assert compiled_digest(library) != before
