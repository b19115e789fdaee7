"""Download files: resumed, limited in time, and moved into place once complete and verified."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from tqdm import tqdm

from ermlab.exceptions import DataError

if TYPE_CHECKING:  # every command reads the registry, few download, and httpx takes long to import
    import httpx


class DownloadError(DataError):
    """A file could not be downloaded; the message says why and what to do."""


class _StreamClient(Protocol):
    def stream(self, method: str, url: str, **options): ...


@dataclass(frozen=True)
class Patience:
    """Timeouts and numbers of retries."""

    #: Seconds without a single byte after which a server counts as stalled.
    timeout: float = 30.0
    #: Attempts in a row that bring nothing new.
    attempts: int = 4
    #: Seconds before the second attempt; each further wait is twice as long.
    backoff: float = 1.0


@contextmanager
def web_client(patience: Patience) -> "Iterator[httpx.Client]":
    """Open an HTTP client that follows redirects."""
    import httpx

    with httpx.Client(timeout=patience.timeout, follow_redirects=True) as client:
        yield client


def download(
    url: str,
    target: Path,
    *,
    client: _StreamClient,
    errors: tuple[type[Exception], ...] | None = None,
    sha256: str | None = None,
    patience: Patience | None = None,
) -> None:
    """Download ``url`` to the file ``target``, resuming from ``target.part`` if it exists.

    Parameters
    ----------
    client, errors
        What sends the requests, and what it raises when the network fails; by default errors of httpx.
    sha256
        The hash that the file must have; one with another hash is removed.

    Raises
    ------
    DownloadError
        If the server refuses, stalls or breaks off time and again.
    DataError
        If the file is not the expected one.
    """
    patience = patience or Patience()
    errors = errors or _web_errors()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    _persist(lambda: _fetch_rest(url, part, client, errors), url, part, patience)
    if sha256 is not None and (found := file_sha256(part)) != sha256:
        part.unlink()
        raise DataError(
            f"{_shown(url)}: the file has the SHA-256 {found}, expected {sha256}; it was removed: run again, "
            "or look for another copy"
        )
    part.replace(target)


def _web_errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.HTTPError,)


class _Interrupted(Exception):
    """The download was interrupted, and resuming may succeed."""


def _persist(attempt: Callable[[], None], url: str, part: Path, patience: Patience) -> None:
    """Call ``attempt`` until it succeeds, or until repeated calls make no progress."""
    most, idle = _size(part), 0
    while True:
        try:
            return attempt()
        except _Interrupted as error:
            idle = 0 if _size(part) > most else idle + 1
            most = max(most, _size(part))
            if idle >= patience.attempts:
                kept = (
                    f"; {_size(part)} bytes are kept, running again goes on from there" if _size(part) else ""
                )
                raise DownloadError(f"{_shown(url)}: {error} (tried {idle} times){kept}") from error.__cause__
        time.sleep(patience.backoff * 2 ** max(idle - 1, 0))


def _fetch_rest(url: str, part: Path, client: _StreamClient, errors: tuple[type[Exception], ...]) -> None:
    """Request the missing bytes of ``part`` from ``url`` and append them."""
    have = _size(part)
    # Compression on the way would make lengths and offsets those of another file.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with client.stream("GET", url, headers=headers) as response:
            status = response.status_code
            if status == 416 and response.headers.get("Content-Range") == f"bytes */{have}":
                return  # complete, but not moved into place before an interruption
            if status == 416:
                part.unlink(missing_ok=True)
                raise _Interrupted("what is here is longer than the file; starting over")
            if status == 429 or status >= 500:
                raise _Interrupted(f"the server is not ready (HTTP {status})")
            if status not in (200, 206):
                raise DownloadError(
                    f"{_shown(url)}: the server answered HTTP {status}; the address may have changed"
                )
            start = _start(response.headers) if status == 206 else 0
            if start > have:
                raise DownloadError(
                    f"{_shown(url)}: the server skipped bytes {have} to {start}; delete {part}"
                )
            total = _total_length(response.headers, start)
            _append(response.iter_raw(), part, start, total)
    except errors as error:
        raise _Interrupted(_describe(error)) from error


def _append(chunks: Iterator[bytes], part: Path, start: int, total: int | None) -> None:
    with (
        part.open("ab") as file,
        tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=part.stem, disable=None) as bar,
    ):
        file.truncate(start)
        for chunk in chunks:
            file.write(chunk)
            bar.update(len(chunk))


def _start(headers: Mapping[str, str]) -> int:
    """Return the offset of the first byte that a partial answer (``bytes 100-199/200``) holds."""
    first = headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(first) if first.isdigit() else 0


def _total_length(headers: Mapping[str, str], start: int) -> int | None:
    """Return the length of the whole file as the server announces it, None if it does not."""
    length = headers.get("Content-Length", "")
    return start + int(length) if length.isdigit() else None


def _shown(url: str) -> str:
    """Return an address for a message, without user name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _describe(error: Exception) -> str:
    name = type(error).__name__
    if "Timeout" in name:
        return f"the server stalled ({name})"
    if "Connect" in name:
        return f"no connection ({error or name}); is there a network?"
    return f"the connection broke ({error or name})"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
