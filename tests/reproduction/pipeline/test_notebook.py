import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from papermill.exceptions import PapermillExecutionError

from ermlab.exceptions import DataError
from reproduction.pipeline.notebook import run_notebook
from reproduction.pipeline.parameters import check_parameters, declared_parameters


def write_notebook(path, *code, parameters="a = 1\nb = 'x'"):
    cells = [new_markdown_cell("# A title")]
    if parameters is not None:
        cells.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    cells += [new_code_cell(text) for text in code]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_declared_parameters(tmp_path):
    notebook = write_notebook(tmp_path / "n.ipynb", parameters="a = 1\nb: str = 'x'  # why\n")
    assert declared_parameters(notebook) == ["a", "b"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [(None, "has 0 cells tagged 'parameters'"), ("import os", "more than simple assignments")],
)
def test_a_notebook_without_proper_parameters_is_refused(tmp_path, parameters, message):
    with pytest.raises(DataError, match=message):
        declared_parameters(write_notebook(tmp_path / "n.ipynb", parameters=parameters))


def test_what_is_not_a_notebook_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no notebook"):
        declared_parameters(tmp_path / "missing.ipynb")
    write_notebook(tmp_path / "syntax.ipynb", parameters="a = ")
    for text in ("not json", "[]", '{"cells": 1}', '{"cells": [{}]}', "[" * 100_000):
        (tmp_path / "n.ipynb").write_text(text)
        with pytest.raises(DataError, match="is not a notebook"):
            declared_parameters(tmp_path / "n.ipynb")
    with pytest.raises(DataError, match="is not a notebook"):
        declared_parameters(tmp_path / "syntax.ipynb")


def test_unknown_and_missing_parameters_are_errors(tmp_path):
    notebook = write_notebook(tmp_path / "n.ipynb")
    check_parameters(notebook, {"a": 2, "b": "y"})
    with pytest.raises(DataError, match="does not declare the parameter c, d"):
        check_parameters(notebook, {"a": 2, "b": "y", "d": 1, "c": 0})
    with pytest.raises(DataError, match="no value for the parameter b"):
        check_parameters(notebook, {"a": 2})


def test_runs_side_by_side_do_not_meet(tmp_path):
    write_notebook(tmp_path / "n.ipynb", "import os\nprint(a, os.environ['IPYTHONDIR'])")
    code = """if True:
        import sys
        from reproduction.pipeline.notebook import run_notebook
        i = sys.argv[1]
        run_notebook("n.ipynb", f"out/{i}.ipynb", {"a": int(i), "b": ""}, log=f"log/{i}.ipynb")
        """
    runs = [subprocess.Popen([sys.executable, "-c", code, str(i)], cwd=tmp_path) for i in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    executed = [nbformat.read(tmp_path / f"out/{i}.ipynb", as_version=4) for i in range(2)]
    printed = [notebook.cells[-1].outputs[0].text.split() for notebook in executed]
    assert [value for value, _ in printed] == ["0", "1"]
    assert printed[0][1] != printed[1][1]
    assert not list((tmp_path / "log").iterdir())


def test_a_failing_notebook_leaves_its_log_and_no_output(tmp_path):
    notebook = write_notebook(tmp_path / "n.ipynb", "print(a)", "1 / 0", "print('never')")
    output, log = tmp_path / "out.ipynb", tmp_path / "log.ipynb"
    output.write_text("of an earlier run")
    with pytest.raises(PapermillExecutionError, match="ZeroDivisionError"):
        run_notebook(notebook, output, {"a": 7, "b": ""}, log=log)
    assert not output.exists()
    text = log.read_text()
    assert "ZeroDivisionError" in text
    assert '"7\\n"' in text
