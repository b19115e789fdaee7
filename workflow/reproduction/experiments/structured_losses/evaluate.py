"""Compare both rescaled hinge losses with the step loss on a grid (rule evaluate_structured_losses)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.structured.losses import (
    convexity_violation,
    margin_rescaled_hinge,
    slack_rescaled_hinge,
    step_loss,
)
from reproduction.claims.results import write_results
from reproduction.pipeline.job import Paths, run_stage

DELTAS = (0.25, 0.5, 1.0, 2.0, 4.0)


def main(inputs: Paths, outputs: Paths, *, points: int) -> None:
    """Evaluate the losses for all `DELTAS` at score differences from -3 to 3."""
    # Symmetric around an exact zero, the margin point.
    differences = 3 * np.arange(-points, points + 1) / points
    curves = pd.concat(
        pd.DataFrame(
            {
                "delta": delta,
                "difference": differences,
                "step": step_loss(differences, delta),
                "margin": margin_rescaled_hinge(differences, delta),
                "slack": slack_rescaled_hinge(differences, delta),
            }
        )
        for delta in DELTAS
    )
    write_results(Path(outputs["values"]).parent, compare_losses(curves))
    curves.to_csv(outputs["curves"], index=False, lineterminator="\n")


def compare_losses(curves: pd.DataFrame) -> dict[str, float]:
    """Return how far the hinges are above the step, from ``delta`` at difference 0, and from convex.

    ``curves`` has columns ``delta``, ``difference``, ``step``, ``margin`` and ``slack``, with equally spaced
    differences for each ``delta``.
    """
    at_zero = curves[curves["difference"] == 0]
    hinges = [group[kind] for _, group in curves.groupby("delta") for kind in ("margin", "slack")]
    return {
        "margin_minus_step_min": (curves["margin"] - curves["step"]).min(),
        "slack_minus_step_min": (curves["slack"] - curves["step"]).min(),
        "distance_from_delta_at_margin_point": max(
            (at_zero[kind] - at_zero["delta"]).abs().max() for kind in ("margin", "slack")
        ),
        "convexity_violation": max(convexity_violation(hinge) for hinge in hinges),
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
