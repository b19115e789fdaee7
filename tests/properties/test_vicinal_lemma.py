"""Lemma 1: the largest chosen member of an ordered family dominates the loss, so its mean bounds the risk."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ermlab.structured.vicinal import (
    equivariant_losses,
    is_ordered,
    lemma_bound,
    scaled_family,
    smallest_members,
    step_family,
    vicinal_risk,
)
from reproduction.experiments.vicinal_risk.evaluate import random_members, random_ordered_family

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 12), st.integers(1, 8), st.booleans())
def test_lemma_1_for_any_ordered_family_and_any_admissible_members(seed, size, count, smallest):
    rng = np.random.default_rng(seed)
    losses, probabilities = rng.random(size), rng.dirichlet(np.full(size, 0.5))
    family = random_ordered_family(rng, count, size)
    assert is_ordered(family)
    members = smallest_members(family, losses) if smallest else random_members(rng, family, losses)
    assert (family[members, np.arange(size)] >= losses).all()
    assert (family[members.max()] >= losses).all()
    bound = equivariant_losses(family, members, probabilities).max()
    assert bound >= vicinal_risk(losses, probabilities) - 1e-12


@given(seeds, st.integers(1, 30))
def test_lemma_1_for_steps_and_rays(seed, size):
    rng = np.random.default_rng(seed)
    transformations, losses = rng.normal(size=size), rng.random(size) * (rng.random(size) < 0.5)
    probabilities = rng.dirichlet(np.full(size, 0.5))
    risk = vicinal_risk(losses, probabilities)
    for family in (step_family(transformations), scaled_family(rng.uniform(0.1, 2, size), losses)):
        assert is_ordered(family)
        assert lemma_bound(family, losses, probabilities) >= risk - 1e-12


@given(seeds, st.integers(2, 8))
def test_the_smallest_members_give_the_smallest_dominating_member(seed, size):
    rng = np.random.default_rng(seed)
    losses, probabilities = rng.random(size), rng.dirichlet(np.ones(size))
    family = random_ordered_family(rng, 6, size)
    dominating = family[(family >= losses).all(axis=1)]
    assert np.isclose(lemma_bound(family, losses, probabilities), (dominating @ probabilities).min())
