"""Splits of the newsgroups keep their parts apart, and both forms of the kernel make the same iterations."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from ermlab.taxonomy import TaxonomicSVM, Taxonomy, centered
from ermlab.taxonomy.cutting_planes import Constraints, minimize_with_planes
from ermlab.taxonomy.problem import Problem
from reproduction.datasets.newsgroups20 import (
    GROUPS,
    Newsgroups20,
    Posts,
    ancestors,
    read_newsgroups20,
    simulate_newsgroups20,
)
from reproduction.experiments.taxonomies import comparable
from reproduction.experiments.text_taxonomy import train_times
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_losses,
    class_trees,
    draw_bags,
    kernels_of,
    mean_loss,
    subject_and_body,
    train_once,
)
from reproduction.experiments.text_taxonomy.train_times import (
    iteration_times,
    iterations_to_gap,
    memory_of_forms,
)

ROOT = Path(__file__).parents[3]
SIZES = {"train": 6, "validation": 4, "test": 5}


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    folder = tmp_path_factory.mktemp("news")
    simulate_newsgroups20(folder, 0, "smoke")
    return read_newsgroups20(folder)


@pytest.fixture(scope="module")
def semantic():
    text = (ROOT / "config/taxonomies/newsgroups20.nwk").read_text()
    return Taxonomy.from_newick(text).ordered(GROUPS)


@pytest.fixture(scope="module")
def bags(news):
    return draw_bags(news, SIZES, 0, 2)


def test_the_taxonomy_is_that_of_the_dotted_names(semantic):
    """Classes below a node of the tree are exactly those whose names share its dotted part."""
    names = {name for group in GROUPS for name in ancestors(group)[:-1]}
    below = {frozenset(group for group in GROUPS if group.startswith(f"{name}.")) for name in names}
    V = semantic.partition_matrix() > 0
    nodes = {frozenset(np.array(GROUPS)[V[:, node]].tolist()) for node in semantic.inner}
    assert nodes - {frozenset(GROUPS)} == {groups for groups in below if len(groups) > 1}


def test_the_taxonomic_loss_counts_edges(semantic):
    loss = class_losses(semantic)["taxonomic"]
    place = GROUPS.index
    assert loss[place("rec.sport.hockey"), place("rec.sport.baseball")] == 2
    assert loss[place("alt.atheism"), place("misc.forsale")] == 2
    assert loss[place("sci.med"), place("rec.sport.hockey")] == 5
    assert not np.diag(loss).any()


def test_of_a_header_only_the_subject_is_read():
    post = "From: me@here\nSubject: Re: engines\nOrganization: somewhere\n\nText: of\n\nthe post"
    assert subject_and_body(post) == " Re: engines\nText: of\n\nthe post"


def test_parts_have_posts_of_each_group_and_words_come_from_training(news, bags):
    for part, size in SIZES.items():
        assert np.array_equal(np.bincount(bags.part(part)[1]), np.full(20, size))
        sums = bags.part(part)[0].sum(axis=1)
        assert (np.isclose(sums, 1) | (sums == 0)).all()
    occurs = bags.part("train")[0].astype(bool).sum(axis=0)
    assert occurs.min() >= 2


def test_what_training_sees_does_not_depend_on_the_test_part(news, bags):
    reversed_test = Posts(tuple(text[::-1] for text in news.test.texts), news.test.labels)
    other = draw_bags(Newsgroups20(news.groups, news.train, reversed_test), SIZES, 0, 2)
    for part in ("train", "validation"):
        assert (other.part(part)[0] != bags.part(part)[0]).nnz == 0
    assert (other.part("test")[0] != bags.part("test")[0]).nnz > 0
    assert np.array_equal(kernels_of(other, ["train"])["train"], kernels_of(bags, ["train"])["train"])


def test_training_and_validation_share_a_small_group_and_none_is_an_error(news):
    few = Posts(news.train.texts[:3] + news.train.texts[12:], np.append([0, 0, 0], news.train.labels[12:]))
    drawn = draw_bags(Newsgroups20(news.groups, few, news.test), SIZES, 0, 2)
    assert np.bincount(drawn.part("train")[1])[0] == 1
    assert np.bincount(drawn.part("validation")[1])[0] == 2
    none = Posts(news.train.texts[12:], news.train.labels[12:])
    with pytest.raises(ValueError, match=r"alt\.atheism has 0 and 8 posts"):
        draw_bags(Newsgroups20(news.groups, none, news.test), SIZES, 0, 2)


def test_bags_come_back_from_a_file(bags, tmp_path):
    bags.write(tmp_path / "bags.npz")
    again = TextBags.read(tmp_path / "bags.npz")
    assert (again.part("test")[0] != bags.part("test")[0]).nnz == 0
    assert list(again.words) == list(bags.words)


def test_covariances_have_one_trace_and_centering_changes_no_classifier(bags, semantic):
    kernels, y = kernels_of(bags), bags.part("train")[1]
    trees = class_trees(kernels["train"], y, semantic, 0)
    covariances = class_covariances(trees)
    for name in ("learned", "learned_topology", "permuted"):
        np.testing.assert_allclose(covariances[name], comparable(trees[name].covariance()))
    np.testing.assert_allclose(covariances["semantic_centred"], comparable(covariances["semantic"]))
    assert sorted(trees["permuted"].lengths) == pytest.approx(sorted(trees["semantic"].lengths))
    for B in covariances.values():
        assert np.trace(B) == pytest.approx(20)
    rooted = covariances["semantic"]
    same = [
        TaxonomicSVM(B=B, C=3.0, tol=1e-6).fit(kernels["train"], y).decision_function(kernels["test"])
        for B in (rooted, centered(rooted))
    ]
    differences = [scores - scores.mean(axis=1, keepdims=True) for scores in same]
    np.testing.assert_allclose(*differences, atol=2e-3 * np.abs(differences[0]).max())


def test_a_trial_is_judged_by_the_loss_it_is_trained_for(bags, semantic):
    kernels, losses = kernels_of(bags), class_losses(semantic)
    trial = train_once(np.eye(20), losses["taxonomic"], 10.0, kernels, bags, 1e-3)
    labels = bags.part("validation")[1]
    predicted = trial.classifier.predict(kernels["validation"])
    assert -trial.validation == np.mean(
        [losses["taxonomic"][a, b] for a, b in zip(labels, predicted, strict=True)]
    )
    assert trial.gap <= 1e-3
    assert mean_loss(trial.classifier, losses["zero_one"], kernels["test"], bags.part("test")[1]) < 0.8


def test_cached_kernel_values_give_the_same_iterations(bags, semantic):
    cached = runpy.run_path(str(ROOT / "benchmarks/cached_kernel.py"))["CachedConstraints"]
    K, y = kernels_of(bags, ["train"])["train"], bags.part("train")[1]
    problem = Problem.multiclass(K, y, centered(semantic.covariance()), 1.0, n_jobs=1)
    one, other = (
        minimize_with_planes(problem, 1e-9, 12, constraints=form(problem)) for form in (Constraints, cached)
    )
    assert one.value == pytest.approx(other.value, rel=1e-8)
    assert one.lower == pytest.approx(other.lower, rel=1e-8)
    assert len(iteration_times(problem, Constraints, 5, 2)) == 5
    assert iterations_to_gap(problem, Constraints) == iterations_to_gap(problem, cached)


def test_memory_is_of_the_order_of_the_kernel_matrix(bags, semantic):
    K, y = kernels_of(bags, ["train"])["train"], bags.part("train")[1]
    B = centered(semantic.covariance())
    problems = [Problem.multiclass(K[:n, :n], y[:n] % 20, B, 1.0, n_jobs=1) for n in (60, 120)]
    memory = memory_of_forms(problems, 5)
    assert memory["posts"] == [60, 120]
    # The solver has the kernel matrix and several arrays of scores: far less than the joint kernel.
    assert all(1 < multiple < 10 for multiple in memory["over_order"])
    assert max(memory["over_joint_kernel"]) < 0.05


def test_a_joint_kernel_would_be_noticed(bags, semantic, monkeypatch):
    K, y = kernels_of(bags, ["train"])["train"], bags.part("train")[1]
    problem = Problem.multiclass(K[:40, :40], y[:40], np.eye(20), 1.0, n_jobs=1)
    monkeypatch.setattr(
        train_times, "minimize_with_planes", lambda problem, *_: np.kron(problem.kernel.K, problem.kernel.B)
    )
    assert memory_of_forms([problem], 5)["over_joint_kernel"][0] > 1
