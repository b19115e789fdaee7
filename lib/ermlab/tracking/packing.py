"""Disjoint sets of cells with the largest sum of gains: matching with triples, solved exactly.

Pairs alone are matched in well under a millisecond, with dual prices of the cells as proof; triples are added
where they pay. If the prices leave a gap, only sets near the places where something is lost can improve the
choice. These regions are independent of each other: a depth-first search, or an integer program where that
takes too many steps, decides in each of them, so that the time grows with the number of cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ermlab.tracking._packing_numba import (
    arrange,
    balance,
    cover,
    first_improper,
    index,
    match,
    release_triples,
    surpluses_of_triples,
    take_triples,
    worthwhile,
)
from ermlab.tracking._packing_regions_numba import regions, search_region
from ermlab.tracking._set_program import SetProgram, incidence_matrix

#: Padding for the third cell of a pair.
NONE = -1
#: Tolerance of comparisons of gains, relative to the largest gain.
_PRECISION = 1e-10
#: Rounds in which triples are taken or returned, and passes that balance prices in each round: few at first,
#: then more where they leave too much to search.
_FEW, _MORE = {"max_rounds": 1, "max_passes": 8}, {"max_rounds": 10, "max_passes": 24}
#: Steps of the search in a region; they take about as long as a small linear program.
_MAX_STEPS = 5000
#: Largest magnitude of a score, and of a gain, which is a difference of up to four scores: sums over all
#: cells, and differences of such sums, stay finite.
LARGEST_SCORE = 2.0**900
_LARGEST_GAIN = 4 * LARGEST_SCORE

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]
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
    proved, branched : int
        Number of searches that prices alone proved, and of integer programs that were solved.
    """

    def __init__(self, n_sources: int, n_cells: int, cells: NDArray[np.int64]):
        self.proved = self.branched = 0
        cells = _check_cells(n_sources, n_cells, cells)
        self._order, self._cells, self._pairs_of = arrange(cells, n_sources)
        self._n_sources, self._n_cells = n_sources, n_cells
        self._n_pairs = len(cells) - len(self._pairs_of)

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
        tiny = _PRECISION * gains.max(initial=0.0)
        chosen, region, unsolved = self._choose(cells, gains, tiny, **_FEW)
        self.proved += not len(unsolved)
        if unsolved.any():
            here = np.flatnonzero((region >= 0) & unsolved[region])
            chosen[here] = self._by_rounds(cells[here], gains[here], tiny)
        return chosen

    def _by_rounds(self, cells: NDArray[np.int64], gains: Vector, tiny: float) -> Choice:
        """Search again after several rounds; regions that are left need a program each."""
        chosen, region, unsolved = self._choose(cells, gains, tiny, **_MORE)
        for number in np.flatnonzero(unsolved):
            here = np.flatnonzero(region == number)
            chosen[here] = self._by_programs(cells[here], gains[here], chosen[here], tiny)
        return chosen

    def _choose(
        self, cells: NDArray[np.int64], gains: Vector, tiny: float, max_rounds: int, max_passes: int
    ) -> tuple[Choice, NDArray[np.int64], NDArray[np.bool_]]:
        """Return a choice, the region of each set in which it may be improved, and the unsolved regions."""
        first_pair, first_set, sets_of = index(cells, self._n_sources, self._n_cells)
        chosen, price = choose(
            cells, first_pair, first_set, sets_of, gains, tiny, max_rounds=max_rounds, max_passes=max_passes
        )
        region, n_regions = regions(cells, first_set, sets_of, gains, chosen, price, tiny)
        unsolved = search_regions(cells, gains, price, region, n_regions, tiny, _MAX_STEPS, chosen)
        return chosen, region, unsolved

    def _by_programs(self, cells: NDArray[np.int64], gains: Vector, chosen: Choice, tiny: float) -> Choice:
        """Solve the linear relaxation; if it is not integral, its prices leave smaller regions to search."""
        incidence, names = _compact_incidence(cells)
        program = SetProgram(incidence, every_row=False)
        y, row_price = program.relaxation(gains)
        if program.integral:
            return y > 0.5
        chosen = max(chosen, _rounded(cells, gains, y, self._n_cells), key=lambda choice: gains[choice].sum())
        price = np.zeros(self._n_cells)
        price[names] = row_price
        _, first_set, sets_of = index(cells, self._n_sources, self._n_cells)
        cover(cells, first_set, sets_of, gains, price)
        region, n_regions = regions(cells, first_set, sets_of, gains, chosen, price, tiny)
        unsolved = search_regions(cells, gains, price, region, n_regions, tiny, _MAX_STEPS, chosen)
        for number in np.flatnonzero(unsolved):
            here = np.flatnonzero(region == number)
            self.branched += 1
            program = SetProgram(_compact_incidence(cells[here])[0], every_row=False)
            chosen[here] = program.best(gains[here])
        return chosen


