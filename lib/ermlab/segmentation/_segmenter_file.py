"""Files of trained segmenters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile

FORMAT = "ermlab image segmenter 1"


@dataclass(frozen=True)
class SegmenterFile(ArrayFile):
    """Parameters in JSON, and what was learned."""

    format: str
    parameters: str
    n_channels: int
    classes: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    coef: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Raise a ValueError unless all parts fit together."""
        if self.format != FORMAT:
            raise ValueError(f"format {self.format!r:.60}: expected {FORMAT!r}")
        if not isinstance(self.n_channels, int) or self.n_channels < 1:
            raise ValueError(f"n_channels is {self.n_channels!r}")
        classes = np.asarray(self.classes)
        if (
            classes.ndim != 1
            or len(classes) < 2
            or classes.dtype.kind != "i"
            or (np.diff(classes) <= 0).any()
        ):
            raise ValueError("classes are not at least two integers in ascending order")
        for name in ("mean", "scale", "coef"):
            values = np.asarray(getattr(self, name))
            if values.ndim != 1 or values.dtype != np.float64 or not np.isfinite(values).all():
                raise ValueError(f"{name} is not a vector of finite numbers")
        if len(self.mean) != len(self.scale) or not len(self.mean) or (self.scale <= 0).any():
            raise ValueError("mean and scale of features do not fit")

    @classmethod
    def of(cls, parameters: dict[str, Any], **learned: Any) -> Self:
        """Return the content of a file."""
        return cls(format=FORMAT, parameters=json.dumps(parameters, allow_nan=False), **learned)

    def parameter_values(self) -> dict[str, Any]:
        """Return the parameters."""
        values = json.loads(self.parameters)
        if not isinstance(values, dict):
            raise ValueError(f"parameters are {self.parameters:.60}")
        return values
