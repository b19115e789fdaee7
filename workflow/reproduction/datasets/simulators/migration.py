"""Simulated tissue in the layout of the cell migration data set."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import tifffile
from skimage.measure import regionprops_table

from reproduction.datasets.nuclei_films import DCELLIQ
from reproduction.datasets.simulators.nuclei import Tracks, save_image, take_film

#: Frames of the film, and the pixels of a frame.
SIZES = {"smoke": (15, (260, 260)), "demo": (86, (640, 640)), "paper": (86, (1024, 1024))}
#: As in the real film: nuclei of 440 pixels, one per 2000 pixels, that move by a seventh of their diameter
#: between frames and divide three times per thousand frames.
TISSUE = replace(
    DCELLIQ,
    number=5,
    culture=replace(
        DCELLIQ.culture, spacing=500, clumping=0.1, area=110, ratio=1.3, speed=0.09, cycle=60 * 60, death=1
    ),
    microscope=replace(DCELLIQ.microscope, pixel=0.5, photons=600),
)
_PROPERTIES = (
    "label",
    "centroid",
    "area",
    "intensity_mean",
    "intensity_max",
    "eccentricity",
    "orientation",
)
#: Frames and pixels of the example images.
_EXAMPLES, _DETAIL = 6, 200


def write_tissue(
    folder: Path, rng: np.random.Generator, frames: int, shape: tuple[int, int], steps: Sequence[int]
) -> None:
    """Write tables and lineages for each step between frames, masks for every frame, and example images."""
    tracks = Tracks()
    images, masks, tables = [], [], []
    for frame, (image, mask) in enumerate(take_film(TISSUE, rng, frames, shape, tracks)):
        tables.append(
            pd.DataFrame(regionprops_table(mask, image, properties=_PROPERTIES)).assign(frame=frame)
        )
        masks.append(mask)
        if frame < _EXAMPLES:
            images.append(image)
    table = pd.concat(tables, ignore_index=True)
    lineage = np.array([[label, *row] for label, row in tracks.rows.items()])
    lineage = _away_from_border(masks, lineage)
    label, begin, end, _ = lineage.T
    life = pd.DataFrame({"begin": begin, "end": end}, index=label).reindex(table["label"])
    alive = (life["begin"].to_numpy() <= table["frame"]) & (table["frame"] <= life["end"].to_numpy())
    table["track"] = table["label"].where(alive)
    for step in steps:
        _write_step(folder / "organized_data" / f"Sparse{step}", table, lineage, step)
    truth = folder / "organized_data" / "Sparse1" / "02_GT" / "TRA"
    for frame, mask in enumerate(masks):
        here = label[(begin <= frame) & (frame <= end)]
        save_image(np.where(np.isin(mask, here), mask, 0), truth / f"man_track{frame:03d}.tif")
    detail = np.s_[:_EXAMPLES, :_DETAIL, :_DETAIL]
    for name, pages in (("images", images), ("label", masks)):
        pages = np.stack(pages[:_EXAMPLES])[detail]
        tifffile.imwrite(folder / f"example_{name}.tif", pages, photometric="minisblack")


def _away_from_border(masks: Iterable[np.ndarray], lineage: np.ndarray) -> np.ndarray:
    """Return the lineage with tracks from leaving the border to touching it again.

    A track that is cut at its beginning has no parent, and one that is cut at its end no children.
    """
    meets = [set(np.unique(np.concatenate([m[0], m[-1], m[:, 0], m[:, -1]])).tolist()) for m in masks]
    kept: dict[int, list[int]] = {}
    for label, begin, end, parent in lineage.tolist():  # parents stand before their children
        while begin <= end and label in meets[begin]:
            begin, parent = begin + 1, 0
        last = begin
        while last < end and label not in meets[last + 1]:
            last += 1
        if begin <= end:
            follows = parent in kept and kept[parent][2] == begin - 1
            kept[label] = [label, begin, last, parent if follows else 0]
    return np.array(list(kept.values())).reshape(-1, 4)


def _write_step(folder: Path, table: pd.DataFrame, lineage: np.ndarray, step: int) -> None:
    """Write every ``step``-th frame; a track that begins between two of them starts in the later one."""
    here = table[table["frame"] % step == 0].copy()
    here["frame"] //= step
    label, begin, end, parent = lineage.T
    begin, end = -(-begin // step), end // step
    seen = begin <= end
    rows = np.column_stack([label, begin, end, np.where(np.isin(parent, label[seen]), parent, 0)])[seen]
    truth = folder / "02_GT" / "TRA"
    truth.mkdir(parents=True, exist_ok=True)
    here.to_csv(folder / "regionprops.csv", index=False)
    np.savetxt(truth / "man_track.txt", rows, fmt="%d")
