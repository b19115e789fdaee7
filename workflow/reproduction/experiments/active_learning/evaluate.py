"""Evaluate active learning: test errors, stops and tables of section 1.4 (rule evaluate_active_learning)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.active_learning import MEASURES
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.active_learning.protocol import TENTH
from reproduction.pipeline.job import Paths, run_stage

#: The study that the claims are about.
MAIN = "nuclei"
#: What its results are repeated over.
UNITS = {MAIN: "film"}
#: Results of the study that the claims are about.
_CLAIMED = ("stop_share", "test_error", "active", "combined", "combined_at_tenth", "all_data")
#: Tables of each study, which are joined.
TABLES = ("curve", "table", "stops", "cells")
#: Scale of the weights with which the stopping rule is applied as published.
OWN_SCALE = "1"
#: Random uncertainties say nothing about when to stop.
STOPPING = [measure for measure in MEASURES if measure != "random"]
#: Title and data sets of each study.
STUDIES = {
    "nuclei": ("nuclei of two laboratories", ("dcelliq_nuclei", "mitocheck_nuclei")),
    "migration": ("migrating cells, every 4th frame", ("cell_migration",)),
}
TITLES = {
    "random": "random",
    "scoring": "scoring",
    "best_worst": "best vs. worst",
    "best_second": "best vs. 2nd",
}
_FORMULAS = {
    "random": "q ~ uniform(0, 1)",
    "scoring": "q = exp(-max_y w'Φ(x, y))",
    "best_worst": "q = exp(-(max_y w'Φ(x, y) - min_y w'Φ(x, y)))",
    "best_second": "q = exp(-(max_y w'Φ(x, y) - second best w'Φ(x, y)))",
}
_SCALES = {"0.01": "÷ 100", "0.1": "÷ 10", "1": "as it is", "10": "× 10", "100": "× 100", "unit": "set to 1"}


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    studies: Sequence[str],
    threshold: float,
    window: int,
    shares: Sequence[float],
    alphas: Sequence[float],
) -> None:
    """Write the results of all studies.

    Parameters
    ----------
    inputs, outputs : mapping
        Tables, summary and timings of each study, in the order of ``studies``, and receipts; files of the
        results.
    studies : sequence of str
        Names of the runs: a study, with the number of its film after a hyphen if it has several.
    threshold, window : float and int
        Settings of the stopping rule.
    shares : sequence of float
        Shares of the patches at which active and combined learning are compared.
    alphas : sequence of float
        Regularization strengths to choose from.
    """
    parts = {
        kind: [
            pd.read_csv(path).assign(study=_name(run))
            for run, path in zip(studies, inputs[kind], strict=True)
        ]
        for kind in TABLES
    }
    # The cells are shown for the first film of a study.
    parts["cells"] = [of_study[0] for of_study in _by_study(studies, parts["cells"]).values()]
    tables = {kind: pd.concat(of_runs, ignore_index=True) for kind, of_runs in parts.items()}
    summaries = _by_study(studies, map(read_json, inputs["summary"]))
    found = {
        study: summarize(
            *(_of(tables[kind], study) for kind in ("curve", "table", "stops")),
            of_study,
            shares,
            UNITS.get(study, "seed"),
        )
        for study, of_study in summaries.items()
    }
    seconds = {
        study: {measure: [run for part in of_study for run in part[measure]] for measure in of_study[0]}
        for study, of_study in _by_study(studies, map(read_json, inputs["timings"])).items()
    }
    every = [summary for of_study in summaries.values() for summary in of_study]
    write_results(
        Path(outputs["values"]).parent,
        {
            "enumeration_difference_max": max(summary["enumeration_difference"] for summary in every),
            "as_printed_difference_max": max(summary["as_printed_difference"] for summary in every),
            "predictions_per_query_over_pool": summaries[MAIN][0]["predictions_over_pool"],
            **{name: found[MAIN][name] for name in _CLAIMED},
            "earliest_stop": repeated(
                [(window + 1) / summary["patches"] for summary in summaries[MAIN]], UNITS[MAIN]
            ),
            "threshold": threshold,
            "window": window,
            "shares": shares,
            "alphas": alphas,
            "studies": found,
        },
        datasets={Path(path).stem: read_json(path)["kind"] for path in inputs["receipts"]},
        timings={"seconds_per_query_max": _longest(seconds), **seconds},
    )
    for kind, table in tables.items():
        table.to_csv(outputs[kind], index=False, lineterminator="\n")


def _name(run: str) -> str:
    """Return the study of a run, which has the number of its film after a hyphen."""
    return run.partition("-")[0]


def _by_study(runs: Sequence[str], contents: Iterable[Any]) -> dict[str, list[Any]]:
    """Return what the runs of each study have written."""
    grouped: dict[str, list[Any]] = {}
    for run, content in zip(runs, contents, strict=True):
        grouped.setdefault(_name(run), []).append(content)
    return grouped


def _of(table: pd.DataFrame, study: str) -> pd.DataFrame:
    return table[table["study"] == study]


def _longest(seconds: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> float:
    """Return the longest time of a query over all studies, measures and seeds."""
    return max(
        max(of_seed) for measures in seconds.values() for runs in measures.values() for of_seed in runs
    )


def summarize(
    curve: pd.DataFrame,
    table: pd.DataFrame,
    stops: pd.DataFrame,
    summaries: Sequence[Mapping[str, Any]],
    shares: Sequence[float],
    unit: str,
) -> dict[str, Any]:
    """Return the stops and test errors of one study over films or seeds, for each measure.

    Parameters
    ----------
    curve, table, stops : DataFrame
        As training writes them, of all films.
    summaries : sequence of mapping
        Numbers of each film.
    shares : sequence of float
        Shares of the patches of table 1.3.
    unit : str
        What the runs are repeated over: ``"film"`` or ``"seed"``.
    """
    stops = stops[stops["scale"].astype(str) == OWN_SCALE]
    # Where the rule does not stop earlier, learning ends with the last patch.
    stops = stops.assign(share=(stops["stop"] / stops["patches"]).fillna(1.0))
    means = curve.groupby(["measure", "seed"])["test_error"].mean()
    rows = {measure: table[table["measure"] == measure] for measure in MEASURES}
    return {
        "summary": summaries[0],
        "strengths": [summary["strength"] for summary in summaries],
        **{
            name: repeated([summary[name] for summary in summaries], unit)
            for name in ("all_data", "perceptron", "averaged_perceptron")
        },
        "stop_share": {
            measure: repeated(stops[stops["measure"] == measure]["share"], unit) for measure in STOPPING
        },
        "test_error": {measure: repeated(means.loc[measure], unit) for measure in MEASURES},
        **{
            name: {
                measure: [repeated(of[of["share"] == share][name], unit) for share in sorted(shares)]
                for measure, of in rows.items()
            }
            for name in ("active", "averaged", "combined")
        },
        "combined_at_tenth": {
            measure: repeated(of[of["share"] == TENTH]["combined"], unit) for measure, of in rows.items()
        },
    }


def study_title(study: str, datasets: Mapping[str, str]) -> str:
    """Return the title of a study, and whether its data are real."""
    title, needed = STUDIES[study]
    kinds = {datasets[dataset] for dataset in needed}
    return f"{title} ({'real' if kinds == {'real'} else 'simulated'})"


def study_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the sizes of each study, and the shares of events that are lost."""
    rows = []
    for study in STUDIES:
        summary = values["studies"][study]["summary"]
        rows.append(
            {
                "study": study_title(study, datasets),
                "pairs of frames (train, test)": f"{summary['pairs']['train']}, {summary['pairs']['test']}",
                "patches": summary["patches"],
                "cells per patch": f"{summary['cells_per_patch']:.1f}",
                "annotated completely": f"{summary['complete_patches']:.0%}",
                "true events": summary["true_events"],
                "lost to gates": f"{summary['lost_to_gates']:.1%}",
                "lost to borders of patches": f"{summary['lost_to_borders']:.1%}",
                "events tested": summary["test_events"],
            }
        )
    return pd.DataFrame(rows)


