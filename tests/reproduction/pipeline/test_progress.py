"""The progress lines: exact for made-up events, and for real runs of a small workflow."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.logging import DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.tests import TestLogHandlerBase

from snakemake_logger_plugin_ermlab import LogHandler, clock, log_lines

SNAKEFILE = """
rule all:
    input:
        "b.txt",


rule acquire_part:
    output:
        "{part}.part",
    message:
        "Acquire the part {wildcards.part}"
    shell:
        "echo {wildcards.part} > {output}"


rule publish_book:
    input:
        "a.part",
    output:
        "b.txt",
    log:
        "logs/publish.log",
    message:
        "Publish the book"
    script:
        "publish.py"


rule exhibit:
    input:
        "b.txt",
    message:
        "The exhibit is up to date"
"""
GOOD = "open(snakemake.output[0], 'w').write('book')"
BAD = "open(snakemake.log[0], 'w').write('ink is missing'); raise SystemExit(1)"


class TestConformsToTheInterface(TestLogHandlerBase):
    """Snakemake's own checks of a logger plugin."""

    __test__ = True

    def get_log_handler_cls(self):
        return LogHandler

    def get_log_handler_settings(self):
        return None

    def _create_handler(self):
        handler = super()._create_handler()
        handler.setFormatter(DefaultFormatter())
        # An error in a line is printed by logging, not raised, and would go unseen.
        handler.handleError = raise_again
        return handler


def raise_again(record):
    raise


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Teller:
    """A handler, and what it has printed."""

    def __init__(self, monkeypatch, stream=None, **settings):
        self.stream = stream or io.StringIO()
        settings = OutputSettings(**settings)
        monkeypatch.setattr(sys, "stdout" if settings.stdout else "stderr", self.stream)
        self.handler = LogHandler(settings, None)
        self.handler.setFormatter(DefaultFormatter())
        self.handler.handleError = raise_again

    def tell(self, second, event=None, message="", level=logging.INFO, **fields):
        record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
        record.created = 1000.0 + second
        vars(record).update(fields, event=event)
        self.handler.emit(record)

    def plan(self, second=0, **stats):
        self.tell(second, LogEvent.RUN_INFO, "Job stats", stats=stats)

    def start(self, second, jobid, rule, message, **wildcards):
        fields = {"output": ["file"], "shellcmd": None, "reason": "Missing output files: file"}
        self.tell(
            second,
            LogEvent.JOB_INFO,
            jobid=jobid,
            rule_name=rule,
            rule_msg=message,
            wildcards=wildcards,
            **fields,
        )

    def end(self, second, jobid):
        self.tell(second, LogEvent.JOB_FINISHED, f"Finished jobid: {jobid}", job_id=jobid)

    def fail(self, second, jobid, rule, **fields):
        given = {"rule_msg": None, "shellcmd": None, "aux": {}, "log": []} | fields
        self.tell(second, LogEvent.JOB_ERROR, level=logging.ERROR, jobid=jobid, rule_name=rule, **given)

    def lines(self):
        self.handler.close()
        return self.stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3599, "59:59"), (3600, "1:00:00")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_a_run_is_counted_timed_and_summed_up(monkeypatch):
    teller = Teller(monkeypatch)
    teller.plan(acquire_dataset=11, narrate_section=1, total=12)
    teller.start(1, 7, "acquire_dataset", "Acquire the data set cars", dataset="cars")
    teller.start(2, 8, "narrate_section", "Narrate", section="losses")
    teller.end(12, 7)
    teller.tell(12, LogEvent.PROGRESS, done=1, total=12)
    teller.end(3700, 8)
    assert teller.lines() == [
        "12 jobs to do",
        "[ 0/12  0:01] acquire   Acquire the data set cars",
        "[ 0/12  0:02] narrate   Narrate, losses",
        "[ 1/12  0:12] acquire   Acquire the data set cars: done after 0:11",
        "[ 2/12 1:01:40] narrate   Narrate, losses: done after 1:01:38",
        "2 of 12 jobs done in 1:01:40",
    ]


