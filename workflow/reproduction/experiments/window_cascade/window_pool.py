"""Windows of several images with their cues, and the objects of these images, in one file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.detection.boxes import best_overlap

#: Numbers of initial windows, up to the published one, for which the reachable objects are measured.
INITIAL_COUNTS = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class WindowPool(ArrayFile):
    """Windows and objects of m images, image by image.

    Image ``i`` has the windows ``starts[i]:starts[i + 1]`` and the objects
    ``truth_starts[i]:truth_starts[i + 1]``.
    """

    images: NDArray[np.int64]  #: (m,) index of each image in its data set
    starts: NDArray[np.int64]  #: (m + 1,)
    windows: NDArray[np.int32]  #: (n, 4)
    cues: NDArray[np.float32]  #: (n, d)
    truth_starts: NDArray[np.int64]  #: (m + 1,)
    truth: NDArray[np.int32]  #: (t, 4) boxes of objects
    truth_cues: NDArray[np.float32]  #: (t, d)
    difficult: NDArray[np.bool_]  #: (t,) whether objects are marked as difficult, and not counted
    reachable: NDArray[np.float64]  #: (t, 3) largest overlap with the first of `INITIAL_COUNTS` windows

    def __post_init__(self):
        for name, starts, rows in (
            ("starts", self.starts, (self.windows, self.cues)),
            (
                "truth_starts",
                self.truth_starts,
                (self.truth, self.truth_cues, self.difficult, self.reachable),
            ),
        ):
            if starts.shape != (len(self.images) + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
                raise ValueError(
                    f"{name} is {starts.tolist()}: expected {len(self.images) + 1} increasing numbers"
                )
            if {len(item) for item in rows} != {int(starts[-1])}:
                lengths = [len(item) for item in rows]
                raise ValueError(f"{name} ends at {starts[-1]}: the arrays have {lengths} rows")

    @classmethod
    def join(cls, pools: Sequence["WindowPool"]) -> "WindowPool":
        """Concatenate pools."""
        if not pools:
            raise ValueError("pools is empty: expected at least 1")
        parts = {
            field.name: np.concatenate([getattr(pool, field.name) for pool in pools])
            for field in fields(cls)
            if not field.name.endswith("starts")
        }
        starts = {
            name: _starts([np.diff(getattr(pool, name)) for pool in pools])
            for name in ("starts", "truth_starts")
        }
        return cls(**parts, **starts)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def rows(self, i: int) -> slice:
        """Return the rows of the windows of image ``i``."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def truth_rows(self, i: int) -> slice:
        """Return the rows of the objects of image ``i``."""
        return slice(int(self.truth_starts[i]), int(self.truth_starts[i + 1]))

    def take(self, chosen: Iterable[int]) -> "WindowPool":
        """Return the pool of the images at the given positions."""
        return self.join([self._single(int(i)) for i in chosen])

    def counted(self, i: int) -> NDArray[np.int32]:
        """Return the objects of image ``i`` that are not difficult."""
        rows = self.truth_rows(i)
        return self.truth[rows][~self.difficult[rows]]

    def losses(self) -> NDArray[np.float64]:
        """Return the loss of each window: 1 minus its largest overlap with an object (thesis, 3.2.4)."""
        return np.concatenate(
            [
                1 - best_overlap(self.windows[self.rows(i)], self.truth[self.truth_rows(i)])
                for i in range(len(self))
            ]
        )

    def _single(self, i: int) -> "WindowPool":
        rows, truth_rows = self.rows(i), self.truth_rows(i)
        return WindowPool(
            images=self.images[i : i + 1],
            starts=np.array([0, rows.stop - rows.start]),
            windows=self.windows[rows],
            cues=self.cues[rows],
            truth_starts=np.array([0, truth_rows.stop - truth_rows.start]),
            truth=self.truth[truth_rows],
            truth_cues=self.truth_cues[truth_rows],
            difficult=self.difficult[truth_rows],
            reachable=self.reachable[truth_rows],
        )


def _starts(sizes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
