"""Integer programmes over sets of cells, by HiGHS: linear relaxations, branch and bound, branch and cut."""

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

#: What counts as integral, and as better than the best value so far; scores are at most 1 in size by then.
_PRECISION = 1e-7
#: Linear programmes after which branch and bound gives way to branch and cut.
_FEW_PROGRAMMES = 20
#: Nodes of branch and cut after which a search is given up: where hundreds of sets are tied, the proof alone
#: may never end. A number of nodes and no time, so that the result does not depend on the machine.
_MOST_NODES = 10_000

Vector = NDArray[np.float64]
Columns = NDArray[np.int32]


class UnprovedError(ValueError):
    """The best choice was not proved within the nodes that a search may take."""


class SetProgram:
    """The best choice of columns that take each row once, or at most once.

    The relaxation is solved by the simplex method, from the last solution on. Where it is not integral,
    branch and bound follows: its programmes differ by a bound or two, so each is solved in a few steps. Where
    a few of them do not settle it, the solver's branch and cut does, or raises an `UnprovedError`: an answer
    is the best one or none.

    Parameters
    ----------
    incidence
        1 where a column takes a row.
    every_row
        Whether each row must be taken.

    Attributes
    ----------
    integral
        Whether the last relaxation was integral.
    """

    def __init__(self, incidence: csc_array, *, every_row: bool):
        self.integral = True
        self._n_rows, n_columns = incidence.shape
        self._columns = np.arange(n_columns, dtype=np.int32)
        self._model = _linear_programme(incidence, every_row)
        self._forbidden: Columns | None = None

    def best(
        self, scores: Vector, *, including: Columns = (), excluding: Columns | None = None
    ) -> NDArray[np.bool_] | None:
        """Return the choice with the largest sum of scores, None if there is none.

        Parameters
        ----------
        including
            Columns that are chosen.
        excluding
            Columns of which at least one, there is one, is not chosen.
        """
        self._set_scores(scores)
        if excluding is not None:
            self._forbid(excluding)
        self._fix(including, np.ones(len(including)))
        try:
            y = self._best_integral()
        finally:
            self._free(including)
            if excluding is not None:
                self._model.changeRowBounds(self._n_rows, -highspy.kHighsInf, highspy.kHighsInf)
        return None if y is None else y > 0.5

    def relaxation(self, scores: Vector) -> tuple[Vector, Vector]:
        """Return the best choice if columns can be chosen in part, and the prices of rows that prove it."""
        scale = self._set_scores(scores)
        y, _ = self._run()
        self.integral = bool((np.abs(y - np.round(y)) <= _PRECISION).all())
        return y, scale * np.abs(self._model.getSolution().row_dual)

    def _set_scores(self, scores: Vector) -> float:
        """Hand over the scores, at most 1 in size since tolerances of the solver are absolute."""
        scale = np.abs(scores).max(initial=0.0) or 1.0
        self._model.changeColsCost(len(self._columns), self._columns, scores / scale)
        return float(scale)

    def _forbid(self, columns: Columns) -> None:
        """Demand that one of the columns is missing, by a row that stays and is only bounded anew."""
        if self._forbidden is None or not np.array_equal(columns, self._forbidden):
            if self._forbidden is not None:
                self._model.deleteRows(1, np.array([self._n_rows], dtype=np.int32))
            self._model.addRow(
                -highspy.kHighsInf, highspy.kHighsInf, len(columns), columns, np.ones(len(columns))
            )
            self._forbidden = columns
        self._model.changeRowBounds(self._n_rows, -highspy.kHighsInf, len(columns) - 1.0)

    def _best_integral(self) -> Vector | None:
        """Return the best integral solution, None if there is none: depth first, with the column first."""
        best, best_value = None, -np.inf
        nodes: list[dict[int, float]] = [{}]
        self.integral = False
        for _ in range(_FEW_PROGRAMMES):
            fixed = nodes.pop()
            y, value = self._with_some_decided(fixed)
            if y is not None and value > best_value + _PRECISION:
                distance = np.abs(y - np.round(y))
                if (distance <= _PRECISION).all():
                    best, best_value = y, value
                    self.integral |= not fixed
                else:
                    undecided = int(np.argmax(distance))
                    nodes += [{**fixed, undecided: 0.0}, {**fixed, undecided: 1.0}]
            if not nodes:
                return best
        return self._by_cutting_planes()

    def _by_cutting_planes(self) -> Vector | None:
        """Let the solver's own branch and cut do what is left: slow to begin, but it comes to an end."""
        self._set_kind(highspy.HighsVarType.kInteger)
        try:
            return self._run()[0]
        finally:
            self._set_kind(highspy.HighsVarType.kContinuous)

    def _with_some_decided(self, fixed: dict[int, float]) -> tuple[Vector | None, float]:
        """Return the solution of the linear programme with some columns decided, and its value."""
        columns = np.array(list(fixed), dtype=np.int32)
        self._fix(columns, np.array(list(fixed.values())))
        try:
            return self._run()
        finally:
            self._free(columns)

    def _run(self) -> tuple[Vector | None, float]:
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None, -np.inf
        if status == highspy.HighsModelStatus.kSolutionLimit:
            info = self._model.getInfo()
            raise UnprovedError(
                f"{len(self._columns)} sets of {self._n_rows} cells: the best choice is not proved after "
                f"{info.mip_node_count} nodes of branch and cut (the bound is {info.mip_gap:.1%} off); "
                "expected scores with fewer ties, or fewer candidates"
            )
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            raise RuntimeError(f"the solver ended with {self._model.modelStatusToString(status)}")
        return np.array(self._model.getSolution().col_value), self._model.getInfo().objective_function_value

    def _set_kind(self, kind: highspy.HighsVarType) -> None:
        kinds = np.full(len(self._columns), int(kind), dtype=np.uint8)
        self._model.changeColsIntegrality(len(self._columns), self._columns, kinds)

    def _fix(self, columns: Columns, values: Vector) -> None:
        if len(columns):
            self._model.changeColsBounds(len(columns), columns, values, values)

    def _free(self, columns: Columns) -> None:
        if len(columns):
            self._model.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.ones(len(columns)))


def _linear_programme(incidence: csc_array, every_row: bool) -> highspy.Highs:
    """Return the maximisation over ``incidence @ y = 1`` (or at most 1) and ``0 <= y <= 1`` without costs."""
    n_rows, n_columns = incidence.shape
    programme = highspy.HighsLp()
    programme.num_col_, programme.num_row_ = n_columns, n_rows
    programme.sense_ = highspy.ObjSense.kMaximize
    programme.col_cost_ = np.zeros(n_columns)
    programme.col_lower_, programme.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    programme.row_lower_ = np.full(n_rows, 1.0 if every_row else -highspy.kHighsInf)
    programme.row_upper_ = np.ones(n_rows)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_ = incidence.indptr
    programme.a_matrix_.index_ = incidence.indices
    programme.a_matrix_.value_ = incidence.data
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 0.0)
    model.setOptionValue("mip_max_nodes", _MOST_NODES)
    model.passModel(programme)
    return model