def choose(
    cells: Numbers,
    first_pair: Numbers,
    first_set: Numbers,
    sets_of: Numbers,
    gains: Vector,
    tiny: float,
    *,
    max_rounds: int,
    max_passes: int,
) -> tuple[Choice, Vector]:
    """Choose disjoint sets, and find prices of the cells such that no set gains more than its cells cost.

    Triples are taken or returned after each round but the last, at most ``max_rounds``; in each round at most
    ``max_passes`` over the chosen sets balance their prices. Differences of gains of at most ``tiny`` are
    ignored. Returns a mask of the chosen sets, and the prices: their sum bounds the sum of the gains of any
    choice.
    """
    n_pairs, n_cells = int(first_pair[-1]), len(first_set) - 1
    chosen, price, lack = np.zeros(len(cells), dtype=bool), np.zeros(n_cells), np.zeros(len(cells))
    best, best_gain = chosen, -np.inf
    bound, least = price, np.inf
    inside = np.zeros(n_cells, dtype=bool)  # cells of chosen triples
    for n_rounds in range(1, max_rounds + 1):
        chosen[:n_pairs] = False
        match(cells, first_pair, gains, inside, chosen, price)
        total = float(gains[chosen].sum())
        better = total > best_gain
        if better:
            best, best_gain = chosen.copy(), total
        balance(cells, first_set, sets_of, gains, chosen, tiny, max_passes, price, lack)
        covering = price.copy()
        cover(cells, first_set, sets_of, gains, covering)
        if covering.sum() < least:
            bound, least, better = covering, covering.sum(), True
        if least - best_gain <= tiny or not better or n_rounds == max_rounds:
            break
        released = release_triples(n_pairs, cells, lack, tiny, inside, chosen)
        surpluses = surpluses_of_triples(n_pairs, cells, gains, price, chosen)
        order = np.argsort(-surpluses, kind="stable")
        triples = n_pairs + order[: np.count_nonzero(surpluses > tiny)]
        if not take_triples(cells, triples, inside, chosen) and not released:
            break
    return best, bound


def search_regions(
    cells: Numbers,
    gains: Vector,
    price: Vector,
    region: Numbers,
    n_regions: int,
    tiny: float,
    max_steps: int,
    chosen: Choice,
) -> NDArray[np.bool_]:
    """Improve ``chosen`` within each region to the best choice; return a mask of those left as they are."""
    unsolved = np.zeros(n_regions, dtype=bool)
    local = np.full(len(price), -1)
    sets = np.flatnonzero(region >= 0)
    sets = sets[np.argsort(region[sets], kind="stable")]
    first = np.searchsorted(region[sets], np.arange(n_regions + 1))
    for number in range(n_regions):
        here = sets[first[number] : first[number + 1]]
        unsolved[number] = not search_region(cells, gains, price, here, local, tiny, max_steps, chosen)
    return unsolved


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
    wrong = first_improper(cells, n_sources, n_cells)
    if wrong >= 0:
        raise ValueError(
            f"cells[{wrong}] is {cells[wrong].tolist()}: expected a source, a target and {NONE}, or three "
            f"different cells of both sides, sources below {n_sources} and all below {n_cells}"
        )
    return cells


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
