"""What a run was made of, read from git, the environment and Snakemake's benchmark files."""

import json
import subprocess
from importlib.metadata import version

import pytest

from ermlab.exceptions import DataError
from reproduction.book.provenance import (
    collect_provenance,
    describe_commit,
    describe_machine,
    installed_versions,
    rule_times,
)

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def git(folder, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-m", "First", "--date=2001-02-03T04:05:06Z")
    return tmp_path


def test_a_clean_commit(repository):
    code = describe_commit(repository)
    assert len(code["commit"]) == 40
    assert code["subject"] == "First"
    assert not code["dirty"]
    assert code["changed_files"] == 0


def test_changed_and_new_files_make_the_tree_dirty(repository):
    (repository / "a.txt").write_text("b")
    (repository / "b.txt").write_text("b")
    code = describe_commit(repository)
    assert code["dirty"]
    assert code["changed_files"] == 2


def test_outside_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert describe_commit(tmp_path) is None


def test_without_git_there_is_no_commit(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert describe_commit(repository) is None


def test_versions_are_those_of_the_environment():
    found = installed_versions()
    assert found["numpy"] == version("numpy")
    assert list(found) == sorted(found)


def test_the_machine_is_described_but_not_named():
    machine = describe_machine()
    assert machine["cores"] >= 1
    assert set(machine) == {"cores", "memory_bytes", "processor", "architecture", "system", "release"}


def test_rule_times_are_summed_by_rule(tmp_path):
    (tmp_path / "acquire").mkdir()
    (tmp_path / "acquire/one.tsv").write_text(HEADER + "1.5\t0:00:01\t10.5\t0\t0\t0\t0\t0\t0\t1\n")
    (tmp_path / "acquire/two.tsv").write_text(HEADER + "2.25\t0:00:02\t30\t0\t0\t0\t0\t0\t0\t1\n")
    (tmp_path / "check_claims.tsv").write_text(HEADER + "0.01\t0:00:00\t-\t-\t-\t-\t-\t-\t-\t-\n")
    (tmp_path / "not_run.tsv").write_text(HEADER)
    assert rule_times(tmp_path) == [
        {"rule": "acquire", "jobs": 2, "seconds": 3.75, "max_memory_mb": 30.0},
        {"rule": "check_claims", "jobs": 1, "seconds": 0.01, "max_memory_mb": None},
    ]


def test_no_benchmarks_no_times(tmp_path):
    assert rule_times(tmp_path / "absent") == []


@pytest.mark.parametrize("text", ["nonsense\n1\n", "s\tmax_rss\nlong\t3\n", "s\tmax_rss\n3\n"])
def test_a_damaged_benchmark_is_named(tmp_path, text):
    (tmp_path / "rule.tsv").write_text(text)
    with pytest.raises(DataError, match=r"rule\.tsv is not a Snakemake benchmark file"):
        rule_times(tmp_path)


def test_everything_goes_into_json(repository):
    config = {"scale": "smoke", "seed": 3}
    provenance = collect_provenance(config, root=repository, benchmarks=repository / "absent", seeds=[3])
    again = json.loads(json.dumps(provenance))
    assert again["config"] == config
    assert again["seeds"] == [3]
    assert again["code"]["subject"] == "First"


def test_only_machine_and_run_depend_on_the_moment(repository):
    first, second = (collect_provenance({}, root=repository, benchmarks=repository) for _ in range(2))
    for document in (first, second):
        del document["run"], document["machine"]
    assert first == second
