"""A single BLAS thread, for results that must not depend on the number of threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import numpy as np  # noqa: F401  (loads the BLAS library that the controller must find)
import scipy.linalg.cython_blas  # noqa: F401  (loads that of the kernels)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS runs on one thread.

    The order of additions in a threaded BLAS, and so the last bits, depend on the number of threads.
    """
    return _controller().limit(limits=1, user_api="blas")
