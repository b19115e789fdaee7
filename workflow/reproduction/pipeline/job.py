"""Run the scripts of the rules."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from inspect import signature
from typing import Any, get_type_hints

from ermlab._utils.garbage import old_objects_kept
from reproduction.pipeline.logs import output_to
from reproduction.pipeline.rules import DERIVED
from reproduction.pipeline.settings import configured

#: Files of a rule by name: a path, or a list of paths.
Paths = Mapping[str, Any]


def run_stage(main: Callable[..., None], snakemake: Any) -> None:
    """Call ``main(inputs, outputs, **params)`` with the files and parameters of a rule.

    A parameter of ``main`` that is annotated with a dataclass is built from the mapping that the rule gives
    for it; one named ``threads`` is the number of threads of the rule. ``snakemake`` is the object of that
    name in the globals of a script.
    """
    params = {name: value for name, value in snakemake.params.items() if name not in DERIVED}
    hints = get_type_hints(main)
    for name, value in params.items():
        if is_dataclass(hints.get(name)):
            params[name] = hints[name](**{key: _tuple(item) for key, item in value.items()})
    if "threads" in signature(main).parameters:
        params["threads"] = snakemake.threads
    with job(snakemake), configured(snakemake.config):
        main(_paths(snakemake.input), _paths(snakemake.output), **params)


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Send the output of a rule's script to the rule's log, and keep to the rule's threads."""
    with output_to(snakemake.log[0]), old_objects_kept():
        _limit_numba(snakemake.threads)
        yield


def _limit_numba(threads: int) -> None:
    """Let numba use so many threads; it is not imported for this, since that takes long."""
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)


def _paths(files: Any) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else list(value) for name, value in files.items()}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
