"""The tracker that comes with the library, from films of two laboratories (rule train_shipped_tracker)."""

from collections.abc import Sequence

from ermlab.features.cell_films import CellFilm
from ermlab.risk.cell_tracker import CellTracker
from ermlab.workflow.job import job


def main(first: Sequence[str], second: Sequence[str], model: str) -> None:
    """Write a tracker that learned from all films; its notes say how the first ones do on the others."""
    first, second = ([CellFilm.read(path) for path in paths] for paths in (first, second))
    held_out = 100 * CellTracker().fit(first).score(second)
    notes = (
        "trained on two simulated films of each of two laboratories, dcelliq_nuclei and mitocheck_nuclei; "
        f"trained on the first ones alone, it finds {held_out:.2f} % of the true events of the others"
    )
    CellTracker().fit([*first, *second]).save(model, notes)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.first, snakemake.input.second, snakemake.output.model)
