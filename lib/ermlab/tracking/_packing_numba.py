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

#: Rounds in which triples are taken or returned.
ROUNDS = 10
#: Passes that balance the prices of chosen sets, and passes that lower the prices of all cells.
BALANCING, SWEEPS = 12, 2


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
            for pair in pairs_of[s - n_pairs]:
                if pair >= 0:
                    least = max(least, gain[pair])
        if gain[s] <= least:
            continue
        allowed = True
        for c in cells[s]:
            allowed &= c < 0 or free[c]
        if allowed:
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
        for c in cells[s]:
            if c >= 0:
                first_set[c + 1] += 1
    first_pair, first_set = np.cumsum(first_pair), np.cumsum(first_set)
    sets_of, place = np.empty(first_set[-1], dtype=np.int64), first_set[:-1].copy()
    for s in range(len(cells)):
        for c in cells[s]:
            if c >= 0:
                sets_of[place[c]] = s
                place[c] += 1
    return first_pair, first_set, sets_of


@njit(cache=True, nogil=True)
def choose(cells, first_pair, first_set, sets_of, gain, tiny):
    """Choose disjoint sets, and find prices of the cells such that no set gains more than its cells cost.

    Differences of gains of at most ``tiny`` are ignored. Returns a mask of the chosen sets, and the prices:
    their sum bounds the sum of the gains of any choice.
    """
    n_pairs, n_cells = first_pair[-1], len(first_set) - 1
    chosen, price, lack = np.zeros(len(cells), dtype=np.bool_), np.zeros(n_cells), np.zeros(len(cells))
    best, best_gain = chosen.copy(), -np.inf
    bound, least = price.copy(), np.inf
    inside = np.zeros(n_cells, dtype=np.bool_)  # cells of chosen triples
    for _ in range(ROUNDS):
        chosen[:n_pairs] = False
        _match(cells, first_pair, gain, inside, chosen, price)
        total = 0.0
        for s in range(len(cells)):
            if chosen[s]:
                total += gain[s]
        better = total > best_gain
        if better:
            best_gain = total
            best = chosen.copy()
        _balance(cells, first_set, sets_of, gain, chosen, tiny, price, lack)
        covering = price.copy()
        cover(cells, first_set, sets_of, gain, covering)
        if covering.sum() < least:
            least = covering.sum()
            bound = covering
            better = True
        if least - best_gain <= tiny or not better:
            break
        released = _release_triples(n_pairs, cells, lack, tiny, inside, chosen)
        if not _take_triples(n_pairs, cells, gain, tiny, price, inside, chosen) and not released:
            break
    return best, bound


@njit(cache=True, nogil=True)
def undecided(cells, first_set, sets_of, gain, chosen, price, gap):
    """Return a mask of the sets that a better choice could add or remove.

    Prices cover all sets. The value of a choice is their sum minus the excess of its sets (price minus gain)
    and minus the prices of the cells that it leaves. A better choice differs from the given one in connected
    components. Each component holds a cell where the given choice loses something, and on a path from there
    to any set of the component the total excess is at most ``gap``.

    The smallest excess on a path to each cell is found by label correction with a first-in, first-out queue,
    so that there are at most ``n_cells`` passes over all sets; last in, first out may take exponential time.
    """
    n_cells = len(price)
    excess = np.empty(len(cells))
    reach = np.full(n_cells, np.inf)
    left = price > 0
    for s in range(len(cells)):
        excess[s] = max(-_surplus(cells[s], gain[s], price), 0.0)
        if chosen[s]:
            for c in cells[s]:
                if c >= 0:
                    left[c] = excess[s] > 0
    # A ring buffer: no cell is in the queue twice, so there is room for all.
    queue, first, n = np.empty(n_cells, dtype=np.int64), 0, 0
    waiting = np.zeros(n_cells, dtype=np.bool_)
    for c in range(n_cells):
        if left[c]:
            reach[c] = 0.0
            queue[n] = c
            waiting[c] = True
            n += 1
    while n:
        c = queue[first]
        first = first + 1 if first + 1 < n_cells else 0
        n -= 1
        waiting[c] = False
        for k in range(first_set[c], first_set[c + 1]):
            s = sets_of[k]
            there = reach[c] + excess[s]
            if there > gap:
                continue
            for d in cells[s]:
                if d >= 0 and there < reach[d]:
                    reach[d] = there
                    if not waiting[d]:
                        waiting[d] = True
                        last = first + n
                        queue[last if last < n_cells else last - n_cells] = d
                        n += 1
    open_sets = np.zeros(len(cells), dtype=np.bool_)
    for s in range(len(cells)):
        for c in cells[s]:
            if c >= 0 and reach[c] + excess[s] <= gap:
                open_sets[s] = True
    return open_sets


