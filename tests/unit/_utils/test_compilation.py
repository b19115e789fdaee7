"""A warning before kernels are compiled, once per package, and none if they are in the cache."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from ermlab.kernels import intersection_kernel
for n in (2, 3):
    intersection_kernel(np.ones((n, n)))
    intersection_kernel(np.ones((n, n), dtype=np.float32))
"""


def messages(folder, code=CODE):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if line.startswith("compiling")]


def test_each_package_is_named_once_before_it_is_compiled(tmp_path):
    first = messages(tmp_path)
    assert len([line for line in first if line.startswith("compiling ermlab.kernels for this machine")]) == 1
    assert len(first) == len(set(first))
    assert messages(tmp_path) == []


def test_functions_of_others_are_not_announced(tmp_path):
    code = "from ermlab.kernels import chi2_kernel\nfrom numba import njit\nnjit(lambda x: x + 1)(2)"
    assert messages(tmp_path, code) == []
