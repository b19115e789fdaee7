"""Chance level and interval of the scores of a decoder, for series that are correlated in time."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Least number of blocks of a run that is shuffled, or of a part that is resampled.
MIN_BLOCKS = 4


def shuffled_orders(
    runs: NDArray, block: int, count: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Return orders of the volumes that separate a target from the scan (count, n_volumes).

    Each run is shifted circularly and cut into blocks of time, which are shuffled and, at random, reversed.
    Within blocks the target stays as smooth as it was. A shift alone would have few different results in a
    short run, and by a whole period of a block design it would leave the target as it is.

    Parameters
    ----------
    runs : ndarray of shape (n_volumes,)
        Run of each volume.
    block : int
        Number of volumes of a block, at most a quarter of a run.
    count : int
        Number of orders.
    random : RandomState
        Random numbers.
    """
    orders = np.tile(np.arange(len(runs)), (count, 1))
    for run in np.unique(runs):
        here = np.flatnonzero(runs == run)
        for order in orders:
            order[here] = here[_shuffle(len(here), block, random)]
    return orders


def _shuffle(n: int, block: int, random: np.random.RandomState) -> NDArray[np.int64]:
    length = _block_length(n, block)
    shifted = (np.arange(n) + random.randint(n)) % n
    blocks = np.array_split(shifted, max(1, n // length))
    blocks = [blocks[number] for number in random.permutation(len(blocks))]
    return np.concatenate([part[::-1] if random.randint(2) else part for part in blocks])


def _block_length(n: int, block: int) -> int:
    return max(1, min(block, n // MIN_BLOCKS))


def block_bootstrap(
    parts: Sequence[int],
    block: int,
    score: Callable[[Sequence[NDArray[np.int64]]], float],
    count: int,
    random: np.random.RandomState,
) -> NDArray[np.float64]:
    """Return scores of held-out parts whose volumes are resampled in blocks of time.

    Parameters
    ----------
    parts : sequence of int
        Number of volumes of each held-out part.
    block : int
        Number of volumes that stay together, at most a quarter of a part. It should be longer than their
        correlation in time. A block that begins near the end of a part continues at its beginning.
    score : callable
        Score for the positions of the drawn volumes of each part.
    count : int
        Number of scores.
    random : RandomState
        Random numbers.
    """
    scores = np.empty(count)
    for number in range(count):
        drawn = []
        for n in parts:
            length = _block_length(n, block)
            starts = random.randint(n, size=-(-n // length))
            drawn.append(((starts[:, None] + np.arange(length)) % n).ravel()[:n])
        scores[number] = score(drawn)
    return scores
