"""Simulated posts are read like the real ones, tell their groups, and depend on the seed alone."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from reproduction.datasets.newsgroups20 import (
    GROUPS,
    SIZES,
    ancestors,
    read_newsgroups20,
    simulate_newsgroups20,
)
from reproduction.datasets.simulators.topic_tree import N_WORDS, SUBJECTS, invented_words


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("news")
    simulate_newsgroups20(folder, 3, "smoke")
    return folder


def test_the_reader_reads_what_is_simulated(simulated):
    data = read_newsgroups20(simulated)
    assert data.groups == GROUPS
    for posts, count in zip((data.train, data.test), SIZES["smoke"], strict=True):
        assert np.array_equal(np.bincount(posts.labels), np.full(20, count))
        for text in posts.texts:
            header, _, body = text.partition("\n\n")
            assert "\nSubject: " in header
            assert len(body.split()) >= 5


def test_groups_can_be_told_and_neighbors_are_mixed_up(simulated):
    """Posts of one hierarchy or subject are alike, so that mistakes stay near."""
    data = read_newsgroups20(simulated)
    counter = CountVectorizer()
    model = MultinomialNB(alpha=0.1).fit(counter.fit_transform(data.train.texts), data.train.labels)
    predicted = model.predict(counter.transform(data.test.texts))
    wrong = predicted != data.test.labels
    assert 0.05 < wrong.mean() < 0.7

    def near(a, b):
        together = any(a in groups and b in groups for groups in SUBJECTS.values())
        return together or bool(set(ancestors(a)[:-1]) & set(ancestors(b)[:-1]))

    pairs = zip(data.test.labels[wrong], predicted[wrong], strict=True)
    share = np.mean([near(GROUPS[a], GROUPS[b]) for a, b in pairs])
    by_chance = np.mean([near(a, b) for a in GROUPS for b in GROUPS if a != b])
    assert share > 1.5 * by_chance


def test_words_are_different_and_survive_a_tokeniser():
    words = invented_words(N_WORDS)
    assert len(set(words)) == len(words) > 0.99 * N_WORDS
    assert all(word.isalpha() and len(word) > 2 for word in words)
    assert {group for groups in SUBJECTS.values() for group in groups} <= set(GROUPS)


def test_same_bytes_for_a_seed(simulated, tmp_path, contents):
    simulate_newsgroups20(tmp_path / "again", 3, "smoke")
    simulate_newsgroups20(tmp_path / "other", 4, "smoke")
    whole = contents(simulated)
    assert contents(tmp_path / "again") == whole
    assert contents(tmp_path / "other") != whole


def test_an_unknown_size_is_named_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="size is 'huge'"):
        simulate_newsgroups20(tmp_path / "news", 0, "huge")
    assert not (tmp_path / "news").exists()
