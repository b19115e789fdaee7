"""The command `ermlab rank`: learn to rank the results of queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, bar, examples, force_option, json_option, show, working
from ermlab.cli._outputs import check_file, writing
from ermlab.exceptions import DataError

#: Values of C, and the number of folds of queries to choose between them.
GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 3

if TYPE_CHECKING:
    from ermlab.ranking import RankedSamples, RankingSVM


def _columns(command: Any) -> Any:
    """Add the options that name columns of tables."""
    for name, default, what in (
        ("--query", "qid", "the query of each sample"),
        ("--relevance", "relevance", "the relevance of each sample"),
    ):
        command = click.option(
            name, default=default, show_default=True, metavar="COLUMN", help=f"Column of tables with {what}."
        )(command)
    return command


@click.group(
    epilog=examples(
        "ermlab rank train train.txt model.ranker",
        "ermlab rank evaluate model.ranker test.txt",
        "ermlab rank predict model.ranker test.txt scores.csv",
    )
)
def rank() -> None:
    """Learn to rank the results of queries.

    Files with names that end in .csv, .tsv or .parquet are tables, with a column for each feature. All other
    files are in the SVMlight format, with lines "relevance qid:query feature:value ...". A high relevance
    means that a sample belongs on top.
    """


@rank.command(epilog=examples("ermlab rank train train.csv model.ranker --query query --C 10"))
@click.argument("data", type=PATH)
@click.argument("model", type=PATH)
@_columns
@click.option(
    "--C",
    "C",
    type=float,
    help="Inverse regularization strength, by default the one of .1, 1, 10, 100 and 1000 with the best "
    "NDCG@10 in 3-fold cross-validation over queries.",
)
@click.option("--scale/--no-scale", default=True, show_default=True, help="Scale features to variance 1.")
@click.option("--max-time", type=float, help="Limit in seconds on the optimization.")
@force_option
@json_option
def train(
    data: Path,
    model: Path,
    query: str,
    relevance: str,
    C: float | None,
    scale: bool,
    max_time: float | None,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a linear ranking of the samples in DATA and write it to the file MODEL.

    `ermlab.RankingSVM.load` reads the file in Python.
    """
    check_file(model, force)
    with working(f"reading {data.name}"):
        from ermlab.ranking import RankingSVM, read_ranking

        samples = read_ranking(data, relevance=relevance, query=query)
    if samples.relevance is None:
        raise DataError(f"{data}: no column {relevance!r}; expected the relevance of each sample")
    held_out = None
    if C is None:
        C, held_out = _choose_C(samples, scale, max_time)
    with working("training"):
        ranker = fit_ranker(RankingSVM(C=C, max_time=max_time), samples, scale)
    quality = _quality(ranker, samples, 10)
    with writing(model) as part:
        ranker.save(part)
    summary = {
        "model": str(model),
        "samples": samples.X.shape[0],
        "features": samples.X.shape[1],
        "C": C,
        "held_out_ndcg@10": held_out,
        **quality,
        "pairs": ranker.n_pairs_,
        "gap": ranker.gap_,
    }
    text = (
        f"{model}: learned from {summary['samples']} samples of {quality['queries']} queries with "
        f"{summary['features']} features, {ranker.n_pairs_} pairs\n"
        f"on the training data: {_describe(quality, 10)}"
    )
    if held_out is not None:
        text += f"\non held-out queries: NDCG@10 {held_out:.4f}, with C = {C:g}"
    show(summary, text, as_json)


@rank.command(epilog=examples("ermlab rank evaluate model.ranker test.txt"))
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@_columns
@click.option("-k", default=10, show_default=True, help="Number of ranks that NDCG counts.")
@json_option
def evaluate(model: Path, data: Path, query: str, relevance: str, k: int, as_json: bool) -> None:
    """Compare the ranking of a MODEL with the relevance in DATA: NDCG and pairwise risk.

    The pairwise risk is the mean loss of wrongly ordered pairs, for relevance scaled to the range 0 to 1: 0
    is a perfect ranking.
    """
    ranker, samples = _read(model, data, query, relevance)
    if samples.relevance is None:
        raise DataError(f"{data}: no column {relevance!r}; expected the relevance of each sample")
    quality = _quality(ranker, samples, k)
    show({"data": str(data), **quality}, f"{data}: {_describe(quality, k)}", as_json)


