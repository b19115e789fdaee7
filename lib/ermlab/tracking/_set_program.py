"""Set packing and set partitioning by HiGHS: linear relaxations, branch and bound, branch and cut."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

#: Tolerance of integrality, and of comparisons with the best value; scores are at most 1 in size here.
_PRECISION = 1e-7
#: Linear programs after which branch and bound gives way to branch and cut.
_MAX_PROGRAMS = 20
#: Nodes of branch and cut after which a search is stopped: if hundreds of sets are tied, the proof may take
#: forever. A limit on nodes instead of time keeps the result independent of the machine.
_MAX_NODES = 10_000

Vector = NDArray[np.float64]
Columns = NDArray[np.int32]


class UnprovedError(ValueError):
    """The best choice was not proved within the limit on nodes."""


class SetProgram:
    """The best choice of columns that take each row exactly once, or at most once.

    The relaxation is solved by the simplex method, with a warm start from the last solution. If the result is
    not integral, branch and bound follows: its programs differ in one or two bounds, so that each takes few
    steps. If a few programs do not suffice, branch and cut follows. The result is optimal, or an
    `UnprovedError` is raised.

    The matrix ``incidence`` is 1 where a column takes a row, ``every_row`` says whether each row must be
    taken, and the attribute ``integral`` whether the last relaxation was integral.
    """

    def __init__(self, incidence: csc_array, *, every_row: bool):
        self.integral = True
        self._n_rows, n_columns = incidence.shape
        self._columns = np.arange(n_columns, dtype=np.int32)
        self._model = _linear_program(incidence, every_row)
        self._forbidden: Columns | None = None

    def best(
        self,
        scores: Vector,
        *,
        including: NDArray[np.integer] = (),
        excluding: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_] | None:
        """Return the choice with the largest sum of scores, None if there is none.

        All columns ``including`` are chosen, and not all of the columns ``excluding``.
        """
        self._set_scores(scores)
        if excluding is not None:
            self._forbid(np.asarray(excluding, dtype=np.int32))
        including = np.asarray(including, dtype=np.int32)
        self._fix(including, np.ones(len(including)))
        try:
            y = self._best_integral()
        finally:
            self._free(including)
            if excluding is not None:
                self._model.changeRowBounds(self._n_rows, -highspy.kHighsInf, highspy.kHighsInf)
        return None if y is None else y > 0.5

    def relaxation(self, scores: Vector) -> tuple[Vector, Vector]:
        """Return the solution of the linear relaxation, and the prices of the rows that prove it."""
        scale = self._set_scores(scores)
        y, _ = self._run()
        self.integral = bool((np.abs(y - np.round(y)) <= _PRECISION).all())
        return y, scale * np.abs(self._model.getSolution().row_dual)

    def _set_scores(self, scores: Vector) -> float:
        """Pass the scores, scaled to at most 1 in size since the tolerances of the solver are absolute."""
        scale = np.abs(scores).max(initial=0.0) or 1.0
        self._model.changeColsCost(len(self._columns), self._columns, scores / scale)
        return float(scale)

    def _forbid(self, columns: Columns) -> None:
        """Require that one of the columns is not chosen, by a row that is kept for later searches."""
        if self._forbidden is None or not np.array_equal(columns, self._forbidden):
            if self._forbidden is not None:
                self._model.deleteRows(1, np.array([self._n_rows], dtype=np.int32))
            self._model.addRow(
                -highspy.kHighsInf, highspy.kHighsInf, len(columns), columns, np.ones(len(columns))
            )
            self._forbidden = columns
        self._model.changeRowBounds(self._n_rows, -highspy.kHighsInf, len(columns) - 1.0)

    def _best_integral(self) -> Vector | None:
        """Return the best integral solution, None if there is none: depth first, the branch with 1 first."""
        best, best_value = None, -np.inf
        nodes: list[dict[int, float]] = [{}]
        self.integral = False
        for _ in range(_MAX_PROGRAMS):
            fixed = nodes.pop()
            y, value = self._solve_with_fixed(fixed)
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
        return self._branch_and_cut()

    def _branch_and_cut(self) -> Vector | None:
        """Return the result of the solver's own branch and cut, which starts slowly but scales better."""
        self._set_kind(highspy.HighsVarType.kInteger)
        try:
            return self._run()[0]
        finally:
            self._set_kind(highspy.HighsVarType.kContinuous)

    def _solve_with_fixed(self, fixed: dict[int, float]) -> tuple[Vector | None, float]:
        """Return the solution of the linear program with some columns fixed, and its value."""
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
            nodes = self._model.getInfo().mip_node_count
            raise UnprovedError(
                f"{len(self._columns)} sets of {self._n_rows} cells: no proof after {nodes} nodes"
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


def incidence_matrix(cells: NDArray[np.int64], n_cells: int) -> csc_array:
    """Return the matrix (n_cells, n_sets) with 1 where a set, a row of ``cells``, takes a cell."""
    present = cells >= 0
    rows = cells[present]
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return csc_array(
        (np.ones(len(rows)), rows.astype(np.int32), starts.astype(np.int32)), shape=(n_cells, len(cells))
    )


def _linear_program(incidence: csc_array, every_row: bool) -> highspy.Highs:
    """Return the maximization over ``incidence @ y = 1`` (or ``<= 1``) and ``0 <= y <= 1``, without costs."""
    n_rows, n_columns = incidence.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n_columns, n_rows
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = np.zeros(n_columns)
    program.col_lower_, program.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    program.row_lower_ = np.full(n_rows, 1.0 if every_row else -highspy.kHighsInf)
    program.row_upper_ = np.ones(n_rows)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = incidence.indptr
    program.a_matrix_.index_ = incidence.indices
    program.a_matrix_.value_ = incidence.data
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 0.0)
    model.setOptionValue("mip_max_nodes", _MAX_NODES)
    model.passModel(program)
    return model
