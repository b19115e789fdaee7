"""LASSO, elastic net and k-support norm along their paths (rule train_ksupport_paths)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.claims.results import write_json
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.ksupport.protocol import Grids, score_nested, score_split
from reproduction.pipeline.job import job


def main(
    study_file: str,
    outputs: Mapping[str, str],
    *,
    protocol: str,
    numbers: Sequence[int],
    first: int,
    grids: Mapping[str, Any],
    share: float,
    folds: int,
    seed: int,
) -> None:
    """Write a row for each split of ``numbers`` and each model; ``fair`` splits are of the study's kind.

    Parameters
    ----------
    first
        Number of the study's first split among those of all its scans.
    folds
        Of the training parts, to choose parameters in, at most as many as these have runs; 0: no choice.
    """
    study = Study.read(study_file)
    sampling = study.sampling(study.fair if protocol == "fair" else protocol)
    splits = sampling.splits(max(numbers) + 1, share, seed)
    begin = time.perf_counter()
    tables = []
    for i in numbers:
        if folds:
            inner = folds if sampling.runs is None else min(folds, len(set(study.runs[splits[i].train])))
            table = score_nested(
                study.X, study.y, sampling, splits[i], Grids.of(grids), inner, [seed, first + i]
            )
        else:
            table = score_split(study.X, study.y, splits[i], Grids.of(grids))
        tables.append(table.assign(split=first + i))
    pd.concat(tables).to_csv(outputs["paths"], index=False, lineterminator="\n")
    write_json(outputs["timings"], {"seconds_per_split": (time.perf_counter() - begin) / len(numbers)})


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.study,
            dict(snakemake.output.items()),
            protocol=snakemake.wildcards.protocol,
            numbers=snakemake.params.job["numbers"],
            first=snakemake.params.job["first"],
            folds=snakemake.params.folds,
            **snakemake.params.arguments,
        )