def test_a_failure_shows_what_went_wrong_and_the_end_of_its_log(monkeypatch, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    teller = Teller(monkeypatch)
    teller.plan(evaluate_bounds=1, total=1)
    teller.start(0, 3, "evaluate_bounds", "Evaluate the bounds")
    fields = {"rule_msg": "node lost", "shellcmd": "one\ntwo", "aux": {"external_jobid": "5"}}
    teller.fail(9, 3, "evaluate_bounds", log=[str(log), "missing.log", "logs/run.ipynb"], **fields)
    assert teller.lines() == [
        "1 job to do",
        "[0/1  0:00] evaluate  Evaluate the bounds",
        "[0/1  0:09] evaluate  Evaluate the bounds: FAILED after 0:09",
        "    rule: evaluate_bounds",
        "    message: node lost",
        "    shell: one",
        "    two",
        "    external_jobid: 5",
        f"    log: {log}",
        "    | (the last 20 of 100 lines)",
        *(f"    | line {number}" for number in range(80, 100)),
        "    log: missing.log",
        "    | (No such file or directory)",
        "    log: logs/run.ipynb",
        "    | (a notebook: open it to see where it stopped)",
        "0 of 1 job done in 0:09; failed: Evaluate the bounds",
    ]


def test_a_job_that_succeeds_at_the_second_attempt_is_not_called_failed(monkeypatch):
    teller = Teller(monkeypatch)
    teller.plan(evaluate_bounds=1, total=1)
    teller.start(0, 3, "evaluate_bounds", "Evaluate")
    teller.fail(1, 3, "evaluate_bounds")
    teller.start(2, 3, "evaluate_bounds", "Evaluate")
    teller.end(5, 3)
    assert teller.lines()[-2:] == ["[1/1  0:05] evaluate  Evaluate: done after 0:03", "1 job done in 0:05"]


def test_show_failed_logs_shows_the_whole_log(monkeypatch, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("x\n" * 50)
    teller = Teller(monkeypatch, show_failed_logs=True)
    teller.fail(0, 1, "evaluate_bounds", log=[str(log)])
    assert teller.lines().count("    | x") == 50


def test_log_lines_of_an_empty_and_of_a_binary_log(tmp_path):
    log = tmp_path / "job.log"
    log.touch()
    assert log_lines(str(log), 5) == ["(empty)"]
    log.write_bytes(b"\xff\n")
    assert log_lines(str(log), 5) == ["\N{REPLACEMENT CHARACTER}"]


def test_what_is_not_progress_is_passed_on_and_chatter_is_not(monkeypatch):
    teller = Teller(monkeypatch)
    teller.tell(0, message="Building DAG of jobs...")
    teller.tell(0, message="Nothing to be done.")
    teller.tell(0, message="Using shell: that warns", level=logging.WARNING)
    teller.tell(0, LogEvent.ERROR, "MissingInputException", level=logging.ERROR)
    assert teller.lines() == ["Nothing to be done.", "Using shell: that warns", "MissingInputException"]


def test_verbose_keeps_the_chatter(monkeypatch):
    teller = Teller(monkeypatch, verbose=True)
    teller.tell(0, message="Building DAG of jobs...")
    assert teller.lines() == ["Building DAG of jobs..."]


def test_a_dry_run_lists_jobs_with_reasons_unless_told_not_to(monkeypatch):
    listed = {}
    for quiet in (set(), {Quietness.REASON}):
        teller = Teller(monkeypatch, dryrun=True, stdout=True, quiet=quiet)
        teller.plan(acquire_dataset=1, total=1)
        teller.start(1, 7, "acquire_dataset", "Acquire the data set cars", dataset="cars")
        teller.plan(acquire_dataset=1, total=1)
        listed[len(quiet)] = teller.lines()
    acquire = ["Job stats", "acquire   Acquire the data set cars"]
    assert listed == {0: [*acquire, "            Missing output files: file"], 1: acquire}


def test_colour_on_a_terminal_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    told = []
    for settings in ({}, {"nocolor": True}):
        teller = Teller(monkeypatch, Terminal(), **settings)
        teller.tell(0, message="careful", level=logging.WARNING)
        told += teller.lines()
    assert told == ["\033[33mcareful\033[0m", "careful"]


@pytest.fixture
def snakemake(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "publish.py").write_text(GOOD)
    profile = tmp_path / "profiles/default/config.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text("cores: 1\nlogger: ermlab\n")

    def run(*arguments):
        command = [sys.executable, "-m", "snakemake", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return done.returncode, masked(done.stdout, tmp_path)

    return run


def masked(output: str, folder: Path) -> list[str]:
    """Return the lines printed, with T for times and without the name of the profile and of the log."""
    timeless = re.sub(r" +\d+:\d\d\b", " T", output).replace(str(folder), "")
    return [line for line in timeless.splitlines() if not re.match("Using workflow spec|Complete log", line)]


def test_real_run_second_run_and_target(snakemake, tmp_path):
    assert snakemake("exhibit") == (
        0,
        [
            "Provided cores: 1 (use --cores to define parallelism)",
            "3 jobs to do",
            "[0/3 T] acquire   Acquire the part a",
            "[1/3 T] acquire   Acquire the part a: done after T",
            "[1/3 T] publish   Publish the book",
            "[2/3 T] publish   Publish the book: done after T",
            "[3/3 T]           The exhibit is up to date",
            "3 jobs done in T",
        ],
    )
    (log,) = (tmp_path / ".snakemake/log").glob("*.log")
    assert "3 of 3 steps (100%) done" in log.read_text()
    status, lines = snakemake()
    assert status == 0
    assert lines == ["Nothing to be done (all requested files are present and up to date)."]


def test_real_run_that_fails(snakemake, tmp_path):
    (tmp_path / "publish.py").write_text(BAD)
    status, lines = snakemake()
    assert status == 1
    failure = lines.index("[1/3 T] publish   Publish the book: FAILED after T")
    assert lines[failure + 1 : failure + 4] == [
        "    rule: publish_book",
        "    log: logs/publish.log",
        "    | ink is missing",
    ]
    assert lines[-1] == "1 of 3 jobs done in T; failed: Publish the book"


def test_real_quiet_run_and_missing_input(snakemake):
    assert snakemake("--quiet", "all") == (0, [])
    status, lines = snakemake("nowhere.txt")
    assert status == 1
    assert any("MissingRuleException" in line for line in lines)


def test_real_dry_run(snakemake):
    status, lines = snakemake("--dryrun", "a.part")
    assert status == 0
    at = lines.index("acquire   Acquire the part a")
    assert lines[at + 1] == "            Missing output files: a.part"
