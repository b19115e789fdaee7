"""Pages of the manual as notebooks, with links to the API reference."""

import nbformat
import pytest
from nbformat.v4 import new_output

from reproduction.book.api_reference import exported_names, write_api_reference
from reproduction.book.manual import (
    page_notebook,
    python_blocks,
    run_pages,
    settle_outputs,
    write_manual,
)
from reproduction.book.manual_links import link_names, page_links

PAGE = """# A page

Words about `RankingSVM`.

```python
x = 1
```

```console
$ make
```

```python
print(x + 1)
```
"""


def test_blocks_of_python_become_code_cells():
    notebook = page_notebook(PAGE)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "markdown", "code"]
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == ["x = 1", "print(x + 1)"]
    assert "$ make" in notebook.cells[2].source
    assert python_blocks(PAGE) == ["x = 1\n", "print(x + 1)\n"]
    nbformat.validate(notebook)


def test_names_are_linked_outside_code_headings_and_links():
    links = {"RankingSVM": "{py:obj}`RankingSVM`"}
    rest = " and [`RankingSVM`](x.md), `other`\n```python\n`RankingSVM`\n```\n"
    text, linked = (f"# `RankingSVM`\n{name}{rest}" for name in ("`RankingSVM`", "{py:obj}`RankingSVM`"))
    assert link_names(text, links) == linked


def test_names_have_links_if_they_can_mean_nothing_else():
    general = page_links([])
    assert general["RankingSVM"] == "{py:obj}`RankingSVM <ermlab.ranking.RankingSVM>`"
    assert general["ermlab.detection.detect"] == "{py:obj}`ermlab.detection.detect`"
    assert "decode" not in general  # a word
    assert "most_violated" not in general  # also a method of tasks
    assert "median_distance" not in general  # of two packages
    imported = page_links(["from ermlab import detect\nfrom ermlab.cca import (\n    median_distance,\n)\n"])
    assert imported["detect"] == "{py:obj}`detect <ermlab.detection.detect>`"
    assert imported["median_distance"] == "{py:obj}`median_distance <ermlab.cca.median_distance>`"


def test_outputs_do_not_depend_on_what_was_compiled_or_how_text_arrived():
    stream = [
        new_output("stream", name="stderr", text="compiling ermlab.ranking for this machine: wait\n"),
        new_output("stream", name="stdout", text="a "),
        new_output("stream", name="stdout", text="b\n"),
        new_output("stream", name="stderr", text="UserWarning: something\n"),
        new_output("execute_result", data={"text/plain": "<object at 0x7f0edf9df290>"}, execution_count=1),
    ]
    assert [output.text for output in settle_outputs(stream)] == ["a b\n", "UserWarning: something\n"]


def test_the_code_of_a_page_shares_one_namespace_and_runs_once(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (executed,) = run_pages([page], tmp_path / "cache")
    assert nbformat.read(executed, 4).cells[-1].outputs[0].text == "2\n"
    written = executed.stat().st_mtime_ns
    assert run_pages([page], tmp_path / "cache") == [executed]
    assert executed.stat().st_mtime_ns == written


def test_a_page_that_fails_is_named_and_not_kept(tmp_path):
    page = tmp_path / "broken_page.md"
    page.write_text("# A\n\n```python\n1 / 0\n```\n")
    with pytest.raises(RuntimeError, match=r"(?s)broken_page\.md does not run.*ZeroDivisionError"):
        run_pages([page], tmp_path / "cache")
    assert list((tmp_path / "cache").rglob("*.ipynb")) == []


def test_pages_without_running_code_are_copied(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(PAGE + "\nSee [another](other.md).\n")
    (docs / "other.md").write_text("# Other\n")
    (docs / "picture.png").write_bytes(b"png")
    (docs / ".hidden").write_text("settings")
    write_manual(tmp_path / "out", docs=docs, cache=tmp_path / "cache", run_code=False)
    assert "{py:obj}`RankingSVM <ermlab.ranking.RankingSVM>`" in (tmp_path / "out/index.md").read_text()
    assert "(other.md)" in (tmp_path / "out/index.md").read_text()
    assert (tmp_path / "out/picture.png").read_bytes() == b"png"
    assert not (tmp_path / "out/.hidden").exists()
    assert not (tmp_path / "cache").exists()


def test_links_lead_to_pages_that_became_notebooks(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Index\n\n[code](code.md#a), [text](text.md)\n")
    (docs / "code.md").write_text("# Code\n\n```python\n1\n```\n")
    (docs / "text.md").write_text("# Text\n")
    write_manual(tmp_path / "out", docs=docs, cache=tmp_path / "cache")
    assert "[code](code.ipynb#a), [text](text.md)" in (tmp_path / "out/index.md").read_text()
    assert (tmp_path / "out/code.ipynb").is_file()
    assert not (tmp_path / "out/code.md").exists()


def test_the_reference_has_a_page_for_each_package(tmp_path):
    write_api_reference(tmp_path)
    packages = exported_names()
    assert {path.stem for path in tmp_path.glob("*.rst")} == {
        "index",
        *(package.rpartition(".")[2] for package in packages),
    }
    ranking = (tmp_path / "ranking.rst").read_text()
    assert ".. autoclass:: ermlab.ranking.RankingSVM" in ranking
    assert "Return the mean loss of wrongly ordered pairs (thesis, eq. 3.9), in O(n log n)." in ranking
    assert "Kinds of events" in (tmp_path / "tracking.rst").read_text()
