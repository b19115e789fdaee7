"""Train one learner on four structured prediction problems (rule evaluate_structured_problems)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.structured import StructuredSVM, Task
from reproduction.claims.results import repeated, write_results
from reproduction.experiments.intervals import paired_interval
from reproduction.experiments.structured_problems import parsing, segmentation, sequences, tracking
from reproduction.pipeline.job import Paths, run_stage

Draw = Callable[[np.random.Generator, int], tuple[list, list]]
#: Of each four training samples, the last is held out for the choice of C.
FOLDS = 4


@dataclass(frozen=True)
class Problem:
    """A structured prediction problem.

    Attributes
    ----------
    title : str
        What is predicted from what.
    task : callable
        Returns the task with interactions between the parts of an output, or without.
    draw : callable
        Draws samples and their true outputs.
    """

    title: str
    task: Callable[[bool], Task]
    draw: Draw


PROBLEMS = {
    "parsing": Problem("tree of a sentence", parsing.ParsingTask, parsing.draw),
    "sequence": Problem(
        "CpG islands of a strand of DNA",
        lambda interactions: sequences.SequenceTask(
            len(sequences.STATES), sequences.N_FEATURES, interactions
        ),
        sequences.draw,
    ),
    "segmentation": Problem("mask of an image", segmentation.SegmentationTask, segmentation.draw),
    "tracking": Problem("links between two images", tracking.TrackingTask, tracking.draw),
}


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    repeats: int,
    train: int,
    test: int,
    strengths: Sequence[float],
    tol: float,
) -> None:
    """Train and test on ``repeats`` draws of each problem, with and without interactions.

    Parameters
    ----------
    inputs, outputs : mapping
        No inputs; files of the results.
    seed, repeats : int
        Seed of all draws, and their number.
    train, test : int
        Numbers of samples of each draw.
    strengths : sequence of float
        Values of ``C`` times the number of training samples to choose from.
    tol : float
        Relative gap of the optimization.
    """
    rows, examples = [], {}
    for name, child in zip(PROBLEMS, np.random.SeedSequence(seed).spawn(len(PROBLEMS)), strict=True):
        for repeat, source in enumerate(child.spawn(repeats)):
            found, example = measure(
                PROBLEMS[name], np.random.default_rng(source), train, test, strengths, tol
            )
            rows.append({"problem": name, "repeat": repeat, **found})
            if repeat == 0:
                examples[name] = example
    table = pd.DataFrame(rows)
    table.to_csv(outputs["losses"], index=False, lineterminator="\n")
    np.savez_compressed(outputs["examples"], **_arrays(examples))
    write_results(Path(outputs["values"]).parent, {"repeats": repeats, "train": train, **summarize(table)})


def measure(
    problem: Problem,
    rng: np.random.Generator,
    train: int,
    test: int,
    strengths: Sequence[float],
    tol: float,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the held-out losses and gaps of one draw, and the first test sample with its outputs."""
    X, Y = problem.draw(rng, train)
    X_test, Y_test = problem.draw(rng, test)
    found, example = {}, {"x": X_test[0], "y": Y_test[0]}
    for name, interactions in (("structured", True), ("independent", False)):
        task = problem.task(interactions)
        C = choose_strength(task, X, Y, strengths, tol) / train
        svm = StructuredSVM(task, C=C, tol=tol).fit(X, Y)
        predicted = svm.predict(X_test)
        losses = [task.loss(y, z) for y, z in zip(Y_test, predicted, strict=True)]
        found |= {f"{name}_loss": float(np.mean(losses)), f"{name}_gap": svm.result_.relative_gap}
        example[name] = predicted[0]
    return found, example


def choose_strength(task: Task, X: Sequence, Y: Sequence, strengths: Sequence[float], tol: float) -> float:
    """Return the strength with the lowest loss on the part of the training set that is held out.

    Of several, the first: the strongest regularization if the strengths are sorted.
    """
    held = np.arange(len(X)) % FOLDS == FOLDS - 1
    kept, out = np.flatnonzero(~held), np.flatnonzero(held)
    losses = []
    for strength in strengths:
        svm = StructuredSVM(task, C=strength / len(kept), tol=tol)
        svm.fit([X[i] for i in kept], [Y[i] for i in kept])
        losses.append(1 - svm.score([X[i] for i in out], [Y[i] for i in out]))
    return strengths[int(np.argmin(losses))]


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Return losses over draws, the ends of the interval of the gain, and the largest gap.

    Parameters
    ----------
    table : DataFrame
        One row per problem and draw: losses and gaps with and without interactions.
    """
    groups = dict(list(table.groupby("problem", sort=False)))
    gains = {
        name: paired_interval(rows["independent_loss"], rows["structured_loss"])
        for name, rows in groups.items()
    }
    return {
        **{
            f"{kind}_loss": {
                name: repeated(rows[f"{kind}_loss"], unit="draw") for name, rows in groups.items()
            }
            for kind in ("structured", "independent")
        },
        **{f"gain_{end}": {name: gain[end] for name, gain in gains.items()} for end in ("low", "high")},
        "relative_gap_max": float(table[["structured_gap", "independent_gap"]].to_numpy().max()),
    }


def describe_losses(values: Mapping[str, Any]) -> str:
    """Return the results of `summarize` as sentences."""
    sentences = []
    for name, low in values["gain_low"].items():
        structured, independent = (
            100 * np.mean(values[f"{kind}_loss"][name]["repeats"]) for kind in ("structured", "independent")
        )
        high = values["gain_high"][name]
        sentences.append(
            f"- **{name}**: {structured:.1f} % wrong with interactions, {independent:.1f} % without; the "
            f"difference is {100 * low:.1f} to {100 * high:.1f} points."
        )
    return "\n".join(
        [
            f"Means over {values['repeats']} draws with {values['train']} training samples each. All "
            f"training runs ended with a relative gap of at most {values['relative_gap_max']:.2%}.",
            "",
            *sentences,
        ]
    )


def _arrays(examples: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the examples as arrays: a tree as rows of start, end and symbol, two images as two arrays."""
    arrays = {}
    for problem, parts in examples.items():
        for name, part in parts.items():
            if isinstance(part, tuple):
                arrays |= {f"{problem}_{name}_{place}": image for place, image in enumerate(part)}
            else:
                rows = [(*span, symbol) for span, symbol in part.items()] if isinstance(part, dict) else part
                arrays[f"{problem}_{name}"] = np.asarray(rows)
    return arrays


if "snakemake" in globals():
    run_stage(main, snakemake)
