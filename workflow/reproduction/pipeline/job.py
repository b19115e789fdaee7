"""What every script of the workflow does around its work."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba

from ermlab._utils.garbage import old_objects_kept
from reproduction.pipeline.logs import output_to


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Send the output of a rule's script to the rule's log, and keep to the rule's threads.

    ``snakemake`` is the object of that name in the globals of a script.
    """
    threads = min(snakemake.threads, numba.config.NUMBA_NUM_THREADS)
    with output_to(snakemake.log[0]), old_objects_kept():
        numba.set_num_threads(threads)
        yield
