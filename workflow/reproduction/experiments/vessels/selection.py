"""Choice of hyperparameters on held-out training photographs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Model = TypeVar("Model")


def select(
    train: Callable[[float, float, Sequence[int]], Model],
    validate: Callable[[Model], float],
    C: Sequence[float],
    class_weights: Sequence[float],
    indices: Sequence[int],
) -> tuple[tuple[float, float], list[dict[str, Any]]]:
    """Return the regularization and the weight of vessels with the best validation, and all trials.

    Parameters
    ----------
    train
        ``train(C, class_weight, indices)`` returns a model.
    validate
        Score of a model on photographs that were not used for training; the largest is the best.
    C, class_weights
        Values to combine.
    indices
        Photographs to train on.
    """
    pairs = [(value, weight) for value in C for weight in class_weights]
    values = [validate(train(value, weight, indices)) for value, weight in pairs]
    best = int(np.argmax(values))
    trials = [
        {"C": value, "class_weight": weight, "validation_f1": f1, "chosen": number == best}
        for number, ((value, weight), f1) in enumerate(zip(pairs, values, strict=True))
    ]
    return pairs[best], trials
