"""Choice of hyperparameters on held-out training photographs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from reproduction.experiments.taxonomies import Trial, search_C

Model = TypeVar("Model")
#: Ranges within which the values of C and of the weight of vessels may grow.
C_LIMITS, WEIGHT_LIMITS = (1e-4, 1e4), (1.0, 64.0)


def select(
    train: Callable[[float, float, Sequence[int]], Model],
    validate: Callable[[Model], float],
    C: Sequence[float],
    class_weights: Sequence[float],
    indices: Sequence[int],
) -> tuple[tuple[float, float], list[dict[str, Any]]]:
    """Return the regularization and the weight of vessels with the best validation, and all trials.

    The weight is selected first, with the middle value of C, and then C. The values grow until the best one
    is inside their range.

    Parameters
    ----------
    train
        ``train(C, class_weight, indices)`` returns a model.
    validate
        Score of a model on photographs that were not used for training; the largest is the best.
    C, class_weights
        Values to begin with; a single value is not varied.
    indices
        Photographs to train on.
    """
    scores: dict[tuple[float, float], float] = {}

    def score(value: float, weight: float) -> float:
        if (value, weight) not in scores:
            scores[value, weight] = validate(train(value, weight, indices))
        return scores[value, weight]

    middle = sorted(C)[len(C) // 2]
    weight = _best(lambda weight: score(middle, weight), class_weights, WEIGHT_LIMITS)
    chosen = _best(lambda value: score(value, weight), C, C_LIMITS), weight
    trials = [
        {"C": value, "class_weight": weight, "validation_f1": f1, "chosen": (value, weight) == chosen}
        for (value, weight), f1 in sorted(scores.items())
    ]
    return chosen, trials


def _best(score: Callable[[float], float], values: Sequence[float], limits: Sequence[float]) -> float:
    if len(values) == 1:
        score(values[0])
        return values[0]
    best, _ = search_C(lambda value: Trial(value, score(value), 0.0, 0, None), sorted(values), limits)
    return best.C
