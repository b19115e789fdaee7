"""Permutohedral lattice: embedding, hash table of vertices, splat, blur and slice.

A vertex has ``d`` integer coordinates, packed as bit fields into words of 62 bits, so that two vertices are
compared by a few integers and a neighbor is found by adding a constant. All loops over points or vertices
write to disjoint places, and sum in an order that does not depend on their ranges.
"""

import numpy as np
from numba import njit

#: Bits of a word that hold coordinates; the sign stays free.
WORD_BITS = 62
#: Odd multiplier of the hash function (2**64 divided by the golden ratio, as a signed integer).
_MULTIPLIER = np.int64(-7046029254386353131)
#: Parts of the hash values that are numbered independently, whatever the number of threads.
N_PARTS = 4
#: Places of the first hash table of a part, a power of 2.
_FIRST_SIZE = 512
#: Lowest bits of a hash value that give the part, and the place in its table.
_PART_SHIFT, _PLACE_SHIFT = 60, 24
#: Weights of a vertex and of its two neighbors in half a blur along an axis.
_CENTER, _SIDE = 0.75, 0.125


@njit(cache=True, nogil=True)
def column_ranges(features, lowest, highest):
    """Fill in the least and the largest value of each column; return whether all values are finite."""
    n, d = features.shape
    finite = True
    for j in range(d):
        lowest[j], highest[j] = np.inf, -np.inf
    for i in range(n):
        for j in range(d):
            value = features[i, j]
            finite &= np.abs(value) < np.inf
            lowest[j] = min(lowest[j], value)
            highest[j] = max(highest[j], value)
    return finite


@njit(cache=True, nogil=True)
def embed(features, center, scales, word_of, shifts, offsets, steps, words, hashes, weights, start, stop):
    """Find the simplex of each point: its vertices as packed ``words``, and barycentric ``weights``.

    ``hashes`` receives a hash value of each vertex.
    """
    d, n_words = features.shape[1], words.shape[2]
    elevated, residual = np.empty(d + 1), np.empty(d + 1)
    base, rank = np.empty(d + 1, dtype=np.int64), np.empty(d + 1, dtype=np.int64)
    barycentric = np.empty(d + 2)
    of_rank = np.empty(d + 1, dtype=np.int64)
    down = 1.0 / (d + 1)
    for i in range(start, stop):
        # Map the point to the hyperplane of d + 1 coordinates with sum 0.
        total = 0.0
        for j in range(d, 0, -1):
            scaled = (features[i, j - 1] - center[j - 1]) * scales[j - 1]
            elevated[j] = total - j * scaled
            total += scaled
        elevated[0] = total
        excess = 0
        for j in range(d + 1):
            nearest = np.int64(np.floor(elevated[j] * down + 0.5))
            base[j] = nearest * (d + 1)
            residual[j] = elevated[j] - base[j]
            excess += nearest
            rank[j] = 0
        for j in range(d):
            for k in range(j + 1, d + 1):
                below = np.int64(residual[j] < residual[k])
                rank[j] += below
                rank[k] += 1 - below
        for j in range(d + 2):
            barycentric[j] = 0.0
        for j in range(d + 1):
            rank[j] += excess
            if rank[j] < 0:
                rank[j] += d + 1
                base[j] += d + 1
            elif rank[j] > d:
                rank[j] -= d + 1
                base[j] -= d + 1
            of_rank[rank[j]] = j
            share = (elevated[j] - base[j]) * down
            barycentric[d - rank[j]] += share
            barycentric[d + 1 - rank[j]] -= share
        barycentric[0] += 1.0 + barycentric[d + 1]
        for r in range(d + 1):
            # Rounding may leave a weight of -1e-17 on the border of a simplex.
            weights[i, r] = max(barycentric[r], 0.0)
            if r == 0:
                for k in range(n_words):
                    words[i, 0, k] = 0
                for j in range(d):
                    words[i, 0, word_of[j]] += (base[j] - offsets[j]) << shifts[j]
            else:  # one step back along the axis of the coordinate with the next lower rank
                for k in range(n_words):
                    words[i, r, k] = words[i, r - 1, k] - steps[of_rank[d + 1 - r], k]
            hashed = np.int64(0)
            for k in range(n_words):
                hashed = _scramble(words[i, r, k], hashed)
            hashes[i, r] = hashed


@njit(cache=True, nogil=True, inline="always")
def _scramble(word, hashed):
    """Mix a word into a hash value, such that all of its bits depend on all bits of the word."""
    hashed = (hashed + word) * _MULTIPLIER
    hashed = (hashed ^ (hashed >> 32)) * _MULTIPLIER
    return hashed ^ (hashed >> 29)


