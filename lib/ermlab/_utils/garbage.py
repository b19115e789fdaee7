"""Collections of garbage that do not look at everything."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def old_objects_kept() -> Iterator[None]:
    """Let collections of garbage pass over all objects that are there already.

    nilearn collects whenever it reads an image, and with all libraries loaded to look at every object takes
    a tenth of a second, often longer than what is done with the image.
    """
    within_another = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not within_another:
            gc.unfreeze()
