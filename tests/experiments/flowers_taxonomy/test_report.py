"""Sentences about the flowers, on results counted by hand."""

import pandas as pd

from reproduction.claims.results import repeated
from reproduction.experiments.flowers_taxonomy.report import accuracy_text, lengths_text, validation_text

ACCURACY = {
    "one_vs_rest": repeated([86.0]),
    "identity": repeated([85.0]),
    "semantic": repeated([81.0]),
    "learned": repeated([85.5]),
    "learned_topology": repeated([82.0]),
    "permuted": repeated([85.2]),
}


def test_differences_of_accuracies():
    text = accuracy_text({"accuracy": ACCURACY})
    assert "from one-vs-rest by -0.5 points, from no taxonomy by +0.5" in text
    assert "shuffled classes by +0.3." in text
    assert "Linnaean taxonomy differs from one-vs-rest by -5.0 points, and from no taxonomy by -4.0." in text
    assert "That is 75 % of what the Linnaean taxonomy loses." in text


def test_a_small_loss_is_not_divided():
    assert "too little" in lengths_text(ACCURACY | {"semantic": repeated([84.5])})


def test_lowest_validation_accuracy():
    trials = pd.DataFrame(
        {"split": 0, "run": 0, "method": "semantic", "C": [1.0, 10.0], "validation": [0.6, 0.8]}
    )
    assert "is 60.0 %, at C = 1: not as low as the published 56.3 %" in validation_text(trials, 56.3)
    assert "even as low as the published 61 %" in validation_text(trials, 61)
