"""Tracking by assignment: ermlab against python-mip, bare HiGHS, LapTrack and trackpy; the time of training.

One pair of frames has 200 cells with 5 candidates each. Ours is measured with all that it takes, from the
detections to the best assignment; HiGHS gets the same matrix and scores, handed over before the clock starts.
Whole films are tracked from the detections to the tracks and their lineage, with the bundled weights, by one
thread, in CPU time. LapTrack links the same detections, and so does trackpy, which knows no divisions, where
it is installed. Trackers are trained on pairs of frames to a relative gap of 1e-2: of cells that walk and
divide, and of migrating cells where ERMLAB_MIRROR has them.
"""

import argparse
import contextlib
import os
import statistics
import tarfile
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import highspy
import numpy as np
import pandas as pd

from ermlab import CellTracker
from ermlab.optimize import L2
from ermlab.tracking.assignment import Assigner
from ermlab.tracking.events import Gates, hypotheses_between, typical_size
from ermlab.tracking.films import CellFilm, frame_pairs
from ermlab.tracking.integer_program import solve_assignment
from ermlab.tracking.training import average_loss, train_tracker
from reproduction.datasets.cell_migration import read_cell_migration
from reproduction.experiments.cell_films.prepare_migration import film_of_migration
from reproduction.experiments.tracking.baselines import hand_tuned, lap_links

SIZE = 10.0  # of a cell, in pixels
LAM = 0.1


def random_walk(n_cells, n_frames, rng, step=0.4, divisions=0.01):
    """Return a film of cells that walk by ``step`` sizes a frame; a share of them divides in each frame."""
    side = SIZE * np.sqrt(4 * n_cells)
    place, label = rng.uniform(0, side, (n_cells, 2)), np.arange(1, n_cells + 1)
    lineage = {int(k): [int(k), 0, n_frames - 1, 0] for k in label}
    rows = []
    for t in range(n_frames):
        if t:
            place = np.clip(place + rng.normal(0, step * SIZE / np.sqrt(2), place.shape), 0, side - 1)
            dividing = np.flatnonzero(rng.random(len(place)) < divisions)
            for i in dividing:
                lineage[int(label[i])][2] = t - 1
                parent, centre = int(label[i]), place[i]
                way = rng.normal(size=2)
                way *= SIZE / 2 / np.linalg.norm(way)
                children = len(lineage) + 1 + np.arange(2)
                for child in children.tolist():
                    lineage[child] = [child, t, n_frames - 1, parent]
                place = np.vstack([place, np.clip(centre - way, 0, side - 1)])
                place[i], label[i] = np.clip(centre + way, 0, side - 1), children[0]
                label = np.append(label, children[1])
        rows += [(t, k, *p) for k, p in zip(label.tolist(), place, strict=True)]
    frame, track, row, column = np.array(rows).T
    n = len(rows)
    return CellFilm(
        frame=frame.astype(int),
        position=np.column_stack([row, column]),
        area=SIZE**2 * np.exp(0.1 * rng.normal(size=n)),
        intensity=np.exp(0.1 * rng.normal(size=n)),
        eccentricity=rng.uniform(0.3, 0.7, n),
        shape=np.array([int(side) + 1] * 2),
        n_frames=n_frames,
        tracks=np.column_stack([np.arange(n), track.astype(int)]),
        lineage=np.array(list(lineage.values())),
    )


def bare_highs(hypotheses, scores, *, integral):
    """Return seconds of HiGHS, handed over what to solve before the clock starts, and the value."""
    incidence = hypotheses.incidence
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = incidence.shape
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = scores
    program.col_lower_, program.col_upper_ = np.zeros(len(scores)), np.ones(len(scores))
    program.row_lower_ = program.row_upper_ = np.ones(incidence.shape[0])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = incidence.indptr, incidence.indices
    program.a_matrix_.value_ = incidence.data
    if integral:
        program.integrality_ = [highspy.HighsVarType.kInteger] * len(scores)
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.passModel(program)
    began = time.perf_counter()
    model.run()
    return time.perf_counter() - began, model.getInfo().objective_function_value


