"""Losses of trackers from counts written by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.tracking.measures import average_losses, interval, resampled_losses

#: Events of each pair of frames that are known, and that the two methods miss. Frames need not be in order.
KNOWN = {7: 10, 5: 40, 6: 50}
MISSED = {"b": {7: 4, 5: 8, 6: 0}, "a": {7: 2, 5: 4, 6: 0}}


@pytest.fixture
def errors():
    """Half of the events are moves, and half are divisions, as far as that is possible."""
    return pd.DataFrame(
        {"method": method, "frame": frame, "kind": kind, "known": KNOWN[frame] / 2, "missed": missed / 2}
        for method, of_frames in MISSED.items()
        for frame, missed in of_frames.items()
        for kind in ("move", "division")
    )


def test_the_loss_is_the_share_of_all_events(errors):
    losses = average_losses(errors)
    assert losses.to_dict() == {"b": 12.0, "a": 6.0}
    assert list(losses.index) == ["b", "a"]


def test_draws_are_of_blocks_of_successive_frames_and_the_same_for_all_methods(errors):
    drawn = resampled_losses(errors, n_blocks=2, draws=200, seed=0)
    # The blocks are the frames 5 and 6, and frame 7: drawn twice each, or both once.
    possible = {round(100 * m / k, 9) for m, k in ((8 + 8, 90 + 90), (4 + 4, 10 + 10), (8 + 4, 90 + 10))}
    assert set(drawn["b"].round(9)) == possible
    np.testing.assert_allclose(drawn["b"], 2 * drawn["a"])
    pd.testing.assert_frame_equal(drawn, resampled_losses(errors, n_blocks=2, draws=200, seed=0))
    assert not drawn.equals(resampled_losses(errors, n_blocks=2, draws=200, seed=1))


def test_of_one_block_all_draws_are_the_loss_and_there_are_no_more_blocks_than_frames(errors):
    assert set(resampled_losses(errors, n_blocks=1, draws=5, seed=0)["b"]) == {12.0}
    many, three = (resampled_losses(errors, n_blocks=n, draws=20, seed=0) for n in (99, 3))
    pd.testing.assert_frame_equal(many, three)


def test_the_middle_of_values():
    assert interval(np.arange(1001)) == [25.0, 975.0]
