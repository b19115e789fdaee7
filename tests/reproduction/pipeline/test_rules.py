"""What rules are given because their scripts ask for it."""

import pytest

from reproduction.pipeline.digest import Library
from reproduction.pipeline.rules import rule_settings

SCRIPT = """
from dataclasses import dataclass
from toy.protocol import Grid

@dataclass
class Sizes:
    images: int
    words: int = 10

def main(inputs, outputs, *, seed: int, grid: Grid, sizes: Sizes, part: str, folds: int = 3, threads: int):
    pass
"""
PROTOCOL = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Grid:
    C: tuple[float, ...]
    tol: float

    def smallest(self):
        largest: float = 0
"""
BLOCK = {"C": [1, 10], "tol": 0.1, "images": 5, "unused": 7}


@pytest.fixture
def library(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/__init__.py").touch()
    (tmp_path / "toy/protocol.py").write_text(PROTOCOL)
    (tmp_path / "toy/train.py").write_text(SCRIPT)
    return Library(tmp_path)


def test_settings_are_those_that_main_names(tmp_path, library):
    block = {"seed": 4, **BLOCK}
    settings = rule_settings(tmp_path / "toy/train.py", library, block, {"part"}, "train_toy")
    assert settings == {"seed": 4, "grid": {"C": [1, 10], "tol": 0.1}, "sizes": {"images": 5}}


def test_settings_with_defaults_are_taken_where_they_are_given(tmp_path, library):
    block = {"seed": 4, "folds": 5, "words": 20, **BLOCK}
    settings = rule_settings(tmp_path / "toy/train.py", library, block, {"part"}, "train_toy")
    assert (settings["folds"], settings["sizes"]) == (5, {"images": 5, "words": 20})


@pytest.mark.parametrize(("absent", "given"), [("part", set()), ("tol", {"part"}), ("images", {"part"})])
def test_a_setting_that_nothing_gives_is_named(tmp_path, library, absent, given):
    block = {"seed": 4, **{name: value for name, value in BLOCK.items() if name != absent}}
    with pytest.raises(ValueError, match=rf"rule train_toy: main of .*train\.py takes {absent}, which"):
        rule_settings(tmp_path / "toy/train.py", library, block, given, "train_toy")
