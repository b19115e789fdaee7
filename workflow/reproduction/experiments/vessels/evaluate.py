"""Compare all methods and the second observer on the test photographs (rule evaluate_vessels)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.vessels.fields import VesselFields
from reproduction.experiments.vessels.measures import (
    METRICS,
    agreement,
    count_above,
    mean_interval,
    mean_scores,
    paired_difference,
)
from reproduction.experiments.vessels.retinas import Retinas
from reproduction.experiments.vessels.train_dense import segment_by_dense
from reproduction.experiments.vessels.train_grid import segment_by_grid
from reproduction.pipeline.job import Paths, run_stage

TITLES = {
    "threshold": "best single feature",
    "linear": "linear classifier of pixels",
    "grid": "grid CRF, graph cut",
    "dense": "dense CRF, mean field",
    "second": "second observer",
}
METHODS = ("threshold", "linear", "grid", "dense")
#: Methods that score each pixel on its own.
PIXELWISE = ("threshold", "linear")
#: Number of thresholds of a curve.
N_THRESHOLDS = 200


def main(inputs: Paths, outputs: Paths) -> None:
    """Segment the test photographs by all methods, and compare."""
    fields = VesselFields.read(inputs["retinas"], inputs["scores"])
    retinas = fields.retinas
    with np.load(inputs["scores"]) as arrays:
        scores = {method: arrays[method] for method in PIXELWISE}
    models = {method: read_json(inputs[method]) for method in ("pixels", "grid", "dense")}
    found, seconds = segment_all(fields, scores, models)
    table = score_table(retinas, found)
    write_results(
        Path(outputs["values"]).parent,
        {
            **comparison_values(table),
            "auc": mean_areas(retinas, scores),
            "photographs": {
                "training": len(retinas.training_indices),
                "held_out": len(retinas.validation_indices),
                "test": len(retinas.test_indices),
                "pathological_test": int(retinas.pathological[retinas.test_indices].sum()),
            },
            "feature": models["pixels"]["feature"],
            "chosen": {
                "linear": _hyperparameters(models["pixels"]),
                "grid": _hyperparameters(models["grid"]),
                "dense": _hyperparameters(models["dense"]),
            },
            "weights": {method: models[method]["weights"] for method in ("grid", "dense")},
        },
        datasets={"drive_vessels": read_json(inputs["receipt"])["kind"]},
        timings={f"{method}_seconds": float(np.median(times)) for method, times in seconds.items()},
    )
    table.to_csv(outputs["scores"], index=False, lineterminator="\n")
    curve_table(retinas, scores).to_csv(outputs["curves"], index=False, lineterminator="\n")
    trials = [
        pd.read_csv(path).assign(method=method)
        for method, path in zip(METHODS[1:], inputs["trials"], strict=True)
    ]
    pd.concat(trials).to_csv(outputs["trials"], index=False, lineterminator="\n")
    np.savez_compressed(outputs["examples"], **example_arrays(retinas, found["dense"]))


def _hyperparameters(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name not in ("weights", "feature", "threshold")}


def segment_all(
    fields: VesselFields, scores: Mapping[str, np.ndarray], models: Mapping[str, Any]
) -> tuple[dict[str, list[np.ndarray]], dict[str, list[float]]]:
    """Return the vessels found by each method among the pixels of each test photograph, and the seconds."""
    weights = {method: np.array(models[method]["weights"]) for method in ("grid", "dense")}
    segmenters: dict[str, Callable[[int], np.ndarray]] = {
        **{
            method: lambda i, method=method: scores[method][fields.retinas.pixels(i)] > 0
            for method in PIXELWISE
        },
        "grid": lambda i: fields.inside(i, segment_by_grid(fields, i, weights["grid"])),
        "dense": lambda i: fields.inside(i, segment_by_dense(fields, i, weights["dense"])),
    }
    found: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    seconds: dict[str, list[float]] = {method: [] for method in METHODS[2:]}
    for i in fields.retinas.test_indices:
        for method, segment in segmenters.items():
            start = perf_counter()
            found[method].append(segment(int(i)))
            if method in seconds:
                seconds[method].append(perf_counter() - start)
    return found, seconds


def score_table(retinas: Retinas, found: Mapping[str, Sequence[np.ndarray]]) -> pd.DataFrame:
    """Return one row with the metrics for each test photograph and method, and for the second observer."""
    rows = []
    for k, i in enumerate(retinas.test_indices):
        truth, second = retinas.truth(i), retinas.second[i][retinas.fields[i]]
        for method, vessels in [*((name, masks[k]) for name, masks in found.items()), ("second", second)]:
            rows.append(
                {
                    "photograph": int(retinas.numbers[i]),
                    "pathological": bool(retinas.pathological[i]),
                    "method": method,
                    **agreement(truth, vessels),
                }
            )
    return pd.DataFrame(rows)


def comparison_values(table: pd.DataFrame) -> dict[str, Any]:
    """Return mean scores with intervals, and differences that are paired over the photographs."""
    columns = {
        metric: table.pivot_table(index="photograph", columns="method", values=metric) for metric in METRICS
    }
    by_method = {method: rows.to_dict("records") for method, rows in table.groupby("method")}
    return {
        "score": {method: mean_scores(rows) for method, rows in by_method.items()},
        "by_photograph": {
            method: {metric: repeated(columns[metric][method], "photograph") for metric in ("f1", "mcc")}
            for method in by_method
        },
        "interval": {
            method: {
                metric: dict(
                    zip(("mean", "low", "high"), mean_interval(columns[metric][method]), strict=True)
                )
                for metric in METRICS
            }
            for method in by_method
        },
        "difference": {
            metric: paired_difference(columns[metric]["dense"], columns[metric]["second"])
            for metric in ("f1", "mcc")
        },
        "margin": {metric: float(columns[metric]["second"].std(ddof=1)) for metric in ("f1", "mcc")},
        "from_second": {
            method: {
                metric: paired_difference(columns[metric][method], columns[metric]["second"])
                for metric in ("f1", "mcc")
            }
            for method in METHODS
        },
        "from_linear": {
            method: {
                metric: paired_difference(columns[metric][method], columns[metric]["linear"])
                for metric in ("f1", "mcc")
            }
            for method in METHODS
            if method != "linear"
        },
        "better_than_second": {
            method: int((columns["f1"][method] > columns["f1"]["second"]).sum()) for method in METHODS
        },
    }


def mean_areas(retinas: Retinas, scores: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the mean over test photographs of the area under the ROC curve."""
    return {
        method: float(
            np.mean(
                [roc_auc_score(retinas.truth(i), values[retinas.pixels(i)]) for i in retinas.test_indices]
            )
        )
        for method, values in scores.items()
    }


