"""The pages behind the book: Data, Errata, Provenance, and the workflow's own report."""

from collections.abc import Mapping, Sequence
from typing import Any

from ermlab.report import markup
from ermlab.report.run import Run

WORKFLOW_REPORT = "workflow-report.html"

# Stands where Snakemake's report goes, which can be written only when the run, this book included, is over.
REPORT_PLACEHOLDER = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Workflow report</title>
<style>body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: auto; padding: 1rem }}</style>
</head>
<body>
<h1>No workflow report yet</h1>
<p>Snakemake’s report is made after the run; this command writes it here:</p>
<pre>snakemake --report reports/html/{WORKFLOW_REPORT}</pre>
<p><a href="index.html">Back to the book</a></p>
</body>
</html>
"""

_SOURCES = {
    "raw": "already in data/raw",
    "mirror": "mirror folder",
    "package": "published Python package",
    "address": "official address",
    "simulator": "simulator",
}


def data_page(run: Run) -> str:
    """Return the page of the data sets: what each is, and where this run had it from."""
    lines = [
        "# Data",
        "",
        "Each data set is taken from the first place that has it: the project's own folder, a mirror, a "
        "published package, the official address, or the simulator. The hash below tells exactly which files "
        "this run used.",
        "",
    ]
    rows = [_data_row(name, run.datasets[name], run.receipts.get(name)) for name in run.datasets]
    lines += [markup.table(["Data set", "This run", "Source", "Files", "Size"], rows, "data"), ""]
    for name, dataset in run.datasets.items():
        lines += _dataset_lines(name, dataset, run.receipts.get(name))
    return "\n".join(lines)


def _data_row(name: str, dataset: Mapping[str, Any], receipt: Mapping[str, Any] | None) -> list[str]:
    label = f'<a href="#{markup.html_text(name)}">{markup.html_text(dataset["title"])}</a>'
    if receipt is None:
        return [label, "not asked for", "–", "–", "–"]
    if receipt["status"] != "available":
        return [label, "not to be had", "–", "–", "–"]
    return [
        label,
        markup.data_badge(f"{receipt['kind']} data"),
        markup.text(_SOURCES.get(receipt["source"], receipt["source"])),
        f"{receipt['files']:,}",
        markup.size(receipt["bytes"]),
    ]


def _dataset_lines(name: str, dataset: Mapping[str, Any], receipt: Mapping[str, Any] | None) -> list[str]:
    facts = []
    if receipt is None:
        facts.append(("This run", "not asked for at this scale"))
    elif receipt["status"] != "available":
        facts.append(("This run", markup.text(receipt["reason"])))
    else:
        source = _SOURCES.get(receipt["source"], receipt["source"])
        detail = f" ({markup.text(receipt['detail'])})" if receipt.get("detail") else ""
        badge = markup.data_badge(f"{receipt['kind']} data")
        facts.append(("This run", f"{badge} {markup.text(source)}{detail}"))
        facts.append(("SHA-256 of the files", _hash(receipt["tree_sha256"])))
        facts.append(("Size", f"{receipt['files']:,} files, {markup.size(receipt['bytes'])}"))
    if dataset.get("counts"):
        facts.append(("Counts", markup.text(_counts(dataset["counts"]))))
    facts.append(("Licence", markup.text(dataset["licence"])))
    facts.append(("Cite", _with_links(dataset["citation"])))
    return [
        f'<span class="anchor" id="{markup.html_text(name)}"></span>',
        "",
        f"## {markup.text(dataset['title'])}",
        "",
        markup.text(dataset["description"]),
        "",
        _facts(facts),
    ]


def _counts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{markup.number(count)} {what.replace('_', ' ')}" for what, count in counts.items())


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return markup.table(["Fact", "Value"], facts, "facts")


def _hash(digest: str) -> str:
    return f'<code class="hash">{markup.html_text(digest)}</code>'


def _with_links(citation: str) -> str:
    """Escape a citation, turning the addresses in it into links."""
    words = [
        f'<a href="{markup.html_text(word)}">{markup.html_text(word)}</a>'
        if word.startswith(("https://", "http://"))
        else markup.text(word)
        for word in str(citation).split()
    ]
    return " ".join(words)


def errata_page(run: Run) -> str:
    """Return the page of slips in the sources, each with the test that shows it."""
    lines = [
        "# Errata",
        "",
        "Slips found in the sources while redoing them. The code follows the corrected form; each entry says "
        "what shows it.",
        "",
    ]
    for entry in run.errata:
        facts = [
            ("Printed", markup.text(entry.printed)),
            ("Correct", markup.text(entry.correct)),
            ("Why", markup.text(entry.why)),
        ]
        if entry.test:
            facts.append(("Shown by", markup.code(entry.test)))
        lines += [f"## {markup.text(entry.where)}", "", _facts(facts)]
    return "\n".join(lines)


def provenance_page(run: Run) -> str:
    """Return the page that says what the run was made of."""
    provenance = run.provenance
    lines = ["# Provenance", "", "What this book was made of: enough to make it again.", "", "## Code", ""]
    lines += [_facts(_code_facts(provenance)), "", "## Configuration", ""]
    lines += [_facts(_config_facts(provenance)), "", "## Machine", ""]
    lines += [_facts(_machine_facts(provenance)), "", "## Run time", "", *_time_lines(provenance)]
    packages = [[markup.code(name), markup.text(version)] for name, version in provenance["packages"].items()]
    lines += ["## Packages", "", markup.table(["Package", "Version"], packages, "packages")]
    return "\n".join(lines)


def _code_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    code = provenance["code"]
    facts = [("Python", markup.text(provenance["python"]))]
    if code is None:
        return [("Commit", "not known: the project folder is not a git repository"), *facts]
    state = f"changed in {code['changed_files']} files since the commit" if code["dirty"] else "as committed"
    return [
        ("Commit", f"{_hash(code['commit'])} {markup.text(code['subject'])}"),
        ("Date of the commit", markup.text(code["date"])),
        ("Working tree", state),
        *facts,
    ]


def _config_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    seeds = ", ".join(str(seed) for seed in provenance["seeds"])
    facts = [("Seeds", seeds)] if seeds else []
    return facts + [
        (markup.code(name), markup.text(markup.number(value)))
        for name, value in _flatten(provenance["config"]).items()
    ]


def _flatten(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested settings under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _machine_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    machine = provenance["machine"]
    memory = machine["memory_bytes"]
    return [
        ("Cores", str(machine["cores"])),
        ("Processor", markup.text(f"{machine['processor']} ({machine['architecture']})")),
        ("Memory", "not known" if memory is None else markup.size(memory)),
        ("System", markup.text(f"{machine['system']}, {machine['release']}")),
    ]


def _time_lines(provenance: Mapping[str, Any]) -> list[str]:
    run = provenance["run"]
    finished = markup.text(run["finished"])
    if not run["rules"]:
        return [f"Finished {finished}; no job of this run was timed.", ""]
    rows = [
        [
            markup.code(rule["rule"]),
            str(rule["jobs"]),
            markup.duration(rule["seconds"]),
            "–" if rule["max_memory_mb"] is None else markup.size(rule["max_memory_mb"] * 1e6),
        ]
        for rule in sorted(run["rules"], key=lambda rule: -rule["seconds"])
    ]
    return [
        f"Finished {finished}. Seconds are summed over the jobs of a rule; memory is the largest of any job.",
        "",
        markup.table(["Rule", "Jobs", "Time", "Memory"], rows, "times"),
        "",
    ]


def workflow_page() -> str:
    """Return the page that leads to Snakemake's own report."""
    return "\n".join(
        [
            "# Workflow report",
            "",
            "Snakemake writes a report of its own: the graph of rules, the code behind each file, "
            "and when every job ran.",
            "",
            f'<p><a href="{WORKFLOW_REPORT}">Open Snakemake’s report</a></p>',
            "",
        ]
    )
