"""Three rings from one point each, with growing ranges of rotation (rule evaluate_equivariant_toy)."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.claims.results import over_seeds, write_results
from reproduction.experiments.equivariant_toy.rings import (
    DISC,
    RingMachine,
    draw_samples,
    equal_rotations,
    learn_rings,
    ring_error,
    rotations,
    symmetry_error,
    virtual_share,
)
from reproduction.pipeline.job import job

#: The five panels of figure 1, as parts of pi.
RANGES = (0, 1 / 8, 1 / 4, 1 / 2, 1)
#: More than enough for the three points to keep their margin: the hard margin of the pictures.
C = 1000.0
#: Solvers and relative gaps for which the virtual samples are counted, beside those of the figure.
SOLVERS = (("blocks", 1e-2), ("bundle", 1e-3))


def main(folder: str | Path, seed: int, triples: int, degree: int, degrees: Sequence[int]) -> None:
    """Learn from several triples of points; the first is the one that is drawn."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    drawn_from = [draw_samples(rng) for _ in range(triples)]
    machines = [[_machine(samples, part, degree) for part in RANGES] for samples in drawn_from]
    measured = pd.DataFrame(
        {"triple": k, "range": part, **_measures(machine)}
        for k, row in enumerate(machines)
        for part, machine in zip(RANGES, row, strict=True)
    )
    full = measured[measured["range"] == RANGES[-1]]["objective"].to_numpy()
    by_degree = pd.DataFrame(
        {"degree": p, "range": part, **_measures(_machine(drawn_from[0], part, p))}
        for p in degrees
        for part in RANGES
    )
    write_results(
        folder,
        {
            "triples": triples,
            "degree": degree,
            "ranges": [str(Fraction(part)) for part in RANGES],
            **{name: _over_triples(measured, name) for name in measured.columns[2:]},
            "ordered_triples": int(_never_rises(measured).sum()),
            "equal_rotations_objective": {
                name: over_seeds(_objectives(drawn_from, degree, count) / full)
                for name, count in (("enough", degree + 1), ("too_few", degree))
            },
            "virtual_by_solver": _count_by_solver(drawn_from[0], degree),
        },
    )
    measured.to_csv(folder / "triples.csv", index=False, lineterminator="\n")
    by_degree.to_csv(folder / "degrees.csv", index=False, lineterminator="\n")
    _points(machines[0]).to_csv(folder / "points.csv", index=False, lineterminator="\n")
    _write_regions(folder / "regions.npz", machines[0])


def _machine(samples: np.ndarray, part: float, degree: int) -> RingMachine:
    return learn_rings(samples, rotations(np.pi * part, degree), degree, C)


def _measures(machine: RingMachine) -> dict[str, float]:
    return {
        "symmetry_error": symmetry_error(machine),
        "ring_error": ring_error(machine),
        "virtual_share": virtual_share(machine),
        "n_virtual": len(machine.virtual),
        "calls": machine.calls,
        "objective": machine.objective,
    }


def _over_triples(measured: pd.DataFrame, name: str) -> list[dict[str, list[float]]]:
    """Return one measurement a triple, for each range."""
    return [over_seeds(measured[measured["range"] == part][name]) for part in RANGES]


def _never_rises(measured: pd.DataFrame) -> pd.Series:
    """Return for each triple whether its symmetry error never rises with the range."""
    return measured.groupby("triple")["symmetry_error"].apply(lambda e: e.is_monotonic_decreasing)


def _objectives(drawn_from: Sequence[np.ndarray], degree: int, count: int) -> np.ndarray:
    """Return the objective of each triple for ``count`` rotations at equal distances."""
    return np.array([learn_rings(s, equal_rotations(count), degree, C).objective for s in drawn_from])


def _count_by_solver(samples: np.ndarray, degree: int) -> list[dict[str, float | str]]:
    """Return how many virtual samples each solver uses for all rotations."""
    turns = rotations(np.pi, degree)
    counts = []
    for solver, tol in SOLVERS:
        machine = learn_rings(samples, turns, degree, C, tol, solver)
        counts.append({"solver": solver, "tol": tol, "used": len(machine.virtual), "calls": machine.calls})
    return counts


def _points(machines: Sequence[RingMachine]) -> pd.DataFrame:
    """Return the given points and the virtual samples of each range."""
    rows = [
        {"range": part, "kind": kind, "sample": int(i), "x": point[0], "y": point[1]}
        for part, machine in zip(RANGES, machines, strict=True)
        for kind, samples, points in (
            ("given", range(len(machine.samples)), machine.samples),
            ("virtual", machine.sample, machine.virtual),
        )
        for i, point in zip(samples, points, strict=True)
    ]
    return pd.DataFrame(rows)


def _write_regions(path: Path, machines: Sequence[RingMachine], size: int = 241) -> None:
    """Write the class and the margin on a grid of the square around the disc, for each range."""
    axis = np.linspace(-DISC, DISC, size)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    np.savez_compressed(
        path,
        axis=axis,
        ranges=np.array(RANGES),
        classes=np.stack([machine.predict(grid) for machine in machines]).astype(np.int8),
        margins=np.stack([machine.margin(grid) for machine in machines]).astype(np.float32),
    )


if "snakemake" in globals():
    with job(snakemake):
        main(
            Path(snakemake.output.values).parent,
            snakemake.params.seed,
            snakemake.params.triples,
            snakemake.params.degree,
            snakemake.params.degrees,
        )