def curve_table(retinas: Retinas, scores: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return sensitivity, specificity and precision at many thresholds, means over the test photographs."""
    rows = []
    for method, values in scores.items():
        test = np.concatenate([values[retinas.pixels(i)] for i in retinas.test_indices])
        thresholds = np.unique(np.quantile(test, np.linspace(0, 1, N_THRESHOLDS, endpoint=False)))
        sums = np.zeros((3, len(thresholds)))
        for i in retinas.test_indices:
            truth, score = retinas.truth(i), values[retinas.pixels(i)]
            hits, false = (count_above(part, thresholds) for part in (score[truth], score[~truth]))
            sums += (
                hits / max(truth.sum(), 1),
                1 - false / max((~truth).sum(), 1),
                hits / np.maximum(hits + false, 1),
            )
        for threshold, values_at in zip(thresholds, (sums / len(retinas.test_indices)).T, strict=True):
            rows.append(
                {
                    "method": method,
                    "threshold": float(threshold),
                    **dict(zip(("sensitivity", "specificity", "precision"), values_at, strict=True)),
                }
            )
    return pd.DataFrame(rows)


def example_arrays(retinas: Retinas, found: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the first test photograph without and the first with signs of disease, with all masks."""
    arrays = {}
    for name, ill in (("healthy", False), ("pathological", True)):
        matching = np.flatnonzero(retinas.test & (retinas.pathological == ill))
        if len(matching):
            i = int(matching[0])
            ours = retinas.as_image(i, found[int(np.flatnonzero(retinas.test_indices == i)[0])])
            arrays |= {
                f"{name}_number": retinas.numbers[i],
                f"{name}_image": retinas.images[i],
                f"{name}_first": retinas.first[i] & retinas.fields[i],
                f"{name}_second": retinas.second[i] & retinas.fields[i],
                f"{name}_dense": ours,
            }
    return arrays


if "snakemake" in globals():
    run_stage(main, snakemake)
