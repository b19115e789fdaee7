"""Weights of events set by hand, as by an expert who looks at results and tries again (Table 1.1).

Both sets were settled in about ten rounds of looking at features and errors of the training film, or of the
first half of the film of migrating cells, never at what is tested on. They have not been changed since.
"""

import numpy as np
from numpy.typing import NDArray

from ermlab.tracking.events import FEATURES

#: Laboratory to the weights of each kind of event, in the order of `ermlab.tracking.events.FEATURES`.
_WEIGHTS = {
    # Nuclei hardly move. One that divides is bright and long before; pieces together are as large as the
    # whole; what appears or disappears is small, at the border, with no nucleus near.
    "nuclei": {
        "move": (1, -1, -1, -2, -1, -1, -1),
        "division": (-6, -2, -1, -1, -0.5, -1, -1, -5, -0.5, 3, -3),
        "merge": (0, -4, -1, -1, -1, 0),
        "split": (0, -4, -1, -1, -1, 0),
        "appearance": (-3, -1, -3, 2),
        "disappearance": (-3, -1, -3, 2),
    },
    # Cells move far, but keep area, intensity and shape. One that divides is small and long before, its
    # children lie close together. Cells are neither cut nor taken together.
    "migration": {
        "move": (0, -1, -1, -1, -4, -3, -3),
        "division": (-7, -1, -3, -1, -0.5, -2, -1, -3, -0.5, 5, -6),
        "merge": (-8, -3, -1, -3, -2, 0),
        "split": (-8, -3, -1, -3, -2, 0),
        "appearance": (-2.5, -2, -1, 0),
        "disappearance": (-2.5, -2, -1, 0),
    },
}
LABORATORIES = tuple(_WEIGHTS)


def hand_tuned(laboratory: str) -> NDArray[np.float64]:
    """Return the weights for ``"nuclei"`` or ``"migration"``."""
    if laboratory not in _WEIGHTS:
        raise ValueError(f"laboratory is {laboratory!r}: expected one of {', '.join(_WEIGHTS)}")
    return np.concatenate([np.array(_WEIGHTS[laboratory][kind], dtype=np.float64) for kind in FEATURES])
