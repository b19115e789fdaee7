"""The strength of the regulariser: chosen on stretches of time that were left out."""

import numpy as np
import pytest

from ermlab.optimize import L2
from ermlab.tracking.events import Gates
from ermlab.tracking.films import frame_pairs
from ermlab.tracking.patches import film_patches
from ermlab.tracking.selection import choose_alpha, search_alpha
from ermlab.tracking.training import average_loss, train_tracker


def test_losses_are_those_of_leaving_out_stretches_of_time(moving_cells):
    patches = film_patches(moving_cells(0, n=60, n_frames=3, step=9.0), Gates(), 5)
    early, late = ([patch for patch in patches if patch.frame == frame] for frame in (0, 1))
    n = min(len(early), len(late))
    early, late = early[:n], late[:n]
    choice = choose_alpha(late + early, [1e-3, 1e-1, 10.0], n_splits=2, tol=1e-4)
    for strength, loss in choice.losses.items():
        missed = events = 0.0
        for train, test in ((early, late), (late, early)):
            n = sum(len(patch.annotation.events) + len(patch.annotation.lost) for patch in test)
            missed += n * average_loss(train_tracker(train, L2(strength), tol=1e-4).w, test)
            events += n
        assert loss == pytest.approx(missed / events)
    assert len(set(choice.losses.values())) == 3
    assert choice.alpha == min(choice.losses, key=choice.losses.get)
    assert choice.inside


def test_of_equally_good_strengths_the_strongest(moving_cells):
    pairs = frame_pairs(moving_cells(0, n=5, n_frames=4, step=0.1), Gates())
    choice = choose_alpha(pairs, [1e-3, 1e-2, 1e-4], n_splits=3)
    assert set(choice.losses.values()) == {0.0}
    assert choice.alpha == 1e-2
    assert not choice.inside


@pytest.mark.parametrize(
    ("best", "extensions", "tried", "alpha"),
    [
        (1.0, 3, [10, 1, 0.1], 1),  # inside: nothing is added
        (1e-3, 3, [10, 1, 0.1, 0.01, 1e-3, 1e-4], 1e-3),
        (1e4, 1, [100, 10, 1, 0.1], 100),  # stopped at an end
        (1e3, 5, [1e4, 1e3, 100, 10, 1, 0.1], 1e3),
    ],
)
def test_the_grid_grows_until_the_best_is_inside(best, extensions, tried, alpha):
    choice = search_alpha(lambda a: abs(np.log(a / best)), [0.1, 1, 10], max_extensions=extensions)
    assert list(choice.losses) == pytest.approx(tried)
    assert choice.alpha == pytest.approx(alpha)
    assert choice.inside == (len(tried) < 3 + extensions or alpha not in (max(tried), min(tried)))


def test_the_grid_of_one_value_grows_by_decades_and_of_equal_losses_to_the_strong_side():
    assert list(search_alpha(lambda a: 0.0, [1.0], max_extensions=1).losses) == [1.0, 0.1]
    assert list(search_alpha(lambda a: 0.0, [1.0, 0.5], max_extensions=2).losses) == [4.0, 2.0, 1.0, 0.5]


def test_threads_change_nothing_and_patches_without_a_known_event_are_left_out(moving_cells):
    patches = film_patches(moving_cells(0, n=12, untracked=8), Gates(), 2)
    known = [patch for patch in patches if len(patch.annotation.events)]
    assert len(known) < len(patches)
    one, two = (choose_alpha(some, [1e-2, 1.0], n_jobs=t) for some, t in ((patches, 1), (known, 2)))
    assert one == two


def test_clear_errors(moving_cells):
    pairs = frame_pairs(moving_cells(0, n=4, n_frames=3), Gates())
    with pytest.raises(ValueError, match="n_splits is 3: expected 2 to 2, the number of pairs"):
        choose_alpha(pairs, [1.0])
    with pytest.raises(ValueError, match="alphas is empty"):
        choose_alpha(pairs, np.array([]), n_splits=2)
