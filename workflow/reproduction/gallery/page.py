"""Data page: picture, origin, size and license of each data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from IPython.display import Image, Markdown, display

from reproduction.acquire.registry import Dataset, load_registry
from reproduction.claims.results import read_json
from reproduction.gallery.pictures import DRAW

#: Photographs and scans are raster images: SVG files would be several times as large and not sharper.
PIXELS_PER_INCH = 110


@dataclass(frozen=True)
class DatasetPage:
    """Everything the page shows, found by the workflow's folders.

    Parameters
    ----------
    datasets
        Names of the data sets that this run has tried to acquire.
    receipts, registry, raw
        Where the receipts, the registry and the data are.
    figures
        Where the pictures go, as ``data-<name>.png``.
    """

    datasets: Sequence[str]
    receipts: str
    registry: str
    raw: str
    figures: str

    def __post_init__(self):
        unknown = sorted(set(self.datasets) - DRAW.keys())
        if unknown:
            raise ValueError(
                f"datasets holds {', '.join(unknown)}: expected names among {', '.join(sorted(DRAW))}"
            )

    def show(self, name: str) -> None:
        """Display the description of a data set, and its picture if the data are available."""
        dataset = self._rows[name]
        if name not in self.datasets:
            display(Markdown(f"{dataset.description}\n\n*Not asked for in this run.*"))
            return
        receipt = read_json(Path(self.receipts) / f"{name}.json")
        display(Markdown(describe(dataset, receipt)))
        if receipt["status"] == "available":
            picture = self._save_picture(name)
            display(Image(filename=picture, alt=f"Examples of the data set {dataset.title}"))

    @cached_property
    def _rows(self) -> dict[str, Dataset]:
        return load_registry(self.registry)

    def _save_picture(self, name: str) -> Path:
        folder = Path(self.figures)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"data-{name}.png"
        DRAW[name](Path(self.raw) / name).savefig(path, dpi=PIXELS_PER_INCH)
        return path


def describe(dataset: Dataset, receipt: Mapping[str, Any]) -> str:
    """Return the description of a data set as Markdown; one line with the reason if it is not available."""
    if receipt["status"] != "available":
        return f"{dataset.description}\n\n**Not available**: {receipt['reason']}"
    size = f"{receipt['files']:,} files, {receipt['bytes'] / 1e6:.1f} MB"
    facts = {
        "Data": f"**{receipt['kind']}** ({receipt['detail']}); {size}, tree hash `{receipt['tree_sha256']}`",
        "Counts": ", ".join(f"{count:,} {what}" for what, count in dataset.counts.items()),
        "Licence": dataset.licence,
        "Reference": f"{dataset.citation} <{dataset.homepage}>",
        "For": ", ".join(dataset.used_for),
        "Note": dataset.notes,
    }
    if receipt["kind"] == "simulated":
        facts["Counts"] += " in the real data set, which the simulated files stand for"
    lines = [f"- {name}: {fact}" for name, fact in facts.items() if fact]
    return "\n".join([dataset.description, "", *lines])
