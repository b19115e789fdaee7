"""Tables of tracks, layers of napari, and GEFF graphs, which the reference implementation reads."""

import sys

import geff
import numpy as np
import pandas as pd
import pytest
from geff.core_io import read_to_memory
from geff.validate.data import ValidationConfig, validate_data
from geff.validate.structure import validate_structure
from skimage.measure import regionprops_table

from ermlab.exceptions import DataError
from ermlab.tracking import Lineage, napari_tracks, track_table, write_geff

#: Track 1 divides into 2 and 3, track 3 continues as 4 after a gap, track 9 is alone.
LINEAGE = Lineage(*np.array([[1, 0, 1, 0], [2, 2, 4, 1], [3, 2, 2, 1], [4, 4, 4, 3], [9, 1, 3, 0]]).T)


@pytest.fixture(scope="module")
def masks():
    frames = np.zeros((5, 30, 40), dtype=np.int32)
    for label, begin, end, _ in LINEAGE.rows():
        for t in range(begin, end + 1):
            frames[t, 3 * label : 3 * label + 3, 5 + t : 9 + 2 * t] = label
    return frames


@pytest.fixture
def table(masks):
    return track_table(masks, LINEAGE)


def test_tables_agree_with_scikit_image(masks):
    images = np.random.default_rng(0).uniform(1, 2, masks.shape)
    table = track_table(iter(masks), LINEAGE, iter(images))
    properties = ("label", "centroid", "area", "eccentricity", "intensity_mean")
    for t, (mask, image) in enumerate(zip(masks, images, strict=True)):
        expected = regionprops_table(mask, image, properties=properties)
        here = table[table["frame"] == t]
        np.testing.assert_array_equal(here["track_id"], expected["label"])
        np.testing.assert_allclose(here["y"], expected["centroid-0"])
        np.testing.assert_allclose(here["x"], expected["centroid-1"])
        np.testing.assert_allclose(here["area"], expected["area"])
        np.testing.assert_allclose(here["intensity"], expected["intensity_mean"])
    assert dict(zip(table["track_id"], table["parent_track_id"], strict=True)) == {
        1: 0,
        2: 1,
        3: 1,
        4: 3,
        9: 0,
    }
    assert dict(zip(table["track_id"], table["tree_id"], strict=True)) == {1: 1, 2: 1, 3: 1, 4: 1, 9: 9}


def test_tables_of_nothing_have_columns(masks):
    empty = track_table(0 * masks, Lineage.empty())
    assert len(empty) == 0
    assert {"frame", "y", "x", "track_id", "tree_id", "parent_track_id", "area"} <= set(empty.columns)
    assert napari_tracks(empty)[0].shape == (0, 4)
    with pytest.raises(ValueError, match="frame 0 has the label 1: expected those of the lineage"):
        track_table(masks, Lineage.empty())
    with pytest.raises(ValueError, match="2 images: expected one for each label image"):
        track_table(masks, LINEAGE, masks[:2])


def test_layers_of_napari(table):
    """As its Tracks layer requires: ordered by track, then frame, and a graph of known tracks."""
    data, graph = napari_tracks(table.sample(frac=1, random_state=0))
    assert data.shape == (len(table), 4)
    order = np.lexsort([data[:, 1], data[:, 0]])
    np.testing.assert_array_equal(order, np.arange(len(data)))
    assert graph == {2: [1], 3: [1], 4: [3]}
    np.testing.assert_allclose(data[0], [1, 0, 4, 6.5])


def test_geff_files_are_valid(table, tmp_path):
    names = {"frame": "t", "y": "POSITION_Y", "x": "POSITION_X"}
    write_geff(tmp_path / "tracks.geff", table.rename(columns=names).assign(name="text", bad=np.nan))
    validate_structure(str(tmp_path / "tracks.geff"))
    memory = read_to_memory(str(tmp_path / "tracks.geff"))
    validate_data(memory, ValidationConfig(graph=True, lineage=True, tracklet=True))
    assert [axis.name for axis in memory["metadata"].axes] == ["t", "y", "x"]
    graph, _ = geff.read(str(tmp_path / "tracks.geff"))
    assert len(graph) == len(table)
    edges = {
        tuple((graph.nodes[node]["track_id"], graph.nodes[node]["t"]) for node in edge)
        for edge in graph.edges
    }
    assert edges == {
        ((1, 0), (1, 1)),
        ((1, 1), (2, 2)),
        ((1, 1), (3, 2)),
        ((2, 2), (2, 3)),
        ((2, 3), (2, 4)),
        ((3, 2), (4, 4)),
        ((9, 1), (9, 2)),
        ((9, 2), (9, 3)),
    }
    assert set(graph.nodes[0]) == {"t", "y", "x", "track_id", "parent_track_id", "tree_id", "tracklet_id"} | {
        "area",
        "eccentricity",
    }
    with pytest.raises(DataError, match=r"tracks\.geff: it exists; expected a new folder"):
        write_geff(tmp_path / "tracks.geff", table)


def test_geff_files_of_nothing_and_single_rows(table, tmp_path):
    write_geff(tmp_path / "one.geff", table.iloc[:1])
    assert len(geff.read(str(tmp_path / "one.geff"))[0]) == 1
    write_geff(tmp_path / "none.geff", table.iloc[:0])
    assert len(read_to_memory(str(tmp_path / "none.geff"))["node_ids"]) == 0


def test_geff_is_named_if_it_is_missing(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "geff.core_io", None)
    monkeypatch.setitem(sys.modules, "geff", None)
    with pytest.raises(ImportError, match=r"write_geff needs geff: run `pip install 'ermlab\[zarr\]'`"):
        write_geff(tmp_path / "tracks.geff", table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="track_id"), "no column 'track_id': expected track_id, tree_id, parent"),
        (lambda t: t.drop(columns="y"), "no column for 'y'"),
        (lambda t: pd.concat([t, t]), "track 1 is in frame 0 twice"),
        (lambda t: t.assign(parent_track_id=77), "the parent 77 is no track of the table"),
    ],
)
def test_broken_tables_are_refused(table, tmp_path, change, message):
    for use in (napari_tracks, lambda t: write_geff(tmp_path / "tracks.geff", t)):
        with pytest.raises(ValueError, match=message):
            use(change(table))
    assert not (tmp_path / "tracks.geff").exists()
