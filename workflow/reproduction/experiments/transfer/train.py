"""Train five strategies on growing shares of a target's annotation (rule train_transfer)."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, halves
from ermlab.tracking.patches import film_patches
from reproduction.claims.results import write_json
from reproduction.experiments.transfer.patch_training import PatchPool
from reproduction.experiments.transfer.protocol import (
    BOTH,
    FIFTH,
    SHARED,
    STRATEGIES,
    WHOLE,
    Search,
    Setting,
    TransferStudy,
    union_limit_difference,
)
from reproduction.pipeline.job import Paths, run_stage

Films = Mapping[str, CellFilm]
#: Source, target and test of each `TransferStudy` of a scenario, by name.
Parts = dict[str, tuple[PatchPool, PatchPool, PatchPool]]
CONTROLS = "controls"
#: With so large a rho transfer should be the union; and the maximum number of patches of each data set.
LIMIT = {"alpha": 1.0, "rho": 1e6, "max_patches": 100}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data that are made of films."""

    cells: int  #: maximum number of cells of the first frame of a patch
    source_patches: int  #: maximum number of patches of the source
    target_patches: int
    test_patches: int
    pairs: int | None = None  #: maximum number of pairs of frames of each part, the first ones
    n_jobs: int = 1  #: patches that are searched at the same time

    def source(self, film: CellFilm, rng: np.random.Generator, frames: range | None = None) -> PatchPool:
        """Return patches of a film, or of some of its frames, to be used as source."""
        return self._drawn(film, self.source_patches, rng, frames)

    def target(self, film: CellFilm, rng: np.random.Generator, frames: range | None = None) -> PatchPool:
        """Return patches for the training of the target."""
        return self._drawn(film, self.target_patches, rng, frames)

    def test(self, film: CellFilm, rng: np.random.Generator, frames: range | None = None) -> PatchPool:
        """Return patches for the test."""
        return self._drawn(film, self.test_patches, rng, frames)

    def _drawn(
        self, film: CellFilm, patches: int, rng: np.random.Generator, frames: range | None
    ) -> PatchPool:
        """Draw patches with a known event, and return them in the order of time."""
        frames = range(len(film) - 1) if frames is None else frames
        cut = film_patches(film, Gates(), self.cells, frames[: self.pairs])
        known = [patch for patch in cut if len(patch.annotation.events)]
        drawn = np.sort(rng.permutation(len(known))[:patches])
        return PatchPool([known[i] for i in drawn], n_jobs=self.n_jobs)


