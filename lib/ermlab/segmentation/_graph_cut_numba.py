"""Capacities whose minimum cut is the best labeling of a binary submodular random field."""

from numba import njit

# Share of the size of its four terms below which a negative sum counts as a rounding error.
ROUNDING = 1e-14


@njit(cache=True, nogil=True)
def cut_capacities(unary, edges, pairwise, terminal, capacity):
    """Fill capacities; return the first edge that is not submodular, or -1, and by how much.

    State 0 is the side of the source. Each pairwise score is the sum of a constant, a score of each node, and
    ``-capacity`` if the states differ (V. Kolmogorov, R. Zabih: What energy functions can be minimized via
    graph cuts? PAMI 2004), the last in equal parts for both directions.
    """
    for v in range(len(unary)):
        terminal[v] = unary[v, 0] - unary[v, 1]
    shared = len(pairwise) != len(edges)
    for e in range(len(edges)):
        k = 0 if shared else e
        p00, p01, p10, p11 = pairwise[k, 0, 0], pairwise[k, 0, 1], pairwise[k, 1, 0], pairwise[k, 1, 1]
        excess = (p00 - p01) + (p11 - p10)
        if excess < 0:
            if excess < -ROUNDING * (abs(p00) + abs(p01) + abs(p10) + abs(p11)):
                return e, -excess
            excess = 0.0
        capacity[e] = 0.5 * excess
        terminal[edges[e, 0]] += (p00 - p10) - capacity[e]
        terminal[edges[e, 1]] += (p10 - p11) + capacity[e]
    return -1, 0.0


@njit(cache=True, nogil=True)
def expansion_capacities(unary, edges, pairwise, labels, alpha, terminal, capacity):
    """Fill capacities of the choice between the label of each node, the side of the source, and ``alpha``.

    Pairs of states of which only one changes lose score where the choice would not be submodular. The score
    of the labels themselves is right, so that a better cut is a better labeling (C. Rother, S. Kumar,
    V. Kolmogorov, A. Blake: Digital tapestry, CVPR 2005).
    """
    for v in range(len(unary)):
        terminal[v] = unary[v, labels[v]] - unary[v, alpha]
    shared = len(pairwise) != len(edges)
    for e in range(len(edges)):
        scores = pairwise[0 if shared else e]
        i, j = edges[e]
        p00, p11 = scores[labels[i], labels[j]], scores[alpha, alpha]
        p01, p10 = scores[labels[i], alpha], scores[alpha, labels[j]]
        excess = (p00 - p01) + (p11 - p10)
        if excess < 0:
            p10 += 0.5 * excess
            excess = 0.0
        capacity[e] = 0.5 * excess
        terminal[i] += (p00 - p10) - capacity[e]
        terminal[j] += (p10 - p11) + capacity[e]
