"""Write the appendices: errata, provenance, and the link to Snakemake's report."""

from collections.abc import Mapping
from typing import Any

from reproduction.book import markup
from reproduction.book.run import Run

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


def errata_page(run: Run) -> str:
    """Return the page of errors in the sources, each with the test that shows it."""
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
        lines += [f"## {markup.text(entry.where)}", "", markup.facts(facts)]
    return "\n".join(lines)


def provenance_page(run: Run) -> str:
    """Return the page on commit, versions, settings, machine and run times."""
    provenance = run.provenance
    lines = ["# Provenance", "", "What this book was made of: enough to make it again.", "", "## Code", ""]
    lines += [markup.facts(_code_facts(provenance)), "", "## Configuration", ""]
    lines += [markup.facts(_config_facts(provenance)), "", "## Machine", ""]
    lines += [markup.facts(_machine_facts(provenance)), "", "## Run time", "", *_time_lines(provenance)]
    lines += ["## Packages", "", *_package_lines(provenance["packages"])]
    return "\n".join(lines)


def _package_lines(packages: Mapping[str, str]) -> list[str]:
    rows = [[markup.code(name), markup.text(version)] for name, version in packages.items()]
    summary = f"<details><summary>All {len(rows)} installed packages</summary>"
    return [summary, "", markup.table(["Package", "Version"], rows), "", "</details>", ""]


def _code_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    code = provenance["code"]
    facts = [("Python", markup.text(provenance["python"]))]
    if code is None:
        return [("Commit", "not known: the project folder is not a git repository"), *facts]
    state = f"changed in {code['changed_files']} files since the commit" if code["dirty"] else "as committed"
    return [
        ("Commit", f"{markup.digest(code['commit'])} {markup.text(code['subject'])}"),
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
    """Return the page that links to Snakemake's report."""
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
