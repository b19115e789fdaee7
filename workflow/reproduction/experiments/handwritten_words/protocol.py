"""Words as sequences of features, their divisions into training and test, and the two models.

All words of one fold are for training, and those of the other folds for test, as by Taskar, Guestrin and
Koller (2003). C is selected on a part of the training words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ermlab.segmentation import ChainCRF
from ermlab.structured import MultiClassTask, StructuredSVM
from reproduction.datasets.letters import ALPHABET, Letters

N_STATES = len(ALPHABET)
MODELS = ("unary", "chain")
#: ``given``: words as they are. Controls: ``shuffled``, the letters of each word are in random order;
#: ``unseen``: no word of the test occurs in training.
STUDIES = ("given", "shuffled", "unseen")
#: Share of the training words on which C is selected, and of the vocabulary that is unseen.
_VALIDATION, _UNSEEN = 0.25, 0.2
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """Letters of all words one after the other."""

    pixels: np.ndarray  #: (letters, pixels), 0 or 1
    labels: np.ndarray  #: (letters,)
    lengths: np.ndarray  #: letters of each word
    folds: np.ndarray  #: fold of each word
    names: np.ndarray  #: index of the text of each word: equal for equal words

    @classmethod
    def of(cls, letters: Letters, per_fold: int | None) -> Self:
        """Take the words of a data set, at most ``per_fold`` of each fold."""
        kept = [np.flatnonzero(letters.folds == fold)[:per_fold] for fold in np.unique(letters.folds)]
        chosen = np.sort(np.concatenate(kept))
        images, texts = [letters.images[index] for index in chosen], np.array(letters.words)
        return cls(
            pixels=np.concatenate([image.reshape(len(image), -1) for image in images]),
            labels=np.concatenate([letters.labels[index] for index in chosen]),
            lengths=np.array([len(image) for image in images]),
            folds=letters.folds[chosen],
            names=np.unique(texts[chosen], return_inverse=True)[1],
        )

    def write(self, path: str | Path) -> None:
        """Write all arrays."""
        np.savez_compressed(path, **vars(self))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what `write` wrote."""
        with np.load(path) as arrays:
            return cls(**arrays)

    def features(self) -> list[np.ndarray]:
        """Return pixels and a constant for each letter of each word."""
        table = np.hstack([self.pixels, np.ones((len(self.pixels), 1))]).astype(np.float64)
        return np.split(table, np.cumsum(self.lengths)[:-1])

    def truths(self) -> list[np.ndarray]:
        """Return the labels of each word."""
        return np.split(self.labels.astype(np.int64), np.cumsum(self.lengths)[:-1])

    def shuffled(self, rng: np.random.Generator) -> Self:
        """Return the words with their letters in random order."""
        starts = np.cumsum(self.lengths) - self.lengths
        order = np.concatenate(
            [start + rng.permutation(length) for start, length in zip(starts, self.lengths, strict=True)]
        )
        return type(self)(self.pixels[order], self.labels[order], self.lengths, self.folds, self.names)


@dataclass(frozen=True)
class Division:
    """Indices of words: for fitting and for selecting C, together the training words, and for test."""

    fit: Indices
    select: Indices
    test: Indices

    @property
    def train(self) -> Indices:
        """Return all training words."""
        return np.concatenate([self.fit, self.select])


def divide(words: Words, fold: int, study: str, rng: np.random.Generator) -> Division:
    """Divide the words with one fold for training; unseen words are also unseen when C is selected."""
    train, test = np.flatnonzero(words.folds == fold), np.flatnonzero(words.folds != fold)
    if study != "unseen":
        train = rng.permutation(train)
        n_select = max(round(_VALIDATION * len(train)), 1)
        return Division(train[n_select:], train[:n_select], test)
    names = rng.permutation(np.unique(words.names))
    n_test = max(round(_UNSEEN * len(names)), 1)
    n_select = max(round(_VALIDATION * (len(names) - n_test)), 1)
    for_test, for_selection = names[:n_test], names[n_test : n_test + n_select]
    seen = train[~np.isin(words.names[train], for_test)]
    selecting = np.isin(words.names[seen], for_selection)
    return Division(seen[~selecting], seen[selecting], test[np.isin(words.names[test], for_test)])


def fit_model(model: str, X: Sequence[np.ndarray], y: Sequence[np.ndarray], C: float, tol: float) -> Any:
    """Fit letters alone, a multi-class SVM, or words as chains, with the same solver and features."""
    n_features = X[0].shape[1]
    if model == "unary":
        task = MultiClassTask(N_STATES, n_features)
        return StructuredSVM(task, C=C, tol=tol, solver="bundle").fit(np.vstack(X), np.concatenate(y))
    return StructuredSVM(ChainCRF(N_STATES, n_features), C=C, tol=tol, solver="bundle").fit(X, y)


def read_words(model: str, fitted: StructuredSVM, X: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the predicted labels of each word."""
    if model == "chain":
        return list(fitted.predict(X))
    return np.split(fitted.predict(np.vstack(X)), np.cumsum([len(x) for x in X])[:-1])


def error_rates(truths: Sequence[np.ndarray], read: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the share of wrong letters, and of words with a wrong letter."""
    wrong = [np.asarray(truth) != found for truth, found in zip(truths, read, strict=True)]
    return float(np.concatenate(wrong).mean()), float(np.mean([letters.any() for letters in wrong]))
