"""MSLR-WEB10K, fold 1: web pages with grades of relevance to queries, 5000 each for training and test."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import read_lines, require_folder
from reproduction.datasets.files import parse_integer
from reproduction.datasets.simulators.judged_pages import Instruments, draw_judged_pages
from reproduction.datasets.simulators.sizes import check_size

N_FEATURES = 136
#: The highest grade of relevance, "perfect"; 0 is "irrelevant".
HIGHEST_GRADE = 4
_FILES = {"train": "msn1.fold1.train.5k.txt", "test": "msn1.fold1.test.5k.txt"}
#: Queries of each part in a simulated set of each size; the real parts have 43.
SIMULATED_QUERIES = {"smoke": 12, "demo": 43, "paper": 43}


@dataclass(frozen=True)
class JudgedDocuments:
    """Documents retrieved for queries, in the order of the file."""

    features: np.ndarray  #: (documents, 136)
    relevance: np.ndarray  #: grades from 0 to 4
    query: np.ndarray  #: query of each document

    def __len__(self) -> int:
        return len(self.relevance)


@dataclass(frozen=True)
class Mslr:
    """Training and test documents, of disjoint queries."""

    train: JudgedDocuments
    test: JudgedDocuments


def read_mslr_5k(folder: str | Path) -> Mslr:
    """Read both parts."""
    folder = require_folder(folder)
    return Mslr(read_letor(folder / _FILES["train"]), read_letor(folder / _FILES["test"]))


def read_letor(path: Path, n_features: int = N_FEATURES) -> JudgedDocuments:
    """Read lines ``grade qid:query index:value ...``: indices start at 1, omitted features are 0."""
    features = []

    def parse(line: str) -> tuple[int, int]:
        grade, query, *pairs = line.partition("#")[0].split()
        if not query.startswith("qid:") or not 0 <= int(grade) <= HIGHEST_GRADE:
            raise ValueError(f"starts {grade} {query}")
        row = np.zeros(n_features)
        if pairs:
            indices, values = zip(*(pair.split(":") for pair in pairs), strict=True)
            positions = np.array(indices, dtype=int) - 1
            if positions.min() < 0 or positions.max() >= n_features or len(set(indices)) < len(indices):
                raise ValueError("a feature out of range or duplicate")
            row[positions] = np.array(values, dtype=float)
        if not np.isfinite(row).all():
            raise ValueError("a value that is not finite")
        features.append(row)
        return int(grade), parse_integer(query[4:])

    expected = f"<grade 0 to {HIGHEST_GRADE}> qid:<query> <index 1 to {n_features}>:<finite value> ..."
    grades, queries = zip(*read_lines(path, parse, expected), strict=True)
    return JudgedDocuments(np.array(features), np.array(grades), np.array(queries))


def simulate_mslr_5k(folder: str | Path, seed: int, size: str) -> None:
    """Write judged pages of simulated queries (`simulators.judged_pages`) in the format of the real data."""
    check_size(size, SIMULATED_QUERIES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n_queries = SIMULATED_QUERIES[size]
    instruments = Instruments.draw(N_FEATURES, np.random.default_rng(seed))
    for part, name in enumerate(_FILES.values()):
        features, grades, query = draw_judged_pages(
            n_queries, instruments, np.random.default_rng([seed, part])
        )
        lines = (
            f"{grade} qid:{1 + part * n_queries + number} "
            + " ".join(f"{k}:{value:.6g}" for k, value in enumerate(row, start=1))
            for grade, number, row in zip(grades, query, features, strict=True)
        )
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
