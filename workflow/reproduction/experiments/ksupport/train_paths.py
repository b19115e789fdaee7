"""Fit LASSO, elastic net and k-support norm along their paths (rule train_ksupport_paths)."""

from collections.abc import Sequence

import pandas as pd

from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.ksupport.protocol import Grids, score_nested, score_split
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    protocol: str,
    numbers: Sequence[int],
    first: int,
    folds: int,
    share: float,
    grids: Grids,
) -> None:
    """Write one row per split and model.

    Parameters
    ----------
    protocol : {"fair", "permuted"}
        Fair splits are of the kind that the study declares fair.
    numbers : sequence of int
        Numbers of the splits.
    first : int
        Number of the first split of this study among the splits of all scans.
    folds : int
        Folds of the training part for the choice of parameters, at most one per run; 0 for no choice.
    """
    study = Study.read(inputs["study"])
    sampling = study.sampling(study.fair if protocol == "fair" else protocol)
    splits = sampling.splits(max(numbers) + 1, share, seed)
    tables = []
    for i in numbers:
        if folds:
            inner = folds if sampling.runs is None else min(folds, len(set(study.runs[splits[i].train])))
            table = score_nested(study.X, study.y, sampling, splits[i], grids, inner, [seed, first + i])
        else:
            table = score_split(study.X, study.y, splits[i], grids)
        # Of a film one stretch is tested, so that other methods can be compared on the same one.
        tested = study.runs[splits[i].test].min() if sampling.runs is not None else -1
        tables.append(table.assign(split=first + i, run=tested))
    pd.concat(tables).to_csv(outputs["paths"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
