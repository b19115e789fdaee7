"""Trackers without learning, on the same candidates as the learned ones (cheap-data, Table 1.1).

Their costs are fixed beforehand, in the units of `ermlab.tracking.events`: distances in sizes of a cell,
areas and intensities as logarithms of ratios. A cell without a successor or predecessor costs 1.
"""

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.assignment import EVENTS, NONE, Assignment, Hypotheses
from ermlab.tracking.events import FEATURES, Cells, typical_size
from ermlab.tracking.films import CellFilm, FramePair
from reproduction.experiments.tracking.neighbour_graphs import best_matching, neighbourhood_change

Vector = NDArray[np.float64]
_KINDS = list(EVENTS)
#: What it costs to leave a cell of either frame alone.
_ALONE = 1.0
#: What no event costs that should happen.
_NEVER = 100.0


def max_flow(film: CellFilm, pair: FramePair) -> Assignment:
    """Return the assignment of least cost, a coupled minimum-cost flow (Padfield et al. 2011).

    Each link of a cell with a successor costs its length, and each event by how much the area of its cells
    changes, children and pieces taken together. A cell with two successors counts as divided.
    """
    hypotheses = pair.hypotheses
    before, after = film.cells(pair.frame), film.cells(pair.frame + 1)
    costs = _path_lengths(hypotheses, before, after) / typical_size([before, after])
    kinds = hypotheses.kind
    for kind in ("move", "division", "merge"):
        costs[kinds == _KINDS.index(kind)] += np.abs(_measured(hypotheses, kind, "area"))
    costs[kinds == _KINDS.index("split")] = _NEVER
    for kind in ("appearance", "disappearance"):
        costs[kinds == _KINDS.index(kind)] = _ALONE
    return pair.assigner.best(-costs)


def graph_matching(film: CellFilm, pair: FramePair) -> Assignment:
    """Return the assignment by neighbour graphs, one-to-one matching and division matching (Li et al. 2010).

    Cells are matched one to one so that distance, change of shape, area and intensity, and how differently
    their neighbours lie, sum to the least. Then cells that are left over become second children of cells
    that were matched, where parent and children fit.
    """
    hypotheses = pair.hypotheses
    before, after = film.cells(pair.frame), film.cells(pair.frame + 1)
    moves, divisions = hypotheses.candidates["move"], hypotheses.candidates["division"]
    move_pairs = np.column_stack([moves.sources[:, 0], moves.targets[:, 0]])
    costs = neighbourhood_change(
        before.position, after.position, move_pairs, typical_size([before, after])
    ) + sum(_measured(hypotheses, "move", name) for name in ("distance", "area", "intensity", "eccentricity"))
    place = np.full((len(before), len(after)), -1)
    place[tuple(move_pairs.T)] = np.arange(len(moves))
    gains = np.zeros(place.shape)
    gains[tuple(move_pairs.T)] = 2 * _ALONE - costs
    successor = np.full(len(before), -1)
    found = best_matching(gains)
    successor[found[:, 0]] = found[:, 1]

    left = ~np.isin(np.arange(len(after)), found[:, 1])
    parent, children = divisions.sources[:, 0], divisions.targets
    gain = _ALONE - _of_union(hypotheses) - _measured(hypotheses, "division", "area of children")
    gains, number = np.zeros((len(after), len(before))), np.full((len(after), len(before)), -1)
    for first, second in ((0, 1), (1, 0)):
        fits = (children[:, first] == successor[parent]) & left[children[:, second]]
        here = (children[fits, second], parent[fits])
        gains[here], number[here] = gain[fits], np.flatnonzero(fits)
    divided = best_matching(gains)
    return _assignment(hypotheses, place, successor, number[tuple(divided.T)])


def _assignment(
    hypotheses: Hypotheses,
    place: NDArray[np.int64],
    successor: NDArray[np.int64],
    divisions: NDArray[np.int64],
) -> Assignment:
    """Return the assignment with some divisions and, of other cells, the moves to their successors."""
    y = np.zeros(len(hypotheses), dtype=bool)
    y[len(hypotheses.candidates["move"]) + divisions] = True
    moving = np.setdiff1d(
        np.flatnonzero(successor >= 0), hypotheses.candidates["division"].sources[divisions, 0]
    )
    y[place[moving, successor[moving]]] = True
    alone = np.flatnonzero(hypotheses.incidence @ y == 0)
    kinds, first = hypotheses.kind, np.where(hypotheses.sources[:, 0] >= 0, hypotheses.sources[:, 0], 0)
    vanishing = (kinds == _KINDS.index("disappearance")) & np.isin(first, alone)
    new = (kinds == _KINDS.index("appearance")) & np.isin(
        hypotheses.targets[:, 0] + hypotheses.n_sources, alone
    )
    return y | vanishing | new


def _path_lengths(hypotheses: Hypotheses, before: Cells, after: Cells) -> Vector:
    """Return the length of all links of each event, in pixels."""
    total = np.zeros(len(hypotheses))
    for i in hypotheses.sources.T:
        for j in hypotheses.targets.T:
            joined = (i != NONE) & (j != NONE)
            total[joined] += np.linalg.norm(before.position[i[joined]] - after.position[j[joined]], axis=1)
    return total


def _of_union(hypotheses: Hypotheses) -> Vector:
    """Return how far the children together are from their parent, and how much their area differs."""
    return _measured(hypotheses, "division", "distance") + np.abs(_measured(hypotheses, "division", "area"))


def _measured(hypotheses: Hypotheses, kind: str, name: str) -> Vector:
    """Return a feature of the events of a kind."""
    return hypotheses.candidates[kind].features[:, FEATURES[kind].index(name)]