@njit(cache=True, nogil=True)
def number_vertices(words, hashes, part, n_corners, vertices):
    """Number the different vertices of one part of the hash values, in order of appearance.

    Parameters
    ----------
    words : ndarray of shape (n_points * n_corners, n_words)
        The vertices of all points.
    hashes : ndarray of shape (n_points * n_corners,)
        Their hash values.
    part : int
        The part, from 0 to ``N_PARTS - 1``.
    n_corners : int
        Number of vertices of a point.
    vertices : ndarray of shape (n_points * n_corners,)
        The number of each vertex times ``N_PARTS`` plus the part is written here.

    Returns
    -------
    table : ndarray of shape (2**n_bits, n_words + 1)
        Hash table with open addressing: words and number of the vertex, -1 if the place is empty.
    n_vertices : int
        Number of vertices.
    """
    table = _empty_table(_FIRST_SIZE, words.shape[1])
    done, n_vertices = 0, 0
    while True:
        done, n_vertices = _enter(words, hashes, part, n_corners, vertices, table, done, n_vertices)
        if done == len(words):
            return table, n_vertices
        table = _grown(table)


@njit(cache=True, nogil=True)
def _enter(words, hashes, part, n_corners, vertices, table, start, n_vertices):
    """Number vertices from ``start`` until the table is half full; return where, and how many there are."""
    n_words = words.shape[1]
    room = len(table) // 2
    for e in range(start, len(words)):
        if (hashes[e] >> _PART_SHIFT) & (N_PARTS - 1) != part:
            continue
        before = e - n_corners
        if before >= 0 and hashes[e] == hashes[before]:  # neighboring pixels often share a simplex
            same = True
            for k in range(n_words):
                same &= words[e, k] == words[before, k]
            if same:
                vertices[e] = vertices[before]
                continue
        place = _find(words, e, hashes[e], table)
        v = table[place, n_words]
        if v < 0:
            if n_vertices == room:
                return e, n_vertices
            v = n_vertices
            n_vertices += 1
            for k in range(n_words):
                table[place, k] = words[e, k]
            table[place, n_words] = v
        vertices[e] = v * N_PARTS + part
    return len(words), n_vertices


@njit(cache=True, nogil=True, inline="always")
def _find(words, e, hashed, table):
    """Return the place of the vertex ``words[e]`` in a table, or where it belongs."""
    n_words = table.shape[1] - 1
    mask = len(table) - 1
    place = (hashed >> _PLACE_SHIFT) & mask
    while table[place, n_words] >= 0:
        same = True
        for k in range(n_words):
            same &= table[place, k] == words[e, k]
        if same:
            break
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def _empty_table(size, n_words):
    table = np.empty((size, n_words + 1), dtype=np.int64)
    for place in range(size):
        table[place, n_words] = -1
    return table


@njit(cache=True, nogil=True)
def _grown(table):
    """Return a table of twice the size with the same vertices."""
    n_words = table.shape[1] - 1
    larger = _empty_table(2 * len(table), n_words)
    for old in range(len(table)):
        if table[old, n_words] >= 0:
            hashed = np.int64(0)
            for k in range(n_words):
                hashed = _scramble(table[old, k], hashed)
            place = _find(table, old, hashed, larger)
            for k in range(n_words + 1):
                larger[place, k] = table[old, k]
    return larger


@njit(cache=True, nogil=True)
def renumber(vertices, numbers):
    """Number vertices in order of appearance, which keeps neighbors close in memory.

    ``numbers``, -1 at first, receives the new number of each old one. Returns the number of vertices.
    """
    n_vertices = 0
    for e in range(len(vertices)):
        old = vertices[e]
        if numbers[old] < 0:
            numbers[old] = n_vertices
            n_vertices += 1
        vertices[e] = numbers[old]
    return n_vertices


@njit(cache=True, nogil=True)
def compact(table, part, numbers, keys, slots):
    """Copy the words of the vertices of a table to ``keys``, and their new numbers to ``slots``.

    The slots are much smaller than the table, and the keys of neighbors are close in memory.
    """
    n_words = table.shape[1] - 1
    for place in range(len(table)):
        slots[place] = -1
        if table[place, n_words] >= 0:
            v = numbers[table[place, n_words] * N_PARTS + part]
            slots[place] = v
            for k in range(n_words):
                keys[v, k] = table[place, k]


