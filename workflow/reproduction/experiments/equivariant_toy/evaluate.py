"""Fit three rings from one point each, with growing ranges of rotations (rule evaluate_equivariant_toy)."""

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import repeated, write_results
from reproduction.experiments.equivariant_toy.latent import (
    LatentRingModel,
    fit_latent_rings,
    prediction_seconds,
)
from reproduction.experiments.equivariant_toy.rings import (
    DISC,
    RADII,
    RingModel,
    draw_samples,
    equal_rotations,
    fit_rings,
    ring_error,
    rotations,
    symmetry_error,
    virtual_share,
)
from reproduction.experiments.intervals import interval_text
from reproduction.pipeline.job import Paths, run_stage

#: The five panels of figure 1, as fractions of pi.
RANGES = (0, 1 / 8, 1 / 4, 1 / 2, 1)
#: Large enough for the three points to keep their margin: the hard margin of the published figure.
C = 1000.0
#: The form of the source, one joint constraint for all samples at a time (7), in which virtual samples are
#: counted; all other results are those of separate constraints for each sample, which are faster.
ONE_SLACK = {"solver": "bundle", "tol": 1e-2}
#: Triples for which they are counted.
COUNTED = 3
#: Virtual sampling is enough if its objective is at least this share of that with all rotations.
ENOUGH = 0.99
#: Both measures of the regions.
MEASURES = {"symmetry_error": "symmetry error (%)", "ring_error": "ring error (%)"}
#: Points along each side of the grid of regions.
GRID_SIZE = 241


def main(
    inputs: Paths, outputs: Paths, *, seed: int, triples: int, degree: int, degrees: Sequence[int]
) -> None:
    """Fit ``triples`` draws of three points; the first draw is the one that the figure shows."""
    rng = np.random.default_rng(seed)
    draws = [draw_samples(rng) for _ in range(triples)]
    models = [[_fit(samples, part, degree) for part in RANGES] for samples in draws]
    one_slack = [[_fit(samples, part, degree, **ONE_SLACK) for part in RANGES] for samples in draws[:COUNTED]]
    latent = [fit_latent_rings(samples, degree, C, seed) for samples in draws]
    measured = pd.DataFrame(
        {
            "triple": number,
            "range": part,
            **_measure(models[number][k]),
            **(_count_virtual(one_slack[number][k]) if number < COUNTED else {}),
        }
        for number in range(triples)
        for k, part in enumerate(RANGES)
    )
    by_degree = pd.DataFrame(
        {"degree": other, "range": part, **_measure(_fit(draws[0], part, other))}
        for other in degrees
        for part in RANGES
    )
    write_results(
        Path(outputs["values"]).parent,
        {
            "triples": triples,
            "degree": degree,
            "ranges": [str(Fraction(part)) for part in RANGES],
            **summarize_triples(measured),
            "equal_rotations_objective": {
                name: repeated(_objective_ratios(measured, draws, degree, count))
                for name, count in (("enough", degree + 1), ("too_few", degree))
            },
            "plain_virtual": repeated(_plain_virtual(measured, draws[:COUNTED], degree), unit="triple"),
            **summarize_latent(latent),
        },
        timings=_compare_seconds(draws[0], degree, models[0][-1], latent[0], seed),
    )
    for name, table in (("triples", measured), ("degrees", by_degree), ("points", point_table(one_slack[0]))):
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    axis = np.linspace(-DISC, DISC, GRID_SIZE)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    np.savez_compressed(
        outputs["regions"],
        axis=axis,
        ranges=np.array(RANGES),
        classes=np.stack([model.predict(grid) for model in models[0]]).astype(np.int8),
        margins=np.stack([model.margin(grid) for model in models[0]]).astype(np.float32),
        latent=latent[0].predict(grid).astype(np.int8),
    )


def _fit(samples: np.ndarray, part: float, degree: int, **solver: Any) -> RingModel:
    return fit_rings(samples, rotations(np.pi * part, degree), degree, C, **solver)


def _measure(model: RingModel) -> dict[str, float]:
    return {
        "symmetry_error": symmetry_error(model),
        "ring_error": ring_error(model),
        "n_separate": len(model.virtual),
        "calls_separate": model.n_iter,
        "objective": model.objective,
    }


def _count_virtual(model: RingModel) -> dict[str, float]:
    """Return the virtual samples of the one-slack form."""
    return {
        "virtual_share": virtual_share(model),
        "n_virtual": len(model.virtual),
        "calls": model.n_iter,
    }


def summarize_triples(measured: pd.DataFrame) -> dict:
    """Return each measure by range, over the triples, and how many triples become more symmetric throughout.

    ``measured`` has one row per triple and range, with the ranges of a triple in ascending order.
    """
    by_range = [measured[measured["range"] == part] for part in RANGES]
    ordered = measured.groupby("triple")["symmetry_error"].apply(
        lambda errors: errors.is_monotonic_decreasing
    )
    return {
        **{
            name: [repeated(rows[name].dropna(), unit="triple") for rows in by_range]
            for name in measured.columns[2:]
        },
        "ordered_triples": int(ordered.sum()),
    }


