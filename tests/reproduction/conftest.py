"""A toy data set in every kind of archive, a web server that can misbehave, and damage for scans."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from reproduction.acquire.registry import Dataset
from reproduction.acquire.sources import Address, Mirror, Package
from reproduction.acquire.treehash import Tree

FILES = {"readme.txt": b"toy\n", "images/1.pgm": b"P5 1 1 255\n\x07", "images/2.pgm": bytes(range(256)) * 40}


def checksum_text(files):
    """The text that sha256sum prints for files with plain names."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()


def write_archive(path, files, folder="toy"):
    """Write ``files`` below ``folder`` into a tar or zip archive, by the name of ``path``."""
    prefix = f"{folder}/" if folder else ""
    if path.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(path, "w") as container:
            for name, content in files.items():
                container.writestr(prefix + name, content)
        return path
    with tarfile.open(path, f"w:{path.suffix[1:]}".removesuffix("tar")) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def files():
    return dict(FILES)


@pytest.fixture
def pack():
    return write_archive


@pytest.fixture
def tree(files):
    digest = hashlib.sha256(checksum_text(files)).hexdigest()
    return Tree(digest, len(files), sum(map(len, files.values())))


@pytest.fixture
def toy(tree):
    """Make a registry that holds one data set, ``toy``, with the sources given."""

    def make(*, mirror=True, package=None, urls=(), simulator=None):
        row = Dataset(
            name="toy",
            title="Toy",
            description="Three files.",
            used_for=(),
            counts={"files": 3},
            tree=tree,
            licence="none",
            citation="none",
            homepage="https://example.org/toy",
            notes=None,
            mirror=Mirror("toy.tar.xz", "toy") if mirror else None,
            package=Package("toy-data", "1.0", "toy_data-1.0.tar.gz", package, {"toy/": ""})
            if package
            else None,
            address=Address(tuple(urls), {"toy/": ""}) if urls else None,
            simulator=simulator,
        )
        return {"toy": row}

    return make


@pytest.fixture
def mirror(tmp_path, files, pack):
    folder = tmp_path / "mirror"
    folder.mkdir()
    pack(folder / "toy.tar.xz", files)
    return folder


class Server:
    """Serves ``pages``; for each request to a path the next of its ``moods`` applies, then "well"."""

    def __init__(self, address):
        self.address = address
        self.pages = {}
        self.moods = {}
        self.requests = []
        self.closing = threading.Event()

    def mood(self, path):
        waiting = self.moods.get(path, [])
        return waiting.pop(0) if waiting else "well"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        state, path = self.server.state, self.path
        state.requests.append((path, self.headers.get("Range")))
        mood = state.mood(path)
        if isinstance(mood, int):
            return self.send_error(mood)
        if path not in state.pages:
            return self.send_error(404)
        body = state.pages[path]
        start = 0
        if mood != "no ranges" and (ranges := self.headers.get("Range")):
            start = int(ranges.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return None
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        kind = "text/html" if path.endswith("/") else "application/octet-stream"
        self.send_header("Content-Type", kind)
        if mood != "cut silently":
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        return self._send(body[start:], mood)

    def _send(self, body, mood):
        if mood == "wrong bytes":
            body = b"?" * len(body)
        if mood in ("truncate", "stall", "cut silently"):
            body = body[: len(body) // 2]
        self.wfile.write(body)
        self.wfile.flush()
        if mood == "stall":
            self.server.state.closing.wait()
        self.close_connection = True

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    http.state = Server(f"http://127.0.0.1:{http.server_address[1]}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield http.state
    http.state.closing.set()
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def contents():
    """Return the names and contents of all files below a folder, hidden ones too."""

    def read(folder):
        paths = (path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    return read


class Harm:
    """Ways to damage the files of a scan."""

    @staticmethod
    def series(path, *, change=lambda data: data, repetition_time=None):
        """Rewrite a series with other voxels or another repetition time."""
        image = nib.load(path)
        zooms = image.header.get_zooms()
        damaged = nib.Nifti1Image(change(np.asanyarray(image.dataobj)), image.affine)
        if damaged.ndim == 4:
            damaged.header.set_zooms((*zooms[:3], repetition_time or zooms[3]))
        damaged.to_filename(path)

    @staticmethod
    def with_nan(data):
        data = data.astype(np.float32)
        data[0, 0, 0] = np.nan
        return data

    @staticmethod
    def truncate(path):
        path.write_bytes(path.read_bytes()[:-200])

    @staticmethod
    def json(path, **facts):
        path.write_text(dumps(loads(path.read_text()) | facts))

    @staticmethod
    def replace_text(path, old, new):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    @staticmethod
    def drop_last_line(path):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


@pytest.fixture
def harm():
    return Harm
