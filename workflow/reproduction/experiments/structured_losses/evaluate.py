"""The two rescaled hinge losses over a grid of score differences (rule evaluate_structured_losses)."""

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
from reproduction.pipeline.job import job

DELTAS = (0.25, 0.5, 1.0, 2.0, 4.0)


def main(folder: str | Path, points: int) -> None:
    """Evaluate both hinges and the step for several output losses and compare them."""
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
    at_zero = curves[curves["difference"] == 0]
    hinges = [group[kind] for _, group in curves.groupby("delta") for kind in ("margin", "slack")]
    write_results(
        folder,
        {
            "margin_minus_step_min": (curves["margin"] - curves["step"]).min(),
            "slack_minus_step_min": (curves["slack"] - curves["step"]).min(),
            "difference_at_margin_point": (at_zero["margin"] - at_zero["slack"]).abs().max(),
            "distance_from_delta_at_margin_point": (at_zero["margin"] - at_zero["delta"]).abs().max(),
            "convexity_violation": max(convexity_violation(hinge) for hinge in hinges),
        },
    )
    curves.to_csv(Path(folder) / "curves.csv", index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(Path(snakemake.output.values).parent, snakemake.params.points)
