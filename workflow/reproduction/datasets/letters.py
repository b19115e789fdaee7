"""Handwritten words, segmented into letters: the set of Kassel in the form of Taskar, Guestrin and Koller."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ermlab._utils.files import broken, require_folder
from reproduction.datasets.array_pickle import read_array_pickle
from reproduction.datasets.simulators.handwriting import draw_writer, write_word
from reproduction.datasets.simulators.sizes import check_size

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
#: Rows and columns of a letter.
SHAPE = (16, 8)
N_FOLDS = 10
_FILE = "letters.pickle"


@dataclass(frozen=True)
class Letters:
    """Words as sequences of images, each in one of ten folds."""

    images: tuple[np.ndarray, ...]  #: each (letters, 16, 8), 0 or 1
    labels: tuple[np.ndarray, ...]  #: indices into the alphabet
    folds: np.ndarray  #: fold of each word, from 0

    def __len__(self) -> int:
        return len(self.images)

    @property
    def words(self) -> tuple[str, ...]:
        """The words as texts."""
        return tuple("".join(ALPHABET[label] for label in labels) for labels in self.labels)


def read_letters(folder: str | Path) -> Letters:
    """Read ``letters.pickle``, whose texts ``word`` must agree with the labels."""
    path = require_folder(folder) / _FILE
    content = read_array_pickle(path)
    data, labels, words = (_items(path, content, name) for name in ("data", "labels", "word"))
    folds = content.get("folds")
    if not len(data) == len(labels) == len(words) > 0:
        raise broken(
            path,
            f"{len(data)} images, {len(labels)} labels, {len(words)} texts of words",
            "the same number of each, at least 1",
        )
    if not _is_integer(folds, (len(data),)) or not _within(folds, N_FOLDS):
        raise broken(path, "folds of another type, shape or range", f"{len(data)} integers from 0 to 9")
    for number, (pixels, truth, word) in enumerate(zip(data, labels, words, strict=True)):
        _check_word(f"{path}, word {number}", pixels, truth, word)
    images = tuple(pixels.reshape(-1, *SHAPE).astype(np.uint8) for pixels in data)
    return Letters(images, tuple(truth.astype(np.int64) for truth in labels), folds.astype(np.int64))


def _items(path: Path, content: Any, name: str) -> list:
    if not isinstance(content, dict) or not isinstance(content.get(name), list):
        raise broken(path, f"no list {name!r}", "lists data, labels and word, and an array folds")
    return content[name]


def _check_word(place: str, pixels: Any, truth: Any, word: Any) -> None:
    if not isinstance(truth, np.ndarray) or not _is_integer(truth, (truth.size,)) or not truth.size:
        raise broken(place, "labels that are no integers", "one per letter, at least one")
    n_pixels = SHAPE[0] * SHAPE[1]
    if not _is_integer(pixels, (len(truth), n_pixels)) or not _within(pixels, 2):
        raise broken(place, "other images", f"an array of 0 and 1 of shape ({len(truth)}, {n_pixels})")
    if not _within(truth, len(ALPHABET)):
        raise broken(place, f"labels from {truth.min()} to {truth.max()}", f"0 to {len(ALPHABET) - 1}")
    if word != (spelt := "".join(ALPHABET[label] for label in truth)):
        raise broken(place, "a text of the word that its labels do not spell", repr(spelt))


def _is_integer(values: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.shape == shape


def _within(values: np.ndarray, stop: int) -> bool:
    return values.size == 0 or (values.min() >= 0 and values.max() < stop)


#: Writers of each size; every one of them writes each word of the list once. The real set has about 150.
SIZES = {"smoke": 20, "demo": 60, "paper": 150}


def simulate_letters(folder: str | Path, seed: int, size: str) -> None:
    """Write words drawn with a pen by writers of different hands, in the format of the real data."""
    check_size(size, SIZES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n_writers = SIZES[size]
    data, labels, words = [], [], []
    for number in range(n_writers):
        rng = np.random.default_rng([seed, number])
        writer = draw_writer(rng)
        for word in WORDS:
            images = write_word(word, writer, rng, SHAPE)
            data.append(images.reshape(len(word), -1))
            labels.append(np.array([ALPHABET.index(letter) for letter in word], dtype=np.int64))
            words.append(word)
    # Folds mix writers and words, as those of the real data do.
    folds = np.random.default_rng([seed, n_writers]).permutation(np.arange(len(words)) % N_FOLDS)
    content = {"folds": folds, "labels": labels, "data": data, "word": words}
    (folder / _FILE).write_bytes(pickle.dumps(content, protocol=3))


_VOCABULARY = """
about account adjective animal beautiful because between building calculate children complex country different
discovery economy education exactly experience family following friendship government growth history important
increase inquiry invisible knowledge language machine market measure mechanical number object oxygen perhaps
picture position problem quality question rejection relaxing reward science several station subjective taxi
unequal village weekend without yellow zigzag
"""
#: As in the real data, the first letter is left out because it was a capital.
WORDS = tuple(word[1:] for word in _VOCABULARY.split())
