"""Simulated web pages that search engines have retrieved for queries, with their features and grades.

A page has hidden qualities: how well its text matches the query, how popular it is, and how often it is
clicked. A judge grades a mixture of these, which differs from query to query, with errors. Features are
measured in several fields of the page and on several scales, and depend on the number of words of the query.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Shares of the grades 0 to 4 among all pages, about those of MSLR-WEB10K.
GRADE_SHARES = (0.55, 0.3, 0.13, 0.015, 0.005)
N_QUALITIES = 3
#: Fields of a page, such as title and body, and kinds of features measured in each of them.
N_FIELDS, N_KINDS = 5, 25


@dataclass(frozen=True)
class Instruments:
    """How features measure the hidden qualities, the same for all queries."""

    loadings: NDArray[np.float64]  #: (features, qualities)
    spread: NDArray[np.float64]  #: (features,) of the errors
    counts: NDArray[np.bool_]  #: (features,) whether a feature is a count, and not a score

    @classmethod
    def draw(cls, n_features: int, rng: np.random.Generator) -> "Instruments":
        """Draw instruments: text match is measured in all fields, popularity and clicks by few features."""
        field = np.minimum(np.arange(n_features) // N_KINDS, N_FIELDS)
        loadings = rng.gamma(0.5, 0.6, (n_features, N_QUALITIES)) * rng.choice([-1, 1], (n_features, 1))
        loadings[field < N_FIELDS, 1:] = 0
        spread = rng.uniform(0.5, 2, N_FIELDS + 1)[field] + rng.gamma(1, 1, n_features)
        return cls(loadings, spread, rng.random(n_features) < 0.5)

    def measure(self, qualities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the features of the pages of one query, (pages, features)."""
        n_words = 1 + rng.poisson(1.5)
        errors = rng.normal(size=(len(qualities), len(self.spread)))
        measured = qualities @ self.loadings.T + self.spread * errors
        counts = np.floor(n_words * np.exp(np.clip(measured, -3, 6)))
        return np.where(self.counts, counts, n_words * measured + rng.normal())


def draw_judged_pages(
    n_queries: int, instruments: Instruments, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return features (pages, features), grades and the position of the query of each page."""
    features, utilities, query = [], [], []
    for number in range(n_queries):
        n_pages = int(np.clip(rng.lognormal(4.5, 0.6), 10, 400))
        qualities = rng.normal(size=(n_pages, N_QUALITIES))
        mixture = rng.dirichlet([4, 2, 2])
        features.append(instruments.measure(qualities, rng))
        # Some queries have many relevant pages, others few.
        utilities.append(qualities @ mixture + rng.normal(0, 0.4, n_pages) + rng.normal(0, 0.3))
        query.append(np.full(n_pages, number))
    utility = np.concatenate(utilities)
    limits = np.quantile(utility, np.cumsum(GRADE_SHARES)[:-1])
    return np.concatenate(features), np.searchsorted(limits, utility), np.concatenate(query)
