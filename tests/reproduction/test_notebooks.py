"""Notebooks are prose: one parameters cell, no outputs, no functions that belong in the library."""

import ast
from pathlib import Path

import nbformat
import pytest

from reproduction.pipeline.parameters import declared_parameters

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    def test_no_outputs_are_stored(self, path):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                assert cell.outputs == []
                assert cell.execution_count is None

    def test_it_starts_with_prose_and_has_more_prose_than_code_cells(self, path):
        cells = nbformat.read(path, as_version=4).cells
        assert cells[0].cell_type == "markdown"
        assert cells[0].source.startswith("# ")
        kinds = [cell.cell_type for cell in cells]
        assert kinds.count("markdown") >= kinds.count("code") - 1

    def test_it_declares_parameters_and_enters_the_project(self, path):
        assert declared_parameters(path)
        code = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
        assert "enter_project()" in code
        assert "use_style()" in code

    def test_functions_live_in_the_library(self, path):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                lines = [line for line in cell.source.splitlines() if not line.startswith("%")]
                tree = ast.parse("\n".join(lines))
                assert not [
                    node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
                ]
