import gc
import weakref

import pytest

from ermlab._utils.garbage import old_objects_kept


class Loop:
    """Garbage that only a collection finds."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def nothing_kept():
    """Objects that the test run keeps are looked at again for a while, and nothing is collected unasked."""
    gc.unfreeze()
    gc.disable()
    yield
    gc.enable()
    gc.freeze()


@pytest.mark.usefixtures("nothing_kept")
def test_collections_pass_over_old_objects_and_find_new_ones():
    old = weakref.ref(Loop())
    with old_objects_kept():
        new = weakref.ref(Loop())
        gc.collect()
        assert old() is not None
        assert new() is None
    gc.collect()
    assert old() is None


@pytest.mark.usefixtures("nothing_kept")
def test_one_within_another_leaves_the_outer_one_in_force():
    with old_objects_kept():
        old = weakref.ref(Loop())
        with old_objects_kept():
            pass
        gc.collect()
        assert old() is not None
    with pytest.raises(ValueError, match="told"), old_objects_kept():
        raise ValueError("told")
    assert gc.get_freeze_count() == 0
