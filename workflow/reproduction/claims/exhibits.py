"""The published figures, tables, algorithms, theorems and sections, and the errors found in their sources.

`config/exhibits.yaml` lists the exhibits by part and section in reading order, `config/errata.yaml` the
errors. A section that names its notebook is built; one that does not is still to come.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ermlab.exceptions import DataError
from reproduction.claims.rows import suggestion, unique_ids
from reproduction.pipeline.documents import read_document


@dataclass(frozen=True)
class Part:
    """A chapter of the thesis, or one of the articles."""

    id: str
    title: str


@dataclass(frozen=True)
class Section:
    """A page of the report: a section of a source, with its notebook once it is built."""

    id: str
    part: str
    title: str
    summary: str
    notebook: str | None = None
    experiments: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()

    @property
    def built(self) -> bool:
        """Whether the section has its notebook; otherwise it is still to come."""
        return self.notebook is not None


@dataclass(frozen=True)
class Exhibit:
    """One published figure, table, algorithm or theorem, or a section that has none of these."""

    id: str
    section: str
    kind: str
    title: str
    published: str
    #: How the protocol of all its claims differs from the source's; None if it does not.
    deviation: str | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Files in ``reports/`` that show the exhibit: a table is data alone, all else has a picture too."""
        if self.kind == "table":
            return (f"tables/{self.id}.csv",)
        return (f"figures/{self.id}.svg", f"figures/{self.id}.csv")


@dataclass(frozen=True)
class Catalogue:
    """Everything there is to reproduce, in reading order."""

    parts: tuple[Part, ...]
    sections: tuple[Section, ...]
    exhibits: tuple[Exhibit, ...]

    def part(self, id: str) -> Part:
        """Return the part of this id."""
        return _find(self.parts, id, "part")

    def section(self, id: str) -> Section:
        """Return the section of this id."""
        return _find(self.sections, id, "section")

    def exhibit(self, id: str) -> Exhibit:
        """Return the exhibit of this id."""
        return _find(self.exhibits, id, "exhibit")

    def section_of(self, exhibit: str) -> Section:
        """Return the section that shows the exhibit of this id."""
        return self.section(self.exhibit(exhibit).section)

    def exhibits_in(self, section: str) -> tuple[Exhibit, ...]:
        """Return the exhibits of the section of this id."""
        return tuple(exhibit for exhibit in self.exhibits if exhibit.section == self.section(section).id)

    @property
    def built_sections(self) -> tuple[Section, ...]:
        """Sections that have a notebook."""
        return tuple(section for section in self.sections if section.built)

    @property
    def built_exhibits(self) -> tuple[Exhibit, ...]:
        """Exhibits of the sections that have a notebook."""
        return tuple(exhibit for exhibit in self.exhibits if self.section(exhibit.section).built)


@dataclass(frozen=True)
class Erratum:
    """An error in a source: its place, the printed text, the correction, and the evidence."""

    id: str
    where: str
    printed: str
    correct: str
    why: str
    test: str | None = None


def load_exhibits(path: str | Path, schema: str | Path | None = None) -> Catalogue:
    """Read ``config/exhibits.yaml``; parts, sections and exhibits must refer to each other in order."""
    document = read_document(path, schema)
    for name in ("parts", "sections", "exhibits"):
        unique_ids(path, document[name], name[:-1])
    catalogue = Catalogue(
        parts=tuple(Part(**row) for row in document["parts"]),
        sections=tuple(_section(row) for row in document["sections"]),
        exhibits=tuple(Exhibit(**row) for row in document["exhibits"]),
    )
    _check_order(path, "section", "part", catalogue.sections, catalogue.parts)
    _check_order(path, "exhibit", "section", catalogue.exhibits, catalogue.sections)
    return catalogue


def load_errata(path: str | Path, schema: str | Path | None = None) -> tuple[Erratum, ...]:
    """Read ``config/errata.yaml``."""
    rows = read_document(path, schema)["errata"]
    unique_ids(path, rows, "erratum")
    return tuple(Erratum(**row) for row in rows)


def _section(row: dict) -> Section:
    lists = {name: tuple(row.get(name, ())) for name in ("experiments", "datasets")}
    return Section(**{**row, **lists})


def _find(rows: Iterable, id: str, what: str):
    for row in rows:
        if row.id == id:
            return row
    near = suggestion(id, (row.id for row in rows))
    raise ValueError(f"there is no {what} {id!r}: config/exhibits.yaml lists them{near}")


def _check_order(path: str | Path, what: str, parent: str, rows: Iterable, parents: Iterable) -> None:
    """Refuse a row whose parent is unknown or comes before the parent of the row above it."""
    positions = {row.id: position for position, row in enumerate(parents)}
    last = 0
    for row in rows:
        name = getattr(row, parent)
        if name not in positions:
            raise DataError(f"{path}: {what} {row.id}: its {parent} {name!r} is not in the list of {parent}s")
        if positions[name] < last:
            raise DataError(f"{path}: {what} {row.id}: comes after a later {parent}; keep the reading order")
        last = positions[name]
