"""Compare theorem 1.1 with simulated problems of known expected risk (rule evaluate_partial_bound)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.structured.bounds import fitted_rate, partial_annotation_bound
from ermlab.structured.bridge import BridgeRisk
from reproduction.claims.results import repeated, write_results
from reproduction.pipeline.job import Paths, run_stage

SIZES = 10 ** np.arange(1, 9)
LABELS, INPUTS, RADIUS, CONFIDENCE = 2, 3, 1.0, 0.95


def main(inputs: Paths, outputs: Paths, *, seed: int, problems: int, draws: int) -> None:
    """Minimize the empirical bridge risk on many samples, and compare the excess risk with the bounds."""
    weights = disc(RADIUS, rings=12, spokes=48)
    tables = []
    for number, problem_seed in enumerate(np.random.SeedSequence(seed).spawn(problems)):
        rng = np.random.default_rng(problem_seed)
        problem = random_problem(rng, LABELS, INPUTS, dimension=2)
        tables.append(pd.DataFrame(simulate(rng, problem, weights, draws)).assign(problem=number))
    runs = pd.concat(tables)
    curves = runs.drop(columns="problem").groupby("n", as_index=False).max()
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize(curves),
            **summarize_problems(runs, draws),
            # mu = B = Delta_max = 1: the proof has 2 as the largest loss.
            "loss_over_printed_maximum": extreme_problem()([-1.0]) / 2,
        },
    )
    curves.drop(columns="violations").to_csv(outputs["curves"], index=False, lineterminator="\n")


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Distribution over finitely many (input, annotation) pairs, the atoms.

    Parameters
    ----------
    risk : BridgeRisk
        Bridge risk with the atoms as samples and their probabilities as weights: the expected risk, without
        sampling error.
    annotations : int
        Number of possible annotations, ``|Y^p|``.
    """

    risk: BridgeRisk
    annotations: int

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each atom."""
        return self.risk.weights

    @property
    def constants(self) -> dict[str, float]:
        """Constants of the bound: ``B``, ``Delta_max``, ``|Y^p|`` and ``|Y|``."""
        return {
            "feature_norm": float(np.linalg.norm(self.risk.features, axis=2).max()),
            "largest_loss": float(self.risk.losses.max()),
            "annotations": self.annotations,
            "outputs": self.risk.losses.shape[1],
        }


def random_problem(rng: np.random.Generator, labels: int, inputs: int, dimension: int) -> FiniteProblem:
    """Return a random problem with ``labels`` binary labels, each revealed or not by a fair coin.

    Features lie on the unit sphere; the loss of an output is the share of labels that contradict the
    annotation.
    """
    outputs = binary_outputs(labels)
    annotations, compatible = partial_annotations(labels)
    features = rng.normal(size=(inputs, len(outputs), dimension))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    truth = rng.dirichlet(np.ones(inputs * len(outputs))).reshape(inputs, len(outputs))
    # All results of the coins that reveal something are equally likely.
    atoms = truth @ compatible.T / (2**labels - 1)
    contradicted = (annotations[:, None] >= 0) & (annotations[:, None] != outputs[None])
    repeat = (inputs, 1)
    risk = BridgeRisk(
        features=np.repeat(features, len(annotations), axis=0),
        losses=np.tile(contradicted.mean(axis=2), repeat),
        compatible=np.tile(compatible, repeat),
        weights=atoms.ravel(),
    )
    return FiniteProblem(risk, len(annotations))


def partial_annotations(labels: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the annotations of binary labels that reveal at least one, and the outputs that each allows.

    Returns
    -------
    annotations : array of shape (3 ** labels - 1, labels)
        One row per annotation; -1 marks a label that is not revealed.
    compatible : array of shape (3 ** labels - 1, 2 ** labels)
        Whether output ``y`` of `binary_outputs` agrees with annotation ``a``.
    """
    if labels < 1:
        raise ValueError(f"labels is {labels}: expected at least 1")
    grid = _product([-1, 0, 1], labels)
    annotations = grid[(grid >= 0).any(axis=1)]
    agrees = (annotations[:, None] < 0) | (annotations[:, None] == binary_outputs(labels)[None])
    return annotations, agrees.all(axis=2)


def binary_outputs(labels: int) -> NDArray[np.int64]:
    """Return the ``2 ** labels`` values of binary labels, one per row."""
    return _product([0, 1], labels)


def _product(values: list[int], repeat: int) -> NDArray[np.int64]:
    return np.stack(np.meshgrid(*[values] * repeat, indexing="ij"), axis=-1).reshape(-1, repeat)


