"""Run active and combined learning with four measures of uncertainty (rule train_active_learners)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.active_learning import MEASURES
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs, halves
from ermlab.tracking.patches import Patch, pair_patches
from reproduction.claims.results import write_json
from reproduction.experiments.active_learning.algorithm import compare_with_learner
from reproduction.experiments.active_learning.protocol import (
    ActiveExperiment,
    ActiveSettings,
    enumerable,
    enumeration_difference,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    seeds: int,
    repetition: int | None,
    cells: int,
    patches: int,
    test_pairs: int,
    enumerated: int,
    settings: ActiveSettings,
) -> None:
    """Run all measures with all seeds, and write their results.

    Parameters
    ----------
    inputs, outputs : mapping
        Training and test film, which is halved in time if they are one; files to write.
    seed, seeds : int
        First seed and number of seeds.
    repetition : int or None
        Number of the film and of its only seed, in place of several seeds.
    cells, patches : int
        Maximum number of cells of the first frame of a patch, and of patches of the pool.
    test_pairs : int
        Maximum number of pairs of frames to test on, evenly spaced.
    enumerated : int
        Number of patches on which the measures are compared with the enumeration of all outputs.
    settings : ActiveSettings
        Settings of the experiment.
    """
    train, test = CellFilm.read(inputs["train"]), CellFilm.read(inputs["test"])
    same = inputs["train"] == inputs["test"]
    train_frames, test_frames = halves(train) if same else (None, range(len(test) - 1))
    pairs = frame_pairs(train, Gates(), train_frames)
    all_patches = pair_patches(train, pairs, Gates(), cells)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(all_patches))[:patches])
    tested = frame_pairs(test, Gates(), test_frames[:: -(-len(test_frames) // test_pairs)])
    experiment = ActiveExperiment([all_patches[i] for i in drawn], tested, settings)
    numbers = range(seeds) if repetition is None else [repetition]
    runs = {
        (measure, number): experiment.run(measure, seed + number)
        for measure in MEASURES
        for number in numbers
    }
    for name in ("curve", "table", "stops"):
        tables = [
            getattr(run, name).assign(measure=measure, seed=number, patches=len(experiment.pool))
            for (measure, number), run in runs.items()
        ]
        pd.concat(tables).to_csv(outputs[name], index=False, lineterminator="\n")
    _cells_of_first_pair(train, all_patches).to_csv(outputs["cells"], index=False, lineterminator="\n")
    few = enumerable(experiment.pool, enumerated)
    last_weights = {measure: runs[measure, numbers[0]].weights for measure in MEASURES}
    difference, predictions = compare_with_learner(few, last_weights["best_second"])
    summary = {
        **_sizes(pairs, all_patches, experiment),
        **_on_all_data(experiment),
        "enumerated": len(few),
        "enumeration_difference": enumeration_difference(few, last_weights.values()),
        "as_printed_difference": difference,
        "predictions_over_pool": predictions,
    }
    write_json(outputs["summary"], summary)
    seconds = {measure: [runs[measure, number].seconds for number in numbers] for measure in MEASURES}
    write_json(outputs["timings"], seconds)


def _cells_of_first_pair(film: CellFilm, patches: Sequence[Patch]) -> pd.DataFrame:
    """Return the positions of the cells of the first two frames, and their patches."""
    tables = []
    for number, patch in enumerate(patch for patch in patches if patch.frame == patches[0].frame):
        for later, cells in enumerate((patch.sources, patch.targets)):
            position = film.cells(patch.frame + later).position[cells]
            tables.append(pd.DataFrame(position, columns=["row", "column"]).assign(frame=later, patch=number))
    return pd.concat(tables)


def _sizes(
    pairs: Sequence[FramePair], patches: Sequence[Patch], experiment: ActiveExperiment
) -> dict[str, Any]:
    """Return the numbers of pairs, patches and events, and the shares of events that were lost."""
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
    """Return the test errors of training on all patches, with a margin and with the perceptron."""
    error, choice = experiment.all_data()
    return {
        "all_data": error,
        "strength": choice.alpha,
        "strength_losses": {str(alpha): held_out for alpha, held_out in choice.losses.items()},
        "perceptron": experiment.perceptron_on_all_data(averaged=False),
        "averaged_perceptron": experiment.perceptron_on_all_data(averaged=True),
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
