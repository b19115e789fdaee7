# What all rules share: the validated configuration, the exhibits, the data sets, the digests of library code.

import gc
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from ermlab.exceptions import DataError
from reproduction.acquire.registry import MIRROR_VARIABLE, forget_stale_receipts, load_registry
from reproduction.book.appendices import REPORT_PLACEHOLDER, WORKFLOW_REPORT
from reproduction.claims.departures import load_published
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.reference import SCALES, reference_path
from reproduction.claims.results import write_json
from reproduction.pipeline.config import load_config
from reproduction.pipeline.digest import Library, compiled_digest
from reproduction.pipeline.guard import end_leftover_jobs, guard_run
from reproduction.pipeline.locks import clear_stale_lock
from reproduction.pipeline.parameters import declared_parameters
from reproduction.pipeline.rules import complete_rules

# Rules and jobs are very many objects that all stay: to look for garbage among them takes a quarter of the time.
gc.freeze()
gc.set_threshold(100_000, 20, 100)

try:
    config = load_config(config)
    catalogue = load_exhibits("config/exhibits.yaml")
    registry = load_registry("data/registry.yaml")
except DataError as error:
    sys.exit(str(error))  # one line: as an exception it would come with its place in this file

# What the sources used: pages say how a run departs from it.
published_facts = asdict(load_published())

library = Library(kept=".cache/library.json")

# Compiled kernels are kept in the project folder, where a stale cache of another clone cannot be met.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(".cache/numba", compiled_digest()).resolve()))
# Where a mirror lies says nothing about the data in it, so it is no parameter of a rule.
if config["mirror"]:
    os.environ[MIRROR_VARIABLE] = config["mirror"]

if workflow.is_main_process:
    run_lock = clear_stale_lock()
    if run_lock is not None:
        end_leftover_jobs()
    # Without its receipt a data set is acquired again.
    forget_stale_receipts("data/receipts", registry, policy=config["data"])


def registered(wildcards):
    """Return what decides about the content of a data set: its row of the registry, and its simulator."""
    row = registry[wildcards.dataset]
    return {"row": asdict(row), "simulator": library.function_digest(row.simulator)}


def seed_of(wildcards):
    """Return the seed of a repetition, which has the wildcard ``seed``."""
    return config["seed"] + int(wildcards.seed)


def film_paths(names):
    """Name the files of prepared films of cells."""
    return [f"data/processed/cell_films/{name}.npz" for name in names]


def film_of_run(wildcards):
    """Return the study of a run, and the number of its film, which follows a hyphen, or None."""
    study, _, film = wildcards.study.partition("-")
    return study, int(film) if film else None


def first_partial_curve(wildcards):
    """Name the curve of the first film of a study, whose regularization strengths the other films use."""
    study, film = film_of_run(wildcards)
    return {"chosen": f"{partial_folder}/curve_{study}-1.csv"} if film not in (None, 1) else {}


def ksupport_job(wildcards):
    """Return the study and the splits of a job of train_ksupport_paths."""
    return ksupport_jobs[wildcards.study, wildcards.protocol][int(wildcards.part)]


def exhibit_files(exhibit):
    """Name the files in which an exhibit ends up."""
    return [f"reports/{name}" for name in exhibit.outputs]


def reference_runs():
    """Name the files of the reference runs that there are, which pages show next to this run."""
    return [str(path) for path in map(reference_path, SCALES) if path.exists()]


def section_datasets(section):
    """Name the data sets of a section; the data page shows those that the scale can afford."""
    return config["gallery"] if section.id == "datasets" else list(section.datasets)


def section_parameters(section):
    """Give a notebook the values of the parameters that it declares."""
    values = {
        "figures": "reports/figures",
        "tables": "reports/tables",
        "receipts": "data/receipts",
        "registry": "data/registry.yaml",
        "raw": "data/raw",
        "datasets": section_datasets(section),
    }
    for name in section.experiments:
        key = "results" if len(section.experiments) == 1 else f"{name}_results"
        values[key] = f"data/results/{name}"
    notebook = f"notebooks/{section.notebook}.ipynb"
    declared = declared_parameters(notebook)
    if unknown := [name for name in declared if name not in values]:
        raise WorkflowError(
            f"{notebook} declares {', '.join(unknown)}: the workflow gives {', '.join(values)}"
        )
    return {name: values[name] for name in declared}


def own_fmri_results(wildcards):
    """Name what the user's own scan is turned into, or say what to write into the configuration."""
    if config["own_fmri"] is None:
        sys.exit(
            "config: own_fmri is null: write a block own_fmri into config/config.yaml that names bold, labels "
            "or events, repetition_time and target, as docs/howto/own_fmri.md shows"
        )
    return "data/results/own_fmri/values.json"


def guard_jobs():
    """Let local jobs end with this process; those of a cluster are in its hands."""
    if workflow.is_main_process and workflow.local_exec:
        guard_run()


def lift_job_rate_limit():
    """Let the scheduler sleep until a job ends.

    To keep to a number of jobs a second, which local jobs do not come near, Snakemake looks for jobs to start
    every second, and once more for every job that has ended: late in a long run that keeps a core busy.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


def write_workflow_report():
    """Put Snakemake's own report, which only a finished run can have, where the book has kept its place."""
    place = Path("reports/html") / WORKFLOW_REPORT
    if not place.is_file() or place.read_text(encoding="utf-8") != REPORT_PLACEHOLDER:
        return
    used = Path(".snakemake/config-of-last-run.json")
    write_json(used, config)
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--report",
        str(place),
        "--configfile",
        str(used),
        "--nolock",
    ]
    subprocess.run([*command, "--quiet", "all"], check=True, capture_output=True)


experiments = sorted({name for section in catalogue.built_sections for name in section.experiments})
notebooks = [f"reports/notebooks/{section.notebook}.ipynb" for section in catalogue.built_sections]
shown_datasets = sorted({name for section in catalogue.built_sections for name in section_datasets(section)})


wildcard_constraints:
    dataset="|".join(sorted(registry)),
