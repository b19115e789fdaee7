"""The integer program of tracking by assignment, as the cheap-data chapter states it (eqs. 1.1 to 1.3).

`Assigner` finds the same assignments much faster. This program is the reference for its tests, and the
fallback for problems that it cannot prove.
"""

from __future__ import annotations

from itertools import pairwise

import mip
import numpy as np
from numpy.typing import ArrayLike

from ermlab.tracking._set_program import UnprovedError
from ermlab.tracking.assignment import Assignment, Hypotheses, NoAssignmentError, check_events
from ermlab.tracking.packing import check_scores

#: Nodes of branch and cut after which `solve_assignment` gives up.
MAX_NODES = 100_000


def assignment_program(
    hypotheses: Hypotheses,
    scores: ArrayLike,
    *,
    including: ArrayLike = (),
    excluding: ArrayLike | None = None,
) -> mip.Model:
    """Return the integer program whose solution is the best assignment.

    Parameters
    ----------
    hypotheses : Hypotheses
        The candidate events.
    scores : array-like of shape (n_events,)
        The score ``<f, w>`` of each event.
    including : array-like of int, default=()
        Indices of events that the assignment must have.
    excluding : array-like of int, optional
        Indices of events of which the assignment must lack at least one.

    Returns
    -------
    mip.Model
        A model with one binary variable ``y`` per event, in the order of the hypotheses.
    """
    scores = check_scores(scores, len(hypotheses))
    by_cell = hypotheses.incidence.tocsr()
    events_of = [by_cell.indices[first:last] for first, last in pairwise(by_cell.indptr)]
    model = mip.Model(sense=mip.MAXIMIZE, solver_name=mip.HIGHS)
    model.verbose = 0
    y = [model.add_var(f"y_{event}", var_type=mip.BINARY) for event in range(len(hypotheses))]

    # Eq. 1.1: maximize the sum of the scores of the events that happen.
    model.objective = mip.xsum(score * y[event] for event, score in enumerate(scores.tolist()))
    # Eq. 1.2: each cell of the second frame has one past.
    for cell in range(hypotheses.n_sources, hypotheses.n_cells):
        model += mip.xsum(y[event] for event in events_of[cell]) == 1
    # Eq. 1.3: each cell of the first frame has one fate.
    for cell in range(hypotheses.n_sources):
        model += mip.xsum(y[event] for event in events_of[cell]) == 1
    # Known events happen.
    for event in check_events(including, len(hypotheses), "including"):
        model += y[event] == 1
    # At least one of the excluded events does not.
    if excluding is not None:
        excluding = check_events(excluding, len(hypotheses), "excluding")
        model += mip.xsum(y[event] for event in excluding) <= len(excluding) - 1
    return model


def solve_assignment(
    hypotheses: Hypotheses,
    scores: ArrayLike,
    *,
    including: ArrayLike = (),
    excluding: ArrayLike | None = None,
    max_nodes: int = MAX_NODES,
) -> Assignment:
    """Return the assignment with the largest sum of scores, found by branch and cut on the whole program.

    Parameters
    ----------
    hypotheses, scores, including, excluding
        As in `assignment_program`.
    max_nodes : int, default=100_000
        Limit on the nodes of branch and cut. The result does not depend on the machine, as it would with a
        limit on time.

    Raises
    ------
    NoAssignmentError
        If no assignment satisfies ``including`` and ``excluding``.
    UnprovedError
        If the limit is reached: there is no approximate result.
    """
    scores = check_scores(scores, len(hypotheses))
    if excluding is not None and not len(excluding):
        raise NoAssignmentError("excluding is empty: no assignment lacks one of no events")
    if not len(hypotheses):
        return np.zeros(0, dtype=bool)
    scale = np.abs(scores).max() or 1.0  # the tolerances of the solver are absolute
    model = assignment_program(hypotheses, scores / scale, including=including, excluding=excluding)
    model.threads = 1
    model.max_mip_gap = model.max_mip_gap_abs = 0.0
    status = model.optimize(max_nodes=max_nodes)
    if status == mip.OptimizationStatus.INFEASIBLE:
        raise NoAssignmentError("no assignment satisfies what is included and excluded")
    if status != mip.OptimizationStatus.OPTIMAL:
        raise UnprovedError(
            f"{len(hypotheses)} events of {hypotheses.n_cells} cells: the best assignment is not proved "
            f"after {max_nodes} nodes of branch and cut; expected scores with fewer ties, or fewer candidates"
        )
    return np.array([variable.x > 0.5 for variable in model.vars])
