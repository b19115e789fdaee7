"""Collect the commit, versions, configuration, machine and run times of a run."""

import csv
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from ermlab.exceptions import DataError


def describe_commit(root: str | Path = ".") -> dict[str, Any] | None:
    """Return the commit of the working tree at ``root``, its date, and the files changed since.

    ``None`` outside a git repository (a downloaded archive, say) or without git.
    """
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal") or ""
    return {
        "commit": commit,
        "date": _git(root, "log", "-1", "--format=%cI"),
        "subject": _git(root, "log", "-1", "--format=%s"),
        "dirty": bool(changed),
        "changed_files": len(changed.splitlines()),
    }


def _git(root: str | Path, *arguments: str) -> str | None:
    """Return what a git command prints, or ``None`` when it fails or git is absent."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, encoding="utf-8"
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def installed_versions() -> dict[str, str]:
    """Return the version of every installed Python distribution, by lower-case name."""
    found = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
    return {name.lower(): found[name] for name in sorted(found, key=str.lower)}


def describe_machine() -> dict[str, Any]:
    """Return the machine's cores, memory, processor and operating system; never its name."""
    return {
        "cores": _usable_cores(),
        "memory_bytes": _memory_bytes(),
        "processor": _processor(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "release": _distribution(),
    }


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.release())
    except OSError:
        return platform.release()


def rule_times(folder: str | Path) -> list[dict[str, Any]]:
    """Sum Snakemake's benchmark files by rule: jobs, seconds, largest memory.

    The rule is the first part of a file's path below ``folder``: ``acquire/uiuc_cars.tsv`` and
    ``build_book.tsv`` are jobs of the rules ``acquire`` and ``build_book``.
    """
    folder = Path(folder)
    jobs = defaultdict(list)
    for path in sorted(folder.rglob("*.tsv")):
        rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
        jobs[rule].extend(_read_benchmark(path))
    return [
        {
            "rule": rule,
            "jobs": len(rows),
            "seconds": round(sum(seconds for seconds, _ in rows), 2),
            "max_memory_mb": max((memory for _, memory in rows if memory is not None), default=None),
        }
        for rule, rows in sorted(jobs.items())
        if rows
    ]


def _read_benchmark(path: Path) -> list[tuple[float, float | None]]:
    """Return seconds and peak memory (MB; None when the job was too short to measure) of each row."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    try:
        return [(float(row["s"]), _float_or_none(row["max_rss"])) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} is not a Snakemake benchmark file (columns s and max_rss): "
            f"{error!r}; delete it and run `make` again"
        ) from error


def _float_or_none(cell: str) -> float | None:
    return None if cell in ("-", "NA", "") else float(cell)


def collect_provenance(
    config: Mapping[str, Any],
    *,
    root: str | Path = ".",
    benchmarks: str | Path = "logs/benchmarks",
    seeds: Iterable[int] = (),
) -> dict[str, Any]:
    """Return everything the Provenance page shows.

    Entries that depend on the time and the machine are in ``run`` and ``machine``; the others are the same
    whenever the same commit runs with the same environment and configuration.
    """
    return {
        "code": describe_commit(root),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "packages": installed_versions(),
        "config": dict(config),
        "seeds": [int(seed) for seed in seeds],
        "machine": describe_machine(),
        "run": {
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "rules": rule_times(benchmarks),
        },
    }
