"""Quality of tracking on films that were not in training: ermlab, nearest neighbors and LapTrack.

Simulated nuclei of nine kinds, at several frame rates, with errors in their measurements; and the real films
of migrating cells and of the Cell Tracking Challenge where ERMLAB_MIRROR has them, of which some were in
training. Prints a Markdown table of the F1 scores of links between successive frames, whether the bundled
tracker warned that the film is unfamiliar, and how often the warning was right.
"""

import argparse
import os
import tarfile
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from ermlab.tracking import CellTracker, Lineage, film_of_masks, join_frames, measure_nuclei
from ermlab.tracking.events import typical_size
from reproduction.datasets.cell_migration import read_cell_migration
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth
from reproduction.datasets.nuclei_films import DCELLIQ, MITOCHECK
from reproduction.datasets.simulators.migration import TISSUE
from reproduction.datasets.simulators.nuclei import Tracks, take_film
from reproduction.experiments.cell_films.film_variants import every_nth_frame, positions_only
from reproduction.experiments.cell_films.prepare_migration import film_of_migration
from reproduction.experiments.tracking.baselines import lap_links

#: Largest distance of a link by nearest neighbors and LapTrack, in sizes of a cell; of a child of LapTrack.
REACH, CHILD = 2.0, 1.0
#: The tracker should warn if it loses by more than this, or if fewer links are right.
LOSS, POOR = 0.005, 0.9
#: Changes of the culture of a laboratory, and pixels of a frame.
KINDS = {
    "DCellIQ": (DCELLIQ, {}, (460, 500)),
    "Mitocheck": (MITOCHECK, {}, (460, 500)),
    "tissue": (TISSUE, {}, (500, 500)),
    "dense tissue": (TISSUE, {"spacing": 230, "clumping": 0.0}, (400, 400)),
    "fast tissue": (TISSUE, {"spacing": 300, "speed": 0.3}, (400, 400)),
    "fast nuclei": (MITOCHECK, {"speed": 0.3, "persistence": 60}, (460, 500)),
    "fast sparse cells": (DCELLIQ, {"speed": 0.6, "spacing": 4000, "persistence": 90}, (460, 500)),
    "small nuclei": (MITOCHECK, {"area": 60, "spacing": 700, "speed": 0.2}, (460, 500)),
    "long nuclei": (DCELLIQ, {"ratio": 2.5, "spacing": 1500}, (460, 500)),
}
#: Standard deviations of the noise of log area, log intensity and eccentricity; share of missing detections.
ERRORS = {
    "intensity noise 0.3": {"intensity": 0.3},
    "intensity noise 0.8": {"intensity": 0.8},
    "area noise 0.6": {"area": 0.6},
    "eccentricity noise 0.3": {"eccentricity": 0.3},
    "noise in all": {"intensity": 0.3, "area": 0.3, "eccentricity": 0.2},
    "10 % missing": {"missing": 0.1},
}


def simulate(kind, seed, n_frames):
    """Return the film of the true masks of simulated nuclei, measured in their images."""
    laboratory, changes, shape = KINDS[kind]
    laboratory = replace(laboratory, culture=replace(laboratory.culture, **changes))
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    tracks, frames, rows = Tracks(), [], []
    for image, mask in take_film(laboratory, rng, n_frames, shape, tracks):
        numbers, cells = measure_nuclei(mask, image)
        frames.append(cells)
        rows.append(np.column_stack([np.arange(len(numbers)), numbers]))
    lineage = np.array([[label, *row] for label, row in tracks.rows.items()])
    return join_frames(frames, rows, Lineage(*lineage.T))


def with_errors(film, seed, area=0.0, intensity=0.0, eccentricity=0.0, missing=0.0):
    rng, n = np.random.default_rng(seed), len(film.frame)
    film = replace(
        film,
        area=film.area * np.exp(rng.normal(0, area, n)),
        intensity=film.intensity * np.exp(rng.normal(0, intensity, n)),
        eccentricity=np.clip(film.eccentricity + rng.normal(0, eccentricity, n), 0, 0.99),
    )
    kept = rng.random(n) >= missing
    rows = film.tracks[kept[film.tracks[:, 0]]]
    names = ("frame", "position", "area", "intensity", "eccentricity")
    return replace(
        film,
        **{name: getattr(film, name)[kept] for name in names},
        tracks=np.column_stack([(np.cumsum(kept) - 1)[rows[:, 0]], rows[:, 1]]),
    )


