"""Learn two moons from few labels, with and without a Laplacian (rule evaluate_two_moons)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from ermlab.semisupervised import graph_laplacian, neighbor_graph
from reproduction.claims.results import repeated, write_results
from reproduction.experiments.semisupervised import (
    CONTROLS,
    METHODS,
    N_NEIGHBORS,
    PAIRS,
    UNIT,
    Task,
    by_labels,
    choose_strengths,
    draw_task,
    fit,
    gains,
    measure,
    new_model,
    shuffled_pairs,
)
from reproduction.pipeline.job import Paths, run_stage

#: Standard deviation of the points around the moons.
NOISE = 0.1
#: Corners of the plane that the figure shows, and points along each axis.
CORNERS = (-1.5, 2.5, -1.1, 1.6)
RESOLUTION = 120


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    repeats: int,
    labels: Sequence[int],
    unlabeled: int,
    tested: int,
) -> None:
    """Measure all methods for each number of labels on ``repeats`` sets of points, and draw one example."""
    rows, rough = [], []
    for repeat in range(repeats):
        for count in labels:
            task = moons_task(count, unlabeled, tested, [seed, repeat])
            methods = (*METHODS, *CONTROLS) if count == labels[0] else METHODS
            rows += [{"repeat": repeat, "labels": count, **row} for row in measure(task, methods, repeat)]
        rough.append(roughness_of(moons_task(labels[0], unlabeled, tested, [seed, repeat]), repeat))
    accuracies = pd.DataFrame(rows)
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize(accuracies),
            "roughness": {method: repeated(values, UNIT) for method, values in pd.DataFrame(rough).items()},
        },
    )
    accuracies.to_csv(outputs["accuracies"], index=False, lineterminator="\n")
    np.savez_compressed(outputs["example"], **example(moons_task(labels[0], unlabeled, tested, [seed, 0])))


def moons_task(labels: int, unlabeled: int, tested: int, seed: Sequence[int]) -> Task:
    """Draw points of two moons, which are the same for every number of labels."""
    rng = np.random.default_rng(seed)
    X, y = make_moons(4 * (tested + unlabeled), noise=NOISE, random_state=int(rng.integers(2**31)))
    return draw_task(X, y, labels, unlabeled, tested, rng)


def summarize(accuracies: pd.DataFrame) -> dict[str, object]:
    """Return the values of the claims from one row per repeat, number of labels and method."""
    fewest = accuracies[accuracies["labels"] == accuracies["labels"].min()]
    return {
        "accuracy": by_labels(accuracies),
        "gain": gains(fewest, PAIRS),
        "shuffled_gain": gains(fewest, shuffled_pairs()),
    }


def roughness_of(task: Task, seed: int) -> dict[str, float]:
    """Return ``f' L f / |f - mean f|^2`` on the training points for both ridge regressions."""
    L = graph_laplacian(neighbor_graph(task.X, N_NEIGHBORS))
    found = {}
    for method in PAIRS["ridge"]:
        model = new_model(method, *choose_strengths(task, method, L, seed)[:2], L)
        fit(model, task.X, task.marked)
        found[method] = roughness(model.transduction_[:, 1], L)
    return found


def roughness(f: NDArray[np.float64], L: NDArray[np.float64]) -> float:
    """Return the variation of a function along the graph, relative to its variance."""
    centered = f - f.mean()
    return float(f @ (L @ f) / (centered @ centered))


def example(task: Task) -> dict[str, NDArray]:
    """Return the points of a task and the functions of both ridge regressions on a grid of the plane."""
    L = graph_laplacian(neighbor_graph(task.X, N_NEIGHBORS))
    x = np.linspace(*CORNERS[:2], RESOLUTION)
    y = np.linspace(*CORNERS[2:], RESOLUTION)
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    arrays = {"X": task.X, "marked": task.marked, "x": x, "y": y}
    for method in PAIRS["ridge"]:
        model = new_model(method, *choose_strengths(task, method, L, 0)[:2], L)
        fit(model, task.X, task.marked)
        scores = model.predict(plane)
        arrays[method] = (scores[:, 1] - scores[:, 0]).reshape(RESOLUTION, RESOLUTION)
    return arrays


if "snakemake" in globals():
    run_stage(main, snakemake)
