"""Files are written by a thread as they were given, with the hash of the folder; its errors are raised."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.acquire.tree_writer import TreeWriter
from reproduction.acquire.treehash import tree_hash

PIECES = st.lists(st.binary(max_size=300), min_size=1, max_size=4)


@settings(max_examples=50, deadline=None)
@given(
    files=st.dictionaries(st.from_regex(r"[a-c]/[a-z]{1,3}|[d-z]{1,3}", fullmatch=True), PIECES, max_size=30)
)
def test_the_folder_has_the_files_and_the_tree_is_its_hash(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("written")
    with TreeWriter(folder) as writer:
        for name, pieces in files.items():
            for i, piece in enumerate(pieces):
                writer.write(name, piece, last=i == len(pieces) - 1)
        tree = writer.finish()
    assert tree == tree_hash(folder)
    for name, pieces in files.items():
        assert (folder / name).read_bytes() == b"".join(pieces)


def test_large_files_are_handed_over_in_parts(tmp_path):
    content = bytes(range(256)) * 20_000
    with TreeWriter(tmp_path) as writer:
        for start in range(0, len(content), 1 << 20):
            piece = content[start : start + (1 << 20)]
            writer.write("large", piece, last=start + len(piece) == len(content))
        assert writer.finish() == tree_hash(tmp_path)
    assert (tmp_path / "large").read_bytes() == content


def write_many(folder, name):
    with TreeWriter(folder) as writer:
        writer.write(name, b"other", last=True)
        for i in range(10_000):
            writer.write(f"file{i}", b"x" * 1000, last=True)
        writer.finish()


def test_an_error_of_the_thread_is_raised_and_nobody_waits(tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(FileExistsError):
        write_many(tmp_path, "there")
    assert (tmp_path / "there").read_text() == "mine"


def write_half(folder):
    with TreeWriter(folder) as writer:
        writer.write("file", b"half", last=False)
        raise RuntimeError("damaged")


def test_the_thread_ends_when_the_writer_is_left(tmp_path):
    with pytest.raises(RuntimeError, match="damaged"):
        write_half(tmp_path)
    assert not [thread for thread in threading.enumerate() if thread.name == "tree-writer"]
