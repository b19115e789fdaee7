"""Files of samples to rank: SVMlight files with query ids, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from ermlab._utils.files import broken, reading, require_file
from ermlab._utils.table_files import ENDINGS, TableFile


@dataclass(frozen=True)
class RankedSamples:
    """Samples of queries.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        Features.
    relevance : ndarray of shape (n_samples,) or None
        Relevance of each sample, high for the best; None if a table has no such column.
    queries : ndarray of shape (n_samples,) or None
        Query of each sample; None if the file has no queries, so that all samples belong together.
    names : list of str or None
        Names of the features of a table.
    """

    X: NDArray[np.float64] | csr_matrix
    relevance: NDArray[np.float64] | None
    queries: NDArray | None
    names: list[str] | None = None

    def take(self, rows: NDArray[np.integer]) -> RankedSamples:
        """Return some of the samples."""
        relevance, queries = (None if of is None else of[rows] for of in (self.relevance, self.queries))
        return RankedSamples(self.X[rows], relevance, queries, self.names)


def read_ranking(
    path: str | Path,
    *,
    relevance: str = "relevance",
    query: str = "qid",
    features: list[str] | None = None,
    n_features: int | None = None,
) -> RankedSamples:
    """Read samples with their relevance and queries.

    Parameters
    ----------
    path : str or Path
        Name that ends in ``.csv``, ``.tsv``, ``.parquet`` or ``.pq`` for a table; all other files are in the
        SVMlight format, with lines ``relevance qid:query feature:value ...`` and features from 1.
    relevance, query : str, default="relevance" and "qid"
        Columns of a table; all others are features.
    features : list of str, optional
        Features of a table, in this order; by default all other columns.
    n_features : int, optional
        Number of features of an SVMlight file, by default the largest number in it.
    """
    path = Path(path)
    if path.suffix.lower() in ENDINGS:
        return _read_columns(TableFile(path), relevance, query, features)
    expected = "lines `relevance qid:query feature:value ...` with features from 1"
    if n_features is not None:
        expected += f" to {n_features}"
    with reading(path, expected):
        require_file(path)
        X, y, queries = load_svmlight_file(
            str(path), query_id=True, zero_based=False, n_features=n_features, dtype=np.float64
        )
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError("no samples with features")
        if len(queries) not in (0, len(y)):
            raise ValueError(f"{len(queries)} query ids for {len(y)} samples")
        wrong = np.flatnonzero(~np.isfinite(y))
        if len(wrong):
            raise ValueError(f"the relevance of sample {wrong[0] + 1} is {y[wrong[0]]}")
        rows = np.repeat(np.arange(len(y)), np.diff(X.indptr))
        wrong = np.flatnonzero(~np.isfinite(X.data))
        if len(wrong):
            raise ValueError(
                f"feature {X.indices[wrong[0]] + 1} of sample {rows[wrong[0]] + 1} is {X.data[wrong[0]]}"
            )
    return RankedSamples(X, y, queries if len(queries) else None)


def _read_columns(table: TableFile, relevance: str, query: str, features: list[str] | None) -> RankedSamples:
    names = [name for name in table.names if name not in (relevance, query)] if features is None else features
    if not names:
        raise broken(table.path, "no column of features", f"others than {relevance!r} and {query!r}")
    return RankedSamples(
        table.numbers(names),
        table.numbers([relevance])[:, 0] if relevance in table.names else None,
        table.text(query) if query in table.names else None,
        names,
    )
