import hashlib
import json

import pytest

from ermlab.exceptions import DataError
from reproduction.acquire.download import Patience
from reproduction.acquire.package import index_settings, parse_pip_options
from reproduction.acquire.registry import acquire

HASTY = Patience(timeout=0.3, attempts=2, backoff=0.001)


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)


@pytest.fixture
def raw(tmp_path):
    return tmp_path / "raw"


def data_in(raw, contents):
    """The files below ``raw`` without the records."""
    return {name: data for name, data in contents(raw).items() if not name.startswith(".acquired/")}


def placed(files):
    return {f"toy/{name}": content for name, content in files.items()}


class TestMirror:
    @pytest.mark.parametrize("policy", ["auto", "real"])
    def test_data_come_from_the_mirror(self, raw, toy, tree, mirror, files, contents, policy):
        receipt = acquire("toy", raw, policy=policy, mirror=mirror, registry=toy())
        assert data_in(raw, contents) == placed(files)
        assert receipt.as_dict() == {
            "dataset": "toy",
            "status": "available",
            "kind": "real",
            "source": "mirror",
            "folder": (raw / "toy").as_posix(),
            "tree_sha256": tree.sha256,
            "files": tree.files,
            "bytes": tree.bytes,
            "reason": None,
            "detail": "mirror archive toy.tar.xz",
        }

    def test_the_variable_names_the_mirror(self, raw, toy, mirror, monkeypatch):
        monkeypatch.setenv("ERMLAB_MIRROR", str(mirror))
        assert acquire("toy", raw, registry=toy()).source == "mirror"

    def test_receipts_are_the_same_in_the_second_run(self, raw, toy, mirror):
        first = acquire("toy", raw, mirror=mirror, registry=toy())
        (mirror / "toy.tar.xz").unlink()
        second = acquire("toy", raw, mirror=mirror, registry=toy())
        assert json.dumps(first.as_dict()) == json.dumps(second.as_dict())

    @pytest.mark.parametrize("policy", ["auto", "real"])
    def test_a_mirror_folder_that_is_not_there_is_an_error(self, raw, toy, tmp_path, contents, policy):
        with pytest.raises(DataError, match=r"mirror folder .*absent is not there: correct `mirror`"):
            acquire("toy", raw, policy=policy, mirror=tmp_path / "absent", registry=toy())
        assert data_in(raw, contents) == {}

    def test_without_any_source_auto_gives_a_receipt_that_says_what_to_do(self, raw, toy, tmp_path):
        receipt = acquire("toy", raw, mirror=tmp_path, registry=toy(urls=["http://127.0.0.1:1/toy.tar.gz"]))
        assert (receipt.status, receipt.kind, receipt.folder) == ("unavailable", None, None)
        assert "the mirror folder has no toy.tar.xz" in receipt.reason
        assert "put toy.tar.xz into a folder" in receipt.reason
        assert "`data: real`" in receipt.reason
        assert str(tmp_path / "mirror") not in receipt.reason

    def test_without_any_source_real_is_an_error_that_lists_what_was_tried(self, raw, toy):
        with pytest.raises(DataError) as caught:
            acquire("toy", raw, policy="real", registry=toy())
        for part in (
            "mirror: no mirror folder is given",
            "package: no published",
            "address: no archive",
            "put",
        ):
            assert part in str(caught.value)

    @pytest.mark.parametrize("policy", ["auto", "real"])
    @pytest.mark.parametrize("harm", ["corrupt", "truncate", "other"])
    def test_a_bad_archive_is_an_error_and_leaves_nothing(
        self, raw, toy, mirror, files, pack, contents, harm, policy
    ):
        archive = mirror / "toy.tar.xz"
        content = archive.read_bytes()
        if harm == "corrupt":
            archive.write_bytes(content[:100] + b"????" + content[104:])
        elif harm == "truncate":
            archive.write_bytes(content[: len(content) // 2])
        else:
            pack(archive, files | {"readme.txt": b"tow\n"})
        with pytest.raises(
            DataError, match=r"toy.tar.xz (is damaged|does not hold the registered data).*again"
        ):
            acquire("toy", raw, policy=policy, mirror=mirror, registry=toy())
        assert data_in(raw, contents) == {}
        assert not list(raw.glob(".part-*"))


class TestAddress:
    URL = "/data/toy.tar.gz"

    @pytest.fixture(autouse=True)
    def archive(self, server, files, pack, tmp_path):
        server.pages[self.URL] = pack(tmp_path / "served.tar.gz", files).read_bytes()

    @pytest.fixture
    def fetch(self, raw, toy, server):
        def run(*paths, policy="real"):
            urls = [server.address + path for path in paths or (self.URL,)]
            return acquire("toy", raw, policy=policy, registry=toy(urls=urls), patience=HASTY)

        return run

    def test_data_come_from_the_address(self, raw, fetch, files, contents):
        receipt = fetch()
        assert (receipt.kind, receipt.source) == ("real", "address")
        assert receipt.detail.endswith(self.URL)
        kept = {name for name in data_in(raw, contents) if name.startswith(".downloads/")}
        assert kept == {".downloads/toy/toy.tar.gz"}
        assert placed(files).items() <= data_in(raw, contents).items()

    def test_a_download_is_kept_and_used_again(self, raw, fetch, server):
        fetch()
        (raw / "toy").rename(raw / "gone")
        assert fetch().source == "address"
        assert len(server.requests) == 1

    def test_auto_never_asks_the_address(self, fetch, server):
        assert fetch(policy="auto").status == "unavailable"
        assert server.requests == []

    def test_the_next_address_is_tried(self, fetch):
        assert fetch("/gone/toy.tar.gz", self.URL).detail.endswith(self.URL)

    @pytest.mark.parametrize(
        ("mood", "message"),
        [
            ("wrong bytes", "is damaged"),
            ("cut silently", "is damaged"),
            (404, "HTTP 404; the address may have changed"),
            (503, r"HTTP 503\) \(tried 2 times\)"),
            ("stall", "the server stalled"),
        ],
    )
    def test_a_bad_server_is_an_error_and_no_data_set_appears(
        self, raw, fetch, server, contents, mood, message
    ):
        if mood == "stall":
            server.pages[self.URL] = server.pages[self.URL][:2]
        server.moods[self.URL] = [mood] * 5
        with pytest.raises(
            DataError, match=rf"toy: no source has the real data.*{message}.*put its files into"
        ):
            fetch()
        assert not (raw / "toy").exists()
        assert set(data_in(raw, contents)) <= {".downloads/toy/toy.tar.gz.part"}

    def test_an_interrupted_download_goes_on_in_the_next_run(self, fetch, server, raw, files, contents):
        server.moods[self.URL] = ["truncate", 503, 503]
        with pytest.raises(DataError, match=r"HTTP 503.* bytes are kept, running again goes on"):
            fetch()
        assert fetch().source == "address"
        assert server.requests[-1][1] is not None
        assert placed(files).items() <= data_in(raw, contents).items()

    def test_other_content_is_removed_so_that_the_next_run_asks_again(
        self, raw, fetch, server, files, pack, tmp_path
    ):
        right = server.pages[self.URL]
        server.pages[self.URL] = pack(tmp_path / "o.tar.gz", files | {"readme.txt": b"!"}).read_bytes()
        with pytest.raises(DataError, match="does not hold the registered data"):
            fetch()
        assert not list((raw / ".downloads/toy").iterdir())
        server.pages[self.URL] = right
        assert fetch().source == "address"


class TestPackage:
    @pytest.fixture
    def sdist(self, files, pack, tmp_path):
        folder = tmp_path / "wheelhouse"
        folder.mkdir()
        return pack(folder / "toy_data-1.0.tar.gz", files)

    @pytest.fixture
    def pip(self, monkeypatch):
        """Set pip's options, and only these."""

        def options(**values):
            monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
            for name in ("index_url", "extra_index_url", "find_links", "no_index"):
                monkeypatch.delenv(f"PIP_{name.upper()}", raising=False)
            for name, value in values.items():
                monkeypatch.setenv(f"PIP_{name.upper()}", str(value))

        return options

    @pytest.fixture
    def rows(self, toy, sdist):
        return toy(mirror=False, package=hashlib.sha256(sdist.read_bytes()).hexdigest())

    def test_a_folder_of_packages(self, raw, rows, pip, sdist, files, contents):
        pip(no_index=1, find_links=sdist.parent)
        receipt = acquire("toy", raw, registry=rows)
        assert (receipt.kind, receipt.source) == ("real", "package")
        assert receipt.detail == "package toy-data 1.0 (toy_data-1.0.tar.gz)"
        assert data_in(raw, contents) == placed(files)

    def test_an_index_on_the_web(self, raw, rows, pip, sdist, server):
        server.pages["/index/toy-data/"] = b"<a href='../../toy_data-1.0.tar.gz'>toy_data-1.0.tar.gz</a>"
        server.pages["/toy_data-1.0.tar.gz"] = sdist.read_bytes()
        server.moods["/toy_data-1.0.tar.gz"] = ["truncate", 503]
        pip(index_url=server.address + "/index")
        assert acquire("toy", raw, registry=rows, patience=HASTY).source == "package"
        assert (raw / ".downloads/toy/toy_data-1.0.tar.gz").exists()

    def test_another_file_under_the_same_name_is_an_error(self, raw, rows, pip, sdist, server, contents):
        server.pages["/index/toy-data/"] = b"<a href='../../toy_data-1.0.tar.gz'>toy_data-1.0.tar.gz</a>"
        server.pages["/toy_data-1.0.tar.gz"] = b"other"
        pip(index_url=server.address + "/index")
        with pytest.raises(DataError, match=r"has the SHA-256 .*it was removed"):
            acquire("toy", raw, registry=rows, patience=HASTY)
        assert data_in(raw, contents) == {}

    def test_another_file_in_a_folder_of_packages_is_an_error(self, raw, rows, pip, sdist, contents):
        sdist.write_bytes(b"other")
        pip(no_index=1, find_links=sdist.parent)
        with pytest.raises(DataError, match=r"toy_data-1.0.tar.gz has the SHA-256"):
            acquire("toy", raw, registry=rows)
        assert data_in(raw, contents) == {}

    @pytest.mark.parametrize("index", ["http://127.0.0.1:1/index", "{server}/index"])
    def test_no_network_or_no_such_package_is_not_fatal(self, raw, rows, pip, server, contents, index):
        pip(index_url=index.format(server=server.address))
        receipt = acquire("toy", raw, registry=rows, patience=HASTY)
        assert receipt.status == "unavailable"
        assert (
            "no configured package index offers toy_data-1.0.tar.gz, or none can be reached" in receipt.reason
        )
        assert "127.0.0.1" not in receipt.reason
        with pytest.raises(DataError, match="no configured package index offers"):
            acquire("toy", raw, policy="real", registry=rows, patience=HASTY)
        assert data_in(raw, contents) == {}

    def test_options_of_pip_in_order_of_their_weight(self):
        listing = (
            ":env:.find-links='/wheels'\n"
            "global.find-links='/other'\n"
            "global.index-url='https://a/index'\n"
            "install.index-url='https://b/index'\n"
            "global.extra-index-url='https://c/index\\nhttps://d/index'\n"
            "noise\n"
        )
        options = parse_pip_options(listing)
        assert options["find-links"] == "/wheels"
        settings = index_settings(options, {})
        assert settings.index_urls == ("https://b/index", "https://c/index", "https://d/index")

    def test_default_index_is_used_unless_pip_says_otherwise(self):
        assert len(index_settings({}, {}).index_urls) == 1
        assert index_settings({"no-index": "true"}, {}).index_urls == ()

    def test_variables_of_uv_fill_in_for_pip(self):
        environment = {"UV_DEFAULT_INDEX": "https://u/index", "UV_INDEX": "mine=https://v/index?a=b"}
        assert index_settings({}, environment).index_urls == ("https://u/index", "https://v/index?a=b")
        named = index_settings({"index-url": "https://p/index"}, environment).index_urls
        assert named == ("https://p/index", "https://v/index?a=b")
