"""Divisions of words, errors and gains on cases that can be counted by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.datasets.letters import Letters
from reproduction.experiments.handwritten_words.evaluate import (
    error_table,
    error_values,
    examples,
    inside_grid,
    pair_values,
    transitions,
)
from reproduction.experiments.handwritten_words.figures import plot_examples, plot_transitions
from reproduction.experiments.handwritten_words.protocol import (
    Words,
    divide,
    error_rates,
    fit_model,
    read_words,
)
from reproduction.experiments.handwritten_words.train import main, select_C, training_folds


def letters(texts, folds):
    """Return words whose letters show their number in the alphabet as one pixel."""
    labels = tuple(np.array([ord(letter) - ord("a") for letter in text]) for text in texts)
    images = []
    for word in labels:
        image = np.zeros((len(word), 128), dtype=np.uint8)
        image[np.arange(len(word)), word] = 1
        images.append(image.reshape(-1, 16, 8))
    return Letters(tuple(images), labels, np.array(folds))


TEXTS = ["ab", "cab", "ab", "bad", "cab", "dada", "bad", "ab"]
FOLDS = [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.fixture
def words():
    return Words.of(letters(TEXTS, FOLDS), None)


def test_words_survive_writing(words, tmp_path):
    words.write(tmp_path / "words.npz")
    again = Words.read(tmp_path / "words.npz")
    assert again.lengths.tolist() == [2, 3, 2, 3, 3, 4, 3, 2]
    assert [truth.tolist() for truth in again.truths()][1] == [2, 0, 1]
    features = again.features()[1]
    assert features.shape == (3, 129)
    assert features[0].nonzero()[0].tolist() == [2, 128]
    assert len(set(again.names[[0, 2, 7]])) == 1


def test_few_words_of_each_fold():
    words = Words.of(letters(TEXTS, FOLDS), 2)
    assert words.folds.tolist() == [1, 1, 2, 2]
    assert words.lengths.tolist() == [2, 3, 3, 4]


def test_shuffled_words_have_the_same_letters_with_their_pixels(words):
    shuffled = words.shuffled(np.random.default_rng(0))
    for before, after in zip(words.truths(), shuffled.truths(), strict=True):
        assert sorted(before) == sorted(after)
    assert (shuffled.pixels.argmax(axis=1) == shuffled.labels).all()
    assert (shuffled.labels != words.labels).any()


@pytest.mark.parametrize("study", ["given", "shuffled"])
def test_one_fold_trains(words, study):
    division = divide(words, 1, study, np.random.default_rng(0))
    assert sorted(division.train) == [0, 1, 2, 3]
    assert len(division.select) == 1
    assert division.test.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("seed", range(5))
def test_unseen_words_are_unseen(words, seed):
    division = divide(words, 1, "unseen", np.random.default_rng(seed))
    names = words.names
    assert not set(names[division.test]) & set(names[division.train])
    assert not set(names[division.fit]) & set(names[division.select])
    assert (words.folds[division.test] == 2).all()
    assert (words.folds[division.train] == 1).all()


def test_error_rates_by_hand():
    truths = [np.array([0, 1]), np.array([2, 3, 4, 5]), np.array([6, 7])]
    read = [np.array([0, 1]), np.array([2, 0, 0, 5]), np.array([6, 0])]
    assert error_rates(truths, read) == (3 / 8, 2 / 3)


@pytest.mark.parametrize("model", ["unary", "chain"])
def test_models_read_letters_that_show_their_number(words, model):
    X, y = words.features(), words.truths()
    fitted = fit_model(model, X, y, C=100, tol=1e-2)
    assert error_rates(y, read_words(model, fitted, X)) == (0, 0)


def test_C_is_selected_where_it_was_not_fitted(words):
    X, y = words.features(), words.truths()
    parts = {"fit": (X[:4], y[:4]), "select": (X[4:], y[4:])}
    C, error = select_C("unary", parts, [1e-9, 100.0], tol=1e-2)
    assert (C, error) == (100.0, 0)


def test_training_folds_begin_with_the_documented_one():
    assert training_folds(2) == [1, 2]
    assert sorted(training_folds(10)) == list(range(10))


def trials():
    errors = {
        "given": {"unary": [0.3, 0.4], "chain": [0.2, 0.3]},
        "shuffled": {"unary": [0.3, 0.4], "chain": [0.3, 0.4]},
        "unseen": {"unary": [0.3, 0.4], "chain": [0.4, 0.5]},
    }
    return pd.DataFrame(
        [
            {
                "study": study,
                "fold": fold,
                "model": model,
                "C": 0.1,
                "letter_error": error,
                "word_error": 2 * error,
                "gap": 0.01,
                "training_words": 5,
                "test_words": 45,
            }
            for study, models in errors.items()
            for model, values in models.items()
            for fold, error in zip((1, 2), values, strict=True)
        ]
    )


def test_gains_by_hand():
    values = error_values(trials())
    gains = ("letter_gain", "word_gain", "shuffled_gain", "unseen_gain")
    for name, gain in zip(gains, (0.1, 0.2, 0, -0.1), strict=True):
        assert values[name]["repeats"] == pytest.approx([gain, gain])
        assert values[name]["unit"] == "training fold"
    assert values["letter_error"]["unary"] == {"repeats": [0.3, 0.4], "unit": "training fold"}
    assert values["documented_error"] == {"unary": 0.3, "chain": 0.2}
    table = error_table(values)
    assert table["gain"].tolist() == pytest.approx([0.1, 0.2, 0, -0.1])
    assert table["chain"].tolist() == pytest.approx([0.25, 0.5, 0.35, 0.45])


def test_selections_inside_the_grid():
    table = pd.DataFrame({"model": ["chain"] * 4 + ["unary"], "C": [1, 2, 2, 3, 9]})
    assert inside_grid(table, "chain", [1, 2, 3]) == 0.5


def test_pairs_are_named_by_first_and_second_letter():
    weights = np.zeros(26 * 5 + 26 * 26)
    matrix = transitions(weights)
    matrix[8, 13], matrix[0, 25] = 1, -1
    assert pair_values(weights)["favored_pairs"][0] == "in"
    assert pair_values(weights)["avoided_pairs"][0] == "az"
    assert plot_transitions(matrix).axes[0].get_ylabel() == "first letter"


def test_examples_are_words_that_one_model_reads_right():
    words = Words.of(letters(["abcdef", "fedcba", "abca", "aaaa"], [1, 2, 2, 2]), None)
    truth = np.concatenate(words.truths()[1:])
    chain, unary = truth.copy(), truth.copy()
    unary[0] = 9  # of fedcba, which the chain reads right
    chain[6] = 9  # of abca
    models = {"test": np.array([1, 2, 3]), "read_chain": chain, "read_unary": unary}
    found = examples(words, models)
    assert found["lengths"].tolist() == [6, 4]
    assert found["truth"].tolist() == [5, 4, 3, 2, 1, 0, 0, 1, 2, 0]
    assert found["unary"].tolist() == [9, 4, 3, 2, 1, 0, 0, 1, 2, 0]
    assert found["chain"].tolist() == [5, 4, 3, 2, 1, 0, 9, 1, 2, 0]
    assert found["pixels"].argmax(axis=1).tolist() == found["truth"].tolist()
    texts = [text.get_text() for ax in plot_examples(found).axes for text in ax.texts]
    assert texts.count("j") == 2


def test_no_examples():
    words = Words.of(letters(["ab", "ba"], [1, 2]), None)
    truth = words.truths()[1]
    found = examples(words, {"test": np.array([1]), "read_chain": truth, "read_unary": truth})
    assert len(found["lengths"]) == len(found["pixels"]) == 0
    assert plot_examples(found).axes


def test_training_writes_a_row_for_each_fold_and_model(words, tmp_path):
    words.write(tmp_path / "words.npz")
    outputs = {"trials": tmp_path / "trials.csv", "models": tmp_path / "models.npz"}
    C = {"unary": [1.0, 100.0], "chain": [100.0]}
    main({"words": tmp_path / "words.npz"}, outputs, study="given", folds=2, C=C, tol=0.01, seed=0)
    table = pd.read_csv(outputs["trials"])
    assert table[["fold", "model"]].to_numpy().tolist() == [
        [1, "unary"],
        [1, "chain"],
        [2, "unary"],
        [2, "chain"],
    ]
    with np.load(outputs["models"]) as arrays:
        assert len(arrays["weights_chain"]) == 26 * 129 + 26 * 26
        assert arrays["test"].tolist() == [4, 5, 6, 7]
