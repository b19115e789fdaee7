import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from reproduction.pipeline import digest
from reproduction.pipeline.digest import Library, compiled_digest

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


@pytest.fixture
def lazy_library(library):
    """A library that exports a name of a subpackage, which exports it from a module, and one of a module."""
    (library / "ermlab/__init__.pyi").write_text("from .a import Y as Y\nfrom .b import f as f\n")
    (library / "ermlab/a/__init__.pyi").write_text("from .three import Y as Y\n")
    return library


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("from ermlab.a import Y\n", ["ermlab", "ermlab.a", "ermlab.a.three"]),
        ("from ermlab import Y\n", ["ermlab", "ermlab.a", "ermlab.a.three"]),
        ("from ermlab import f\n", ["ermlab", "ermlab.a", "ermlab.a.three", "ermlab.b"]),
        ("import ermlab.a as other\n", ["ermlab", "ermlab.a", "ermlab.a.three"]),
        ("from ermlab import a\n", ["ermlab", "ermlab.a", "ermlab.a.three"]),
        ("from ermlab.a import *\n", ["ermlab", "ermlab.a", "ermlab.a.three"]),
        ("import ermlab\n", ["ermlab", "ermlab.a", "ermlab.a.three", "ermlab.b"]),
        ("from ermlab.unused import Z\n", ["ermlab", "ermlab.unused"]),
    ],
)
def test_lazily_exported_names_are_followed_to_their_modules(tmp_path, lazy_library, text, modules):
    kept = tmp_path / "cache/library.json"
    source = script(tmp_path, text)
    for _ in range(2):  # from the texts, then from what was kept
        found = Library(lazy_library, kept=kept)
        assert found.modules(source) == modules
        found.keep()


def test_the_digest_follows_a_lazily_exported_name_only(tmp_path, lazy_library):
    source = script(tmp_path, "from ermlab import Y\n")
    before = Library(lazy_library).digest(source)
    (lazy_library / "ermlab/b.py").write_text("f = 1\n")
    assert Library(lazy_library).digest(source) == before
    (lazy_library / "ermlab/a/three.py").write_text("Y = 5\n")
    assert Library(lazy_library).digest(source) != before


@pytest.fixture
def kept(tmp_path, library):
    """A file with what was found in the library and in a script."""
    file = tmp_path / "cache/library.json"
    filled = Library(library, kept=file)
    filled.digest(script(tmp_path, "from ermlab.a.one import X\n"))
    filled.keep()
    return file


@pytest.fixture
def parsed(monkeypatch):
    """The names of the files that are parsed from now on."""
    names = []
    parse = digest._parse
    read = Library._read

    def named_read(self, path):
        monkeypatch.setattr(digest, "_parse", lambda *given: names.append(path.name) or parse(*given))
        return read(self, path)

    monkeypatch.setattr(Library, "_read", named_read)
    return names


def test_what_was_found_in_a_text_is_kept_for_the_next_process(tmp_path, library, kept, parsed):
    source = tmp_path / "script.py"
    again = Library(library, kept=kept)
    found = again.modules(source), again.digest(source), again.function_digest("ermlab.a.one.X")
    assert parsed == []
    fresh = Library(library)
    assert found == (fresh.modules(source), fresh.digest(source), fresh.function_digest("ermlab.a.one.X"))


def test_a_change_changes_the_digest_though_more_is_kept(tmp_path, library, kept, parsed):
    source, three = tmp_path / "script.py", library / "ermlab/a/three.py"
    before, written = Library(library, kept=kept).digest(source), three.stat()
    three.write_text("Y = 3\n")
    # Neither its size nor its time tell.
    os.utime(three, ns=(written.st_atime_ns, written.st_mtime_ns))
    changed = Library(library, kept=kept)
    assert changed.digest(source) != before
    assert parsed == ["three.py"]
    changed.keep()
    three.write_text("Y = 2\n")
    assert Library(library, kept=kept).digest(source) == before


def test_a_module_that_comes_or_goes_changes_what_is_imported(tmp_path, library, kept):
    source, two = tmp_path / "script.py", library / "ermlab/a/two.py"
    before = Library(library, kept=kept)
    assert "ermlab.a.one.X" not in before.modules(source)
    text = two.read_text()
    two.unlink()
    assert Library(library, kept=kept).modules(source) == ["ermlab", "ermlab.a", "ermlab.a.one"]
    two.write_text(text)
    assert Library(library, kept=kept).digest(source) == before.digest(source)


def test_only_texts_that_were_asked_for_stay(tmp_path, library, kept):
    assert len(json.loads(kept.read_text())["texts"]) == 6
    before = kept.stat().st_mtime_ns
    same = Library(library, kept=kept)
    same.digest(tmp_path / "script.py")
    same.keep()
    assert kept.stat().st_mtime_ns == before
    (library / "ermlab/a/one.py").write_text("X = 1\n")
    less = Library(library, kept=kept)
    less.digest(tmp_path / "script.py")
    less.keep()
    assert len(json.loads(kept.read_text())["texts"]) == 4


def with_entry(document, entry):
    """Put something else in place of what was found in each text."""
    return json.dumps({**document, "texts": dict.fromkeys(document["texts"], entry)})


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: "",
        lambda document: json.dumps(document)[:-9],
        lambda document: json.dumps([document]),
        lambda document: json.dumps({"texts": document["texts"]}),
        lambda document: json.dumps({"maker": document["maker"]}),
        lambda document: json.dumps({"maker": document["maker"], "texts": [1]}),
        lambda document: json.dumps({"maker": "another", "texts": document["texts"]}),
        lambda document: with_entry(document, 7),
        lambda document: with_entry(document, ["ermlab", "0"]),
        lambda document: with_entry(document, [[3], "0"]),
        lambda document: with_entry(document, [["ermlab"], 0]),
        lambda document: with_entry(document, [["ermlab"]]),
    ],
)
def test_a_broken_or_foreign_file_counts_for_nothing_and_is_replaced(tmp_path, library, kept, damage, parsed):
    good, source = kept.read_text(), tmp_path / "script.py"
    kept.write_text(damage(json.loads(good)))
    expected = Library(library).digest(source)
    parsed.clear()
    mended = Library(library, kept=kept)
    assert mended.digest(source) == expected
    assert len(parsed) == 6
    mended.keep()
    assert json.loads(kept.read_text()) == json.loads(good)


def test_bytes_that_are_no_text_count_for_nothing(tmp_path, library, kept):
    kept.write_bytes(b"\xff\xfe\x00")
    source = tmp_path / "script.py"
    assert Library(library, kept=kept).digest(source) == Library(library).digest(source)


def test_many_may_keep_at_once_and_leave_nothing_else(tmp_path, library, kept):
    good, source = kept.read_text(), tmp_path / "script.py"
    kept.unlink()
    libraries = [Library(library, kept=kept) for _ in range(16)]
    for some in libraries:
        some.digest(source)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(Library.keep, libraries))
    assert kept.read_text() == good
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_without_a_file_nothing_is_kept(tmp_path, library):
    plain = Library(library)
    plain.digest(script(tmp_path, "import ermlab.b\n"))
    plain.keep()
    assert {path.name for path in tmp_path.iterdir()} == {"lib", "script.py"}
