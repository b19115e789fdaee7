import hashlib

import pytest

from ermlab.exceptions import DataError
from reproduction.acquire.download import DownloadError, Patience, download, web_client

HASTY = Patience(timeout=0.3, attempts=3, backoff=0.001)
BODY = bytes(range(256)) * 1000
HASH = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def fetch(server, tmp_path):
    """Download the served file; returns the path of the target, which exists only after success."""
    server.pages["/file.bin"] = BODY

    def run(path="/file.bin", sha256=HASH):
        with web_client(HASTY) as client:
            download(
                server.address + path, tmp_path / "d/file.bin", client=client, sha256=sha256, patience=HASTY
            )
        return tmp_path / "d/file.bin"

    return run


def left_over(tmp_path):
    return sorted(path.name for path in (tmp_path / "d").iterdir())


def test_downloads_and_leaves_no_part(fetch, tmp_path):
    assert fetch().read_bytes() == BODY
    assert left_over(tmp_path) == ["file.bin"]


def test_goes_on_where_a_truncated_download_stopped(fetch, server, tmp_path):
    server.moods["/file.bin"] = ["truncate", "truncate"]
    assert fetch().read_bytes() == BODY
    ranges = [ranges for _, ranges in server.requests]
    assert ranges == [None, f"bytes={len(BODY) // 2}-", f"bytes={len(BODY) * 3 // 4}-"]
    assert left_over(tmp_path) == ["file.bin"]


def test_goes_on_from_the_part_of_an_earlier_run(fetch, server, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file.bin.part").write_bytes(BODY[:1000])
    assert fetch().read_bytes() == BODY
    assert server.requests == [("/file.bin", "bytes=1000-")]


def test_takes_a_part_that_is_already_complete(fetch, server, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file.bin.part").write_bytes(BODY)
    assert fetch().read_bytes() == BODY


def test_starts_over_when_the_part_is_longer_than_the_file(fetch, server, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file.bin.part").write_bytes(BODY + b"more")
    assert fetch().read_bytes() == BODY
    assert server.requests[-1] == ("/file.bin", None)


def test_starts_over_when_the_server_knows_no_ranges(fetch, server, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file.bin.part").write_bytes(b"something else")
    server.moods["/file.bin"] = ["no ranges"]
    assert fetch().read_bytes() == BODY


def test_gives_up_on_a_server_that_always_truncates(fetch, server, tmp_path):
    server.moods["/file.bin"] = ["truncate"] * 100
    server.pages["/file.bin"] = BODY[:1]  # half of one byte is nothing: no attempt brings news
    with pytest.raises(DownloadError, match=r"the connection broke .*tried 3 times"):
        fetch()
    assert len(server.requests) == 3
    assert not (tmp_path / "d/file.bin").exists()


def test_a_stalled_server_is_an_error_and_its_bytes_are_kept(fetch, server, tmp_path):
    server.pages["/file.bin"] = BODY[:2]
    server.moods["/file.bin"] = ["stall"] * 10
    with pytest.raises(
        DownloadError, match=r"the server stalled .*; 1 bytes are kept, running again goes on"
    ):
        fetch()
    assert left_over(tmp_path) == ["file.bin.part"]


@pytest.mark.parametrize("mood", ["wrong bytes", "cut silently"])
def test_wrong_bytes_are_removed(fetch, server, tmp_path, mood):
    server.moods["/file.bin"] = [mood]
    with pytest.raises(DataError, match=f"has the SHA-256 .*, expected {HASH}; it was removed: run again"):
        fetch()
    assert left_over(tmp_path) == []


def test_404_is_final(fetch, server, tmp_path):
    with pytest.raises(
        DownloadError, match=r"/gone: the server answered HTTP 404; the address may have changed"
    ):
        fetch("/gone")
    assert len(server.requests) == 1
    assert left_over(tmp_path) == []


def test_503_is_tried_again(fetch, server):
    server.moods["/file.bin"] = [503, 503]
    assert fetch().read_bytes() == BODY
    assert len(server.requests) == 3


def test_503_for_ever_is_an_error(fetch, server, tmp_path):
    server.moods["/file.bin"] = [503] * 10
    with pytest.raises(DownloadError, match=r"the server is not ready \(HTTP 503\) \(tried 3 times\)"):
        fetch()
    assert len(server.requests) == 3
    assert left_over(tmp_path) == []


def test_no_network_is_an_error_that_says_so(tmp_path):
    with (
        web_client(HASTY) as client,
        pytest.raises(DownloadError, match=r"no connection .*is there a network\?"),
    ):
        download("http://127.0.0.1:1/x", tmp_path / "d/file.bin", client=client, patience=HASTY)
    assert left_over(tmp_path) == []


def test_passwords_are_not_shown(server, tmp_path):
    url = server.address.replace("//", "//user:secret@") + "/gone"
    with web_client(HASTY) as client, pytest.raises(DownloadError) as caught:
        download(url, tmp_path / "d/file.bin", client=client, patience=HASTY)
    assert "secret" not in str(caught.value)
