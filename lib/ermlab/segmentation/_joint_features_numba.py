"""Sums of the features of nodes and edges by their labels."""

from numba import njit


@njit(cache=True, nogil=True)
def add_nodes(total, features, labels):
    """Add the features of each node to the row of its label."""
    for i in range(len(labels)):
        row = labels[i]
        for k in range(features.shape[1]):
            total[row, k] += features[i, k]


@njit(cache=True, nogil=True)
def add_edges(total, edges, edge_features, labels, columns):
    """Add the features of each edge to the row ``columns[y_i, y_j]`` of the labels of its two nodes."""
    for e in range(len(edges)):
        row = columns[labels[edges[e, 0]], labels[edges[e, 1]]]
        for k in range(edge_features.shape[1]):
            total[row, k] += edge_features[e, k]