def summarize_latent(models: Sequence[LatentRingModel]) -> dict[str, dict]:
    """Return the measures of the models with a latent rotation, over the triples."""
    return {
        "latent_spread": repeated([model.spread for model in models], unit="triple"),
        "latent_midpoint_rise": repeated([model.midpoint_rise for model in models], unit="triple"),
        "latent_symmetry_error": repeated([symmetry_error(model) for model in models], unit="triple"),
        "latent_ring_error": repeated([ring_error(model) for model in models], unit="triple"),
    }


def _compare_seconds(
    samples: np.ndarray, degree: int, equivariant: RingModel, latent: LatentRingModel, seed: int
) -> dict[str, float]:
    """Return times of training and prediction, with the rotation in the loss and as a latent variable."""
    start = time.perf_counter()
    _fit(samples, RANGES[-1], degree)
    training = time.perf_counter() - start
    once, searched = prediction_seconds([equivariant, latent], seed)
    return {
        "equivariant_training_seconds": training,
        "latent_training_seconds": latent.seconds / len(latent.objectives),
        "latent_prediction_ratio": searched / once,
    }


def _objective_ratios(
    measured: pd.DataFrame, draws: Sequence[np.ndarray], degree: int, count: int
) -> np.ndarray:
    """Return the objective with ``count`` equal rotations over that with all rotations, for each triple."""
    objectives = [fit_rings(samples, equal_rotations(count), degree, C).objective for samples in draws]
    return np.array(objectives) / measured[measured["range"] == RANGES[-1]]["objective"].to_numpy()


def _plain_virtual(measured: pd.DataFrame, draws: Sequence[np.ndarray], degree: int) -> list[int]:
    """Return the fewest virtual samples, in equal rotations, that are enough in place of all rotations."""
    whole = measured[measured["range"] == RANGES[-1]]["objective"]
    counts = []
    for samples, objective in zip(draws, whole, strict=False):
        count = 1
        while fit_rings(samples, equal_rotations(count), degree, C).objective < ENOUGH * objective:
            count += 1
        counts.append(count * len(samples))
    return counts


def solver_table(triples: pd.DataFrame) -> pd.DataFrame:
    """Return the mean virtual samples and passes for all rotations, with joint and separate constraints."""
    whole = triples[triples["range"] == RANGES[-1]].mean()
    rows = {
        "one joint constraint, as in the source": (whole["n_virtual"], whole["calls"]),
        "a constraint for each sample": (whole["n_separate"], whole["calls_separate"]),
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["virtual samples", "passes"]).round(0)


def measure_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return both measures of the regions in percent by range, with 95 % intervals over the triples."""
    rows = {
        title: {
            range_label(part): interval_text(found, factor=100, format=".1f")
            for part, found in zip(RANGES, values[name], strict=True)
        }
        for name, title in MEASURES.items()
    }
    return pd.DataFrame(rows).T


def describe_measures(values: Mapping[str, Any]) -> str:
    """Say for which ranges the mean of each measure is lower than for the range before."""
    sentences = []
    for name, title in MEASURES.items():
        means = [np.mean(found["repeats"]) for found in values[name]]
        rises = [
            range_label(part) for part, step in zip(RANGES[1:], np.diff(means), strict=True) if step >= 0
        ]
        outcome = f"does not fall from the range before to {', '.join(rises)}" if rises else "always falls"
        sentences.append(f"The {title.removesuffix(' (%)')} {outcome}.")
    return " ".join(sentences)


def describe_virtual(values: Mapping[str, Any]) -> str:
    """Say how many virtual samples the optimizer uses, and how many would be enough."""
    shares = [np.mean(share["repeats"]) for share in values["virtual_share"]]
    used, plain = (np.mean(found["repeats"]) for found in (values["n_virtual"][-1], values["plain_virtual"]))
    below, whole = max(shares[:-1]), shares[-1]
    choice = "Below the full range the choice is sparse" if below <= 0.1 else "The choice grows fast"
    return (
        f"{choice}: up to {below:.1%} of the grid of all rotations by whole degrees are used. With all "
        f"rotations it is {whole:.0%}, {used:.0f} points. Plain virtual sampling with equally spaced "
        f"rotations needs {plain:.0f} to come within {1 - ENOUGH:.0%} of the same objective, which "
        f"{values['degree'] + 1} rotations of the {len(RADII)} points reach exactly; but it has to know the "
        "number in advance."
    )


def point_table(models: Sequence[RingModel]) -> pd.DataFrame:
    """Return the given points and the virtual samples of each range, one row per point."""
    rows = [
        {"range": part, "kind": kind, "sample": int(i), "x": point[0], "y": point[1]}
        for part, model in zip(RANGES, models, strict=True)
        for kind, samples, points in (
            ("given", range(len(model.samples)), model.samples),
            ("virtual", model.sample, model.virtual),
        )
        for i, point in zip(samples, points, strict=True)
    ]
    return pd.DataFrame(rows)


def range_label(part: float) -> str:
    """Return a range, given as a fraction of pi, as text: 0, ±π/8, ..., ±π."""
    if part == 0:
        return "0"
    return "±π" if part == 1 else f"±π/{round(1 / part)}"


def ring_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Return errors in percent, one row per degree and one column per range."""
    in_percent = measured.assign(**{name: 100 * measured[name] for name in MEASURES})
    table = in_percent.pivot_table(index="degree", columns="range", values=list(MEASURES))[list(MEASURES)]
    return table.round(1).rename(columns=MEASURES, level=0).rename(columns=range_label, level=1)


if "snakemake" in globals():
    run_stage(main, snakemake)