def measure_table(values: Mapping[str, Any], curves: pd.DataFrame) -> pd.DataFrame:
    """Return table 1.2: the measures, and the shares of events queried up to the first share of table 1.3.

    Parameters
    ----------
    values : mapping
        Values of the results.
    curves : DataFrame
        One row per study, measure, seed and query.
    """
    share = min(values["shares"])
    rows = []
    for measure, formula in _FORMULAS.items():
        row = {"measure": TITLES[measure], "formula": formula}
        for study in STUDIES:
            curve = curves[(curves["study"] == study) & (curves["measure"] == measure)]
            half_patch = 0.5 / values["studies"][study]["summary"]["patches"]
            last = curve[curve["share"] <= share + half_patch].groupby("seed").last()
            row[f"{study}: events annotated"] = f"{last['events'].mean():.0%}"
            row[f"{study}: of those that are no moves"] = f"{last['rare'].mean():.0%}"
        rows.append(row)
    return pd.DataFrame(rows)


def timing_table(timings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the mean CPU time from an annotation to the next query, in milliseconds."""
    return pd.DataFrame(
        {
            "measure": list(TITLES.values()),
            **{
                f"ms per query, {study}": [
                    f"{1000 * np.mean(np.concatenate(timings[study][m])):.0f}" for m in TITLES
                ]
                for study in STUDIES
            },
        }
    )


def comparison_table(
    values: Mapping[str, Any], study: str, published: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return table 1.3: errors of active and combined learning in percent, mean and deviation.

    Parameters
    ----------
    values : mapping
        Values of the results.
    study : str
        Name of the study.
    published : mapping, default=None
        Published errors of ``active`` and ``combined`` learning, shown next to ours.
    """
    found = values["studies"][study]
    rows = []
    for measure, title in TITLES.items():
        row = {"measure": title}
        for k, share in enumerate(values["shares"]):
            for kind, label in (("active", "AL"), ("averaged", "AL, averaged"), ("combined", "CL")):
                if published is not None and kind in published:
                    row[f"{share:.0%} {label}, published"] = f"{published[kind][measure][k]:.2f}"
                row[f"{share:.0%} {label}"] = _plus_minus(found[kind][measure][k]["repeats"])
        rows.append(row)
    return pd.DataFrame(rows)


def summary_table(values: Mapping[str, Any], published: float) -> pd.DataFrame:
    """Return test errors in percent: means over the curves, and of training on all patches.

    Parameters
    ----------
    values : mapping
        Values of the results.
    published : float
        Published error of training on all data.
    """
    rows = []
    for study, (title, _) in STUDIES.items():
        found = values["studies"][study]
        row = {"study": title}
        for measure, label in TITLES.items():
            row[f"{label}, mean of the curve"] = _plus_minus(found["test_error"][measure]["repeats"])
        rows.append(row)
    table = pd.DataFrame(rows).set_index("study").T
    for label, key in (
        ("max-margin", "all_data"),
        ("perceptron", "perceptron"),
        ("averaged perceptron", "averaged_perceptron"),
    ):
        table.loc[f"all patches, {label}"] = [
            _plus_minus(values["studies"][study][key]["repeats"]) for study in STUDIES
        ]
    table["published"] = ""
    table.loc["all patches, max-margin", "published"] = f"{published:.2f}"
    return table.reset_index(names="")


def stop_table(stops: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the share at which each measure would stop with scaled weights, mean over films or seeds.

    If some runs do not stop, the number of those that do.

    Parameters
    ----------
    stops : DataFrame
        One row per study, measure, seed and ``scale`` of the weights, with the number of ``patches``.
    values : mapping
        Values of the results.
    """
    rows = []
    for study, (title, _) in STUDIES.items():
        of_study = stops[stops["study"] == study].astype({"scale": str})
        for scale, label in _SCALES.items():
            row = {"study": title, "length of w": label}
            for measure in values["stop_share"]:
                of_measure = (of_study["measure"] == measure) & (of_study["scale"] == scale)
                stop = of_study.loc[of_measure, "stop"] / of_study.loc[of_measure, "patches"]
                row[TITLES[measure]] = (
                    f"{stop.mean():.1%}"
                    if stop.notna().all()
                    else f"{stop.notna().sum()} of {len(stop)} runs"
                )
            rows.append(row)
    return pd.DataFrame(rows)


def describe_strengths(table: pd.DataFrame, values: Mapping[str, Any]) -> str:
    """Say which strengths of the regularization were chosen, and how often the ends of the grid were.

    Parameters
    ----------
    table : DataFrame
        One row per study, measure, seed and share, with the ``strength`` of combined learning.
    values : mapping
        Values of the results.
    """
    ends = min(values["alphas"]), max(values["alphas"])
    sentences = []
    for study, (title, _) in STUDIES.items():
        of_table = table[(table["study"] == study) & table["share"].isin([TENTH, min(values["shares"])])]
        chosen = pd.concat([of_table["strength"], pd.Series(values["studies"][study]["strengths"])])
        counts = [int((chosen == end).sum()) for end in ends]
        sentences.append(
            f"For {title} the chosen values of $\\lambda$ go from {chosen.min():g} to {chosen.max():g}, with "
            f"a median of {chosen.median():g}; of {len(chosen)} choices {counts[0]} are the lowest value of "
            f"the grid, {ends[0]:g}, and {counts[1]} the highest, {ends[1]:g}."
        )
    return " ".join(sentences)


def _plus_minus(repeats: Sequence[float]) -> str:
    spread = f" ± {np.std(repeats, ddof=1):.2f}" if len(repeats) > 1 else ""
    return f"{np.mean(repeats):.2f}{spread}"


if "snakemake" in globals():
    run_stage(main, snakemake)
