"""The four detectors, learned on two scenes and run on the third (rule train_aerial_detectors)."""

import time
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.claims.results import read_json, write_json
from reproduction.experiments.aerial_cars.protocol import (
    CONTROLS,
    METHODS,
    Settings,
    Trainer,
    chosen_price,
    detect,
    read_frames,
    read_grids,
)
from reproduction.pipeline.job import job


def main(
    receipt: str,
    grids: str,
    prices: str,
    outputs: Mapping[str, str],
    *,
    fold: int,
    frames: int,
    seed: int,
    settings: Mapping[str, Any],
    control: Mapping[str, int],
) -> None:
    """Leave the scene with number ``fold`` out of training, and write what is found in its frames.

    ``control`` are the larger numbers of regions for the methods of `CONTROLS`.
    """
    data = read_frames(read_json(receipt)["folder"], frames)
    test = data.scene_names[fold]
    others = [scene for scene in data.scene_names if scene != test]
    table, cells = pd.read_csv(prices), read_grids(grids)
    usual = Trainer(data, Settings.of(settings), seed)
    larger = Trainer(data, Settings.of({**settings, **control}), seed)
    found, training, seconds = [], [], {}
    for name in (*METHODS, *CONTROLS):
        method, trainer = (CONTROLS[name], larger) if name in CONTROLS else (name, usual)
        price = chosen_price(table, method, others)
        begin = time.perf_counter()
        (detector,) = trainer.train(method, others, [price])
        seconds[name] = time.perf_counter() - begin
        training.append(
            {
                "method": name,
                "test": test,
                "price": price,
                "calls": detector.calls,
                "gap": detector.gap,
                "samples": detector.samples,
                "virtual_samples": detector.virtual_samples,
            }
        )
        for frame in data.of_scene(test):
            grid = cells[frame]
            centres, scores = detect(
                detector.scores(grid, detector.slots.assign_windows(grid)), trainer.settings
            )
            rows = {"method": name, "frame": frame, "x": centres[:, 0], "y": centres[:, 1], "score": scores}
            found.append(pd.DataFrame(rows))
    pd.concat(found).to_csv(outputs["detections"], index=False, lineterminator="\n")
    pd.DataFrame(training).to_csv(outputs["training"], index=False, lineterminator="\n")
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.grids,
            snakemake.input.prices,
            dict(snakemake.output.items()),
            fold=int(snakemake.wildcards.fold),
            frames=snakemake.params.frames,
            seed=snakemake.params.seed + int(snakemake.wildcards.seed),
            settings=snakemake.params.settings,
            control=snakemake.params.control,
        )
