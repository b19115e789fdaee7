"""How the test of a claim departs from its source: in data, size or protocol.

Each fact is stated in one place. Results name the kind of their data and the settings of their run. The
registry of data sets says which of them take the place of the source's data (``instead_of``) or are a sample
of it (``part_of``). The schema of the configuration marks sizes that the source states (``published: true``);
``config/scale/paper.yaml`` has their published values. A protocol that differs from the source is declared as
the ``deviation`` of an exhibit or a claim.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproduction.pipeline.config import config_schema, scale_config
from reproduction.pipeline.documents import read_yaml

AS_PUBLISHED = "as in the source"
WITHOUT_DATA = "as in the source, without data"
OTHER_PROTOCOL = "another protocol"
OTHER_SIZE = "another size"
OTHER_DATA = "another data set"
SIMULATED = "simulated data"
#: In ascending order: a claim that departs from its source in several ways is counted under the last of them.
BASES = (WITHOUT_DATA, AS_PUBLISHED, OTHER_PROTOCOL, OTHER_SIZE, OTHER_DATA, SIMULATED)


@dataclass(frozen=True)
class Published:
    """What the sources used.

    Attributes
    ----------
    sizes
        For each block of the configuration, the settings that have a published value, and that value.
    instead_of
        Data sets that the sources did not use, and what each takes the place of.
    part_of
        Data sets that are a sample, and what of.
    """

    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instead_of: Mapping[str, str] = field(default_factory=dict)
    part_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Departure:
    """One way in which a test departs from the source: a name in `BASES`, and the particulars."""

    basis: str
    text: str


def load_published(root: str | Path = ".") -> Published:
    """Read what the sources used from the configuration, its schema and the registry in ``root``."""
    schema = config_schema(root)
    paper = scale_config("paper", schema, root)
    sizes = {}
    for name, part in schema["properties"].items():
        if found := dict(_marked(part, paper.get(name), schema["$defs"])):
            sizes[name] = found
    registry = read_yaml(Path(root, "data/registry.yaml"))
    return Published(
        sizes,
        {name: row["instead_of"] for name, row in registry.items() if "instead_of" in row},
        {name: row["part_of"] for name, row in registry.items() if "part_of" in row},
    )


def departures(
    datasets: Mapping[str, str],
    settings: Mapping[str, Any],
    experiment: str,
    deviations: Iterable[str],
    published: Published,
) -> tuple[str, list[Departure]]:
    """Return the basis of a test, a name in `BASES`, and all of its departures from the source.

    Parameters
    ----------
    datasets
        Kinds of the data that the claim's values were computed from, by name.
    settings
        Settings of the run: blocks of the configuration by name.
    experiment
        Name of the experiment, whose block of the configuration has its sizes.
    deviations
        What is declared about the protocol.
    published
        What the sources used.
    """
    found = [Departure(OTHER_PROTOCOL, text) for text in deviations]
    for block in (experiment, *datasets):
        found += _other_sizes(settings.get(block, {}), published.sizes.get(block, {}))
    for name, kind in datasets.items():
        if kind == "simulated":
            found.append(Departure(SIMULATED, name))
        elif name in published.instead_of:
            found.append(Departure(OTHER_DATA, f"{name} instead of {published.instead_of[name]}"))
        elif name in published.part_of:
            found.append(Departure(OTHER_SIZE, f"{name} is a part of {published.part_of[name]}"))
    found.sort(key=lambda departure: BASES.index(departure.basis))
    if found:
        return found[-1].basis, found
    return AS_PUBLISHED if datasets else WITHOUT_DATA, found


def _other_sizes(ours: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[Departure]:
    for name, value in published.items():
        mine = _look_up(ours, name)
        if mine is not None and mine != value:
            yield Departure(OTHER_SIZE, f"{name} {_text(mine)}, published {_text(value)}")


def _look_up(settings: Mapping[str, Any], dotted: str) -> Any:
    """Return a setting by its dotted name; None, which stands for all there are, if it is not there."""
    found: Any = settings
    for name in dotted.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _text(value: Any) -> str:
    return "all" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _marked(
    schema: Mapping[str, Any], value: Any, definitions: Mapping[str, Any], place: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the dotted names and values of all settings in a block that its schema marks as published."""
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    for name, part in schema.get("properties", {}).items():
        if not isinstance(value, Mapping) or name not in value:
            continue
        dotted = f"{place}{name}"
        if part.get("published"):
            yield dotted, value[name]
        else:
            yield from _marked(part, value[name], definitions, f"{dotted}.")
