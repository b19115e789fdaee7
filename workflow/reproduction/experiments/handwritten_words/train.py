"""Train on each fold, letters alone and words as chains (rule train_words)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from reproduction.experiments.handwritten_words.protocol import (
    MODELS,
    STUDIES,
    Words,
    divide,
    error_rates,
    fit_model,
    read_words,
)
from reproduction.pipeline.job import Paths, run_stage

#: The training fold whose weights and readings are kept, which is that of the documented example.
SHOWN = 1


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    study: str,
    folds: int,
    C: Mapping[str, Sequence[float]],
    tol: float,
    seed: int,
) -> None:
    """Select C for each model and training fold, and read the test words."""
    words = Words.read(inputs["words"])
    if study == "shuffled":
        words = words.shuffled(np.random.default_rng([seed, STUDIES.index(study)]))
    X, y = words.features(), words.truths()
    rows, kept = [], {}
    for fold in training_folds(folds):
        division = divide(words, fold, study, np.random.default_rng([seed, fold, STUDIES.index(study)]))
        parts = {part: _samples(X, y, getattr(division, part)) for part in ("fit", "select", "train", "test")}
        for model in MODELS:
            value, validation = select_C(model, parts, C[model], tol)
            fitted = fit_model(model, *parts["train"], value, tol)
            read = read_words(model, fitted, parts["test"][0])
            letter_error, word_error = error_rates(parts["test"][1], read)
            rows.append(
                {
                    "study": study,
                    "fold": fold,
                    "model": model,
                    "C": value,
                    "validation": validation,
                    "letter_error": letter_error,
                    "word_error": word_error,
                    "gap": fitted.result_.relative_gap,
                    "training_words": len(division.train),
                    "test_words": len(division.test),
                }
            )
            if fold == SHOWN:
                kept |= {f"weights_{model}": fitted.coef_, f"read_{model}": np.concatenate(read)}
                kept["test"] = division.test
    pd.DataFrame(rows).to_csv(outputs["trials"], index=False, lineterminator="\n")
    np.savez_compressed(outputs["models"], **kept)


def select_C(
    model: str, parts: Mapping[str, tuple[list, list]], candidates: Sequence[float], tol: float
) -> tuple[float, float]:
    """Return the C with the fewest wrong letters in the words left out of fitting, and its error."""
    X, y = parts["select"]
    errors = []
    for C in candidates:
        fitted = fit_model(model, *parts["fit"], C, tol)
        errors.append(error_rates(y, read_words(model, fitted, X))[0])
    best = int(np.argmin(errors))
    return candidates[best], errors[best]


def _samples(X: list[np.ndarray], y: list[np.ndarray], which: np.ndarray) -> tuple[list, list]:
    return [X[index] for index in which], [y[index] for index in which]


def training_folds(count: int) -> list[int]:
    """Return the training folds, `SHOWN` among them: 1, 2, ..., 9, 0."""
    return [(SHOWN + number) % 10 for number in range(count)]


if "snakemake" in globals():
    run_stage(main, snakemake)
