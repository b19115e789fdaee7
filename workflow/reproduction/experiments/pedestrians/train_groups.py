"""Train on groups of near-identical pedestrians as samples (rule train_pedestrian_groups).

Equivariant SVM, section 3.2: crops from a video track come in clusters. Agglomerative clustering finds them;
a group then counts as one sample, and its members are natural transformations of one another.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage

from ermlab.features.hog_crops import HogLayout
from reproduction.claims.results import read_json
from reproduction.datasets.daimler_pedestrians import TEST
from reproduction.experiments.pedestrians.crop_versions import VERSIONS
from reproduction.experiments.pedestrians.protocol import (
    GROUPED,
    METHODS,
    count_used_pedestrians,
    prepared_sets,
    train,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    part: str,
    kind: str,
    layout: HogLayout,
    C: Mapping[str, Sequence[float]],
    groupings: Sequence[float],
    tol: float,
) -> None:
    """Train with the representatives of the groups alone, and with all members as versions of them.

    ``groupings`` has the number of groups at each degree of grouping, as a share of the pedestrians.
    """
    sets = prepared_sets(inputs["sets"])
    bags, labels = sets[part].store(layout).bags(), sets[part].labels
    n_pedestrians = len(sets[part].pedestrians)
    tests = {test: sets[test].store(layout).features() for test in TEST}
    selected = read_json(inputs["selected"])[GROUPED[kind]]
    degrees = natural_groups(bags[:n_pedestrians, 0], group_counts(n_pedestrians, groupings))
    results = {"groups": np.stack(degrees)}
    for k, groups in enumerate(degrees):
        if groups.max() + 1 == n_pedestrians:
            results |= of_single_images(inputs["scores"], GROUPED[kind], selected, f"alone/{k}")
            continue
        for natural in (False, True):
            key = f"{'natural' if natural else 'alone'}/{k}"
            training = group_training(labels, groups, natural=natural)
            model = train(
                METHODS[GROUPED[kind]],
                bags[training.crops],
                training.y,
                C[kind][selected],
                tol,
                training.groups,
            )
            results[f"virtual/{key}"] = np.array(model.n_virtual_)
            used = count_used_pedestrians(model, labels[training.crops], len(VERSIONS))
            results[f"used/{key}"] = np.array(used)
            results |= {f"{key}/{test}": model.decision_function(X) for test, X in tests.items()}
            print(f"{kind}, {key}: {model.n_virtual_} virtual samples")
    np.savez(outputs["scores"], **results)


def of_single_images(path: str, method: str, selected: int, key: str) -> dict[str, NDArray]:
    """Return the results of groups of single images, whose training is that of the method without groups.

    ``path`` has the scores of all methods with every C, of which the one with index ``selected`` is taken.
    """
    with np.load(path) as scores:
        return {
            f"virtual/{key}": scores[f"used/{method}/{selected}"],
            f"used/{key}": scores[f"pedestrians/{method}/{selected}"],
            **{f"{key}/{test}": scores[f"{method}/{selected}/{test}"] for test in TEST},
        }


def group_counts(n: int, shares: Sequence[float]) -> list[int]:
    """Return the number of groups of ``n`` pedestrians at each degree of grouping."""
    return [max(round(share * n), 1) for share in shares]


def natural_groups(X: ArrayLike, counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the group of each of the (n, d) samples, for each number of groups.

    One tree of clusters (average linkage, Euclidean distances) is cut at several heights. Groups are numbered
    in the order of their first member.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not len(X):
        raise ValueError(f"samples of shape {X.shape}: expected (n, d)")
    for count in counts:
        if not 1 <= count <= len(X):
            raise ValueError(f"count is {count}: expected 1 to {len(X)} groups of {len(X)} samples")
    merges = linkage(X, "average") if len(X) > 1 else np.empty((0, 4))
    return [_cut(merges, len(X), len(X) - count) for count in counts]


def _cut(merges: NDArray, n: int, steps: int) -> NDArray[np.int64]:
    """Return the groups after the first merges; equal distances are taken in the order of the tree."""
    cluster = np.arange(n)
    for step in range(steps):
        cluster[np.isin(cluster, merges[step, :2].astype(np.int64))] = n + step
    _, first, groups = np.unique(cluster, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


class GroupedTraining(NamedTuple):
    """Training samples at one degree of grouping."""

    crops: NDArray[np.int64]  #: index of each crop that is used
    groups: NDArray[np.int64]  #: the sample it belongs to
    y: NDArray[np.int64]  #: label of each sample


def group_training(
    labels: NDArray[np.int64], pedestrians: NDArray[np.int64], *, natural: bool
) -> GroupedTraining:
    """Make one sample of each group of pedestrians; all other crops remain samples of their own.

    Parameters
    ----------
    labels : array of shape (n,)
        Labels of all crops, pedestrians first.
    pedestrians : array of shape (n_pedestrians,)
        Group of each pedestrian.
    natural : bool
        Whether all members of a group are used, as versions of one sample, or its first member alone.
    """
    n_pedestrians, n_groups = len(pedestrians), int(pedestrians.max()) + 1
    members = np.arange(n_pedestrians) if natural else np.unique(pedestrians, return_index=True)[1]
    others = np.arange(n_pedestrians, len(labels))
    groups = np.concatenate([pedestrians[members], n_groups + np.arange(len(others))])
    return GroupedTraining(
        np.concatenate([members, others]), groups, np.repeat([1, -1], [n_groups, len(others)])
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
