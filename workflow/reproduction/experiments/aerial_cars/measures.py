"""When a car in an aerial image counts as found.

Annotated boxes are upright whatever the angle of the car, so their overlap says little: what counts is the
distance of the middles, or the overlap of squares of one size around them.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import as_boxes, overlap
from ermlab.metrics.detection import DetectionCurve, Measure, detection_curve


def squares(centres: ArrayLike, side: int) -> NDArray[np.int64]:
    """Return boxes of ``side`` (odd) x ``side`` pixels around the pixels nearest to (n, 2) points."""
    if side != int(side) or side < 1 or side % 2 == 0:
        raise ValueError(f"side is {side}: expected an odd whole number, for the sake of a middle pixel")
    middles = np.floor(np.reshape(centres, (-1, 2)) + 0.5).astype(np.int64)
    half = int(side) // 2
    return np.hstack([middles - half, middles + half])


def centre_agreement(radius: float) -> Measure:
    """Return an agreement of boxes that is .5 or more if their centres are at most ``radius`` apart.

    It is ``1 - (d / radius)^2 / 2``, at least 0, for the distance d.
    """
    if not radius > 0:
        raise ValueError(f"radius is {radius}: expected a positive number")

    def agreement(boxes: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
        boxes, truth = as_boxes(boxes), as_boxes(truth, "truth")
        one, other = ((some[:, :2] + some[:, 2:]) / 2 for some in (boxes, truth))
        distances = np.linalg.norm(one[:, None] - other[None], axis=-1)
        return np.maximum(1 - (distances / radius) ** 2 / 2, 0.0)

    return agreement


def criteria(radius: float) -> dict[str, Callable]:
    """Return the two ways to compare squares: ``"centre"``, the main one, and ``"pascal"``."""
    return {"centre": centre_agreement(radius), "pascal": overlap}


def car_curve(
    found: Sequence[ArrayLike],
    scores: Sequence[ArrayLike],
    centres: Sequence[ArrayLike],
    others: Sequence[ArrayLike],
    side: int,
    measure: Measure,
) -> DetectionCurve:
    """Return the curve of detections in several frames.

    Parameters
    ----------
    found, scores
        Centres (n, 2) of the detections in each frame and their scores.
    centres, others
        Centres (m, 2) of the vehicles, and for each whether it is no car; those neither count nor hurt.
    side
        Of the squares that stand for both.
    measure
        One of `criteria`.
    """
    return detection_curve(
        [squares(some, side) for some in found],
        scores,
        [squares(some, side) for some in centres],
        others,
        measure=measure,
    )
