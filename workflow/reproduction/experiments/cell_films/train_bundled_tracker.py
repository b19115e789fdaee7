"""Train the tracker that is bundled with the library (rule train_bundled_tracker)."""

from collections.abc import Mapping, Sequence

from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.films import CellFilm
from reproduction.pipeline.job import Paths, run_stage

#: Regularization strength. Most films of section 1.2 chose it; with a weaker one, many more events are missed
#: in films unlike those of the training.
ALPHA = 1.0


def main(inputs: Paths, outputs: Paths) -> None:
    """Write a tracker trained on all films, with a note of how well each data set is tracked if left out."""
    films = {dataset: [CellFilm.read(path) for path in paths] for dataset, paths in inputs.items()}
    shares = ", ".join(f"{dataset} {_left_out(films, dataset):.1f} %" for dataset in films)
    notes = (
        f"trained on {', '.join(films)}; "
        f"of the true events of each one, trained on the others, it finds: {shares}"
    )
    _train([film for of_dataset in films.values() for film in of_dataset]).save(outputs["model"], notes)


def _left_out(films: Mapping[str, Sequence[CellFilm]], dataset: str) -> float:
    """Return the percentage of events found in the films of a data set by a tracker trained on the others."""
    others = [film for other, of_other in films.items() if other != dataset for film in of_other]
    return 100 * _train(others).score(films[dataset])


def _train(films: Sequence[CellFilm]) -> CellTracker:
    return CellTracker(alpha=ALPHA).fit(films)


if "snakemake" in globals():
    run_stage(main, snakemake)