@njit(cache=True, nogil=True)
def _match(cells, first_pair, gain, inside, chosen, price):
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
    price[:] = 0.0
    for root in range(n_sources):
        if inside[root]:
            continue
        for e in range(first_pair[root], first_pair[root + 1]):
            if not inside[cells[e, 1]]:
                price[root] = max(price[root], gain[e] - price[cells[e, 1]])
        # Alternating paths grow until they reach an unmatched target, or a source to leave unmatched.
        n_reached = n_tree = 0
        source, here = root, 0.0
        last_target, last_source, length = -1, root, price[root]
        while True:
            tree[n_tree], distance[source] = source, here
            n_tree += 1
            if here + price[source] < length:
                last_target, last_source, length = -1, source, here + price[source]
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
                    last_target, last_source, length = j, -1, there
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
def _balance(cells, first_set, sets_of, gain, chosen, tiny, price, lack):
    """Share the gain of each chosen set among its cells such that other sets gain no more than their prices.

    A cell needs the price that the other sets would pay for it. The difference between the gain and the sum
    of the needs is shared equally. As the needs depend on the prices, this is repeated.
    """
    needs = np.empty(3)
    for _ in range(BALANCING):
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
    for k in range(first_set[c], first_set[c + 1]):
        q = sets_of[k]
        if q == s:
            continue
        worth = gain[q]
        for other in cells[q]:
            if other < 0 or other == c:
                continue
            if other == cells[s, 0] or other == cells[s, 1] or other == cells[s, 2]:
                worth = 0.0
                break
            worth -= price[other]
        need = max(need, worth)
    return need


@njit(cache=True, nogil=True)
def _release_triples(n_pairs, cells, lack, tiny, inside, chosen):
    """Release triples that gain less than their cells need; say whether there were any."""
    found = False
    for t in range(n_pairs, len(cells)):
        if chosen[t] and lack[t] > tiny:
            chosen[t] = False
            for c in cells[t]:
                inside[c] = False
            found = True
    return found


@njit(cache=True, nogil=True)
def _take_triples(n_pairs, cells, gain, tiny, price, inside, chosen):
    """Choose triples that gain more than their prices, the best first; say whether there were any."""
    surplus = np.zeros(len(cells) - n_pairs)
    for t in range(n_pairs, len(cells)):
        if not chosen[t]:
            surplus[t - n_pairs] = _surplus(cells[t], gain[t], price)
    found = False
    for k in np.argsort(-surplus, kind="mergesort"):
        if surplus[k] <= tiny:
            break
        a, b, c = cells[n_pairs + k]
        if not (inside[a] or inside[b] or inside[c]):
            inside[a] = inside[b] = inside[c] = True
            chosen[n_pairs + k] = True
            found = True
    return found


@njit(cache=True, nogil=True)
def cover(cells, first_set, sets_of, gain, price):
    """Raise prices until they cover every set, then lower each as far as they still do."""
    for s in range(len(cells)):
        price[cells[s, 0]] += max(_surplus(cells[s], gain[s], price), 0.0)
    for _ in range(SWEEPS):
        for c in range(len(price)):
            if price[c] > 0:
                spare = price[c]
                for k in range(first_set[c], first_set[c + 1]):
                    spare = min(spare, -_surplus(cells[sets_of[k]], gain[sets_of[k]], price))
                price[c] -= max(spare, 0.0)


@njit(cache=True, nogil=True)
def _surplus(members, worth, price):
    """Return the gain of a set minus the prices of its cells."""
    for c in members:
        if c >= 0:
            worth -= price[c]
    return worth
