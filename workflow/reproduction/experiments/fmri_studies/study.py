"""What is learned from in sections 4.2 and 4.3: rows of voxels, a target, and a fair way to split them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.metrics.splits import Sampling

_NO_RUNS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Study(ArrayFile):
    """Samples in rows, with the place of each voxel."""

    X: NDArray[np.float32]  #: (samples, voxels)
    y: NDArray[np.float64]
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]
    fair: str  #: kind of `Sampling` whose splits do not leak
    runs: NDArray[np.int64] = field(default_factory=_NO_RUNS.copy)  #: run of each sample, if there are runs
    region: NDArray[np.bool_] = field(
        default_factory=lambda: np.zeros(0, dtype=bool)
    )  #: true voxels, if known

    def sampling(self, kind: str) -> Sampling:
        """Return the way to split samples."""
        return Sampling(kind, len(self.y), runs=self.runs if kind == "runs" else None)
