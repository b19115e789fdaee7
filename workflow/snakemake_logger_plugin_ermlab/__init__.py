"""Show the progress of a run with one line per event: finished jobs, elapsed time, stage, message.

    [ 3/24  0:41] acquire   Acquire the data set uiuc_cars
    [ 4/24  0:52] acquire   Acquire the data set uiuc_cars: done after 0:11

A logger plugin of Snakemake, switched on by ``logger: ermlab`` in a profile. It takes the place of what
Snakemake prints; Snakemake's own log file below ``.snakemake/log`` still holds every detail. Whatever is not
progress (warnings, errors, lints, messages of executors) is passed on in Snakemake's own words.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from logging import ERROR, INFO, WARNING, LogRecord
from pathlib import Path
from textwrap import indent

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from reproduction.pipeline.caches import use_writable_caches

# Snakemake loads its plugins when it reads the command line, and makes its cache later.
use_writable_caches()

TAIL_LINES = 20
# Messages of every run that say nothing about this one.
CHATTER = (
    "Assuming unrestricted shared filesystem usage.",
    "Building DAG of jobs...",
    "Select jobs to execute...",
    "Using shell: ",
    "Rules claiming more threads will be scaled down.",
    "Cleaning up SLURM log files",
    "Elapsed time: ",
)
BOLD, DIM, RED, GREEN, YELLOW = 1, 2, 31, 32, 33
LEVEL_COLOURS = {WARNING: YELLOW, ERROR: RED}


def clock(seconds: float) -> str:
    """Return a time span as m:ss, or h:mm:ss from an hour on."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def jobs(count: int) -> str:
    """Return a number of jobs in words."""
    return "1 job" if count == 1 else f"{count} jobs"


def stage_of(rule: str) -> str:
    """Return the verb of a rule's name: ``acquire`` of ``acquire_dataset``."""
    return rule.split("_", maxsplit=1)[0]


def log_lines(path: str, count: int | None) -> list[str]:
    """Return the last ``count`` lines of a log, all of them for None, or a note why there are none."""
    if path.endswith(".ipynb"):
        return ["(a notebook: open it to see where it stopped)"]
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
    except OSError as error:
        return [f"({error.strerror})"]
    if not lines:
        return ["(empty)"]
    if count is None or len(lines) <= count:
        return lines
    return [f"(the last {count} of {len(lines)} lines)", *lines[-count:]]


@dataclass(frozen=True)
class Job:
    """What is shown of a job."""

    rule: str
    text: str
    started: float
    is_target: bool

    @classmethod
    def from_record(cls, record: LogRecord) -> Job:
        """Read a JOB_INFO record; the text is the rule's message, with the wildcards that it leaves out."""
        text = record.rule_msg or record.rule_name
        unnamed = [str(value) for value in record.wildcards.values() if str(value) not in text]
        is_target = not record.output and not record.shellcmd
        return cls(record.rule_name, ", ".join([text, *unnamed]), record.created, is_target)

    @property
    def stage(self) -> str:
        """The stage, or nothing for a mere target such as ``all`` or the id of an exhibit."""
        return "" if self.is_target else stage_of(self.rule)


