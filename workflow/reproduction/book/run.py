"""Read everything that the book shows about one run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.acquire.registry import Dataset, load_registry
from reproduction.book.markup import STATUS_SIGNS
from reproduction.claims.exhibits import Catalogue, Erratum, Exhibit, Section, load_errata, load_exhibits
from reproduction.claims.ledger import badge
from reproduction.claims.reference import read_references
from reproduction.claims.results import read_json


@dataclass(frozen=True)
class Run:
    """One run: exhibits, claims, data and provenance."""

    catalogue: Catalogue
    claims: Sequence[Mapping[str, Any]]
    references: Mapping[str, Mapping[str, Any]]
    errata: Sequence[Erratum]
    datasets: Mapping[str, Dataset]
    receipts: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]
    reports: Path

    def exhibits_in(self, section: Section) -> tuple[Exhibit, ...]:
        """Return the exhibits of ``section``, built or not."""
        return self.catalogue.exhibits_in(section.id)

    def claims_of(self, *exhibits: Exhibit) -> list[Mapping[str, Any]]:
        """Return the claims about ``exhibits``, in the order of the claims file."""
        names = {exhibit.id for exhibit in exhibits}
        return [claim for claim in self.claims if claim["exhibit"] in names]

    def tally(self, claims: Sequence[Mapping[str, Any]] | None = None) -> dict[str, int]:
        """Count claims (all, by default) by status, every status present."""
        counted = Counter(claim["status"] for claim in (self.claims if claims is None else claims))
        return {status: counted[status] for status in STATUS_SIGNS}

    def is_executed(self, section: Section) -> bool:
        """Return whether ``section`` has a notebook that this run executed."""
        return bool(section.notebook) and self.notebook(section).is_file()

    def is_built(self, exhibit: Exhibit) -> bool:
        """Return whether this run made all files of ``exhibit``."""
        return all((self.reports / file).is_file() for file in exhibit.outputs)

    def badge(self, section: Section) -> str:
        """Return the data badge of ``section``: real only if all its data sets are.

        Data that come with a dependency have no receipt; the results on them name them.
        """
        kinds = {name: self.receipts[name]["kind"] for name in section.datasets if name in self.receipts}
        for claim in self.claims_of(*self.exhibits_in(section)):
            kinds |= claim["datasets"]
        return badge({name: kind for name, kind in kinds.items() if kind})

    def exhibit_badge(self, exhibit: Exhibit) -> str:
        """Return the badge of the data that the claims about ``exhibit`` rest on.

        An exhibit without tested claims has the badge of its section.
        """
        tested = [claim["datasets"] for claim in self.claims_of(exhibit) if claim["badge"]]
        if not tested:
            return self.badge(self.catalogue.section_of(exhibit.id))
        return badge({name: kind for datasets in tested for name, kind in datasets.items()})

    def notebook(self, section: Section) -> Path:
        """Return the path of the executed notebook of ``section``."""
        return self.reports / "notebooks" / f"{section.notebook}.ipynb"

    def seconds(self) -> float:
        """Return the seconds all jobs of the run took together."""
        return sum(rule["seconds"] for rule in self.provenance["run"]["rules"])


def read_run(
    *,
    exhibits: str | Path,
    errata: str | Path,
    registry: str | Path,
    claims: str | Path,
    provenance: str | Path,
    receipts: Sequence[str | Path],
    reports: str | Path,
) -> Run:
    """Read a run from its files; ``reports`` is the folder with notebooks, figures and tables."""
    found = [read_json(path) for path in receipts]
    return Run(
        catalogue=load_exhibits(exhibits),
        claims=read_json(claims)["claims"],
        references=read_references(),
        errata=load_errata(errata),
        datasets=load_registry(registry),
        receipts={receipt["dataset"]: receipt for receipt in found},
        provenance=read_json(provenance),
        reports=Path(reports),
    )