@rank.command(epilog=examples("ermlab rank predict model.ranker test.txt scores.csv"))
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@click.argument("scores", type=PATH)
@_columns
@force_option
@json_option
def predict(
    model: Path, data: Path, scores: Path, query: str, relevance: str, force: bool, as_json: bool
) -> None:
    """Rank the samples in DATA with a MODEL and write the table SCORES.

    Its columns are the row in DATA from 1, the query, the score, and the rank in the query from 1.
    """
    check_file(scores, force)
    ranker, samples = _read(model, data, query, relevance)
    found = ranker.decision_function(samples.X)
    queries = samples.queries if samples.queries is not None else [""] * len(found)
    with writing(scores) as part, part.open("w", newline="", encoding="utf-8") as file:
        import csv

        writer = csv.writer(file)
        writer.writerow(["row", "query", "score", "rank"])
        for row, (name, score, place) in enumerate(zip(queries, found, _ranks(found, queries), strict=True)):
            writer.writerow([row + 1, name, repr(float(score)), place])
    n_queries = len(set(queries))
    text = f"{scores}: {len(found)} samples of {n_queries} queries"
    show({"scores": str(scores), "samples": len(found), "queries": n_queries}, text, as_json)


def fit_ranker(ranker: RankingSVM, samples: RankedSamples, scale: bool) -> RankingSVM:
    """Fit a ranker, if ``scale`` to features divided by their standard deviation.

    The weights are divided afterwards, so that the model scores features as they are in the files. The mean
    of the features need not be removed, since it does not change the order of the samples.
    """
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    if not scale:
        ranker.fit(samples.X, relevance=samples.relevance, groups=samples.queries)
    else:
        scaler = StandardScaler(with_mean=False)
        X = scaler.fit_transform(samples.X)
        ranker.fit(X, relevance=samples.relevance, groups=samples.queries)
        ranker.coef_ = ranker.coef_ / scaler.scale_
    if samples.names is not None:
        ranker.feature_names_in_ = np.array(samples.names, dtype=object)
    return ranker


def _choose_C(samples: RankedSamples, scale: bool, max_time: float | None) -> tuple[float, float | None]:
    """Return the C with the best mean NDCG over folds of queries, and that mean if there are enough."""
    import numpy as np
    from sklearn.model_selection import GroupKFold

    from ermlab.metrics import ndcg
    from ermlab.ranking import RankingSVM

    if samples.queries is None or len(np.unique(samples.queries)) < FOLDS:
        return 1.0, None
    means = np.full((FOLDS, len(GRID)), np.nan)
    splits = list(GroupKFold(FOLDS).split(samples.X, groups=samples.queries))
    with bar(means.size, "choosing C") as progress:
        for fold, (train, test) in enumerate(splits):
            part, held_out = samples.take(train), samples.take(test)
            for number, C in enumerate(GRID):
                ranker = fit_ranker(RankingSVM(C=C, max_time=max_time), part, scale)
                if held_out.relevance.max() > 0:  # else NDCG is not defined
                    scores = held_out.X @ ranker.coef_
                    means[fold, number] = ndcg(held_out.relevance, scores, held_out.queries)
                progress.update(1)
    best = int(np.argmax(np.nanmean(means, axis=0)))
    return GRID[best], float(np.nanmean(means[:, best]))


def _read(model: Path, data: Path, query: str, relevance: str) -> tuple[RankingSVM, RankedSamples]:
    """Return a model, and the samples with the features that it was trained on."""
    with working(f"reading {data.name}"):
        from ermlab.ranking import RankingSVM, read_ranking

        ranker = RankingSVM.load(model)
        if not hasattr(ranker, "coef_"):
            raise DataError(f"{model}: a model without weights; expected one that was trained")
        names = getattr(ranker, "feature_names_in_", None)
        samples = read_ranking(
            data,
            relevance=relevance,
            query=query,
            features=None if names is None else list(names),
            n_features=ranker.n_features_in_,
        )
    if names is not None:
        # The columns were chosen by name: scikit-learn need not warn that an array has no names.
        del ranker.feature_names_in_
    if samples.X.shape[1] != ranker.n_features_in_:
        raise DataError(
            f"{data}: {samples.X.shape[1]} features; expected {ranker.n_features_in_}, as in training"
        )
    return ranker, samples


def _quality(ranker: RankingSVM, samples: RankedSamples, k: int) -> dict[str, Any]:
    """Return NDCG and pairwise risk."""
    import numpy as np

    from ermlab.metrics import ndcg
    from ermlab.ranking import pairwise_risk

    scores, relevance = samples.X @ ranker.coef_, samples.relevance
    span = max(float(np.ptp(relevance)), np.finfo(float).tiny)
    losses = (relevance.max() - relevance) / span
    return {
        "queries": 1 if samples.queries is None else len(np.unique(samples.queries)),
        f"ndcg@{k}": ndcg(relevance, scores, samples.queries, k),
        "pairwise_risk": pairwise_risk(losses, scores, groups=samples.queries),
    }


def _describe(quality: dict[str, Any], k: int) -> str:
    return f"NDCG@{k} {quality[f'ndcg@{k}']:.4f}, pairwise risk {quality['pairwise_risk']:.4f}"


def _ranks(scores: Any, queries: Any) -> Any:
    """Return the rank of each sample in its query, from 1."""
    import numpy as np

    group = np.unique(queries, return_inverse=True)[1]
    order = np.lexsort((-scores, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1) - first[group[order]]
    return ranks
