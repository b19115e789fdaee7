"""End the jobs of a run together with the run.

When Snakemake is killed, its jobs would go on: shells, scripts in them, kernels of notebooks in sessions of
their own, and whatever those have started. A signal at the death of the parent (``PR_SET_PDEATHSIG``) is no
remedy, since the parent of a script is a shell, and a thread of the script that watches the parent does not
run while a compiled function holds the interpreter.

So each run starts a guard, a small process in a session of its own. It reads from a pipe whose other end only
Snakemake holds, and which the system closes when Snakemake ends. All processes of a run inherit `VARIABLE`,
by which the guard finds and kills what is left of them.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

#: Environment variable of all processes of a run: ``<folder of the project>:<process id of Snakemake>``.
VARIABLE = "ERMLAB_RUN"
#: The guard looks for processes until it has found none so many times, so that none is missed as it starts.
_QUIET_LOOKS = 3
#: Looks at most: a process that waits for a broken disk cannot be killed.
_MOST_LOOKS = 300
_SECONDS_BETWEEN_LOOKS = 0.1
# A guard takes the end of its pipe for the end of the run, and an object that is forgotten is closed.
_guards: list[subprocess.Popen] = []


def guard_run(folder: str | Path = ".") -> None:
    """Mark the processes that this one starts from now on, and have them killed when this one has ended."""
    unmarked = {name: value for name, value in os.environ.items() if name != VARIABLE}
    run = os.environ[VARIABLE] = f"{Path(folder).resolve()}:{os.getpid()}"
    command = [sys.executable, "-m", "reproduction.pipeline.guard", run]
    nowhere = subprocess.DEVNULL
    guard = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=unmarked, start_new_session=True
    )
    _guards.append(guard)


def end_leftover_jobs(folder: str | Path = ".") -> int:
    """Kill the jobs of former runs in ``folder``, and return the number of their processes.

    There are some only if the guard of a run was killed, too. Call this only while no run in the folder is
    alive.
    """
    place = str(Path(folder).resolve())
    return _end_processes(lambda mark: mark.rpartition(":")[0] == place, quiet_looks=1)


def _end_processes(is_meant: Callable[[str], bool], quiet_looks: int) -> int:
    """Kill all processes with a mark that is meant, but this one, until looks in a row have found none."""
    ended: set[int] = set()
    quiet = 0
    for _ in range(_MOST_LOOKS):
        found = [process for process in psutil.process_iter() if is_meant(_mark(process))]
        ended.update(process.pid for process in found)
        for process in found:
            _kill(process)
        quiet = 0 if found else quiet + 1
        if quiet >= quiet_looks:
            break
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return len(ended)


def _mark(process: psutil.Process) -> str:
    """Return the mark of another process, nothing for one that has none, has ended or cannot be looked at."""
    try:
        return "" if process.pid == os.getpid() else process.environ().get(VARIABLE, "")
    except (psutil.Error, OSError):
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return  # it has ended, or is none of this user's


def _main() -> None:
    run = sys.argv[1]
    sys.stdin.read()
    _end_processes(lambda mark: mark == run, quiet_looks=_QUIET_LOOKS)


if __name__ == "__main__":
    _main()
