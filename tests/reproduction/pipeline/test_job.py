import subprocess
import sys

import pytest

SCRIPT = """
from types import SimpleNamespace
{before}
from reproduction.pipeline.job import job

with job(SimpleNamespace(threads=1, log=["a.log"])):
    {within}
    print(numba.get_num_threads())
"""


@pytest.mark.parametrize(
    "places", [{"before": "import numba", "within": "pass"}, {"before": "", "within": "import numba"}]
)
def test_a_script_keeps_to_its_log_and_its_threads(tmp_path, places):
    script = SCRIPT.format(**places)
    finished = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    assert (tmp_path / "a.log").read_text() == "1\n"
