"""Training trackers: which risk is minimised, what counts as missed, and that threads change nothing."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.optimize import L1, L2, CCCPResult, Result, cccp
from ermlab.tracking.events import Gates, guessed_weights
from ermlab.tracking.films import frame_pairs
from ermlab.tracking.training import average_loss, full_risk, partial_risk, train_tracker


@pytest.fixture(scope="module")
def film(moving_cells):
    """Cells that walk slowly enough for the nearest one to be the same; none divides or leaves."""
    return moving_cells(0, n=8, step=2.0)


def test_complete_pairs_are_learned_by_the_hinge_loss(film):
    pairs = frame_pairs(film, Gates())
    result = train_tracker(pairs, L2(1e-3), tol=1e-3)
    assert isinstance(result, Result)
    assert result.converged
    value, _ = full_risk(pairs)(result.w)
    assert result.value == pytest.approx(value + L2(1e-3)(result.w))
    assert average_loss(result.w, pairs) == 0


def test_annotations_that_complete_a_pair_are_learned_by_the_hinge_loss(film):
    pairs = frame_pairs(replace(film, tracks=film.tracks[film.tracks[:, 1] != 3]), Gates())
    known = [pair.annotation.events for pair in frame_pairs(film, Gates())]
    result = train_tracker(pairs, L2(1e-3), annotations=known)
    assert isinstance(result, Result)
    assert result.value == pytest.approx(
        full_risk(pairs, annotations=known)(result.w)[0] + L2(1e-3)(result.w)
    )


def test_incomplete_pairs_are_learned_by_the_bridge_loss(film):
    film = replace(film, tracks=film.tracks[film.tracks[:, 1] != 3])
    pairs = frame_pairs(film, Gates())
    result = train_tracker(pairs, L2(1e-3))
    assert isinstance(result, CCCPResult)
    assert result.value == pytest.approx(partial_risk(pairs)(result.w) + L2(1e-3)(result.w))
    assert average_loss(result.w, pairs) == 0


@pytest.mark.parametrize("lost", [(), (3,)])
def test_parts_change_the_way_and_not_the_end(film, lost):
    film = replace(film, tracks=film.tracks[~np.isin(film.tracks[:, 1], lost)])
    pairs = frame_pairs(film, Gates())
    risk = partial_risk(pairs)
    whole = cccp(risk.convex_part, risk.reward, L2(1e-2), w0=0.1 * guessed_weights(), eps_min=1e-3, eta=1e-3)
    assert train_tracker(pairs, L2(1e-2), tol=1e-3).value == pytest.approx(whole.value, rel=3e-3)


def test_pairs_of_which_nothing_is_known_are_left_out(film):
    pairs = frame_pairs(film, Gates())
    some = [pairs[0].annotation.events[:3], [], pairs[2].annotation.events[:1]]
    result = train_tracker(pairs, L2(1e-2), annotations=some)
    alone = train_tracker([pairs[0], pairs[2]], L2(1e-2), annotations=[some[0], some[2]])
    np.testing.assert_array_equal(result.w, alone.w)
    with pytest.raises(ValueError, match="no event of 3 pairs of frames is annotated"):
        train_tracker(pairs, L2(1e-2), annotations=[[], [], []])
    with pytest.raises(ValueError, match="no pairs of frames"):
        train_tracker([], L2(1e-2))


def test_the_loss_counts_all_known_events_and_those_that_gating_lost(film):
    w = np.zeros(frame_pairs(film, Gates())[0].hypotheses.dimension)
    w[0] = 1.0  # every move is as good as any other, and better than nothing
    near, far = frame_pairs(film, Gates()), frame_pairs(film, Gates(move=1e-9))
    missed = [(~pair.assigner.best(pair.hypotheses.scores(w))[pair.annotation.events]).sum() for pair in near]
    assert average_loss(w, near) == pytest.approx(sum(missed) / (8 * 3))
    assert average_loss(w, far) == 1
    with pytest.raises(ValueError, match="no event of 0 pairs"):
        average_loss(w, [])


def test_the_number_of_threads_changes_nothing(film):
    film = replace(film, tracks=film.tracks[film.tracks[:, 1] != 3])
    weights = [train_tracker(frame_pairs(film, Gates()), L2(1e-3), n_jobs=n).w for n in (1, 2)]
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("regularizer", [L1, L2])
def test_planes_of_another_strength_save_calls(film, complete, regularizer):
    if not complete:
        film = replace(film, tracks=film.tracks[film.tracks[:, 1] != 3])
    pairs = frame_pairs(film, Gates())
    first = train_tracker(pairs, regularizer(1e-2), tol=1e-3)
    fresh, helped = (
        train_tracker(pairs, regularizer(3e-3), tol=1e-3, planes=planes) for planes in (None, first.planes)
    )
    assert helped.value == pytest.approx(fresh.value, rel=5e-3)
    name = "n_iter" if complete else "bounds"
    assert getattr(helped, name) < getattr(fresh, name)