def laboratories(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return two laboratories: a film of each, and the test on the next film of the target's."""
    (source,), (target, test) = (_of_laboratory(films, name) for name in ("dcelliq", "mitocheck"))
    return {"laboratories": (sizes.source(source, rng), sizes.target(target, rng), sizes.test(test, rng))}


def _of_laboratory(films: Films, laboratory: str) -> list[CellFilm]:
    """Return the films of a laboratory, in the order of their numbers."""
    numbers = {int(name.rpartition("_")[2]): name for name in films if name.startswith(laboratory)}
    return [films[numbers[number]] for number in sorted(numbers)]


def migration(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return a published simulation of nuclei as source, and the two halves of a real film."""
    film = films["migration_4"]
    train_frames, test_frames = halves(film)
    source, target = sizes.source(films["ctc_sim"], rng), sizes.target(film, rng, train_frames)
    return {"migration": (source, target, sizes.test(film, rng, test_frames))}


def controls(films: Films, sizes: Sizes, rng: np.random.Generator) -> Parts:
    """Return a source with random assignments in place of the truth, and one from the target's own film."""
    source, target, test = laboratories(films, sizes, rng)["laboratories"]
    random = PatchPool(source.patches, source.random_truth(rng), sizes.n_jobs)
    first, second = halves(films["mitocheck_1"])
    return {
        "shuffled": (random, target, test),
        "same": (
            sizes.source(films["mitocheck_1"], rng, first),
            sizes.target(films["mitocheck_1"], rng, second),
            test,
        ),
    }


SCENARIOS: dict[str, Callable[[Films, Sizes, np.random.Generator], Parts]] = {
    "laboratories": laboratories,
    "migration": migration,
    CONTROLS: controls,
}


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    scenario: str,
    shares: Sequence[float],
    control_shares: Sequence[float],
    draws: int,
    sizes: Sizes,
    search: Search,
    threads: int,
) -> None:
    """Run the studies of a scenario.

    Parameters
    ----------
    inputs, outputs : mapping
        Films by name; files to write.
    seed : int
        Seed of the draws.
    scenario : str
        One of `SCENARIOS`; with the number of a repetition after a hyphen, it has one draw, of that number.
    shares, control_shares : sequence of float
        Annotated shares of the target, and those of the controls.
    draws : int
        Number of random orders of the target's patches.
    sizes : Sizes
        Sizes of the data.
    search : Search
        Settings to choose from.
    threads : int
        Number of threads.
    """
    start = time.perf_counter()
    films = {name: CellFilm.read(path) for name, path in inputs.items()}
    name, _, repetition = scenario.partition("-")
    numbers = [int(repetition)] if repetition else range(draws)
    parts = SCENARIOS[name](films, replace(sizes, n_jobs=threads), np.random.default_rng([seed, 1]))
    studies = {name: TransferStudy(*part, search) for name, part in parts.items()}
    rows = []
    for name, study in studies.items():
        orders = {draw: study.draw([seed, 2, draw]) for draw in numbers}
        for row in _runs(study, control_shares if scenario == CONTROLS else shares, orders):
            print(row, flush=True)
            rows.append({"study": name, **row})
    pd.DataFrame(rows).to_csv(outputs["runs"], index=False, lineterminator="\n")
    write_json(outputs["facts"], {name: _facts(study) for name, study in studies.items()})
    write_json(outputs["timings"], {"seconds": time.perf_counter() - start})


def _runs(
    study: TransferStudy, shares: Sequence[float], orders: Mapping[int, np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a study: those without a share, and those of each draw and share.

    With all of the target there is one draw, and *partial target* is *all target*. As in the chapter, each
    strategy has one setting; it is chosen at a fifth of the target's annotation.
    """
    first = min(orders)
    settings = {name: study.choose_for(name, 1.0) for name in WHOLE}
    settings |= {name: study.choose_for(name, FIFTH, orders[first]) for name in SHARED}
    for name in WHOLE:
        yield _row(study, name, float(STRATEGIES[name].target), first, None, settings[name])
    for share in shares:
        for draw, order in orders.items():
            for name in SHARED if share < 1 else BOTH:
                if share < 1 or draw == first:
                    yield _row(study, name, share, draw, order, settings[name])


def _row(
    study: TransferStudy,
    name: str,
    share: float,
    draw: int,
    order: np.ndarray | None,
    choice: tuple[Setting, float],
) -> dict[str, Any]:
    """Return the result with the chosen setting, and the loss with the published one."""
    chosen = study.run(name, share, order, choice[0])
    published = study.run(name, share, order, STRATEGIES[name].published)
    return {
        "strategy": name,
        "draw": draw,
        "share": share,
        "patches": chosen.patches,
        "events": chosen.events,
        "lam": chosen.setting.alpha,
        "rho": chosen.setting.rho,
        "validation_loss": choice[1],
        "loss": chosen.loss,
        "published_loss": published.loss,
    }


def _facts(study: TransferStudy) -> dict[str, Any]:
    """Return the sizes of the training and test data, and the difference of transfer and union."""
    sizes = {
        name: {
            "patches": len(pool),
            "events": pool.n_events(np.arange(len(pool))),
            "complete": int(pool.complete.sum()),
        }
        for name, pool in (("source", study.source), ("target", study.target), ("test", study.test))
    }
    limit = union_limit_difference(study.source, study.target, **LIMIT)
    return {**sizes, "union_limit_difference": limit}


if "snakemake" in globals():
    run_stage(main, snakemake)
