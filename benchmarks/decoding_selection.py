"""Rules that select ``eps`` of a decoder with few training runs, by the correlation on a held-out run.

Real volumes (the Haxby slice, if ERMLAB_MIRROR has it: any picture against rest, and each of eight
categories) and simulated block designs with a global signal. One or two training runs are divided into four
stretches, of four runs each is a fold. Drifts are removed from each stretch separately, then from whole runs.
Prints the mean correlation for each rule and study; a number after its name is that of training runs.
"""

import argparse
import os
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import ndimage
from scipy.signal import lfilter

from ermlab._utils.blas import one_blas_thread
from ermlab.cca.centered_kernels import CenteredGram, Rows
from ermlab.cca.laplacian_kcca import column_correlations
from ermlab.cca.rules import best, effective_dimensions, one_standard_error
from ermlab.cca.selection import EPS_GRID
from ermlab.cca.single_targets import SingleTargets
from ermlab.fmri.bold_runs import scale_voxels
from ermlab.fmri.stretches import stretch_numbers, without_drifts
from ermlab.fmri.targets import response_columns

EPS = np.array(EPS_GRID)
GAP, CUTOFF, SHAPE = 16.0, 128.0, (14, 16, 12)


def haxby(mirror):
    """Yield runs of the Haxby slice as (volumes, targets)."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(Path(mirror) / "haxby2001_slice.tar.xz") as tar,
    ):
        tar.extractall(folder, filter="data")
        from reproduction.datasets.haxby2001_slice import REST, read_haxby2001_slice

        data = read_haxby2001_slice(next(Path(folder).iterdir()))
    names = sorted(set(data.labels.tolist()) - {REST})
    Y = np.column_stack([data.labels != REST, *(data.labels == name for name in names)]).astype(float)
    rows = data.bold[data.mask].T
    return [(rows[data.runs == run], Y[data.runs == run]) for run in np.unique(data.runs)]


def simulate(seed, runs, amplitude, spread, volumes=120):
    """Return runs with a block design that drives one place, local noise, networks and a global signal."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1)
    place = np.exp(-((grid - [4, 10, 6]) ** 2).sum(axis=-1) / 4.5).ravel()
    maps = [1 + 0.5 * field(rng), *(field(rng) for _ in range(8))]

    def noise(columns, memory):
        return lfilter(
            [np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=(volumes + 30, columns)), axis=0
        )[30:]

    found = []
    for _ in range(runs):
        onsets = 10 + np.cumsum(rng.uniform(26, 38, size=8))
        events = pd.DataFrame({"onset": onsets, "duration": 16.0, "trial_type": "on"})
        y = response_columns(events, volumes, 2.0)["on"].to_numpy()
        local = noise(grid[..., 0].size, 0.4)
        local = np.array([ndimage.gaussian_filter(row.reshape(SHAPE), 1).ravel() for row in local])
        common = sum(s * noise(1, 0.8) * m for s, m in zip([spread, *[0.5] * 8], maps, strict=True))
        signal = amplitude * np.outer((y - y.mean()) / y.std(), place)
        found.append((local / local.std() + common + signal, y[:, None]))
    return found


def field(rng):
    smooth = ndimage.gaussian_filter(rng.normal(size=SHAPE), 2.5, mode="wrap")
    return (smooth / smooth.std()).ravel()


def compare(runs, repetition_time, whole):
    """Return the correlations on the last run for each rule, with the others as training runs."""
    gap, count = round(GAP / repetition_time), 4 if len(runs) <= 3 else 1
    X, Y, folds = [], [], []
    for number, (rows, y) in enumerate(runs):
        train = number < len(runs) - 1
        stretches = stretch_numbers(len(rows), count if train else 1, gap)
        parts = np.zeros_like(stretches) if whole else stretches
        X.append(scale_voxels(without_drifts(scale_voxels(rows), parts, repetition_time, CUTOFF)[parts >= 0]))
        Y.append(without_drifts(y, parts, repetition_time, CUTOFF)[parts >= 0])
        kept = stretches[parts >= 0]
        folds.append(np.where(kept < 0, -1, kept + 10 * number) if train else np.full(len(kept), -2))
    X, Y, folds = map(np.concatenate, (X, Y, folds))
    gram, train = CenteredGram.of(Rows("X", "linear", X)), np.flatnonzero(folds > -2)
    inner = np.array(
        [
            path(gram, np.flatnonzero((folds >= 0) & (folds != fold)), np.flatnonzero(folds == fold), Y)
            for fold in np.unique(folds[folds >= 0])
        ]
    )
    outer = path(gram, train, np.flatnonzero(folds == -2), Y)
    part, _ = gram.split(train, train[:1], "X")
    dimensions = effective_dimensions(SingleTargets(part, EPS, (0.0,)).view, EPS)
    results = {}
    for column in range(Y.shape[1]):
        for name, i in choices(inner[:, :, column], dimensions).items():
            results.setdefault(name, []).append(outer[i, column])
        results.setdefault("best of all (not a rule)", []).append(outer[:, column].max())
    return results


def path(gram, train, test, Y):
    """Return the correlation on the test part for each eps and target."""
    part, K_test = gram.split(train, test, "X")
    models = SingleTargets(part, EPS, (0.0,))
    return np.array([column_correlations(p, Y[test]) for _, p in models.predictions(K_test, Y[train])])


def choices(scores, dimensions):
    """Return the position of eps that each rule selects from the scores (folds, eps)."""
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    within = np.flatnonzero(mean >= mean.max() - error[mean.argmax()])
    return {
        "best mean": best(mean[:, None])[0],
        "one standard error, largest eps": within[-1],
        "one standard error, smallest eps": within[0],
        "one standard error, eps nearest 1": within[np.abs(np.log10(EPS[within])).argmin()],
        "**one standard error, half the degrees of freedom**": one_standard_error(
            scores[:, :, None], dimensions
        )[0],
        "fixed, half the degrees of freedom": np.abs(dimensions - 0.5).argmin(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    studies = {}
    if mirror := os.environ.get("ERMLAB_MIRROR"):
        runs = haxby(mirror)
        for k in (1, 2, 4):
            cases = [[runs[(start + i) % 12] for i in range(k + 1)] for start in range(0, 12, 2)]
            studies[f"pictures {k}"] = [[(X, Y[:, :1]) for X, Y in case] for case in cases], 2.5
            studies[f"categories {k}"] = [[(X, Y[:, 1:]) for X, Y in case] for case in cases], 2.5
    for name, settings in {
        "strong": (1.5, 2),
        "weak": (0.8, 2),
        "global": (0.8, 6),
        "none": (0.0, 2),
    }.items():
        for k in (1, 2, 4):
            studies[f"{name} {k}"] = [simulate(seed, k + 1, *settings) for seed in range(options.seeds)], 2.0
    for whole in (False, True):
        table = {}
        for name, (cases, repetition_time) in studies.items():
            with one_blas_thread():
                found = [compare(case, repetition_time, whole) for case in cases]
            table[name] = {rule: np.mean([case[rule] for case in found]) for rule in found[0]}
        print("drifts removed from whole runs" if whole else "drifts removed from each stretch")
        print(pd.DataFrame(table).round(2).to_string())


if __name__ == "__main__":
    main()
