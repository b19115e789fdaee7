"""Disjoint sets of cells with a large sum of gains, and dual prices that bound it (kernels of `packing.py`).

Sets are pairs of a source and a target, and triples. Pairs alone are a matching problem, which shortest
augmenting paths solve; the prices of the cells prove optimality, as no pair gains more than the prices of its
cells. Triples are taken where they gain more than the prices of their cells, and the rest is matched again.

The sets of a problem are given by four arrays: ``cells`` of each set, pairs (source, target, -1) ordered by
source, then triples; ``first_pair``: the pairs of source ``i`` are ``first_pair[i]:first_pair[i + 1]``;
``first_set`` and ``sets_of``: the sets of cell ``c`` are ``sets_of[first_set[c]:first_set[c + 1]]``,
ascending.
"""

import numpy as np
from numba import njit

#: Passes that lower the prices of all cells.
SWEEPS = 2


@njit(cache=True, nogil=True)
def first_improper(cells, n_sources, n_cells):
    """Return the index of the first row that is no set, else -1.

    A pair has its source first; a triple has two cells on one side.
    """
    for s in range(len(cells)):
        a, b, c = cells[s, 0], cells[s, 1], cells[s, 2]
        if a < 0 or b < 0 or c < -1 or a >= n_cells or b >= n_cells or c >= n_cells:
            return s
        if (a - b) * (a - c) * (b - c) == 0:  # two cells are the same
            return s
        n_here = (a < n_sources) + (b < n_sources)
        if c < 0:
            if a >= n_sources or n_here != 1:
                return s
        elif not 0 < n_here + (c < n_sources) < 3:
            return s
    return -1


@njit(cache=True, nogil=True)
def arrange(cells, n_sources):
    """Return the order of the sets, the sets in this order, and the pairs within each triple.

    Pairs by source come first, then triples, whose cell that is alone on its side comes first. A triple has
    two pairs, of its first cell with each of the others; -1 where there is none.
    """
    first_pair = np.zeros(n_sources + 1, dtype=np.int64)
    for s in range(len(cells)):
        if cells[s, 2] < 0:
            first_pair[cells[s, 0] + 1] += 1
    accumulate(first_pair)
    n_pairs, place = first_pair[-1], first_pair[:-1].copy()
    order, arranged = np.empty(len(cells), dtype=np.int64), np.empty_like(cells)
    pairs_of = np.full((len(cells) - n_pairs, 2), -1, dtype=np.int64)
    t = n_pairs
    for s in range(len(cells)):
        a, b, c = cells[s, 0], cells[s, 1], cells[s, 2]
        if c < 0:
            here = place[a]
            place[a] += 1
        else:
            if (b < n_sources) != (a < n_sources) and (b < n_sources) != (c < n_sources):
                a, b = b, a
            elif (c < n_sources) != (a < n_sources) and (c < n_sources) != (b < n_sources):
                a, b, c = c, a, b
            here = t
            t += 1
        order[here] = s
        arranged[here, 0], arranged[here, 1], arranged[here, 2] = a, b, c
    for t in range(n_pairs, len(cells)):
        for m in range(2):
            a, b = arranged[t, 0], arranged[t, 1 + m]
            if a > b:
                a, b = b, a
            for pair in range(first_pair[a], first_pair[a + 1]):
                if arranged[pair, 1] == b:
                    pairs_of[t - n_pairs, m] = pair
    return order, arranged, pairs_of


@njit(cache=True, nogil=True)
def worthwhile(cells, n_pairs, pairs_of, gain, free):
    """Return the indices of the sets that may be in a best choice.

    Sets without a gain are left out, and so are triples that gain no more than a pair of their cells.

    Parameters
    ----------
    pairs_of : ndarray of shape (n_triples, 2)
        For each triple the pairs among its cells, -1 where there is none.
    free : ndarray of bool of shape (n_cells,)
        Cells that may be taken.
    """
    kept, n = np.empty(len(cells), dtype=np.int64), 0
    for s in range(len(cells)):
        least = 0.0
        if s >= n_pairs:
            for m in range(2):
                pair = pairs_of[s - n_pairs, m]
                if pair >= 0:
                    least = max(least, gain[pair])
        if gain[s] <= least:
            continue
        if free[cells[s, 0]] and free[cells[s, 1]] and (cells[s, 2] < 0 or free[cells[s, 2]]):
            kept[n] = s
            n += 1
    return kept[:n]


