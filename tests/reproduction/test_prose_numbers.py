"""No result of a run is typed into prose: numbers in notebooks are published, settings, or constants of code.

A number that a notebook states in its text must occur in the ledger, in the settings of the section's
experiments or in their code; all others have to be computed, so that a page is true for any run.
"""

import ast
import re
from pathlib import Path

import nbformat
import pytest
import yaml

from reproduction.acquire.registry import load_registry
from reproduction.claims.exhibits import load_errata, load_exhibits
from reproduction.claims.ledger import load_claims

ROOT = Path(__file__).parents[2]
CATALOGUE = load_exhibits(ROOT / "config/exhibits.yaml")
SECTIONS = [section for section in CATALOGUE.sections if section.built]

#: Small integers count things that prose names; 90, 95 and 99 % are levels of confidence.
ALWAYS = {float(n) for n in range(13)} | {100.0, 0.5, 0.05, 0.025, 0.9, 0.95, 0.975, 0.99}
_PLACES = (
    r"eqs?\.|equations?|sections?|figures?|fig\.|tables?|algorithms?|theorems?|lemmas?|chapters?|appendix|pages?|"
    r"definitions?|notebooks?|volumes? of|Matlab|version"
)
_PLACE = r"\(?[A-Z]?\.?\d[\d.]*[a-z]?\)?(?:\([a-z]\))?"
#: What is not prose: code, mathematics, links, places in the sources, years, names such as hV4 and x2.
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>|"
    rf"\b(?:{_PLACES})\s*{_PLACE}(?:\s*(?:,|,? and|to|or|–|-)\s*{_PLACE})*|"
    r"\(\d\.\d+\)|\b(?:1[89]|20)\d\d\b|\b[A-Za-zχ]+[\d²][\w.]*|\b\d+-D\b",
    flags=re.DOTALL | re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,])(\d[\d,]*\.?\d*|\.\d+)(e-?\d+)?(\s?%)?(?![\w])")


def numbers_in_text(text):
    """Yield each number of a text as it is written, and the values it may stand for."""
    for match in _NUMBER.finditer(_NOT_PROSE.sub(" ", text)):
        digits, exponent, percent = match.groups()
        value = float(digits.replace(",", "").rstrip(".") + (exponent or ""))
        yield match.group().strip(" ,"), {value, value / 100} if percent else {value}


def numbers_in_values(value):
    """Yield the numbers in settings: mappings, lists and texts."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers_in_values(name)
            yield from numbers_in_values(item)
    elif isinstance(value, list | tuple):
        yield float(len(value))
        for item in value:
            yield from numbers_in_values(item)
    elif isinstance(value, str):
        for _, values in numbers_in_text(value):
            yield from values
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def numbers_in_code(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from numbers_in_values(node.value)


def published_numbers(section):
    exhibits = CATALOGUE.exhibits_in(section.id)
    names = {exhibit.id for exhibit in exhibits}
    for claim in load_claims(ROOT / "config/claims.yaml"):
        if claim.exhibit in names:
            yield from numbers_in_values(
                [
                    claim.published,
                    claim.published_spread,
                    claim.text,
                    claim.source,
                    claim.check,
                    claim.tolerance,
                ]
            )
    for exhibit in exhibits:
        yield from numbers_in_values([exhibit.published, exhibit.title])
    for erratum in load_errata(ROOT / "config/errata.yaml"):
        yield from numbers_in_values([erratum.printed, erratum.correct, erratum.why])


def settings(section):
    """Yield the numbers of the section's settings at any scale, of its data sets and in its code."""
    for path in [ROOT / "config/config.yaml", *(ROOT / "config/scale").glob("*.yaml")]:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        blocks = {name: item for name, item in document.items() if name in section.experiments}
        yield from numbers_in_values(blocks)
    registry = load_registry(ROOT / "data/registry.yaml")
    for name in section.datasets:
        yield from numbers_in_values(vars(registry[name]))
    for name in section.experiments:
        for path in (ROOT / "workflow/reproduction/experiments" / name).glob("*.py"):
            yield from numbers_in_code(path)


def allowed_numbers(section):
    known = {*published_numbers(section), *settings(section)}
    percent = {round(100 * value, 9) for value in known} | {round(value / 100, 12) for value in known}
    return ALWAYS | known | percent


def typed_numbers(text, allowed):
    """Return the numbers of a text that are not among the allowed ones."""
    return [
        written
        for written, values in numbers_in_text(text)
        if not any(abs(value - known) <= 1e-9 * max(1, abs(value)) for value in values for known in allowed)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The error falls from .09 to .39, and 97 % of the time is spent.", [".09", ".39", "97 %"]),
        ("See section 3.1.9, eqs. 3.24, 3.25 and 3.26, figure 5.1(b) and Table 4.1 of 2014.", []),
        ("With $C = 10^{-3}$ and `x[17]`, 3 seeds and 95 % intervals of 1,234 samples.", ["1,234"]),
        ("hV4 and V5 in 3-D; 0.25 of 30 % at 7.", ["0.25"]),
    ],
)
def test_numbers_are_found_in_prose(text, expected):
    assert typed_numbers(text, ALWAYS | {30.0}) == expected


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.notebook)
def test_no_result_is_typed_into_prose(section):
    allowed = allowed_numbers(section)
    cells = nbformat.read(ROOT / f"notebooks/{section.notebook}.ipynb", as_version=4).cells
    found = {
        cell.id: typed
        for cell in cells
        if cell.cell_type == "markdown" and (typed := typed_numbers(cell.source, allowed))
    }
    assert found == {}, "compute these numbers, or name them in the settings or the ledger"
