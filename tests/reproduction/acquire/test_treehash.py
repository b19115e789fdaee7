import hashlib
import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproduction.acquire.treehash import tree_hash, tree_stamp

COMMAND = r"find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("find", "sort", "xargs", "sha256sum"))), reason="needs GNU find and coreutils"
)


def by_shell(folder):
    answer = subprocess.run(COMMAND, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    return answer.stdout.split()[0]


def names():
    step = st.text("ab.Z-_ \\\n\r\té\u20ac'\"*", min_size=1, max_size=4)
    # The shell command takes a name with a hyphen in front for an option.
    return step.filter(lambda name: name not in (".", "..") and name[0] != "-")


@needs_tools
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(st.tuples(names(), names()), st.binary(max_size=20), min_size=1, max_size=6))
def test_equals_the_shell_command_for_any_names(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("tree")
    for (parent, name), content in files.items():
        (folder / parent).mkdir(exist_ok=True)
        (folder / parent / name).write_bytes(content)
    tree = tree_hash(folder)
    assert tree.sha256 == by_shell(folder)
    assert (tree.files, tree.bytes) == (len(files), sum(map(len, files.values())))


def test_order_is_of_the_whole_path_as_bytes(tmp_path):
    # "a-b" sorts before "a/b" as a path, although the folder "a" sorts before the file "a-b".
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"")
    (tmp_path / "a-b").write_bytes(b"")
    empty = hashlib.sha256(b"").hexdigest()
    expected = hashlib.sha256(f"{empty}  a-b\n{empty}  a/b\n".encode()).hexdigest()
    assert tree_hash(tmp_path).sha256 == expected


def test_links_and_empty_folders_do_not_count(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 3_000_000)
    before = tree_hash(tmp_path)
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "empty").mkdir()
    assert tree_hash(tmp_path) == before
    assert before.bytes == 3_000_000


def test_stamp_sees_a_change_that_keeps_size_and_modification_time(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    times = path.stat()
    before = tree_stamp(tmp_path)
    assert tree_stamp(tmp_path) == before
    while path.stat().st_ctime_ns == times.st_ctime_ns:  # the clock of the file system is coarse
        path.write_bytes(b"two")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert tree_stamp(tmp_path) != before
