import fcntl
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from ermlab.exceptions import DataError
from reproduction.acquire import store as _store
from reproduction.acquire.registry import acquire

SIMULATOR = """
import os, signal

def simulate_toy(folder, seed, size):
    (folder / "readme.txt").write_text(f"seed {seed}, size {size}")

def simulate_nothing(folder, seed, size):
    pass

def simulate_death(folder, seed, size):
    simulate_toy(folder, seed, size)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)


@pytest.fixture
def raw(tmp_path):
    return tmp_path / "raw"


@pytest.fixture
def simulator(tmp_path, monkeypatch):
    (tmp_path / "toy_simulator.py").write_text(SIMULATOR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_simulator", raising=False)
    return "toy_simulator.simulate_toy"


def written(raw):
    return (raw / "toy/readme.txt").read_text()


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


class TestSimulated:
    @pytest.mark.parametrize("policy", ["auto", "simulated"])
    def test_the_simulator_is_the_last_resort(self, raw, toy, simulator, policy):
        receipt = acquire("toy", raw, policy=policy, seed=3, size="smoke", registry=toy(simulator=simulator))
        assert (receipt.kind, receipt.source) == ("simulated", "simulator")
        assert receipt.detail == "simulated by toy_simulator.simulate_toy, seed 3, size smoke"
        assert written(raw) == "seed 3, size smoke"
        assert receipt.files == 1

    def test_real_never_simulates(self, raw, toy, simulator):
        with pytest.raises(DataError, match="no source has the real data"):
            acquire("toy", raw, policy="real", registry=toy(simulator=simulator))
        assert not (raw / "toy").exists()

    def test_data_that_were_never_published_are_simulated(self, raw, toy, simulator):
        private = {"toy": replace(toy(simulator=simulator)["toy"], tree=None, mirror=None)}
        receipt = acquire("toy", raw, policy="real", registry=private)
        assert (receipt.kind, receipt.source) == ("simulated", "simulator")

    def test_without_a_simulator_there_is_a_receipt_with_the_reason(self, raw, toy):
        receipt = acquire("toy", raw, policy="simulated", registry=toy())
        assert receipt.status == "unavailable"
        assert receipt.reason == "simulator: there is none; set `data: auto` to use real data"

    def test_a_simulator_that_writes_nothing_is_an_error(self, raw, toy, simulator):
        with pytest.raises(DataError, match="simulate_nothing wrote no files"):
            acquire("toy", raw, registry=toy(simulator="toy_simulator.simulate_nothing"))
        assert not (raw / "toy").exists()

    def test_other_seed_makes_other_data(self, raw, toy, simulator):
        rows = toy(simulator=simulator)
        first = acquire("toy", raw, seed=1, registry=rows)
        assert acquire("toy", raw, seed=1, registry=rows) == first
        assert acquire("toy", raw, seed=2, registry=rows).tree_sha256 != first.tree_sha256
        assert written(raw) == "seed 2, size demo"

    def test_simulated_data_give_way_to_real_ones(self, raw, toy, simulator, mirror):
        acquire("toy", raw, registry=toy(simulator=simulator))
        assert acquire("toy", raw, mirror=mirror, registry=toy(simulator=simulator)).source == "mirror"
        assert written(raw) == "toy\n"

    def test_real_data_are_set_aside_and_come_back(self, raw, toy, simulator, mirror):
        rows = toy(simulator=simulator)
        real = acquire("toy", raw, mirror=mirror, registry=rows)
        assert acquire("toy", raw, policy="simulated", registry=rows).kind == "simulated"
        assert written(raw) == "seed 0, size demo"
        assert acquire("toy", raw, policy="real", registry=rows) == real
        assert written(raw) == "toy\n"

    def test_a_link_to_the_users_data_survives_being_set_aside(self, raw, toy, simulator, files):
        write(raw.parent / "disk/toy", files)
        raw.mkdir()
        (raw / "toy").symlink_to("../disk/toy")
        rows = toy(simulator=simulator)
        acquire("toy", raw, policy="simulated", registry=rows)
        assert acquire("toy", raw, policy="real", registry=rows).source == "raw"
        assert (raw / "toy").is_symlink()
        assert (raw.parent / "disk/toy/readme.txt").read_bytes() == files["readme.txt"]


class TestPresent:
    def test_right_data_in_place_are_used(self, raw, toy, files, tree):
        write(raw / "toy", files)
        receipt = acquire("toy", raw, policy="real", registry=toy())
        assert (receipt.kind, receipt.source, receipt.tree_sha256) == ("real", "raw", tree.sha256)
        assert acquire("toy", raw, registry=toy()) == receipt

    @pytest.mark.parametrize("policy", ["auto", "real", "simulated"])
    def test_unknown_data_are_never_overwritten(self, raw, toy, mirror, simulator, contents, policy):
        write(raw / "toy", {"mine.txt": b"years of work"})
        with pytest.raises(
            DataError, match=r"toy holds something else .*left alone: move it away and run again"
        ):
            acquire("toy", raw, policy=policy, mirror=mirror, registry=toy(simulator=simulator))
        assert contents(raw / "toy") == {"mine.txt": b"years of work"}

    @pytest.mark.parametrize("policy", ["auto", "real", "simulated"])
    def test_our_data_that_were_changed_are_never_overwritten(self, raw, toy, mirror, simulator, policy):
        rows = toy(simulator=simulator)
        acquire("toy", raw, policy="simulated", registry=rows)
        (raw / "toy/readme.txt").write_bytes(b"changed by hand")
        with pytest.raises(DataError, match="move it away"):
            acquire("toy", raw, policy=policy, mirror=mirror, registry=rows)
        assert written(raw) == "changed by hand"

    def test_users_data_stay_when_the_registry_changes(self, raw, toy, files, mirror, pack, tree):
        write(raw / "toy", files)
        acquire("toy", raw, registry=toy())
        rows = toy()
        object.__setattr__(rows["toy"], "tree", type(tree)("0" * 64, tree.files, tree.bytes))
        with pytest.raises(DataError, match="move it away"):
            acquire("toy", raw, mirror=mirror, registry=rows)

    def test_an_empty_folder_counts_as_nothing_and_a_file_is_in_the_way(self, raw, toy, mirror):
        (raw / "toy").mkdir(parents=True)
        assert acquire("toy", raw, mirror=mirror, registry=toy()).source == "mirror"
        (raw / "toy").rename(raw / "other")
        (raw / "toy").write_text("file")
        with pytest.raises(DataError, match="is not a folder: move it away"):
            acquire("toy", raw, mirror=mirror, registry=toy())

    def test_files_are_read_again_only_if_they_may_have_changed(self, raw, toy, mirror, monkeypatch):
        receipt = acquire("toy", raw, mirror=mirror, registry=toy())
        read = []
        hash_tree = _store.tree_hash
        monkeypatch.setattr(_store, "tree_hash", lambda folder: read.append(folder) or hash_tree(folder))
        assert acquire("toy", raw, registry=toy()) == receipt
        assert read == []
        os.utime(raw / "toy/readme.txt")
        assert acquire("toy", raw, registry=toy()) == receipt
        assert len(read) == 1
        assert acquire("toy", raw, registry=toy()) == receipt
        assert len(read) == 1

    def test_a_bit_that_rots_in_place_is_found(self, raw, toy, mirror):
        acquire("toy", raw, mirror=mirror, registry=toy())
        path = raw / "toy/readme.txt"
        path.write_bytes(b"tow\n")
        with pytest.raises(DataError, match="holds something else than the registered data"):
            acquire("toy", raw, registry=toy())


SCRIPT = """
import sys
from dataclasses import replace
from reproduction.acquire import archive as _archive
from reproduction.acquire.registry import Dataset, acquire
from reproduction.acquire.sources import Mirror
from reproduction.acquire.treehash import Tree
raw, mirror, simulator, sha256, files, size, deadly = sys.argv[1:]
row = Dataset("toy", "", "", (), {}, Tree(sha256, int(files), int(size)), "", "", "", None,
              Mirror("toy.tar.xz", "toy"), None, None, simulator or None)
