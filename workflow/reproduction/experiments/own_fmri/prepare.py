"""Preprocess a user's own scan (rule prepare_own_fmri)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.own_fmri.scans import OwnScan, prepare_own_scan
from reproduction.pipeline.job import job

COLUMNS = ("x_mm", "y_mm", "z_mm", "x_degrees", "y_degrees", "z_degrees")


def main(settings: Mapping[str, Any], series: str, motion: str) -> None:
    """Write the rows that are learned from, and the head's motion, a row a volume."""
    done = prepare_own_scan(OwnScan.of(settings))
    done.write(series)
    table = pd.DataFrame(np.round(done.motion, 4), columns=COLUMNS)
    table.to_csv(motion, index_label="volume", lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.params.settings, snakemake.output.series, snakemake.output.motion)
