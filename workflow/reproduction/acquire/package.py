"""Fetch files of published Python packages from the package index that pip is configured to use."""

import ast
import logging
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unearth import Link, PackageFinder
from unearth.auth import MultiDomainBasicAuth
from unearth.fetchers import PyPIClient
from unearth.preparer import HTTPErrors

from ermlab.exceptions import DataError
from reproduction.acquire.download import DownloadError, Patience, download, file_sha256

_log = logging.getLogger(__name__)
#: pip's sections of options, the later one wins.
_SECTIONS = ("global", "download", "install", ":env:")
#: uv's variables for what pip may leave open.
_UV_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "find-links": ("UV_FIND_LINKS",),
}


@dataclass(frozen=True)
class PackageFile:
    """One file of a published package: ``name`` and ``version``, the file's name and its SHA-256."""

    name: str
    version: str
    file: str
    sha256: str


def fetch_package_file(wanted: PackageFile, downloads: Path, patience: Patience | None = None) -> Path:
    """Return the path of a package's file, downloaded to ``downloads`` unless it is there.

    Raises
    ------
    DownloadError
        If no configured index offers the file or none can be reached.
    DataError
        If an index offers another file under its name.
    """
    target = downloads / wanted.file
    if target.exists() and file_sha256(target) == wanted.sha256:
        return target
    patience = patience or Patience()
    settings = index_settings(_pip_options(), os.environ)
    with _session(settings, patience) as session:
        for link in _links(wanted, settings, session):
            try:
                return _fetch(link, wanted.sha256, target, session, patience)
            except DownloadError as error:
                _log.warning("%s", error)
    raise DownloadError(f"no configured package index offers {wanted.file}, or none can be reached")


@dataclass(frozen=True)
class IndexSettings:
    """Settings of the package search: indexes (the default one if empty), places with files, certificates."""

    index_urls: tuple[str, ...]
    find_links: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    certificates: str | None


def index_settings(options: Mapping[str, str], environment: Mapping[str, str]) -> IndexSettings:
    """Return the package indexes from pip's options, or else from uv's environment variables."""

    def values(option: str) -> tuple[str, ...]:
        if option in options:
            return tuple(options[option].split())
        for variable in _UV_VARIABLES.get(option, ()):
            if environment.get(variable):
                return tuple(_url(value) for value in environment[variable].replace(",", " ").split())
        return ()

    find_links = tuple(place for place in values("find-links") if "://" in place or Path(place).exists())
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        index_urls = ()
    else:
        index_urls = (values("index-url") or _default_index()) + values("extra-index-url")
    return IndexSettings(index_urls, find_links, values("trusted-host"), options.get("cert"))


def _url(value: str) -> str:
    """Drop the name of an index written as uv allows, ``name=url``."""
    name, equals, url = value.partition("=")
    return url if equals and name.replace("-", "").replace("_", "").isalnum() else value


def _default_index() -> tuple[str, ...]:
    return tuple(source["url"] for source in PackageFinder().sources)


def _pip_options() -> dict[str, str]:
    """Return pip's options as pip finds them in its files and the environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:  # an environment without pip
        return {
            name.removeprefix("PIP_").lower().replace("_", "-"): value
            for name, value in os.environ.items()
            if name.startswith("PIP_")
        }
    return parse_pip_options(answer.stdout)


def parse_pip_options(listing: str) -> dict[str, str]:
    """Read the lines ``section.option='value'`` of ``pip config list``."""
    sections: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listing.splitlines():
        key, equals, value = line.partition("=")
        section, dot, option = key.rpartition(".")
        if equals and dot and section in sections:
            sections[section][option] = str(ast.literal_eval(value))
    return {option: value for section in _SECTIONS for option, value in sections[section].items()}


def _session(settings: IndexSettings, patience: Patience) -> PyPIClient:
    verify = ssl.create_default_context(cafile=settings.certificates) if settings.certificates else True
    session = PyPIClient(
        trusted_hosts=settings.trusted_hosts,
        verify=verify,
        timeout=patience.timeout,
        follow_redirects=True,
    )
    # A workflow cannot answer a question about a password.
    session.auth = MultiDomainBasicAuth(prompting=False, index_urls=settings.index_urls)
    return session


def _links(wanted: PackageFile, settings: IndexSettings, session: PyPIClient) -> Iterator[Link]:
    """Yield links to the file; indexes that do not respond are skipped."""
    places = [{"index_urls": [url]} for url in settings.index_urls]
    places += [{"find_links": [url]} for url in settings.find_links]
    for place in places:
        finder = PackageFinder(session, ignore_compatibility=True, **place)
        try:
            matches = list(finder.find_matches(f"{wanted.name}=={wanted.version}", allow_yanked=True))
        except HTTPErrors as error:
            _log.warning("a package index cannot be reached (%s)", error or type(error).__name__)
            continue
        yield from (match.link for match in matches if match.link.filename == wanted.file)


def _fetch(link: Link, sha256: str, target: Path, session: PyPIClient, patience: Patience) -> Path:
    if not link.is_file:
        url = link.url_without_fragment
        download(url, target, client=session, errors=HTTPErrors, sha256=sha256, patience=patience)
        return target
    if (found := file_sha256(link.file_path)) != sha256:
        raise DataError(f"{link.file_path} has the SHA-256 {found}, expected {sha256}: get it again")
    return link.file_path
