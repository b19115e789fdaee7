"""Windows of several images with their cues and the objects in these images, kept together in one file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.detection.boxes import as_boxes, best_overlap
from reproduction.experiments.window_cascade.objectness import CUES, ImageCues, WindowPrior, initial_windows

#: Numbers of initial windows, up to the published one, for which it is measured which objects they reach.
INITIAL_COUNTS = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class WindowPool(ArrayFile):
    """Windows of m images, one image after the other, and the objects, likewise.

    The windows of the i-th image are the rows from ``starts[i]`` to before ``starts[i + 1]``, its objects
    those from ``truth_starts[i]`` to before ``truth_starts[i + 1]``.
    """

    images: NDArray[np.int64]  #: (m,) number of each image in its data set
    starts: NDArray[np.int64]  #: (m + 1,)
    windows: NDArray[np.int32]  #: (n, 4)
    cues: NDArray[np.float32]  #: (n, d)
    truth_starts: NDArray[np.int64]  #: (m + 1,)
    truth: NDArray[np.int32]  #: (t, 4) boxes of objects
    truth_cues: NDArray[np.float32]  #: (t, d)
    difficult: NDArray[np.bool_]  #: (t,) objects that are not counted
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
                    f"{name} is {starts.tolist()}: expected {len(self.images) + 1} rising numbers"
                )
            if {len(item) for item in rows} != {int(starts[-1])}:
                lengths = [len(item) for item in rows]
                raise ValueError(f"{name} ends at {starts[-1]}: the arrays have {lengths} rows")

    @classmethod
    def join(cls, pools: Sequence["WindowPool"]) -> "WindowPool":
        """Put pools together, in their order."""
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
        """Return the rows of the windows of the i-th image."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def truth_rows(self, i: int) -> slice:
        """Return the rows of the objects of the i-th image."""
        return slice(int(self.truth_starts[i]), int(self.truth_starts[i + 1]))

    def take(self, chosen: Iterable[int]) -> "WindowPool":
        """Return the pool of the chosen images, given by their places in this one."""
        return self.join([self._single(int(i)) for i in chosen])

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


@dataclass(frozen=True)
class Split:
    """Images to learn from and images to test on, and the window prior of the former."""

    train: NDArray[np.int64]  #: numbers of images, rising
    test: NDArray[np.int64]
    prior: WindowPrior
    seed: tuple[int, int]  #: seed of all splits, and number of this one

    def rng(self, image: int) -> np.random.Generator:
        """Return the random numbers for an image: the same whichever images came before it."""
        return np.random.default_rng([*self.seed, 1 + image])


def split_images(
    boxes: Sequence[ArrayLike], shapes: Sequence[tuple[int, int]], n_splits: int, seed: int
) -> list[Split]:
    """Halve the images at random, ``n_splits`` times, and learn the window prior of each first half."""
    if len(boxes) < 2:
        raise ValueError(f"boxes speaks of {len(boxes)} images: expected at least 2")
    splits = []
    for number in range(n_splits):
        order = np.random.default_rng([seed, number]).permutation(len(boxes))
        train, test = np.sort(order[: len(boxes) // 2]), np.sort(order[len(boxes) // 2 :])
        prior = WindowPrior.fit([boxes[i] for i in train], [shapes[i] for i in train])
        splits.append(Split(train, test, prior, (seed, number)))
    return splits


def describe_windows(
    number: int,
    image: ArrayLike,
    truth: ArrayLike,
    difficult: ArrayLike,
    splits: Sequence[Split],
    n: int,
) -> list[WindowPool]:
    """Draw n initial windows of one image for each split, and compute their cues.

    Superpixels and integral images are computed once for all splits. In test images as many windows as
    published are drawn, whatever n is, to see which objects they reach.

    Parameters
    ----------
    number
        Of the image in its data set.
    truth, difficult
        Boxes of its objects, and whether each is marked as difficult.
    """
    cues = ImageCues(image, n_threads=1)
    truth = as_boxes(truth, "truth")
    truth_cues = cues(truth).astype(np.float32).reshape(-1, len(CUES))
    pools = []
    for split in splits:
        wanted = max(n, *INITIAL_COUNTS) if number in split.test else n
        drawn = initial_windows(image, split.prior, wanted, split.rng(number), cues.labels)
        windows = drawn[:n]
        pools.append(
            WindowPool(
                images=np.array([number]),
                starts=np.array([0, len(windows)]),
                windows=windows.astype(np.int32),
                cues=cues(windows).astype(np.float32),
                truth_starts=np.array([0, len(truth)]),
                truth=truth.astype(np.int32),
                truth_cues=truth_cues,
                difficult=np.asarray(difficult, dtype=bool),
                reachable=np.stack([best_overlap(truth, drawn[:count]) for count in INITIAL_COUNTS], axis=1),
            )
        )
    return pools


def _starts(sizes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
