import subprocess
import sys
import textwrap


def run(tmp_path, body):
    """Run ``body`` under `output_to` in a process of its own: pytest holds this one's streams."""
    code = "import os, subprocess, sys\nfrom reproduction.pipeline.logs import output_to\n"
    code += "with output_to('logs/a.log'):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    code += "\nprint('after')\n"
    finished = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    return finished, (tmp_path / "logs/a.log").read_text()


def test_all_output_goes_to_the_log_and_comes_back(tmp_path):
    finished, log = run(
        tmp_path,
        """
        print("printed")
        print("warned", file=sys.stderr)
        os.write(1, b"written by compiled code\\n")
        subprocess.run(["echo", "said by a child"], check=True)
        """,
    )
    assert sorted(log.splitlines()) == ["printed", "said by a child", "warned", "written by compiled code"]
    assert finished.stdout == "after\n"


def test_an_error_leaves_its_traceback_and_fails(tmp_path):
    finished, log = run(tmp_path, "raise ValueError('told why')")
    assert finished.returncode == 1
    assert "after" not in finished.stdout
    assert log.endswith("ValueError: told why\n")
