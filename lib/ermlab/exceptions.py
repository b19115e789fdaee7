"""Exceptions of the library."""

from __future__ import annotations


class DataError(ValueError):
    """A file or data set is missing, damaged or not as expected.

    The message names the file, what is wrong with it and what to do.
    """
