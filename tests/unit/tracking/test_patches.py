"""Patches of pairs of frames: every cell is in one, with the hypotheses and true events of the whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.tracking.assignment import NONE
from ermlab.tracking.events import Cells, Gates
from ermlab.tracking.films import frame_pairs
from ermlab.tracking.patches import film_patches, patch_numbers
from ermlab.tracking.small_assignment import SmallAssigner
from ermlab.tracking.training import average_loss

MOST = 5


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([1.0, 8.0, 30.0]))
def test_every_cell_is_in_one_patch_and_every_hypothesis_in_at_most_one(moving_cells, seed, most, step):
    film = moving_cells(seed, step=step)
    patches = film_patches(film, Gates(), most)
    for pair in frame_pairs(film, Gates()):
        here = [patch for patch in patches if patch.frame == pair.frame]
        assert max(len(patch.sources) for patch in here) <= most
        assert min(len(patch.sources) for patch in here) >= 1
        for name, n in (("sources", pair.hypotheses.n_sources), ("targets", pair.hypotheses.n_targets)):
            cells = np.concatenate([getattr(patch, name) for patch in here])
            np.testing.assert_array_equal(np.sort(cells), np.arange(n))
        kept = np.concatenate([patch.events for patch in here])
        assert len(np.unique(kept)) == len(kept)
        # Cells of two patches are the only reason to lack a hypothesis.
        sources, targets = (np.full(pair.hypotheses.n_sources, -1), np.full(pair.hypotheses.n_targets, -1))
        for number, patch in enumerate(here):
            sources[patch.sources] = targets[patch.targets] = number
        for event in np.setdiff1d(np.arange(len(pair.hypotheses)), kept):
            before, after = (getattr(pair.hypotheses, name)[event] for name in ("sources", "targets"))
            assert len({*sources[before[before != NONE]], *targets[after[after != NONE]]}) > 1


def test_hypotheses_of_a_patch_are_those_of_the_pair_of_frames(moving_cells):
    film = moving_cells(0)
    rng = np.random.default_rng(1)
    pairs = frame_pairs(film, Gates())
    w = rng.normal(size=pairs[0].hypotheses.dimension)
    for patch in film_patches(film, Gates(), MOST):
        whole = pairs[patch.frame]
        part = patch.hypotheses
        np.testing.assert_allclose(part.scores(w), whole.hypotheses.scores(w)[patch.events])
        np.testing.assert_array_equal(part.kind, whole.hypotheses.kind[patch.events])
        for name in ("sources", "targets"):
            cells, own = getattr(part, name), getattr(patch, name)
            numbers = np.where(cells == NONE, NONE, own[cells])
            np.testing.assert_array_equal(numbers, getattr(whole.hypotheses, name)[patch.events])
        true = np.intersect1d(patch.events, whole.annotation.events)
        np.testing.assert_array_equal(patch.events[patch.annotation.events], true)
        assert isinstance(patch.assigner, SmallAssigner)


def test_slow_cells_lose_no_true_event_and_fast_ones_do(moving_cells):
    for step, lost in ((1.0, False), (20.0, True)):
        film = moving_cells(3, step=step)
        in_patches = sum(len(patch.annotation.events) for patch in film_patches(film, Gates(), MOST))
        in_pairs = sum(len(pair.annotation.events) for pair in frame_pairs(film, Gates()))
        assert (in_patches < in_pairs) == lost


def test_a_patch_is_complete_when_all_its_cells_have_a_true_event(moving_cells):
    patches = film_patches(moving_cells(0, step=1.0, untracked=2), Gates(), MOST)
    untracked = [bool({0, 1} & {*patch.sources, *patch.targets}) for patch in patches]
    assert 0 < sum(untracked) < len(patches)
    assert [patch.annotation.complete for patch in patches] == [not some for some in untracked]


def test_a_crowd_that_moves_far_is_followed():
    """All but the last are nearest to the place that another one left; together they match."""
    before = np.array([[50.0, column] for column in (20, 40, 60, 80)])
    after = before + np.array([0, 11])
    cells = [Cells(p, np.full(4, 100.0), np.ones(4), np.zeros(4), (100, 200)) for p in (before, after)]
    sources, targets = patch_numbers(*cells, Gates(), 2)
    assert len(np.unique(sources)) > 1
    np.testing.assert_array_equal(targets, sources)


def cells_at(*places, shape=(100, 200)):
    n = len(places)
    return Cells(
        np.array(places, dtype=float).reshape(-1, 2), np.full(n, 100.0), np.ones(n), np.zeros(n), shape
    )


def test_windows_are_halved_across_their_longer_side_in_the_widest_gap_of_the_middle():
    nothing = cells_at()
    wide = cells_at((10, 20), (90, 30), (20, 40), (15, 160), (95, 170), (80, 180))
    assert patch_numbers(wide, nothing, Gates(), 3)[0].tolist() == [0, 0, 0, 1, 1, 1]
    high = cells_at(*wide.position[:, ::-1], shape=(200, 100))
    assert patch_numbers(high, nothing, Gates(), 3)[0].tolist() == [0, 0, 0, 1, 1, 1]
    # One cell lies far apart, but a window of its own would leave the others as many as they were.
    row = cells_at(*[(50, column) for column in (10, 110, 115, 120, 140, 145, 150, 155, 160)])
    assert patch_numbers(row, nothing, Gates(), 8)[0].tolist() == [0] * 4 + [1] * 5


def test_a_cell_out_of_reach_of_its_match_joins_the_nearest():
    before, after = cells_at((50, 20), (50, 180)), cells_at((50, 22), (50, 60))
    sources, targets = patch_numbers(before, after, Gates(), 1)
    assert sources.tolist() == [0, 1]
    assert targets.tolist() == [0, 0]


def test_events_that_gating_loses_are_the_patchs_own(moving_cells):
    film = moving_cells(0, n=20, step=1.0)
    tight = Gates(move=0.01)
    patches = film_patches(film, tight, 40)
    assert len(patches) == 3
    for patch, pair in zip(patches, frame_pairs(film, tight), strict=True):
        assert patch.annotation.lost == pair.annotation.lost
        assert len(patch.annotation.lost) > 0
    w = np.zeros(patches[0].hypotheses.dimension)
    w[0] = 1.0
    assert average_loss(w, patches) == average_loss(w, frame_pairs(film, tight))


def test_frames_without_a_cell(moving_cells):
    film = moving_cells(0)
    gone = film.frame != 1
    numbers = np.cumsum(gone) - 1
    tracked = film.tracks[gone[film.tracks[:, 0]]]
    arrays = {
        name: getattr(film, name)[gone] for name in ("frame", "position", "area", "intensity", "eccentricity")
    }
    tracks = np.column_stack([numbers[tracked[:, 0]], tracked[:, 1]])
    film = replace(film, **arrays, tracks=tracks)
    vanishing, appearing = (film_patches(film, Gates(), MOST, range(t, t + 1)) for t in (0, 1))
    assert all(len(patch.targets) == 0 < len(patch.sources) <= MOST for patch in vanishing)
    assert all(len(patch.sources) == 0 < len(patch.targets) <= MOST for patch in appearing)
    empty = replace(film, **{name: array[:0] for name, array in arrays.items()}, tracks=tracks[:0])
    assert film_patches(empty, Gates(), MOST) == []


def test_clear_errors(moving_cells):
    film = moving_cells(0)
    with pytest.raises(ValueError, match="max_cells is 0: expected at least 1"):
        film_patches(film, Gates(), 0)
    with pytest.raises(ValueError, match="expected first frames 0 to 2"):
        film_patches(film, Gates(), MOST, range(5))