if deadly:
    import os, signal
    _archive.TreeWriter.finish = lambda writer: os.kill(os.getpid(), signal.SIGKILL)
print(acquire("toy", raw, mirror=mirror or None, registry={"toy": row}).source)
"""


class TestOtherProcesses:
    @pytest.fixture
    def start(self, raw, tree, simulator, tmp_path):
        """Start a process that acquires the toy; ``deadly`` kills it between unpacking and verifying."""
        started = []

        def run(mirror="", simulator="", deadly=""):
            values = map(str, (raw, mirror, simulator, tree.sha256, tree.files, tree.bytes, deadly))
            command = [sys.executable, "-c", SCRIPT]
            environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            process = subprocess.Popen([*command, *values], env=environment, **pipes)
            started.append(process)
            return process

        yield run
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    @pytest.mark.parametrize("where", ["mirror", "simulator"])
    def test_a_killed_process_leaves_no_half_data_set(self, raw, toy, mirror, start, files, contents, where):
        if where == "mirror":
            process = start(mirror=mirror, deadly="yes")
        else:
            process = start(simulator="toy_simulator.simulate_death")
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (raw / "toy").exists()
        assert (raw / ".part-toy").exists()
        assert acquire("toy", raw, mirror=mirror, registry=toy()).source == "mirror"
        assert contents(raw / "toy") == files
        assert not (raw / ".part-toy").exists()

    def test_a_second_process_waits_for_the_first(self, raw, mirror, start):
        (raw / ".acquired").mkdir(parents=True)
        with (raw / ".acquired/toy.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            process = start(mirror=mirror)
            assert "another process is acquiring toy; waiting for it" in process.stderr.readline()
            assert not (raw / "toy").exists()
        output, errors = process.communicate()
        assert (process.returncode, output) == (0, "mirror\n"), errors

    def test_two_at_once_agree(self, raw, mirror, start, files, contents):
        first, second = start(mirror=mirror), start(mirror=mirror)
        assert [process.communicate()[0] for process in (first, second)] == ["mirror\n"] * 2
        assert contents(raw / "toy") == files
