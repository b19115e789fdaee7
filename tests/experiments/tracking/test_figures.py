"""The figures of tracking draw the cells, events, tracks and losses that they are given."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import ConnectionPatch
from PIL import Image

from ermlab.tracking.assignment import Assigner
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import Gates, hypotheses_between
from ermlab.tracking.films import CellFilm, frame_pairs
from ermlab.tracking.lineage import CellTracks
from reproduction.experiments.tracking.evaluate import STUDIES, TITLES
from reproduction.experiments.tracking.figures import hypothesis_table, plot_hypotheses, plot_losses
from reproduction.experiments.tracking.links import links_of
from reproduction.experiments.tracking.scenes import TrackedFrames
from reproduction.experiments.tracking.track_figures import (
    animate_tracks,
    draw_tree,
    families,
    plot_links,
    plot_tracks_on_frames,
    plot_trees,
)

PUBLISHED = {"graph_matching": 6.18, "l2": 0.3}


@pytest.fixture
def film():
    """Cell 1 stays, cell 2 divides into 3 and 4."""
    return CellFilm(
        frame=np.array([0, 0, 1, 1, 1]),
        position=np.array([[10.0, 10.0], [30, 30], [11, 10], [26, 30], [34, 30]]),
        area=np.array([60.0, 80, 60, 40, 40]),
        intensity=np.ones(5),
        eccentricity=np.zeros(5),
        shape=np.array([48, 48]),
        n_frames=2,
        tracks=np.column_stack([np.arange(5), [1, 2, 1, 3, 4]]),
        lineage=np.array([[1, 0, 1, 0], [2, 0, 0, 0], [3, 1, 1, 2], [4, 1, 1, 2]]),
    )


@pytest.fixture
def tracked():
    masks = np.zeros((2, 48, 48), dtype=np.int32)
    masks[:, 5:12, 5:12] = 1
    masks[0, 26:36, 26:36] = 2
    masks[1, 22:28, 26:36], masks[1, 32:38, 26:36] = 3, 4
    images = (1000 * (masks > 0) + np.arange(48)).astype(np.uint16)
    return TrackedFrames(images, masks, np.array([[1, 0, 1, 0], [2, 0, 0, 0], [3, 1, 1, 2], [4, 1, 1, 2]]))


@pytest.fixture
def values():
    loss = {method: 0.5 * k for k, method in enumerate(TITLES)}
    spread = {method: [0.1, 2.0] for method in TITLES}
    return {"studies": {name: {"loss": loss, "interval": spread} for name in STUDIES}}


def test_hypotheses_are_drawn_and_listed(film):
    before, after = film.cells(0), film.cells(1)
    hypotheses = hypotheses_between(before, after, Gates(n_neighbors=3))
    scores = np.where(
        np.isin(np.arange(len(hypotheses)), frame_pairs(film, Gates(n_neighbors=3))[0].annotation.events),
        1.0,
        -1.0,
    )
    y = Assigner(hypotheses).best(scores)
    images = np.random.default_rng(0).integers(0, 255, (2, 48, 48))
    fig = plot_hypotheses(images, before, after, hypotheses, scores, y)
    fig.canvas.draw()
    table = hypothesis_table(hypotheses, scores, y)
    assert len(table) == len(hypotheses)
    assert table[table["y"] == 1][["event", "from", "to"]].to_numpy().tolist() == [
        ["move", "1", "a"],
        ["division", "2", "b, c"],
    ]
    arrows = fig.findobj(ConnectionPatch)
    links = ((hypotheses.sources >= 0).sum(axis=1) * (hypotheses.targets >= 0).sum(axis=1)).sum()
    assert len(arrows) == links


def test_links_are_told_right_from_wrong(film):
    (pair,) = frame_pairs(film, Gates())
    truth = np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events)
    right = links_of(pair.hypotheses, truth)
    fig = plot_links(film, pair, {"right": right, "wrong": np.array([[0, 1]])}, (0, 0, 48))
    counts = [
        [
            len(collection.get_segments())
            for collection in ax.collections
            if hasattr(collection, "get_segments")
        ]
        for ax in fig.axes
    ]
    assert counts == [[3, 0, 0], [0, 3, 1]]


def test_tracks_on_frames_stand_and_move(tracked, tmp_path):
    fig = plot_tracks_on_frames(tracked, [0, 1])
    assert [ax.get_title() for ax in fig.axes] == ["frame 0", "frame 1"]
    shown = animate_tracks(tracked, tmp_path / "sub" / "film.webp", pixels=100)
    with Image.open(tmp_path / "sub" / "film.webp") as film:
        assert film.n_frames == 2
        assert film.size == (100, 100)
    assert re.match(r'<img src="data:image/webp;base64,[\w+/=]+" width="100"', shown.data)
    assert not plt.get_fignums()[1:]


def test_families_are_those_with_divisions(film):
    lineage = Lineage(
        *np.array([[1, 0, 5, 0], [2, 0, 2, 0], [3, 3, 5, 2], [4, 3, 3, 2], [5, 4, 5, 4], [6, 4, 5, 4]]).T
    )
    assert families(lineage) == [[2, 3, 4, 5, 6]]
    _, ax = plt.subplots()
    assert draw_tree(ax, lineage, families(lineage)[0], 2.0) == 3
    assert len(ax.lines) == 5 + 4
    heights = np.concatenate([line.get_ydata() for line in ax.lines])
    assert (heights.min(), heights.max()) == (2.0, 4.0)


def test_trees_of_the_same_cells_stand_side_by_side(film):
    """Cell 2 divides; what is found follows it as one cell, under another label."""
    found = CellTracks(
        np.array([7, 3, 7, 3, 9]),
        Lineage(np.array([3, 7, 9]), np.array([0, 0, 1]), np.array([1, 1, 1]), np.zeros(3, dtype=int)),
    )
    annotated, other = plot_trees(film, found, 0).axes
    assert annotated.get_title() == "annotated: 1 of 1 families with divisions"
    assert len(annotated.lines) == 3 + 2
    assert [list(line.get_xdata()) for line in other.lines] == [[0, 2]]


def test_trees_of_other_frames_than_the_tracks(film):
    one_frame = CellTracks(np.array([1, 2, 3]), Lineage(np.arange(1, 4), *np.zeros((3, 3), dtype=int)))
    with pytest.raises(ValueError, match="tracks of 3 detections: expected the 2 of frames 0 to 0"):
        plot_trees(film, one_frame, 0)


def test_losses_are_drawn_next_to_the_published(values):
    fig = plot_losses(values, PUBLISHED)
    first = fig.axes[0]
    drawn = {
        float(line.get_xdata()[0])
        for line in first.lines
        if line.get_marker() == "D" and len(line.get_xdata())
    }
    assert drawn == set(PUBLISHED.values())
    assert [ax.get_title() for ax in fig.axes] == list(STUDIES.values())