def compare_pair(n_cells, repeats, seed):
    """Time one pair of frames by ours and by HiGHS, repeats interleaved."""
    w = hand_tuned("migration")
    seconds = {name: [] for name in ("candidates and features", "best assignment", "HiGHS", "its relaxation")}
    for repeat in range(repeats + 1):
        film = random_walk(n_cells, 2, np.random.default_rng([seed, repeat]))
        before, after = film.cells(0), film.cells(1)
        began = time.perf_counter()
        hypotheses = hypotheses_between(before, after, Gates())
        built = time.perf_counter()
        scores = hypotheses.scores(w)
        y = Assigner(hypotheses).best(scores)
        done = time.perf_counter()
        highs, value = bare_highs(hypotheses, scores, integral=True)
        relaxation, _ = bare_highs(hypotheses, scores, integral=False)
        if abs(scores[y].sum() - value) > 1e-6 * abs(value):
            raise RuntimeError(f"best assignments differ: {scores[y].sum()} and {value}")
        if repeat:  # the first compiles or loads
            measured = (built - began, done - built, highs, relaxation)
            for times, new in zip(seconds.values(), measured, strict=True):
                times.append(new)
    print(f"a pair of frames with {n_cells} cells, about {len(hypotheses)} candidates, {repeats} repeats")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"  {name:24} {1e3 * median:8.2f} ms, least {1e3 * min(seconds[name]):.2f} ms")
    ours = medians["candidates and features"] + medians["best assignment"]
    for name in ("HiGHS", "its relaxation"):
        print(f"  ours, all included, takes {ours / medians[name]:.2f} times as long as {name}")


def compare_program(n_cells, repeats, seed):
    """Time one search by `Assigner` and by the program in python-mip, construction included."""
    w, seconds = hand_tuned("migration"), {"ours": [], "mip": []}
    for repeat in range(repeats + 1):
        film = random_walk(n_cells, 2, np.random.default_rng([seed, repeat]))
        hypotheses = hypotheses_between(film.cells(0), film.cells(1), Gates())
        scores = hypotheses.scores(w)
        began = time.perf_counter()
        ours = scores[Assigner(hypotheses).best(scores)].sum()
        middle = time.perf_counter()
        theirs = scores[solve_assignment(hypotheses, scores)].sum()
        done = time.perf_counter()
        if abs(ours - theirs) > 1e-6 * abs(theirs):
            raise RuntimeError(f"best assignments differ: {ours} and {theirs}")
        if repeat:  # the first compiles or loads
            seconds["ours"].append(middle - began)
            seconds["mip"].append(done - middle)
    ours, theirs = (1e3 * statistics.median(times) for times in seconds.values())
    print(f"{n_cells} cells: {ours:.2f} ms, python-mip {theirs:.1f} ms, {theirs / ours:.0f} times")


def tissue(n_cells, n_frames, rng, jitter=0.2):
    """Return a film of cells that touch each other: each stays near its place in a grid of one cell size.

    A frame displaces them by ``jitter`` sizes along each axis.
    """
    film = random_walk(n_cells, n_frames, rng, divisions=0.0)
    side = int(np.ceil(np.sqrt(n_cells)))
    place = SIZE * np.indices((side, side)).reshape(2, -1).T[:n_cells]
    position = place + rng.normal(0, jitter * SIZE, (n_frames, n_cells, 2))
    position = np.clip(position, 0, side * SIZE - 1).reshape(-1, 2)
    return replace(film, position=position, shape=np.array([side * SIZE, side * SIZE], dtype=int))