def linked(sources, targets, lineage, t):
    """Return the links between cells of two frames, given the tracks of each."""
    parents = dict(
        zip(
            lineage.label.tolist(),
            zip(lineage.begin.tolist(), lineage.parent.tolist(), strict=True),
            strict=True,
        )
    )
    holders = {}
    for i, of_cell in enumerate(sources):
        for track in of_cell:
            holders.setdefault(track, []).append(i)
    links = set()
    for j, of_cell in enumerate(targets):
        for track in of_cell:
            begin, parent = parents[track]
            links |= {(i, j) for i in holders.get(parent if begin == t + 1 else track, ())}
    return links


def nearest(before, after, size):
    """Link each cell of the second frame to the nearest of the first, so that cells may divide."""
    if not len(before) or not len(after):
        return set()
    distance, i = cKDTree(before.position).query(after.position)
    return {(int(i[j]), j) for j in np.flatnonzero(distance <= REACH * size).tolist()}


def scores(film, tracker):
    """Return the F1 of the links of each method between cells whose track is known, and the warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tracks = tracker.predict(film)
    n = len(film) - 1
    peer = lap_links(film, range(n), REACH, CHILD)
    counts = {name: np.zeros(3) for name in ("ours", "nearest", "LapTrack")}
    for t in range(n):
        before, after = film.cells(t), film.cells(t + 1)
        known = film.tracks_in(t), film.tracks_in(t + 1)
        true = linked(*known, film.true_lineage, t)
        labels = [[[label] for label in tracks.label[film.numbers(at)].tolist()] for at in (t, t + 1)]
        found = {
            "ours": linked(*labels, tracks.lineage, t),
            "nearest": nearest(before, after, typical_size([before, after])),
            "LapTrack": {(int(i), int(j)) for i, j in peer[t]},
        }
        for name, links in found.items():
            links = {(i, j) for i, j in links if known[0][i] and known[1][j]}
            counts[name] += len(links & true), len(links), len(true)
    f1 = {name: 2 * right / max(n_found + n_true, 1) for name, (right, n_found, n_true) in counts.items()}
    return f1, bool(told), tracker.report_


def films(options):
    """Yield the name and the film of each row."""
    for kind in options.kinds:
        film = simulate(kind, options.seed, options.frames)
        for step in options.steps:
            yield f"{kind}, every {step}", every_nth_frame(film, step)
        if kind in ("Mitocheck", "dense tissue"):
            slow = every_nth_frame(film, 2)
            for name, errors in ERRORS.items():
                yield f"{kind}, every 2, {name}", with_errors(slow, options.seed, **errors)
    if mirror := os.environ.get("ERMLAB_MIRROR"):
        yield from real_films(mirror)


def real_films(mirror):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cell_migration", "ctc_sim_truth"):
            with tarfile.open(Path(mirror) / f"{name}.tar.xz") as archive:
                archive.extractall(Path(folder) / name, filter="data")
        migration = read_cell_migration(next((Path(folder) / "cell_migration").iterdir()))
        shape = migration.truth.masks[0].shape
        challenge = film_of_masks(read_ctc_sim_truth(next((Path(folder) / "ctc_sim_truth").iterdir())))
    cells = {step: film_of_migration(sequence, shape) for step, sequence in migration.sequences.items()}
    for step, film in cells.items():
        yield f"migrating cells (real), every {step}", film
    for name, errors in ERRORS.items():
        yield f"migrating cells (real), every 2, {name}", with_errors(cells[2], 0, **errors)
    for step in (1, 4):
        yield f"challenge masks, every {step}", every_nth_frame(challenge, step)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), help="simulated ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", help="file of a tracker, by default the bundled one")
    parser.add_argument("--points", action="store_true", help="positions only, and the tracker of points")
    options = parser.parse_args()
    kind = "points" if options.points else "nuclei"
    tracker = CellTracker.load(options.model) if options.model else CellTracker.pretrained(kind)
    print("| Film | ermlab | nearest | LapTrack | warned | motion | interrupted |")
    print("|---|---|---|---|---|---|---|")
    right = {"warned": [0, 0], "silent": [0, 0]}
    for name, film in films(options):
        f1, warned, report = scores(positions_only(film) if options.points else film, tracker)
        trouble = f1["ours"] < f1["nearest"] - LOSS or f1["ours"] < POOR
        row = right["warned" if warned else "silent"]
        row[0] += trouble == warned
        row[1] += 1
        shown = " | ".join(f"{value:.3f}" for value in f1.values())
        told, found = "yes" if warned else "", report.found
        print(f"| {name} | {shown} | {told} | {found.motion:.2f} | {found.interrupted:.3f} |", flush=True)
    for name, (good, n) in right.items():
        print(f"{name}: right in {good} of {n} films")


if __name__ == "__main__":
    main()
