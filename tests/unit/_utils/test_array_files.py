"""Dataclasses in files: what is written comes back, the same bytes each time, and other files are refused."""

from dataclasses import dataclass

import numpy as np
import pytest

from ermlab._utils.array_files import ArrayFile
from ermlab.exceptions import DataError


@dataclass(frozen=True)
class Fruit(ArrayFile):
    weights: np.ndarray
    kinds: np.ndarray
    shop: str
    price: float = 1.5

    def __post_init__(self):
        if len(self.weights) != len(self.kinds):
            raise ValueError(f"{len(self.weights)} weights of {len(self.kinds)} kinds")


@pytest.fixture
def fruit():
    return Fruit(np.array([[1.0, 2], [3, 4]], dtype=np.float32), np.array(["apple", "fig"]), "corner")


def test_what_is_written_is_read(fruit, tmp_path):
    fruit.write(tmp_path / "new" / "fruit.npz")
    again = Fruit.read(tmp_path / "new" / "fruit.npz")
    np.testing.assert_array_equal(again.weights, fruit.weights)
    assert again.weights.dtype == np.float32
    assert again.kinds.tolist() == ["apple", "fig"]
    assert (again.shop, again.price) == ("corner", 1.5)
    assert type(again.shop) is str
    fruit.write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "new" / "fruit.npz").read_bytes()


def test_other_files_are_refused(fruit, tmp_path):
    fruit.write(tmp_path / "whole.npz")
    content = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: len(content) // 2])
    (tmp_path / "junk.npz").write_bytes(b"no archive")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", weights=np.array([{}]), kinds=np.zeros(1), shop="a", price=1.0)
    np.savez(tmp_path / "unequal.npz", weights=np.zeros(3), kinds=np.zeros(1), shop="a", price=1.0)
    for name in ("missing", "cut", "junk", "empty", "other", "pickled", "unequal"):
        with pytest.raises(DataError, match=rf"{name}\.npz is not what Fruit\.write has written"):
            Fruit.read(tmp_path / f"{name}.npz")
