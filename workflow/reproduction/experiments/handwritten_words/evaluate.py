"""Compare letters alone and words as chains, paired by training fold (rule evaluate_words)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.letters import ALPHABET
from reproduction.experiments.handwritten_words.protocol import MODELS, N_STATES, Words
from reproduction.experiments.handwritten_words.train import SHOWN
from reproduction.experiments.intervals import repeated_interval
from reproduction.pipeline.job import Paths, run_stage

#: What errors are repeated over.
UNIT = "training fold"
#: Words of the page of each kind: read right by the chain alone, and by the letters alone.
_EXAMPLES = 4


def main(inputs: Paths, outputs: Paths, *, C: Mapping[str, list[float]]) -> None:
    """Combine the studies; their files are listed study by study."""
    trials = pd.concat(map(pd.read_csv, inputs["trials"]), ignore_index=True)
    with np.load(inputs["models"]) as arrays:
        models = dict(arrays)
    words = Words.read(inputs["words"])
    write_results(
        Path(outputs["values"]).parent,
        {
            **error_values(trials),
            **pair_values(models["weights_chain"]),
            "inside_grid": {model: inside_grid(trials, model, C[model]) for model in MODELS},
        },
        datasets={"letters": read_json(inputs["receipt"])["kind"]},
    )
    trials.to_csv(outputs["trials"], index=False, lineterminator="\n")
    np.savez_compressed(
        outputs["examples"], **examples(words, models), transitions=transitions(models["weights_chain"])
    )


def error_values(trials: pd.DataFrame) -> dict[str, Any]:
    """Return errors and gains of the study as given, and gains of the controls."""
    letter = {study: errors_by_fold(trials, study, "letter_error") for study in trials["study"].unique()}
    word = errors_by_fold(trials, "given", "word_error")
    gain = {study: repeated(table["unary"] - table["chain"], UNIT) for study, table in letter.items()}
    given = trials[trials["study"] == "given"]
    return {
        "letter_error": {model: repeated(letter["given"][model], UNIT) for model in MODELS},
        "word_error": {model: repeated(word[model], UNIT) for model in MODELS},
        "letter_gain": gain["given"],
        "word_gain": repeated(word["unary"] - word["chain"], UNIT),
        "documented_error": {model: float(letter["given"].loc[SHOWN, model]) for model in MODELS},
        "shuffled_gain": gain["shuffled"],
        "unseen_gain": gain["unseen"],
        "unseen_error": {model: repeated(letter["unseen"][model], UNIT) for model in MODELS},
        "shuffled_error": {model: repeated(letter["shuffled"][model], UNIT) for model in MODELS},
        "training_words": int(given["training_words"].mean()),
        "test_words": int(given["test_words"].mean()),
        "folds": int(given["fold"].nunique()),
        "gap_max": float(trials["gap"].max()),
    }


def errors_by_fold(trials: pd.DataFrame, study: str, column: str) -> pd.DataFrame:
    """Return the errors of one study, a row per training fold and a column per model."""
    return trials[trials["study"] == study].pivot(index="fold", columns="model", values=column)


def inside_grid(trials: pd.DataFrame, model: str, candidates: list[float]) -> float:
    """Return the share of selections that are not at the end of the candidates."""
    chosen = trials.loc[trials["model"] == model, "C"]
    return float(((chosen > min(candidates)) & (chosen < max(candidates))).mean())


def transitions(weights: np.ndarray) -> np.ndarray:
    """Return the pairwise weights of a chain, a row per first letter."""
    return weights[-(N_STATES**2) :].reshape(N_STATES, N_STATES)


def pair_values(weights: np.ndarray) -> dict[str, list[str]]:
    """Return the pairs of letters with the largest and smallest weights."""
    order = np.argsort(transitions(weights), axis=None)
    names = [ALPHABET[index // N_STATES] + ALPHABET[index % N_STATES] for index in order]
    return {"favored_pairs": names[::-1][:10], "avoided_pairs": names[:10]}


def examples(words: Words, models: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return test words that one model alone reads right: pixels, labels, and both readings.

    Among the words of each kind those in the middle of their order are taken, whatever they look like.
    """
    test = models["test"]
    lengths = words.lengths[test]
    starts = np.cumsum(lengths) - lengths
    all_truths = words.truths()
    truths = np.concatenate([all_truths[index] for index in test])
    right = {model: np.logical_and.reduceat(models[f"read_{model}"] == truths, starts) for model in MODELS}
    chosen = np.concatenate(
        [
            _spread(np.flatnonzero(right["chain"] & ~right["unary"] & (lengths > 5)), _EXAMPLES),
            _spread(np.flatnonzero(right["unary"] & ~right["chain"] & (lengths > 3)), _EXAMPLES // 2),
        ]
    )
    letters = np.concatenate([np.arange(starts[k], starts[k] + lengths[k]) for k in chosen] or [[]]).astype(
        int
    )
    places = np.cumsum(words.lengths) - words.lengths
    pixels = [words.pixels[places[index] : places[index] + words.lengths[index]] for index in test[chosen]]
    return {
        "pixels": np.concatenate([*pixels, np.zeros((0, words.pixels.shape[1]), dtype=np.uint8)]),
        "lengths": lengths[chosen],
        "truth": truths[letters],
        **{model: models[f"read_{model}"][letters] for model in MODELS},
    }


def _spread(indices: np.ndarray, count: int) -> np.ndarray:
    """Return up to ``count`` of the indices, evenly spread."""
    return (
        indices[np.unique(np.linspace(0, len(indices) - 1, count + 2).astype(int)[1:-1])]
        if len(indices)
        else indices
    )


def error_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return mean errors of both models in all studies, and the gain with its interval."""
    studies = {
        "letters, words as given": ("letter_error", "letter_gain"),
        "whole words, as given": ("word_error", "word_gain"),
        "letters, in random order": ("shuffled_error", "shuffled_gain"),
        "letters of unseen words": ("unseen_error", "unseen_gain"),
    }
    rows = []
    for title, (errors, gain) in studies.items():
        means = {model: np.mean(values[errors][model]["repeats"]) for model in MODELS}
        interval = repeated_interval(values[gain])
        rows.append(
            {
                "errors": title,
                "each letter alone": means["unary"],
                "chain": means["chain"],
                "gain": interval["mean"],
                "low": interval["low"],
                "high": interval["high"],
            }
        )
    return pd.DataFrame(rows)


if "snakemake" in globals():
    run_stage(main, snakemake)
