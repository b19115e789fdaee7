"""Errors of detections."""

from collections.abc import Sequence

from ermlab.metrics.detection import detection_curve, equal_error_rate
from reproduction.experiments.joint_kernel_support.localization import Boxes, Vector


def detection_error(found: Sequence[tuple[Boxes, Vector]], truth: Sequence[Boxes]) -> float:
    """Return the equal error rate of the boxes and scores that were found in each image."""
    curve = detection_curve([boxes for boxes, _ in found], [scores for _, scores in found], truth)
    return equal_error_rate(curve.precision, curve.recall)
