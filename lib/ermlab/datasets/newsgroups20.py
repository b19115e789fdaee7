"""20 Newsgroups, split by date: posts whose group names, dotted, make a tree."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import broken, list_files, read_text, require_folder


@dataclass(frozen=True)
class Posts:
    """Raw posts, headers included, and their groups."""

    texts: tuple[str, ...]
    labels: np.ndarray  #: indices into the groups


@dataclass(frozen=True)
class Newsgroups20:
    """Posts before (train) and after (test) a date."""

    groups: tuple[str, ...]
    train: Posts
    test: Posts


def read_newsgroups20(folder: str | Path) -> Newsgroups20:
    """Read ``20news-bydate-train`` and ``-test``: one folder a group, one file a post."""
    folder = require_folder(folder)
    train, test = folder / "20news-bydate-train", folder / "20news-bydate-test"
    groups, of_test = _groups(train), _groups(test)
    if groups != of_test:
        raise broken(test, f"groups {', '.join(of_test)}", f"those of {train}: {', '.join(groups)}")
    return Newsgroups20(groups, _read_posts(train, groups), _read_posts(test, groups))


def read_groups(folder: str | Path) -> tuple[str, ...]:
    """Return the names of the groups in the order of their numbers, without reading a post."""
    return _groups(require_folder(folder) / "20news-bydate-train")


def ancestors(group: str) -> tuple[str, ...]:
    """Return the nodes from the root's child to ``group``: ``sci.med`` gives ``("sci", "sci.med")``."""
    parts = group.split(".")
    return tuple(".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _groups(folder: Path) -> tuple[str, ...]:
    groups = tuple(sorted(path.name for path in require_folder(folder).iterdir() if path.is_dir()))
    if not groups:
        raise broken(folder, "no folder in it", "one for each newsgroup")
    return groups


def _read_posts(folder: Path, groups: tuple[str, ...]) -> Posts:
    files = [list_files(folder / group, "*") for group in groups]
    # Latin-1 reads any byte: posts of 1993 declare no encoding.
    texts = tuple(read_text(path, "latin-1") for group in files for path in group)
    return Posts(texts, np.repeat(np.arange(len(groups)), [len(group) for group in files]))
