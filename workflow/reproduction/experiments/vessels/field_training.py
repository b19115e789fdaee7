"""Training of random fields by the structured SVM, and the choice of their hyperparameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ermlab.structured import StructuredSVM, Task
from reproduction.claims.results import write_json
from reproduction.experiments.vessels.fields import Square, VesselFields
from reproduction.experiments.vessels.measures import mean_f1
from reproduction.experiments.vessels.selection import select
from reproduction.pipeline.job import Paths


@dataclass(frozen=True)
class FieldSettings:
    """Settings of a random field; the values of ``C`` and ``class_weights`` are combined."""

    side: int
    C: Sequence[float]
    class_weights: Sequence[float]
    tol: float


def train_field(
    fields: VesselFields,
    outputs: Paths,
    task: Callable[[float], Task],
    sample: Callable[[VesselFields, int, Square], Any],
    segment: Callable[[VesselFields, int, np.ndarray], np.ndarray],
    settings: FieldSettings,
    seed: int,
) -> None:
    """Train on a square of each training photograph; write the model and all trials.

    Parameters
    ----------
    fields
        The photographs.
    outputs
        Paths of ``model`` and ``trials``.
    task
        ``task(class_weight)`` is the task in whose loss an error at a vessel has that weight.
    sample
        ``sample(fields, i, square)`` is the sample for a square of a photograph.
    segment
        ``segment(fields, i, w)`` returns the labels of a photograph.
    settings, seed
        Settings of the experiment.
    """
    retinas = fields.retinas
    squares = {i: fields.draw_square(i, settings.side, seed) for i in retinas.training_indices}

    def train(value: float, weight: float, indices: Sequence[int]) -> np.ndarray:
        X = [sample(fields, i, squares[i]) for i in indices]
        y = [fields.labels(i)[squares[i]] for i in indices]
        return StructuredSVM(task(weight), C=value, tol=settings.tol).fit(X, y).coef_

    def validate(w: np.ndarray) -> float:
        held_out = retinas.validation_indices
        found = [fields.inside(i, segment(fields, i, w)) for i in held_out]
        return mean_f1([retinas.truth(i) for i in held_out], found)

    chosen, trials = select(train, validate, settings.C, settings.class_weights, retinas.fitting_indices)
    w = train(*chosen, retinas.training_indices)
    pd.DataFrame(trials).to_csv(outputs["trials"], index=False, lineterminator="\n")
    write_json(outputs["model"], {"C": chosen[0], "class_weight": chosen[1], "weights": w.tolist()})
