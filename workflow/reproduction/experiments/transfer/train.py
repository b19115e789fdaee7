"""Five strategies on growing shares of a target's annotation (rule train_transfer)."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from reproduction.claims.results import write_json
from reproduction.experiments.transfer.protocol import (
    BOTH,
    SHARED,
    STRATEGIES,
    WHOLE,
    TransferStudy,
    union_limit_difference,
)
from reproduction.experiments.transfer.scenarios import CONTROLS, SCENARIOS, Sizes
from reproduction.pipeline.job import job

#: With so large a rho transfer is to be the union; patches of each data set that take part.
LIMIT = {"lam": 1.0, "rho": 1e6, "most": 100}


def main(
    films: Mapping[str, str],
    scenario: str,
    outputs: Mapping[str, str],
    *,
    seed: int,
    sizes: Mapping[str, int | None],
    shares: Sequence[float],
    control_shares: Sequence[float],
    draws: int,
    search: Mapping[str, Any],
    threads: int,
) -> None:
    """Run the studies of a scenario; ``search`` is how settings are chosen, see `TransferStudy`."""
    began = time.perf_counter()
    films = {name: CellFilm.read(path) for name, path in films.items()}
    made = SCENARIOS[scenario](films, Sizes(**sizes, n_threads=threads), np.random.default_rng([seed, 1]))
    studies = {name: TransferStudy(*parts, **search, n_threads=threads) for name, parts in made.items()}
    rows = []
    for name, study in studies.items():
        orders = [study.draw([seed, 2, draw]) for draw in range(draws)]
        for row in _runs(study, control_shares if scenario == CONTROLS else shares, orders):
            print(row, flush=True)
            rows.append({"study": name, **row})
    pd.DataFrame(rows).to_csv(outputs["runs"], index=False, lineterminator="\n")
    facts = {name: _facts(study) for name, study in studies.items()}
    write_json(outputs["facts"], facts)
    write_json(outputs["timings"], {"seconds": time.perf_counter() - began})


def _runs(
    study: TransferStudy, shares: Sequence[float], orders: Sequence[np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a study: those without a share, and those of each draw and share.

    With all of the target there is nothing to draw, and partial target is all target.
    """
    for name in WHOLE:
        yield _row(study, name, float(STRATEGIES[name].target), 0, None)
    for share in shares:
        for draw, order in enumerate(orders[: 1 if share == 1 else None]):
            for name in SHARED if share < 1 else BOTH:
                yield _row(study, name, share, draw, order)


def _row(
    study: TransferStudy, name: str, share: float, draw: int, order: np.ndarray | None
) -> dict[str, Any]:
    """Return a run with the chosen setting, and the loss with the published one."""
    chosen = study.run(name, share, order)
    published = study.run(name, share, order, STRATEGIES[name].published)
    return {
        "strategy": name,
        "draw": draw,
        "share": share,
        "patches": chosen.patches,
        "events": chosen.events,
        "lam": chosen.setting.lam,
        "rho": chosen.setting.rho,
        "validation_loss": chosen.validation_loss,
        "loss": chosen.loss,
        "published_loss": published.loss,
    }


def _facts(study: TransferStudy) -> dict[str, Any]:
    """Return what there is to learn from and to be tested on, and how near transfer comes to the union."""
    sizes = {
        name: {
            "patches": len(pool),
            "events": pool.n_events(np.arange(len(pool))),
            "complete": int(pool.complete.sum()),
        }
        for name, pool in (("source", study.source.pool), ("target", study.target.pool))
    }
    known, lost = (
        sum(len(getattr(pair.annotation, part)) for pair in study.test) for part in ("events", "lost")
    )
    return {
        **sizes,
        "test": {"pairs": len(study.test), "events": known + lost, "lost": lost},
        "union_limit_difference": union_limit_difference(study.source.pool, study.target.pool, **LIMIT),
    }


if "snakemake" in globals():
    with job(snakemake):
        main(
            dict(snakemake.input.items()),
            snakemake.wildcards.scenario,
            dict(snakemake.output.items()),
            threads=snakemake.threads,
            **snakemake.params.study,
        )
