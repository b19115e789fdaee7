"""Train the detectors on two scenes and run them on the third (rule train_aerial_detectors)."""

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ermlab.kernels.slot import WINDOW
from reproduction.claims.results import write_json
from reproduction.experiments.aerial_cars.detectors import Detector, PoseDetector, Trainer
from reproduction.experiments.aerial_cars.prepare import frame_grid
from reproduction.experiments.aerial_cars.protocol import (
    LATENT,
    LATENT_PRICE,
    METHODS,
    Frames,
    Settings,
    detect,
    keep_best,
    load_grids,
)
from reproduction.experiments.aerial_cars.select import best_C
from reproduction.pipeline.job import Paths, run_stage

#: Random features of the Gaussian kernel that is timed, side of the part of a frame, and repetitions.
N_BASIS, TIMED_CELLS, REPEATS = 1000, 40, 2


def main(inputs: Paths, outputs: Paths, *, seed: int, fold: int, settings: Settings) -> None:
    """Hold out the scene with index ``fold``, and write the detections in its frames."""
    frames, grids = Frames.load(inputs["frames"]), load_grids(inputs["grids"])
    validated = pd.read_csv(inputs["validated"])
    test = frames.scene_names[fold]
    train = [scene for scene in frames.scene_names if scene != test]
    trainer = Trainer(frames, settings, seed)
    found, training, seconds, detectors = [], [], {}, {}
    for name in METHODS:
        start = time.perf_counter()
        (detector,) = trainer.train(name, train, [best_C(validated, name, train)])
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
            found.append(_rows(name, frame, centers, scores))
        detectors[name] = detector
    start = time.perf_counter()
    latent = trainer.train_latent(train, best_C(validated, LATENT_PRICE, train))
    seconds[LATENT] = time.perf_counter() - start
    training.append({"method": LATENT, "gap": latent.gap, "samples": latent.n_samples, "virtual_samples": 0})
    rows, durations = compare_detections(
        latent, detectors[LATENT_PRICE], frames, frames.of_scene(test), settings
    )
    found, seconds = found + rows, seconds | durations
    seconds |= compare_kernels(detectors["slot"], grids[frames.of_scene(test)[0]], seed)
    pd.concat(found).to_csv(outputs["detections"], index=False, lineterminator="\n")
    pd.DataFrame(training).to_csv(outputs["training"], index=False, lineterminator="\n")
    write_json(outputs["timings"], seconds)


def compare_detections(
    latent: PoseDetector, plain: Detector, frames: Frames, numbers: Sequence[int], settings: Settings
) -> tuple[list[pd.DataFrame], dict[str, float]]:
    """Return the detections of the latent detector, and the processor time of both from pixels to boxes."""
    found, seconds = [], {"latent_detection": 0.0, "plain_detection": 0.0}
    for frame in numbers:
        start = time.process_time()
        centers, scores = keep_best(*latent.scores(frames.images[frame], settings), settings)
        between = time.process_time()
        grid = frame_grid(frames.images[frame], settings.cell)
        detect(plain.scores(grid, plain.slots.assign_windows(grid)), settings)
        seconds["latent_detection"] += between - start
        seconds["plain_detection"] += time.process_time() - between
        found.append(_rows(LATENT, frame, centers, scores))
    return found, seconds


def compare_kernels(slot: Detector, grid: NDArray, seed: int) -> dict[str, float]:
    """Return the processor time to score windows with slots, and with random features of a Gaussian kernel.

    Such features project each window on many random directions, of which `N_BASIS` are few for so many
    dimensions (equivariant SVM, section 3.1). Windows are those of a part of a frame.
    """
    part = np.ascontiguousarray(grid[:TIMED_CELLS, :TIMED_CELLS])
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((slot.slots.centers_.shape[1], N_BASIS), dtype=np.float32)
    phases, w = rng.uniform(0, 2 * np.pi, N_BASIS).astype(np.float32), np.ones(N_BASIS, dtype=np.float32)
    seconds = {}
    for name in ("slot_scores", "gaussian_scores"):
        durations = []
        for _ in range(REPEATS):
            start = time.process_time()
            if name == "slot_scores":
                slot.scores(part, slot.slots.assign_windows(part))
            else:
                windows = sliding_window_view(part, WINDOW, axis=(0, 1))
                np.cos(windows.reshape(-1, len(basis)) @ basis + phases) @ w
            durations.append(time.process_time() - start)
        seconds[name] = min(durations)
    return seconds


def _rows(method: str, frame: int, centers: NDArray, scores: NDArray) -> pd.DataFrame:
    columns = {"method": method, "frame": frame, "x": centers[:, 0], "y": centers[:, 1], "score": scores}
    return pd.DataFrame(columns)


if "snakemake" in globals():
    run_stage(main, snakemake)
