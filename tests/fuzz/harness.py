"""Run fuzz cases in a subprocess, so that a crash or a hang is a failing test and does not end the test run.

A test module lists its subjects in ``SUBJECTS``: each is a function that yields ``(name, call)`` pairs. The
child process runs the calls one after the other, with bounds checking in all numba kernels, and says how each
ended:

- ``ok``: the call returned, and every number in what it returned is finite;
- ``refused``: the call raised a ``ValueError`` with a message;
- ``fault``: anything else. An ``IndexError`` is an access out of bounds; a ``RuntimeWarning`` of numpy on
  behalf of ermlab is an overflow or a NaN that nobody expected.
"""

import dataclasses
import faulthandler
import json
import os
import resource
import runpy
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

Cases = Iterator[tuple[str, Callable[[], object]]]

PROJECT = Path(__file__).parents[2]
LIBRARY = str(PROJECT / "lib")
# Frames between a warning and who caused it.
PASSED_OVER = (str(Path(np.__file__).parent), warnings.__file__, __file__)
# Processor time, which does not depend on the load of the machine, after which a child counts as hung.
CPU_SECONDS = 900
# Address space, above which an allocation fails instead of taking the memory of the machine.
ADDRESS_SPACE = 16 << 30


def survive(file: str, subject: str) -> list[str]:
    """Run all cases of a subject of a test module in a child process; fail unless all are ok or refused.

    Return the names of those that were refused.
    """
    from kernel_cache import kernel_cache

    cache = kernel_cache(check_bounds=True)
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
    child = subprocess.run(
        [sys.executable, __file__, file, subject],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    outcomes = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    begun = [outcome["case"] for outcome in outcomes if outcome["state"] == "begin"]
    faults = [outcome for outcome in outcomes if outcome["state"] == "fault"]
    report = "\n".join(f"{fault['case']}: {fault['detail']}" for fault in faults)
    assert not faults, f"{len(faults)} of {len(begun)} cases of {subject}:\n{report}"
    assert child.returncode == 0, (
        f"{subject} ended with {child.returncode} in the case {begun[-1] if begun else None!r}:\n"
        f"{child.stderr[-4000:]}"
    )
    assert begun, f"{subject} has no cases"
    return [outcome["case"] for outcome in outcomes if outcome["state"] == "refused"]


def run_cases(cases: Cases) -> None:
    """Call one case after the other; write how each began and ended to the standard output."""
    for name, call in cases:
        _tell(case=name, state="begin")
        with unexpected_warnings() as found:
            state, detail = _outcome(call)
        if found:
            state, detail = "fault", found[0]
        _tell(case=name, state=state, detail=detail)


def _outcome(call: Callable[[], object]) -> tuple[str, str]:
    """Return how a call ended, and what it said."""
    try:
        require_finite(call())
    except ValueError as error:
        return "refused" if str(error) else "fault", str(error)
    except Exception:
        return "fault", traceback.format_exc(limit=-4)
    return "ok", ""


@contextmanager
def unexpected_warnings() -> Iterator[list[str]]:
    """Collect where ermlab made numpy warn of an overflow or a NaN, directly or by a function of numpy.

    What scikit-learn and others do with hostile numbers is their own affair.
    """
    found: list[str] = []

    def collect(message: Warning, category: type[Warning], *place: object) -> None:
        callers = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(PASSED_OVER)]
        if callers[-1].filename.startswith(LIBRARY):
            found.append(f"{message} ({callers[-1].filename}, line {callers[-1].lineno})")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=RuntimeWarning)
        warnings.showwarning = collect
        yield found


def require_finite(found: object, name: str = "the result") -> None:
    """Raise an AssertionError unless every number in an array, a model or a collection is finite."""
    if sparse.issparse(found):
        found = found.data
    if isinstance(found, Mapping):
        for key, value in found.items():
            require_finite(value, f"{name}[{key!r}]")
    elif isinstance(found, (list, tuple)):
        for i, value in enumerate(found):
            require_finite(value, f"{name}[{i}]")
    elif dataclasses.is_dataclass(found) and not isinstance(found, type):
        require_finite(vars(found) if hasattr(found, "__dict__") else None, name)
    elif isinstance(found, (float, np.floating, np.ndarray)):
        array = np.asarray(found)
        assert array.dtype.kind not in "fc" or np.isfinite(array).all(), f"{name} holds NaN or infinity"


def _tell(**outcome: str) -> None:
    print(json.dumps(outcome), flush=True)


def _main() -> None:
    file, subject = sys.argv[1:]
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 10))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    run_cases(runpy.run_path(file)["SUBJECTS"][subject]())


if __name__ == "__main__":
    _main()
