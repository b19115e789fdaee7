"""Active and combined learning with four measures of uncertainty (rule train_active_learners)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.active_learning import MEASURES
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs, halves
from ermlab.tracking.patches import Patch, pair_patches
from reproduction.claims.results import write_json
from reproduction.experiments.active_learning.protocol import (
    ActiveExperiment,
    ActiveSettings,
    enumerable,
    enumeration_difference,
)
from reproduction.pipeline.job import job


def main(
    films: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    cells: int,
    patches: int,
    test_pairs: int,
    seeds: int,
    enumerated: int,
    seed: int,
    settings: Mapping[str, Any],
) -> None:
    """Write what all runs gave.

    Parameters
    ----------
    films
        Files of the film to train on and of that to test on; if they are one, it is halved in time.
    outputs
        Files to write: curve, table and stops of all runs, cells and patches of a pair, summary, timings.
    cells, patches
        Cells of the first frame in a patch, and patches to learn from, both at most.
    test_pairs
        Pairs of frames to test on at most, evenly spaced.
    enumerated
        Patches on which the measures are compared with the enumeration of all outputs.
    """
    train, test = CellFilm.read(films["train"]), CellFilm.read(films["test"])
    train_frames, test_frames = (
        halves(train) if films["train"] == films["test"] else (None, range(len(test) - 1))
    )
    pairs = frame_pairs(train, Gates(), train_frames)
    all_patches = pair_patches(train, pairs, Gates(), cells)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(all_patches))[:patches])
    tested = frame_pairs(test, Gates(), test_frames[:: -(-len(test_frames) // test_pairs)])
    experiment = ActiveExperiment([all_patches[i] for i in drawn], tested, ActiveSettings(**settings))
    runs = {
        (measure, number): experiment.run(measure, seed + number)
        for measure in MEASURES
        for number in range(seeds)
    }
    for name in ("curve", "table", "stops"):
        tables = [
            getattr(run, name).assign(measure=measure, seed=number) for (measure, number), run in runs.items()
        ]
        pd.concat(tables).to_csv(outputs[name], index=False, lineterminator="\n")
    _cells_of_first_pair(train, all_patches).to_csv(outputs["cells"], index=False, lineterminator="\n")
    some = enumerable(experiment.pool, enumerated)
    last = [runs[measure, 0].weights for measure in MEASURES]
    summary = {
        **_sizes(pairs, all_patches, experiment),
        **_on_all_data(experiment),
        "enumerated": len(some),
        "enumeration_difference": enumeration_difference(some, last),
    }
    write_json(outputs["summary"], summary)
    seconds = {measure: [runs[measure, number].seconds for number in range(seeds)] for measure in MEASURES}
    write_json(outputs["timings"], seconds)


def _cells_of_first_pair(film: CellFilm, patches: Sequence[Patch]) -> pd.DataFrame:
    """Return where the cells of the first two frames are, and the number of the patch of each."""
    tables = []
    for number, patch in enumerate(patch for patch in patches if patch.frame == patches[0].frame):
        for later, cells in enumerate((patch.sources, patch.targets)):
            position = film.cells(patch.frame + later).position[cells]
            tables.append(pd.DataFrame(position, columns=["row", "column"]).assign(frame=later, patch=number))
    return pd.concat(tables)


def _sizes(
    pairs: Sequence[FramePair], patches: Sequence[Patch], experiment: ActiveExperiment
) -> dict[str, Any]:
    """Return how much there is to learn from and to test on, and what was lost on the way."""
    found, lost = (sum(len(getattr(pair.annotation, name)) for pair in pairs) for name in ("events", "lost"))
    kept = sum(len(patch.annotation.events) for patch in patches)
    pool = experiment.pool
    return {
        "pairs": {"train": len(pairs), "test": len(experiment.test)},
        "patches": len(pool),
        "cells_per_patch": float(np.mean([len(patch.sources) for patch in pool])),
        "complete_patches": float(np.mean([patch.annotation.complete for patch in pool])),
        "true_events": found + lost,
        "lost_to_gates": lost / (found + lost),
        "lost_to_borders": (found - kept) / (found + lost),
        "test_events": sum(
            len(pair.annotation.events) + len(pair.annotation.lost) for pair in experiment.test
        ),
    }


def _on_all_data(experiment: ActiveExperiment) -> dict[str, Any]:
    """Return the test losses of training on all patches, with a margin and by the perceptron."""
    loss, choice = experiment.all_data()
    return {
        "all_data": loss,
        "strength": choice.alpha,
        "strength_losses": {str(strength): held_out for strength, held_out in choice.losses.items()},
        "perceptron": experiment.perceptron_on_all_data(averaged=False),
        "averaged_perceptron": experiment.perceptron_on_all_data(averaged=True),
    }


if "snakemake" in globals():
    with job(snakemake):
        main(
            dict(snakemake.input.items()),
            dict(snakemake.output.items()),
            settings=snakemake.params.settings,
            **snakemake.params.arguments,
        )