def peers_of(film):
    """Return functions that track a film: ours and those that are installed, by name."""
    tracker = CellTracker.pretrained().set_params(n_jobs=1)
    n = len(film) - 1
    found = {"ermlab": lambda: tracker.predict(film), "LapTrack": lambda: lap_links(film, range(n), 2.0, 1.0)}
    if find_spec("trackpy"):
        import trackpy

        trackpy.quiet()
        table = pd.DataFrame({"frame": film.frame, "y": film.position[:, 0], "x": film.position[:, 1]})
        reach = typical_size([film.cells(t) for t in range(len(film))])

        def link():
            with contextlib.suppress(trackpy.SubnetOversizeException):  # it gives up where cells are dense
                trackpy.link(table, reach)

        found["trackpy"] = link
    return found


def compare_films(film, name, repeats):
    """Time a whole film, from the detections to the tracks, by ours and by peers; repeats interleaved.

    Where cells are dense, trackpy gives up early, which makes its time meaningless.
    """
    seconds = {}
    for repeat in range(repeats + 1):
        for peer, track in peers_of(film).items():
            began = time.process_time()
            track()
            if repeat:
                seconds.setdefault(peer, []).append(time.process_time() - began)
    medians = {peer: statistics.median(times) for peer, times in seconds.items()}
    n = len(film) - 1
    print(
        f"{name}, {len(film.frame) // len(film)} cells, {len(film)} frames: "
        + ", ".join(
            f"{peer} {median:.3f} s ({1e3 * median / n:.1f} ms a pair)" for peer, median in medians.items()
        )
        + "".join(
            f", {median / medians['ermlab']:.2f} times ({peer})"
            for peer, median in medians.items()
            if peer != "ermlab"
        ),
        flush=True,
    )


def time_training(film, name, n_pairs, threads):
    """Time the training on some pairs to a relative gap of 1e-2."""
    pairs = frame_pairs(film, Gates(), range(min(n_pairs, len(film) - 1)))
    for pair in pairs:
        pair.assigner.best(pair.hypotheses.scores(hand_tuned("migration")))
    for n_jobs in threads:
        wall, cpu = time.perf_counter(), time.process_time()
        found = train_tracker(pairs, L2(LAM), tol=1e-2, n_jobs=n_jobs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        loss = 100 * average_loss(found.w, pairs)
        print(
            f"{name}, {len(pairs)} pairs, {n_jobs} threads: {wall:.1f} s, {cpu:.1f} s of CPU, "
            f"converged: {found.converged}, loss in training {loss:.2f} %",
            flush=True,
        )


def migrating_cells(mirror):
    """Return the film of migrating cells at every frame and at every fourth."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(Path(mirror) / "cell_migration.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        data = read_cell_migration(next(Path(folder).iterdir()))
        shape = data.truth.masks[0].shape
    return {step: film_of_migration(data.sequences[step], shape) for step in (1, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=80, help="to train on [80]")
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--film-cells", type=int, nargs="*", default=[200, 1500, 3000, 10_000])
    parser.add_argument("--film-frames", type=int, nargs="*", default=[10, 3, 10, 2])
    parser.add_argument("--program-cells", type=int, nargs="*", default=[50, 200, 1000])
    options = parser.parse_args()
    for n_cells in options.program_cells:
        compare_program(n_cells, max(options.repeats // 2, 1), options.seed)
    compare_pair(options.cells, options.repeats, options.seed)
    films = {"walking cells": random_walk(100, options.pairs + 1, np.random.default_rng(options.seed))}
    if mirror := os.environ.get("ERMLAB_MIRROR"):
        films |= {f"migrating cells, step {step}": film for step, film in migrating_cells(mirror).items()}
    repeats = max(options.repeats // 5, 1)
    for name, film in films.items():
        compare_films(film, name, repeats)
    for n_cells, n_frames in zip(options.film_cells, options.film_frames, strict=True):
        rng = np.random.default_rng(options.seed)
        compare_films(random_walk(n_cells, n_frames, rng), "walking and dividing", repeats)
        compare_films(tissue(n_cells, n_frames, rng), "dense tissue", repeats)
    for name, film in films.items():
        time_training(film, name, options.pairs, options.threads)


if __name__ == "__main__":
    main()
