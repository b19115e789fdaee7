"""Train the detectors on two scenes and run them on the third (rule train_aerial_detectors)."""

import time
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from reproduction.claims.results import write_json
from reproduction.experiments.aerial_cars.detectors import Trainer
from reproduction.experiments.aerial_cars.protocol import (
    CONTROLS,
    METHODS,
    Frames,
    Settings,
    detect,
    load_grids,
)
from reproduction.experiments.aerial_cars.select import best_C
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, seed: int, fold: int, settings: Settings, control: Mapping[str, int]
) -> None:
    """Hold out the scene with index ``fold``, and write the detections in its frames.

    ``control`` has the larger numbers of regions of the methods in `CONTROLS`.
    """
    frames, grids = Frames.load(inputs["frames"]), load_grids(inputs["grids"])
    validated = pd.read_csv(inputs["validated"])
    test = frames.scene_names[fold]
    train = [scene for scene in frames.scene_names if scene != test]
    usual, larger = (Trainer(frames, chosen, seed) for chosen in (settings, replace(settings, **control)))
    found, training, seconds = [], [], {}
    for name in (*METHODS, *CONTROLS):
        method, trainer = (CONTROLS[name], larger) if name in CONTROLS else (name, usual)
        start = time.perf_counter()
        (detector,) = trainer.train(method, train, [best_C(validated, method, train)])
        seconds[name] = time.perf_counter() - start
        training.append(
            {
                "method": name,
                "gap": detector.gap,
                "samples": detector.n_samples,
                "virtual_samples": detector.n_virtual,
            }
        )
        for frame in frames.of_scene(test):
            assigned = detector.slots.assign_windows(grids[frame])
            centers, scores = detect(detector.scores(grids[frame], assigned), settings)
            rows = {"method": name, "frame": frame, "x": centers[:, 0], "y": centers[:, 1], "score": scores}
            found.append(pd.DataFrame(rows))
    pd.concat(found).to_csv(outputs["detections"], index=False, lineterminator="\n")
    pd.DataFrame(training).to_csv(outputs["training"], index=False, lineterminator="\n")
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    run_stage(main, snakemake)