class LogHandler(LogHandlerBase):
    """Turns Snakemake's log records into lines on the terminal, or in the file it is redirected to."""

    def __post_init__(self) -> None:
        self._stream = sys.stdout if self.common_settings.stdout else sys.stderr
        plain = self.common_settings.nocolor or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self._coloured = self._stream.isatty() and not plain
        self._quiet = {each.name for each in self.common_settings.quiet or ()}
        self._jobs: dict[int, Job] = {}
        self._failed: dict[int, Job] = {}
        self._done = 0
        self._total = 0
        self._stage_width = len("evaluate")
        self._started: float | None = None
        self._now = 0.0
        self._tellers = {
            LogEvent.RUN_INFO: self._print_plan,
            LogEvent.JOB_INFO: self._tell_start,
            LogEvent.JOB_FINISHED: self._tell_end,
            LogEvent.JOB_ERROR: self._tell_error,
            LogEvent.PROGRESS: self._count,
            LogEvent.WORKFLOW_STARTED: self._keep_silent,
            LogEvent.JOB_STARTED: self._keep_silent,
        }

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def emit(self, record: LogRecord) -> None:
        """Print one event."""
        try:
            self._now = record.created
            if self._started is None:
                self._started = record.created
            self._tellers.get(getattr(record, "event", None), self._pass_on)(record)
        except BrokenPipeError:
            # The reader has gone (snakemake -n | head); the run itself goes on.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Print a summary, unless there was nothing to do."""
        if self._total and not self.common_settings.dryrun:
            complete = self._done >= self._total
            done = jobs(self._total) if complete else f"{self._done} of {jobs(self._total)}"
            summary = f"{done} done in {clock(self._now - self._started)}"
            if self._failed:
                summary += "; failed: " + ", ".join(job.text for job in self._failed.values())
            self._print(self._paint(summary, GREEN if complete else RED))
            self._total = 0
        super().close()

    def _print_plan(self, record: LogRecord) -> None:
        """Print the plan once; a dry run logs it twice."""
        if self._total:
            return
        rules = {rule: count for rule, count in record.stats.items() if rule != "total"}
        self._total = record.stats["total"]
        self._stage_width = max(self._stage_width, *(len(stage_of(rule)) for rule in rules))
        if self.common_settings.dryrun:
            self._pass_on(record)
        else:
            self._print(self._paint(f"{jobs(self._total)} to do", BOLD))

    def _tell_start(self, record: LogRecord) -> None:
        job = self._jobs[record.jobid] = Job.from_record(record)
        if self.common_settings.dryrun:
            self._print(f"{job.stage:{self._stage_width}}  {job.text}")
            if "REASON" not in self._quiet:
                self._print(self._paint(f"{'':{self._stage_width}}    {record.reason}", DIM))
        elif not job.is_target:
            self._print_line(job, job.text)

    def _tell_end(self, record: LogRecord) -> None:
        self._done += 1
        self._failed.pop(record.job_id, None)
        job = self._jobs.get(record.job_id)
        if job is None:
            self._print(f"{self._counter()} {record.getMessage()}")
        elif not job.is_target:
            outcome = self._paint(f"done after {clock(record.created - job.started)}", GREEN)
            self._print_line(job, f"{job.text}: {outcome}")
        elif job.text != job.rule:
            self._print_line(job, job.text)

    def _tell_error(self, record: LogRecord) -> None:
        unknown = Job(record.rule_name, record.rule_name, record.created, is_target=False)
        job = self._failed[record.jobid] = self._jobs.get(record.jobid, unknown)
        outcome = self._paint(f"FAILED after {clock(record.created - job.started)}", RED)
        self._print_line(job, f"{job.text}: {outcome}")
        details = {"rule": job.rule, "message": record.rule_msg, "shell": record.shellcmd, **record.aux}
        for name, value in details.items():
            if value:
                self._print(indent(f"{name}: {str(value).strip()}", "    "))
        count = None if self.common_settings.show_failed_logs else TAIL_LINES
        for path in record.log:
            self._print(f"    log: {path}")
            for line in log_lines(path, count):
                self._print(f"    | {line}")

    def _count(self, record: LogRecord) -> None:
        self._done, self._total = record.done, record.total

    def _keep_silent(self, record: LogRecord) -> None:
        pass

    def _pass_on(self, record: LogRecord) -> None:
        """Print Snakemake's own text."""
        text = self.format(record)
        chatter = record.levelno <= INFO and text.startswith(CHATTER) and not self.common_settings.verbose
        if text and text != "None" and not chatter:
            self._print(self._paint(text, LEVEL_COLOURS.get(record.levelno)))

    def _counter(self) -> str:
        time = clock(self._now - self._started)
        if not self._total:
            return f"[{time:>5}]"
        return f"[{self._done:{len(str(self._total))}}/{self._total} {time:>5}]"

    def _print_line(self, job: Job, text: str) -> None:
        counter = self._paint(self._counter(), DIM)
        stage = self._paint(f"{job.stage:{self._stage_width}}", BOLD)
        self._print(f"{counter} {stage}  {text}")

    def _paint(self, text: str, colour: int | None) -> str:
        return f"\033[{colour}m{text}\033[0m" if self._coloured and colour else text

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)
