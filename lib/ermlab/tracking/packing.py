"""Disjoint sets of cells with the largest sum of gains: matching with triples, solved exactly.

Pairs alone are matched in well under a millisecond, with dual prices of the cells as proof; triples are added
where they pay. If the prices leave a gap, only sets near the places where something is lost can improve the
choice, and an integer program over these few sets decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components

from ermlab.tracking._packing_numba import choose, cover, index, undecided, worthwhile
from ermlab.tracking._set_program import SetProgram, incidence_matrix

#: Padding for the third cell of a pair.
NONE = -1
#: Tolerance of comparisons of gains, relative to the largest gain.
_PRECISION = 1e-10
#: Largest magnitude of a score, and of a gain, which is a difference of up to four scores: sums over all
#: cells, and differences of such sums, stay finite.
LARGEST_SCORE = 2.0**900
_LARGEST_GAIN = 4 * LARGEST_SCORE

Vector = NDArray[np.float64]
Choice = NDArray[np.bool_]


class Packing:
    """Search for the best choice of disjoint sets, for changing gains; searches are independent.

    Parameters
    ----------
    n_sources, n_cells : int
        Cells ``0 .. n_sources - 1`` are sources, the others targets.
    cells : ndarray of shape (n_sets, 3)
        Cells of each set: a pair is a source, a target and `NONE`; a triple has two cells on one side.

    Attributes
    ----------
    proved, integral : int
        Number of searches that prices alone proved, and of those with an integral relaxation.
    """

    def __init__(self, n_sources: int, n_cells: int, cells: NDArray[np.int64]):
        self.proved = self.integral = 0
        cells = _check_cells(n_sources, n_cells, cells)
        triple = cells[:, 2] != NONE
        self._order = np.lexsort([np.where(triple, 0, cells[:, 0]), triple])
        self._cells = _middle_first(cells[self._order], n_sources)
        self._n_sources, self._n_cells, self._n_pairs = n_sources, n_cells, int((~triple).sum())
        self._pairs_of = self._pairs_in_triples()

    def best(self, gains: ArrayLike, free: NDArray[np.bool_]) -> Choice:
        """Return a mask of the sets to choose; a set with gain 0 or less is never chosen.

        Parameters
        ----------
        gains : array-like of shape (n_sets,)
            The gain of each set.
        free : ndarray of bool of shape (n_cells,)
            Cells that may be taken.
        """
        gains = check_scores(gains, len(self._order), "gains", _LARGEST_GAIN)
        free = np.asarray(free)
        if free.shape != (self._n_cells,) or free.dtype != np.bool_:
            raise ValueError(
                f"free has shape {free.shape} of {free.dtype}: expected a mask of {self._n_cells} cells"
            )
        gains = gains[self._order]
        kept = worthwhile(self._cells, self._n_pairs, self._pairs_of, gains, free)
        result = np.zeros(len(gains), dtype=bool)
        result[self._order[kept]] = self._best_of(self._cells[kept], gains[kept])
        return result

    def _best_of(self, cells: NDArray[np.int64], gains: Vector) -> Choice:
        first_pair, first_set, sets_of = index(cells, self._n_sources, self._n_cells)
        tiny = _PRECISION * gains.max(initial=0.0)
        chosen, price = choose(cells, first_pair, first_set, sets_of, gains, tiny)
        gap = price.sum() - gains[chosen].sum()
        slack = tiny * self._n_cells
        if gap <= slack:
            self.proved += 1
            return chosen
        is_open = np.flatnonzero(undecided(cells, first_set, sets_of, gains, chosen, price, gap + slack))
        chosen[is_open] = self._by_programs(cells[is_open], gains[is_open], chosen[is_open], tiny)
        return chosen

    def _by_programs(self, cells: NDArray[np.int64], gains: Vector, chosen: Choice, tiny: float) -> Choice:
        """Solve the linear relaxation; if it is not integral, an integer program for each component."""
        incidence, names = _compact_incidence(cells)
        program = SetProgram(incidence, every_row=False)
        y, row_price = program.relaxation(gains)
        self.integral += program.integral
        if program.integral:
            return y > 0.5
        chosen = max(chosen, _rounded(cells, gains, y, self._n_cells), key=lambda choice: gains[choice].sum())
        price = np.zeros(self._n_cells)
        price[names] = row_price
        _, first_set, sets_of = index(cells, self._n_sources, self._n_cells)
        cover(cells, first_set, sets_of, gains, price)
        gap = price.sum() - gains[chosen].sum() + tiny * self._n_cells
        is_open = np.flatnonzero(undecided(cells, first_set, sets_of, gains, chosen, price, gap))
        incidence, _ = _compact_incidence(cells[is_open])
        _, component = connected_components(incidence.T @ incidence, directed=False)
        for number in range(component.max(initial=-1) + 1):
            here = is_open[component == number]
            if len(here) > 1:
                chosen[here] = SetProgram(_compact_incidence(cells[here])[0], every_row=False).best(
                    gains[here]
                )
        return chosen

    def _pairs_in_triples(self) -> NDArray[np.int64]:
        """Return the pairs of the first cell of each triple with both others, -1 where there is none."""
        number = {tuple(pair): n for n, pair in enumerate(self._cells[: self._n_pairs, :2].tolist())}
        triples = self._cells[self._n_pairs :].tolist()
        found = [
            [number.get((min(a, b), max(a, b)), -1), number.get((min(a, c), max(a, c)), -1)]
            for a, b, c in triples
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def check_scores(scores: ArrayLike, n: int, name: str = "scores", largest: float = LARGEST_SCORE) -> Vector:
    """Return n finite scores whose sums stay finite, or raise a ValueError."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"{name} of shape {scores.shape}: expected {n} finite numbers")
    # The comparison is false for NaN, too.
    if n and not np.abs(scores).max() <= largest:
        wrong = int(np.argmin(np.abs(scores) <= largest))
        raise ValueError(
            f"{name}[{wrong}] is {scores[wrong]}: expected {n} finite numbers, at most {largest:.3g} in size"
        )
    return np.ascontiguousarray(scores)


