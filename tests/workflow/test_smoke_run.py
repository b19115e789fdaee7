"""The whole workflow, from acquisition to the book: complete, repeatable, robust against being killed."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import nbformat
import pytest
import yaml
from browser import check_book, find_chromium
from conftest import run_snakemake, snakemake_command
from nbclient import NotebookClient

SMOKE = ("--config", "scale=smoke")
# Exhibits that show seconds.
CLOCKED = {"T-sec-3.1.4", "T-alg-1", "T-alg-2", "T-fig-3.4", "T-sec-4.3.1", "T-fig-5.9"}
# Figures of sections that are quick and share little: of these a run is killed and run anew.
RESTARTED = ("T-fig-2.1", "T-fig-3.3", "E-fig-1", "E-fig-4", "C-fig-1.3")


def results(project: Path) -> dict[str, bytes]:
    """All result files of a run, but for what a clock measured and pages that carry the run's own history."""
    folders = ("data/results", "data/receipts", "reports/figures", "reports/tables")
    paths = [path for folder in folders for path in (project / folder).rglob("*") if path.is_file()]
    files = {
        str(path.relative_to(project)): path.read_bytes()
        for path in paths
        if path.name != "timings.json" and path.stem not in CLOCKED
    }
    if not (project / "reports/claims.json").exists():
        return files
    claims = json.loads((project / "reports/claims.json").read_text())["claims"]
    checks = yaml.safe_load((project / "config/claims.yaml").read_text())["claims"]
    clocked = {claim["id"] for claim in checks if "timings." in claim.get("check", "")}
    files["claims"] = json.dumps([claim for claim in claims if claim["id"] not in clocked]).encode()
    return files


def test_the_run_makes_every_exhibit_and_the_book(finished_run):
    catalogue = yaml.safe_load((finished_run / "config/exhibits.yaml").read_text())
    told = {section["id"] for section in catalogue["sections"] if section.get("notebook")}
    made = {path.stem for path in (finished_run / "reports").rglob("*")}
    for exhibit in catalogue["exhibits"]:
        if exhibit["section"] in told and exhibit.get("built", True):
            assert exhibit["id"] in made
    assert (finished_run / "reports/html/index.html").is_file()
    claims = json.loads((finished_run / "reports/claims.json").read_text())["claims"]
    assert {"reproduced", "not tested"} <= {claim["status"] for claim in claims}
    assert all(claim["reason"] for claim in claims if claim["status"] == "not tested")
    # Of what is built, only claims that cannot be tested by their nature, and say so, or whose data are not
    # available on this machine, are not.
    section = {exhibit["id"]: exhibit["section"] for exhibit in catalogue["exhibits"]}
    rows = yaml.safe_load((finished_run / "config/claims.yaml").read_text())["claims"]
    excused = {row["id"] for row in rows if "reason" in row}
    receipts = [json.loads(path.read_text()) for path in (finished_run / "data/receipts").glob("*.json")]
    lacking = {receipt["dataset"] for receipt in receipts if receipt["status"] == "unavailable"}
    datasets = {section["id"]: set(section.get("datasets", ())) for section in catalogue["sections"]}
    built = [claim for claim in claims if section[claim["exhibit"]] in told]
    excused |= {claim["id"] for claim in built if datasets[section[claim["exhibit"]]] & lacking}
    assert {claim["id"] for claim in built if claim["status"] == "not tested"} <= excused


@pytest.mark.skipif(find_chromium() is None, reason="chromium is not installed")
def test_the_book_opens_from_disk_without_network_or_fault(finished_run):
    assert (finished_run / "reports/html/workflow-report.html").stat().st_size > 1e6
    assert check_book(finished_run / "reports/html") == []


def test_every_rule_left_its_log_and_benchmark(finished_run):
    assert list((finished_run / "logs").glob("*.log"))
    benchmarks = list((finished_run / "logs/benchmarks").rglob("*.tsv"))
    assert {"check_claims.tsv", "build_book.tsv"} <= {path.name for path in benchmarks}


def test_a_second_run_has_nothing_to_do(finished_run):
    again = run_snakemake(finished_run, *SMOKE)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout


def test_a_run_killed_in_the_middle_ends_in_the_same_results(finished_run, project):
    killed = subprocess.Popen(
        snakemake_command(*SMOKE, "--", *RESTARTED),
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not list((project / "data/results").glob("*/values.json")) and killed.poll() is None:
        time.sleep(0.02)
    assert killed.poll() is None, "the run ended before it could be killed"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert len(list((project / "reports/figures").glob("*.svg"))) < len(RESTARTED)

    # One core and one thread: neither their number nor the interruption may show in a result. A few exhibits
    # of each kind do; that threads leave no trace is tested for each method by itself, too.
    restarted = run_snakemake(project, *SMOKE, "--cores", "1", "--", *RESTARTED)
    assert restarted.returncode == 0, restarted.stdout[-5000:]
    expected, obtained = results(finished_run), results(project)
    assert {f"reports/figures/{name}.svg" for name in RESTARTED} - obtained.keys() == set()
    assert obtained.keys() <= expected.keys()
    assert [name for name in obtained if obtained[name] != expected[name]] == []


def test_notebooks_run_by_hand_with_their_defaults(finished_run, tmp_path):
    for path in sorted((finished_run / "notebooks").glob("*.ipynb")):
        if path.stem.startswith("90_"):
            continue  # its default is every data set; a smoke run has a few
        # With the same parameters as in the run a notebook does what it did there.
        executed = nbformat.read(finished_run / "reports/notebooks" / path.name, as_version=4)
        assert default_parameters(path) == executed.metadata["papermill"]["parameters"]

    project = copy_run(finished_run, tmp_path / "project")
    notebook = nbformat.read(project / "notebooks/20_structured_losses.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(project / "notebooks")}}).execute()


def default_parameters(path: Path) -> dict[str, object]:
    """What the parameters cell of a notebook assigns."""
    (cell,) = (
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if "parameters" in cell.metadata.get("tags", [])
    )
    assigned: dict[str, object] = {}
    exec(cell.source, {}, assigned)
    return assigned


def copy_run(finished_run: Path, target: Path) -> Path:
    """Copy a run with Snakemake's records; its raw data, which nothing changes, are many files and linked."""
    raw = finished_run / "data/raw"
    shutil.copytree(
        finished_run,
        target,
        symlinks=True,
        ignore=lambda folder, names: [raw.name] if Path(folder) == raw.parent else [],
    )
    (target / "data/raw").symlink_to(raw)
    return target


@pytest.fixture
def finished_copy(finished_run, tmp_path):
    """A copy of the finished run that a test may change."""
    return copy_run(finished_run, tmp_path / "copy")


def test_a_change_in_the_library_reruns_just_the_rules_that_use_it(finished_copy):
    module = finished_copy / "lib/ermlab/structured/vicinal.py"
    module.write_text(module.read_text() + "\n# a comment changes nothing\n")
    assert "Nothing to be done" in run_snakemake(finished_copy, "--dry-run", *SMOKE).stdout

    module.write_text(module.read_text() + "\nANOTHER = 1\n")
    plan = run_snakemake(finished_copy, "--dry-run", *SMOKE).stdout
    evaluated = {line.split()[0] for line in plan.splitlines() if line.startswith("evaluate_")}
    assert evaluated == {"evaluate_vicinal_risk"}