def extreme_problem(largest_loss: float = 1.0) -> BridgeRisk:
    """Return one sample with two opposite unit features, whose bridge loss reaches ``2 mu B + Delta_max``."""
    return BridgeRisk(
        features=np.array([[[1.0], [-1.0]]]),
        losses=np.array([[0.0, largest_loss]]),
        compatible=np.array([[True, False]]),
    )


def disc(radius: float, rings: int, spokes: int) -> NDArray[np.float64]:
    """Return points of a disc, its center and its rim among them: a finite class of weights."""
    radii = radius * np.arange(1, rings + 1) / rings
    angles = 2 * np.pi * np.arange(spokes) / spokes
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([np.zeros((1, 2)), (radii[:, None, None] * directions).reshape(-1, 2)])


def simulate(
    rng: np.random.Generator, problem: FiniteProblem, weights: NDArray[np.float64], draws: int
) -> Iterator[dict[str, Any]]:
    """Yield the bounds of a problem, and the excess risks that were observed, for each sample size."""
    constants = {"mu": RADIUS, **problem.constants, "confidence": CONFIDENCE}
    for n in SIZES:
        excess, deviation = sampled_excess(rng, problem, weights, int(n), draws)
        published = float(partial_annotation_bound(n, **constants))
        yield {
            "n": n,
            "published": published,
            "repaired": float(partial_annotation_bound(n, **constants, repaired=True)),
            "largest_possible": 2 * RADIUS * constants["feature_norm"] + constants["largest_loss"],
            "excess_quantile": np.quantile(excess, CONFIDENCE),
            "excess_mean": excess.mean(),
            "excess_max": excess.max(),
            "deviation_quantile": np.quantile(deviation, CONFIDENCE),
            "deviation_max": deviation.max(),
            "violations": int((excess > published).sum()),
        }


def sampled_excess(
    rng: np.random.Generator, problem: FiniteProblem, weights: NDArray[np.float64], n: int, draws: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw samples of size ``n`` and minimize the empirical risk over the rows of ``weights``.

    Only the counts of the atoms matter, so that ``n`` may be arbitrarily large.

    Returns
    -------
    excess : array of shape (draws,)
        Expected risk of the empirical minimizer minus the least expected risk.
    deviation : array of shape (draws,)
        Largest difference of empirical and expected risk over all rows.
    """
    losses = problem.risk.sample_losses(weights)
    expected = losses @ problem.probabilities
    empirical = rng.multinomial(n, problem.probabilities, size=draws) / n @ losses.T
    excess = expected[empirical.argmin(axis=1)] - expected.min()
    return excess, np.abs(empirical - expected).max(axis=1)


def summarize(curves: pd.DataFrame) -> dict[str, float]:
    """Return rates and ratios of the bounds and of what was observed.

    Parameters
    ----------
    curves : DataFrame
        One row per sample size, with the largest values over all problems.
    """
    observed = curves[curves["excess_max"] > 0]
    return {
        "bound_over_excess_min": (observed["published"] / observed["excess_max"]).min(),
        "repaired_over_excess_min": (observed["repaired"] / observed["excess_max"]).min(),
        "published_over_repaired": (curves["published"] / curves["repaired"]).max(),
        "informative_from": _informative_from(curves, "published"),
        "repaired_informative_from": _informative_from(curves, "repaired"),
    }


def summarize_problems(runs: pd.DataFrame, draws: int) -> dict[str, Any]:
    """Return what was measured in each problem: rates, excess risks, and violations of the bound.

    Violations are counted where the bound is informative, below the largest possible loss.

    Parameters
    ----------
    runs : DataFrame
        One row per problem and sample size, as `simulate` returns them.
    draws : int
        Samples of each problem and size.
    """
    problems = [rows for _, rows in runs.groupby("problem")]
    informative = runs[runs["published"] < runs["largest_possible"]]
    seen = [rows[rows["excess_quantile"] > 0] for rows in problems]
    return {
        "monte_carlo_trials": len(informative) * draws,
        "monte_carlo_violations": int(informative["violations"].sum()),
        "deviation_rate": repeated(
            [fitted_rate(rows["n"], rows["deviation_quantile"]) for rows in problems], unit="problem"
        ),
        "excess_rate": repeated(
            [fitted_rate(rows["n"], rows["excess_quantile"]) for rows in seen if len(rows) > 2],
            unit="problem",
        ),
        "excess_first_last": [
            repeated([rows["excess_mean"].iloc[place] for rows in problems], unit="problem")
            for place in (0, -1)
        ],
    }


def _informative_from(curves: pd.DataFrame, bound: str) -> int:
    """Return the sample size at which a bound in ``O(1/sqrt(n))`` reaches the largest possible loss."""
    first = curves.iloc[0]
    return int(np.ceil(first["n"] * (first[bound] / first["largest_possible"]) ** 2))


if "snakemake" in globals():
    run_stage(main, snakemake)
