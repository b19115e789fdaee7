"""The tracker that comes with the library, from films of several kinds (rule train_shipped_tracker)."""

from collections.abc import Mapping, Sequence

from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.films import CellFilm
from reproduction.pipeline.job import job

#: That which most films of section 1.2 chose; weaker, it loses far more events of films unlike those it saw.
STRENGTH = 1.0


def main(paths: Mapping[str, Sequence[str]], model: str) -> None:
    """Write a tracker that learned from all films; its notes say how each kind fares if left out."""
    films = {kind: [CellFilm.read(path) for path in some] for kind, some in paths.items()}
    shares = ", ".join(f"{kind} {_left_out(films, kind):.1f} %" for kind in films)
    notes = (
        f"trained on {', '.join(films)}; "
        f"of the true events of each one, trained on the others, it finds: {shares}"
    )
    _train([film for some in films.values() for film in some]).save(model, notes)


def _left_out(films: Mapping[str, Sequence[CellFilm]], kind: str) -> float:
    """Return the percentage of events found in films of a kind that was not trained on."""
    others = [film for other, some in films.items() if other != kind for film in some]
    return 100 * _train(others).score(films[kind])


def _train(films: Sequence[CellFilm]) -> CellTracker:
    return CellTracker(lam=STRENGTH).fit(films)


if "snakemake" in globals():
    with job(snakemake):
        main({kind: snakemake.input[kind] for kind in snakemake.params.kinds}, snakemake.output.model)
