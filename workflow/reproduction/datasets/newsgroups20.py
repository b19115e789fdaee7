"""20 Newsgroups, split by date: posts in groups whose dotted names form a tree."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, list_files, read_text, require_folder
from reproduction.datasets.simulators.sizes import check_size

GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
#: Posts of each group before and after the date.
SIZES = {"smoke": (12, 8), "demo": (150, 100), "paper": (566, 377)}
_PARTS = ("20news-bydate-train", "20news-bydate-test")
_WORDS_PER_LINE = 12


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
    """Read ``20news-bydate-train`` and ``-test``: one folder per group, one file per post."""
    folder = require_folder(folder)
    train, test = (folder / part for part in _PARTS)
    groups, of_test = _groups(train), _groups(test)
    if groups != of_test:
        raise broken(test, f"groups {', '.join(of_test)}", f"those of {train}: {', '.join(groups)}")
    return Newsgroups20(groups, _read_posts(train, groups), _read_posts(test, groups))


def ancestors(group: str) -> tuple[str, ...]:
    """Return the nodes from the child of the root to ``group``: ``sci.med`` gives ``("sci", "sci.med")``."""
    parts = group.split(".")
    return tuple(".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def simulate_newsgroups20(folder: str | Path, seed: int, size: str) -> None:
    """Write posts with the words of a tree of topics in the layout of the real data."""
    from reproduction.datasets.simulators.topic_tree import (
        TopicTree,  # which knows hierarchies by `ancestors`
    )

    check_size(size, SIZES)
    folder = Path(folder)
    topics = TopicTree(GROUPS, seed)
    for late, (part, count) in enumerate(zip(_PARTS, SIZES[size], strict=True)):
        for label, group in enumerate(GROUPS):
            (folder / part / group).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                rng = np.random.default_rng([seed, 1, late, label, number])
                post = _written(topics.post(group, bool(late), rng), rng)
                path = folder / part / group / str(10_000 * (late + 1) + number)
                path.write_text(post, encoding="latin-1", newline="\n")


def _written(words: list[str], rng: np.random.Generator) -> str:
    """Return a post with a header, whose subject consists of words of the post."""
    author = f"user{rng.integers(100_000)}"
    subject = " ".join(rng.choice(words, size=min(4, len(words)), replace=False).tolist())
    lines = [" ".join(words[i : i + _WORDS_PER_LINE]) for i in range(0, len(words), _WORDS_PER_LINE)]
    header = [f"From: {author}@example.org", f"Subject: {subject}", f"Lines: {len(lines)}"]
    return "\n".join([*header, "", *lines, ""])


def _groups(folder: Path) -> tuple[str, ...]:
    groups = tuple(sorted(path.name for path in require_folder(folder).iterdir() if path.is_dir()))
    if not groups:
        raise broken(folder, "no folder in it", "one for each newsgroup")
    return groups


def _read_posts(folder: Path, groups: tuple[str, ...]) -> Posts:
    files = [list_files(folder / group, "*") for group in groups]
    # Latin-1 decodes any byte: posts of 1993 do not declare an encoding.
    texts = tuple(read_text(path, "latin-1") for group in files for path in group)
    return Posts(texts, np.repeat(np.arange(len(groups)), [len(group) for group in files]))
