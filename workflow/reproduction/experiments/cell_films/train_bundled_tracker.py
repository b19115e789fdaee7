"""Train the trackers that are bundled with the library (rule train_bundled_tracker).

Each film is used at several frame rates. The regularization strength is the one with which trackers find most
events in data sets that they were not trained on: the mean over data sets, and in each over its films at all
rates, so that the few events of fast films count as much as the many of slow ones.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ermlab.optimize import L2, Planes
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.events import Gates
from ermlab.tracking.film_fit import film_statistics, known_range
from ermlab.tracking.films import CellFilm, frame_pairs
from ermlab.tracking.selection import search_alpha
from ermlab.tracking.training import train_tracker
from reproduction.experiments.cell_films.film_variants import every_nth_frame, positions_only
from reproduction.pipeline.job import Paths, run_stage

#: Regularization strengths to choose from, strongest first: planes of one save work for the next. The grid is
#: extended by up to as many values again while the best one is at its end. The models in the wheel are older
#: than this rule: their strength is 3, the end of a shorter grid. The rule takes 10, whose tracker follows
#: slightly fewer fast cells in most films of `benchmarks/tracking_quality.py`.
ALPHAS = (10.0, 1.0, 0.1)
#: Strengths are compared with trackers of every fourth pair of frames.
THINNED = 4
#: Frame rates: every frame, every second and every fourth.
STEPS = (1, 2, 4)
#: Films at a lower rate have at least this number of frames, and cells that move by less than this share of
#: the distance to their neighbors.
FEWEST, FAR = 4, 0.4
#: Pieces of a cell are no candidates where cells are points.
POINTS = Gates(pieces=1e-9)

Films = Mapping[str, Sequence[CellFilm]]
Scores = Mapping[float, Mapping[str, float]]


def main(inputs: Paths, outputs: Paths) -> None:
    """Write a tracker of nuclei and one of points, with notes on data sets that were left out of training."""
    films = {dataset: [CellFilm.read(path) for path in paths] for dataset, paths in inputs.items()}
    _train(films, Gates()).save(outputs["model"])
    positions = {dataset: [positions_only(film) for film in of_set] for dataset, of_set in films.items()}
    _train(positions, POINTS).save(outputs["points"])


def _train(films: Films, gates: Gates) -> CellTracker:
    """Return a tracker trained on all films, whose notes tell its quality on data sets left out."""
    films = {dataset: [slow for film in of_set for slow in _rates(film)] for dataset, of_set in films.items()}
    scores = left_out(films, gates)
    alpha = choose(scores)
    shares = {dataset: scores[choose(scores, without=dataset)][dataset] for dataset in films}
    tracker = CellTracker(alpha=alpha, gates=None if gates == Gates() else gates)
    tracker.fit([film for of_set in films.values() for film in of_set])
    told = ", ".join(f"{dataset} {100 * share:.1f} %" for dataset, share in shares.items())
    rates = " and ".join(str(step) for step in STEPS)
    tracker.notes_ = (
        f"trained on {', '.join(films)}, every {rates} frames, alpha {alpha:g} chosen on data sets left out; "
        f"of the true events of each one, trained on the others, it finds: {told}"
    )
    return tracker


def _rates(film: CellFilm) -> list[CellFilm]:
    """Return the film at all rates at which cells can still be told apart by their positions."""
    slow = [every_nth_frame(film, step) for step in STEPS[1:]]
    return [film, *(one for one in slow if len(one) >= FEWEST and film_statistics(one).motion < FAR)]


def choose(scores: Scores, without: str | None = None) -> float:
    """Return the strength with the largest mean over data sets, except one; of equal ones the largest."""
    means = {
        alpha: np.mean([share for dataset, share in shares.items() if dataset != without])
        for alpha, shares in scores.items()
    }
    return max(sorted(means, reverse=True), key=means.__getitem__)


def left_out(films: Films, gates: Gates) -> dict[float, dict[str, float]]:
    """Return for each strength the share of events of each data set found by a tracker of the others.

    It is the mean over the films of the data set.
    """
    pairs = {
        dataset: [pair for film in of_set for pair in frame_pairs(film, gates)[::THINNED]]
        for dataset, of_set in films.items()
    }
    planes: dict[str, Planes | None] = dict.fromkeys(films)
    scores: dict[float, dict[str, float]] = {}

    def missed(alpha: float) -> float:
        scores[alpha] = {}
        for dataset, of_set in films.items():
            others = [other for other in films if other != dataset]
            found = train_tracker(
                [pair for other in others for pair in pairs[other]], L2(alpha), planes=planes[dataset]
            )
            tracker = CellTracker(gates=gates)
            tracker.known_ = known_range(film_statistics(film) for other in others for film in films[other])
            planes[dataset], tracker.coef_ = found.planes, found.w
            scores[alpha][dataset] = float(np.mean([tracker.score([film]) for film in of_set]))
            print(f"{dataset} left out, alpha {alpha:g}: {scores[alpha][dataset]:.2%}", flush=True)
        return 1 - float(np.mean(list(scores[alpha].values())))

    search_alpha(missed, ALPHAS, max_extensions=len(ALPHAS))
    return scores


if "snakemake" in globals():
    run_stage(main, snakemake)
