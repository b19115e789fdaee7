"""Every price of slack, learned on one scene and tried on another (rule choose_aerial_prices)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.claims.results import read_json
from reproduction.experiments.aerial_cars.protocol import (
    Settings,
    Trainer,
    choose_prices,
    read_frames,
    read_grids,
)
from reproduction.pipeline.job import job


def main(
    receipt: str,
    grids: str,
    prices: str,
    *,
    frames: int,
    seed: int,
    settings: Mapping[str, Any],
    C: Sequence[float],
) -> None:
    """Write the average precision of each method and price for each pair of scenes."""
    data = read_frames(read_json(receipt)["folder"], frames)
    trainer = Trainer(data, Settings.of(settings), seed)
    table = pd.DataFrame(choose_prices(trainer, read_grids(grids), C))
    table.to_csv(prices, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.grids,
            snakemake.output.prices,
            **snakemake.params.arguments,
        )