def _check_cells(n_sources: int, n_cells: int, cells: ArrayLike) -> NDArray[np.int64]:
    """Return the cells of each set as integers, or raise a ValueError."""
    if not 0 <= n_sources <= n_cells:
        raise ValueError(f"{n_sources} sources of {n_cells} cells: expected from 0 to all of them")
    cells = np.asarray(cells)
    if cells.ndim != 2 or cells.shape[1] != 3 or (cells.size and cells.dtype.kind not in "iu"):
        raise ValueError(f"cells of shape {cells.shape}, {cells.dtype}: expected whole numbers (n, 3)")
    cells = np.ascontiguousarray(cells, dtype=np.int64)
    first, second, third = cells.T
    pair = third == NONE
    proper = (cells[:, :2] >= 0).all(axis=1) & (pair | (third >= 0)) & (cells < n_cells).all(axis=1)
    proper &= (first != second) & (second != third) & (first != third)
    sources = ((cells < n_sources) & (cells >= 0)).sum(axis=1)
    # A pair has its source first; a triple has two cells on one side.
    proper &= np.where(pair, (first < n_sources) & (second >= n_sources), (sources == 1) | (sources == 2))
    if not proper.all():
        wrong = int(np.argmin(proper))
        raise ValueError(
            f"cells[{wrong}] is {cells[wrong].tolist()}: expected a source, a target and {NONE}, or three "
            f"different cells of both sides, sources below {n_sources} and all below {n_cells}"
        )
    return cells


def _middle_first(cells: NDArray[np.int64], n_sources: int) -> NDArray[np.int64]:
    """Return the sets with the cell of a triple that is alone on its side first; pairs are unchanged."""
    triple = cells[:, 2] != NONE
    source = cells < n_sources
    lonely = np.where(source.sum(axis=1) == 1, source.argmax(axis=1), (~source).argmax(axis=1))
    order = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])[np.where(triple, lonely, 0)]
    return np.take_along_axis(cells, order, axis=1)


def _rounded(cells: NDArray[np.int64], gains: Vector, y: Vector, n_cells: int) -> Choice:
    """Return disjoint sets, chosen greedily by their value in the relaxation, then by their gain."""
    chosen, taken = np.zeros(len(cells), dtype=bool), np.zeros(n_cells, dtype=bool)
    for s in np.lexsort([-gains, -y])[: np.count_nonzero(y)]:
        members = cells[s][cells[s] != NONE]
        if not taken[members].any():
            taken[members] = chosen[s] = True
    return chosen


def _compact_incidence(cells: NDArray[np.int64]) -> tuple[csc_array, NDArray[np.int64]]:
    """Return the incidence matrix over those cells only that are in a set, and these cells."""
    present = cells != NONE
    names, rows = np.unique(cells[present], return_inverse=True)
    compact = np.full(cells.shape, NONE)
    compact[present] = rows
    return incidence_matrix(compact, len(names)), names
