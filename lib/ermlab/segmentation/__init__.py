"""Conditional random fields: inference on chains, trees and graphs, and tasks for `StructuredSVM`.

A labeling ``y`` of the nodes of a graph has the score ``sum_i unary[i, y_i] + sum_e pairwise[e, y_i, y_j]``
(thesis, eq. 2.23), which inference maximizes. Every inference function returns a `Labeling` with an upper
bound on the best score.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
