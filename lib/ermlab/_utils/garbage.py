"""Garbage collection that skips existing objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def old_objects_kept() -> Iterator[None]:
    """Return a context in which garbage collection skips all existing objects.

    nilearn collects garbage whenever it reads an image. With all libraries loaded this takes a tenth of a
    second, often longer than processing the image.
    """
    within_another = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not within_another:
            gc.unfreeze()