@njit(cache=True, nogil=True)
def index(cells, n_sources, n_cells):
    """Return ``first_pair, first_set, sets_of`` of the sets ``cells``."""
    first_pair = np.zeros(n_sources + 1, dtype=np.int64)
    first_set = np.zeros(n_cells + 1, dtype=np.int64)
    for s in range(len(cells)):
        if cells[s, 2] < 0:
            first_pair[cells[s, 0] + 1] += 1
        for m in range(3):
            if cells[s, m] >= 0:
                first_set[cells[s, m] + 1] += 1
    accumulate(first_pair)
    accumulate(first_set)
    sets_of, place = np.empty(first_set[-1], dtype=np.int64), first_set[:-1].copy()
    for s in range(len(cells)):
        for m in range(3):
            c = cells[s, m]
            if c >= 0:
                sets_of[place[c]] = s
                place[c] += 1
    return first_pair, first_set, sets_of


@njit(cache=True, nogil=True)
def match(cells, first_pair, gain, inside, chosen, price):
    """Match the cells that are in no triple, by shortest augmenting paths.

    Prices are nonnegative, no pair gains more than its prices, a chosen pair gains exactly as much, and the
    price of an unmatched cell is 0: complementary slackness proves the matching. Cells in triples get the
    price 0.
    """
    n_sources, n_cells = len(first_pair) - 1, len(price)
    mate = np.full(n_cells, -1, dtype=np.int64)  # chosen pair of each cell
    distance, via = np.empty(n_cells), np.empty(n_cells, dtype=np.int64)
    state = np.zeros(n_cells, dtype=np.int8)  # of a target: 1 reached, 2 settled
    reached, tree = np.empty(n_cells, dtype=np.int64), np.empty(n_sources, dtype=np.int64)
    for c in range(n_cells):
        price[c] = 0.0
    nobody = np.int64(-1)  # typed, or `_augment` is compiled twice
    for root in range(n_sources):
        if inside[root]:
            continue
        for e in range(first_pair[root], first_pair[root + 1]):
            if not inside[cells[e, 1]]:
                price[root] = max(price[root], gain[e] - price[cells[e, 1]])
        # Alternating paths grow until they reach an unmatched target, or a source to leave unmatched.
        n_reached = n_tree = 0
        source, here = root, 0.0
        last_target, last_source, length = nobody, root, price[root]
        while True:
            tree[n_tree], distance[source] = source, here
            n_tree += 1
            if here + price[source] < length:
                last_target, last_source, length = nobody, source, here + price[source]
            for e in range(first_pair[source], first_pair[source + 1]):
                j = cells[e, 1]
                if inside[j] or state[j] == 2:
                    continue
                there = here + max(price[source] + price[j] - gain[e], 0.0)
                if there >= length or (state[j] == 1 and there >= distance[j]):
                    continue
                if state[j] == 0:
                    state[j] = 1
                    reached[n_reached] = j
                    n_reached += 1
                distance[j], via[j] = there, e
                if mate[j] < 0:
                    last_target, last_source, length = j, nobody, there
            nearest = -1
            for r in range(n_reached):
                j = reached[r]
                if state[j] == 1 and distance[j] < (length if nearest < 0 else distance[nearest]):
                    nearest = j
            if nearest < 0:
                break
            state[nearest] = 2
            source, here = cells[mate[nearest], 0], distance[nearest]
        for k in range(n_tree):
            i = tree[k]
            price[i] = max(price[i] - (length - distance[i]), 0.0)
        for r in range(n_reached):
            j = reached[r]
            if state[j] == 2:
                price[j] += length - distance[j]
            state[j] = 0
        _augment(cells, via, root, last_target, last_source, chosen, mate)


@njit(cache=True, nogil=True)
def _augment(cells, via, root, last_target, last_source, chosen, mate):
    """Exchange the pairs along the path from the root to its end."""
    j = last_target
    if j < 0:
        if last_source == root:
            return
        given_up = mate[last_source]
        j = cells[given_up, 1]
        chosen[given_up] = False
        mate[last_source] = -1
    while True:
        e = via[j]
        source = cells[e, 0]
        before = mate[source]
        chosen[e] = True
        mate[j] = mate[source] = e
        if source == root:
            return
        chosen[before] = False
        j = cells[before, 1]


