"""Small problems with partial annotations whose expected bridge risk can be computed exactly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.structured.bridge import BridgeRisk


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """A distribution over finitely many (input, annotation) pairs, the atoms.

    ``risk`` is the bridge risk with the atoms as samples and their probabilities as weights: the
    expected risk, with no sampling error.
    """

    risk: BridgeRisk
    annotations: int

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each atom."""
        return self.risk.weights

    @property
    def outputs(self) -> int:
        """Number of outputs, ``|Y|``."""
        return self.risk.losses.shape[1]

    @property
    def feature_norm(self) -> float:
        """Largest norm of a joint feature, ``B``."""
        return float(np.linalg.norm(self.risk.features, axis=2).max())

    @property
    def largest_loss(self) -> float:
        """Largest output loss, ``Delta_max``."""
        return float(self.risk.losses.max())


def random_problem(rng: np.random.Generator, labels: int, inputs: int, dimension: int) -> FiniteProblem:
    """Return a random problem with ``labels`` binary labels, each revealed or not by a fair coin.

    Features lie on the unit sphere; an output's loss is the share of labels that contradict the annotation.
    """
    outputs = binary_outputs(labels)
    annotations, compatible = partial_annotations(labels)
    features = rng.normal(size=(inputs, len(outputs), dimension))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    truth = rng.dirichlet(np.ones(inputs * len(outputs))).reshape(inputs, len(outputs))
    # All settings of the coins that reveal something are equally likely.
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


def disc(radius: float, rings: int, spokes: int) -> NDArray[np.float64]:
    """Return points of a plane disc, its centre and its rim among them: a finite class of weights."""
    radii = radius * np.arange(1, rings + 1) / rings
    angles = 2 * np.pi * np.arange(spokes) / spokes
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([np.zeros((1, 2)), (radii[:, None, None] * directions).reshape(-1, 2)])


def sampled_excess(
    rng: np.random.Generator, problem: FiniteProblem, weights: NDArray[np.float64], n: int, draws: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw samples of size ``n`` and minimise the empirical risk over the rows of ``weights``.

    Only the counts of the atoms matter, so ``n`` may be as large as one likes.

    Returns
    -------
    excess
        Expected risk of the empirical minimiser over the least expected risk, one a draw.
    deviation
        Largest difference of empirical and expected risk over all rows, one a draw.
    """
    losses = problem.risk.sample_losses(weights)
    expected = losses @ problem.probabilities
    empirical = rng.multinomial(n, problem.probabilities, size=draws) / n @ losses.T
    excess = expected[empirical.argmin(axis=1)] - expected.min()
    return excess, np.abs(empirical - expected).max(axis=1)


def extreme_problem(largest_loss: float = 1.0) -> BridgeRisk:
    """Return one sample with two opposite unit features, whose bridge loss reaches ``2 mu B + Delta_max``."""
    return BridgeRisk(
        features=np.array([[[1.0], [-1.0]]]),
        losses=np.array([[0.0, largest_loss]]),
        compatible=np.array([[True, False]]),
    )


def partial_annotations(labels: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """List the annotations of ``labels`` binary labels that reveal at least one, and what each allows.

    Returns
    -------
    annotations
        One a row; -1 stands for a label that is not revealed. There are ``3^labels - 1``.
    compatible
        ``compatible[a, y]``: whether output ``y`` of `binary_outputs` agrees with annotation ``a``.
    """
    if labels < 1:
        raise ValueError(f"labels is {labels}: expected at least 1")
    grid = _product([-1, 0, 1], labels)
    annotations = grid[(grid >= 0).any(axis=1)]
    agrees = (annotations[:, None] < 0) | (annotations[:, None] == binary_outputs(labels)[None])
    return annotations, agrees.all(axis=2)


def binary_outputs(labels: int) -> NDArray[np.int64]:
    """List the ``2^labels`` settings of binary labels, one a row."""
    return _product([0, 1], labels)


def _product(values: list[int], repeat: int) -> NDArray[np.int64]:
    return np.stack(np.meshgrid(*[values] * repeat, indexing="ij"), axis=-1).reshape(-1, repeat)


def planted_problem(
    rng: np.random.Generator, dimension: int = 1, samples: int = 30, outputs: int = 6
) -> BridgeRisk:
    """Return a bridge risk to watch an optimiser on; with one weight, a function that can be drawn.

    Features are unit normal, those of the right output shifted by a vector of length 2; the annotation leaves
    one more output open. Every incompatible output costs 1. At ``w = 0`` all outputs tie and the first is
    taken, so each sample has its outputs in an order of its own, which says nothing of the right one.
    """
    order = rng.permuted(np.tile(np.arange(outputs), (samples, 1)), axis=1)
    features = rng.normal(size=(samples, outputs, dimension))
    features[order == 0] += 2 / np.sqrt(dimension)
    return BridgeRisk(features, np.ones((samples, outputs)), compatible=order < 2)