@njit(cache=True, nogil=True)
def join_neighbors(keys, slots, starts, steps, neighbors, start, stop):
    """Enter the vertices one step before and after those from ``start`` to ``stop - 1``.

    Each vertex looks for the one after it along each axis, ``neighbors[axis, v, 1]``, and is entered there as
    the one before. The slots of a part are ``slots[starts[part]:starts[part + 1]]``.
    """
    n_words = keys.shape[1]
    wanted = np.empty(n_words, dtype=np.int64)
    for v in range(start, stop):
        for axis in range(len(steps)):
            hashed = np.int64(0)
            for k in range(n_words):
                wanted[k] = keys[v, k] + steps[axis, k]
                hashed = _scramble(wanted[k], hashed)
            part = (hashed >> _PART_SHIFT) & (N_PARTS - 1)
            mask = starts[part + 1] - starts[part] - 1
            place = (hashed >> _PLACE_SHIFT) & mask
            u = slots[starts[part] + place]
            while u >= 0:
                same = True
                for k in range(n_words):
                    same &= keys[u, k] == wanted[k]
                if same:
                    neighbors[axis, v, 1] = u
                    neighbors[axis, u, 0] = v
                    break
                place = (place + 1) & mask
                u = slots[starts[part] + place]


@njit(cache=True, nogil=True)
def by_vertex(vertices, weights, n_vertices):
    """Return the points of each vertex in compressed rows: starts, points, weights."""
    n, n_corners = vertices.shape
    starts = np.zeros(n_vertices + 1, dtype=np.int64)
    for i in range(n):
        for r in range(n_corners):
            starts[vertices[i, r] + 1] += 1
    for v in range(n_vertices):
        starts[v + 1] += starts[v]
    points = np.empty(n * n_corners, dtype=np.int32)
    ordered = np.empty(n * n_corners, dtype=weights.dtype)
    free = starts[:-1].copy()
    for i in range(n):
        for r in range(n_corners):
            v = vertices[i, r]
            points[free[v]] = i
            ordered[free[v]] = weights[i, r]
            free[v] += 1
    return starts, points, ordered


@njit(cache=True, nogil=True)
def splat(starts, points, weights, values, lattice, start, stop):
    """Sum the values of the points of each vertex."""
    n_channels = values.shape[1]
    if n_channels == 1:
        for v in range(start, stop):
            total = 0.0
            for e in range(starts[v], starts[v + 1]):
                total += weights[e] * values[points[e], 0]
            lattice[v, 0] = total
        return
    for v in range(start, stop):
        for c in range(n_channels):
            lattice[v, c] = 0.0
        for e in range(starts[v], starts[v + 1]):
            for c in range(n_channels):
                lattice[v, c] += weights[e] * values[points[e], c]


@njit(cache=True, nogil=True)
def blur(neighbors, before, after, start, stop):
    """Blur half of the variance along one axis; the row after the last vertex is 0, for missing ones."""
    n_channels = before.shape[1]
    if n_channels == 1:
        for v in range(start, stop):
            sides = before[neighbors[v, 0], 0] + before[neighbors[v, 1], 0]
            after[v, 0] = _CENTER * before[v, 0] + _SIDE * sides
        return
    for v in range(start, stop):
        left, right = neighbors[v, 0], neighbors[v, 1]
        for c in range(n_channels):
            after[v, c] = _CENTER * before[v, c] + _SIDE * (before[left, c] + before[right, c])


@njit(cache=True, nogil=True)
def slice_lattice(vertices, weights, lattice, factor, out, start, stop):
    """Add ``factor`` times the interpolated values of the lattice to ``out``."""
    n_corners, n_channels = vertices.shape[1], out.shape[1]
    if n_channels == 1:
        for i in range(start, stop):
            total = 0.0
            for r in range(n_corners):
                total += weights[i, r] * lattice[vertices[i, r], 0]
            out[i, 0] += factor * total
        return
    for i in range(start, stop):
        for r in range(n_corners):
            weight = factor * weights[i, r]
            for c in range(n_channels):
                out[i, c] += weight * lattice[vertices[i, r], c]


@njit(cache=True, nogil=True)
def scale_rows(weights, factors, start, stop):
    """Multiply the weights of each point with its factor."""
    for i in range(start, stop):
        for r in range(weights.shape[1]):
            weights[i, r] *= factors[i]


@njit(cache=True, nogil=True)
def scale_entries(weights, points, factors, start, stop):
    """Multiply each weight with the factor of its point."""
    for e in range(start, stop):
        weights[e] *= factors[points[e]]


@njit(cache=True, nogil=True)
def gaussian_sums(features, left, right, values, factor, out, start, stop):
    """Add ``factor left_i sum_j exp(-|f_i - f_j|^2 / 2) right_j values_j`` to ``out``, directly."""
    n, d = features.shape
    for i in range(start, stop):
        for j in range(n):
            squared = 0.0
            for k in range(d):
                difference = features[i, k] - features[j, k]
                squared += difference * difference
            weight = factor * left[i] * right[j] * np.exp(-0.5 * squared)
            for c in range(values.shape[1]):
                out[i, c] += weight * values[j, c]