@njit(cache=True, nogil=True)
def balance(cells, first_set, sets_of, gain, chosen, tiny, max_passes, price, lack):
    """Share the gain of each chosen set among its cells such that other sets gain no more than their prices.

    A cell needs the price that the other sets would pay for it. The difference between the gain and the sum
    of the needs is shared equally. As the needs depend on the prices, this is repeated.
    """
    needs = np.empty(3)
    for _ in range(max_passes):
        moved = 0.0
        for s in range(len(cells)):
            if not chosen[s]:
                continue
            size = 3 if cells[s, 2] >= 0 else 2
            left = gain[s]
            for m in range(size):
                needs[m] = _need(cells, first_set, sets_of, gain, price, s, cells[s, m])
                left -= needs[m]
            for m in range(size):
                new = max(needs[m] + left / size, 0.0)
                moved = max(moved, abs(new - price[cells[s, m]]))
                price[cells[s, m]] = new
            lack[s] = -left
        if moved <= tiny:
            break


@njit(cache=True, nogil=True)
def _need(cells, first_set, sets_of, gain, price, s, c):
    """Return what the sets that share only cell ``c`` with set ``s`` would pay for it."""
    need = 0.0
    x, y, z = cells[s, 0], cells[s, 1], cells[s, 2]
    for k in range(first_set[c], first_set[c + 1]):
        q = sets_of[k]
        i, j, h = cells[q, 0], cells[q, 1], cells[q, 2]
        shared = (i == x) + (i == y) + (i == z) + (j == x) + (j == y) + (j == z)
        worth = gain[q] + price[c] - price[i] - price[j]
        if h >= 0:
            shared += (h == x) + (h == y) + (h == z)
            worth -= price[h]
        if shared == 1 and worth > need:
            need = worth
    return need


@njit(cache=True, nogil=True)
def release_triples(n_pairs, cells, lack, tiny, inside, chosen):
    """Release triples that gain less than their cells need; say whether there were any."""
    found = False
    for t in range(n_pairs, len(cells)):
        if chosen[t] and lack[t] > tiny:
            chosen[t] = False
            for m in range(3):
                inside[cells[t, m]] = False
            found = True
    return found


@njit(cache=True, nogil=True)
def surpluses_of_triples(n_pairs, cells, gain, price, chosen):
    """Return the gain of each triple minus the prices of its cells, 0 if it is chosen."""
    found = np.zeros(len(cells) - n_pairs)
    for t in range(n_pairs, len(cells)):
        if not chosen[t]:
            found[t - n_pairs] = surplus(cells, t, gain, price)
    return found


@njit(cache=True, nogil=True)
def take_triples(cells, triples, inside, chosen):
    """Choose triples in the given order as far as they are disjoint; say whether there were any."""
    found = False
    for t in triples:
        a, b, c = cells[t, 0], cells[t, 1], cells[t, 2]
        if not (inside[a] or inside[b] or inside[c]):
            inside[a] = inside[b] = inside[c] = True
            chosen[t] = True
            found = True
    return found


@njit(cache=True, nogil=True)
def cover(cells, first_set, sets_of, gain, price):
    """Raise prices until they cover every set, then lower each as far as they still do."""
    for s in range(len(cells)):
        price[cells[s, 0]] += max(surplus(cells, s, gain, price), 0.0)
    for _ in range(SWEEPS):
        for c in range(len(price)):
            if price[c] > 0:
                spare = price[c]
                for k in range(first_set[c], first_set[c + 1]):
                    spare = min(spare, -surplus(cells, sets_of[k], gain, price))
                price[c] -= max(spare, 0.0)


@njit(cache=True, nogil=True)
def accumulate(counts):
    """Replace counts by their cumulative sums: np.cumsum takes long to compile."""
    for k in range(1, len(counts)):
        counts[k] += counts[k - 1]


@njit(cache=True, nogil=True)
def surplus(cells, s, gain, price):
    """Return the gain of a set minus the prices of its cells."""
    worth = gain[s] - price[cells[s, 0]] - price[cells[s, 1]]
    return worth - price[cells[s, 2]] if cells[s, 2] >= 0 else worth
