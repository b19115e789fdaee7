import subprocess
import sys

SCRIPT = """
from types import SimpleNamespace
import numba
from reproduction.pipeline.job import job

with job(SimpleNamespace(threads=1, log=["a.log"])):
    print(numba.get_num_threads())
"""


def test_a_script_keeps_to_its_log_and_its_threads(tmp_path):
    finished = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    assert (tmp_path / "a.log").read_text() == "1\n"
