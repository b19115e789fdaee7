"""Parts of pictures, by what can be computed in another way."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform

from ermlab.tracking.ctc import Lineage
from reproduction.plotting.pictures import (
    central_square,
    graph_layout,
    label_edges,
    outline_boxes,
    plot_lifelines,
    show_montage,
    spread,
    stretch,
)

pytestmark = pytest.mark.usefixtures("figure_style")


def test_a_path_is_drawn_straight_and_to_scale():
    n = 6
    path = csr_array(np.eye(n, k=1) + np.eye(n, k=-1))
    apart = squareform(pdist(graph_layout(path, steps=2000)))
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(n), range(n))), atol=0.02)


def test_graphs_in_two_pieces_and_of_one_node_have_a_layout():
    assert np.isfinite(graph_layout(csr_array((4, 4)))).all()
    assert graph_layout(csr_array((1, 1))).shape == (1, 2)


def test_label_edges_by_definition():
    labels = np.random.default_rng(0).integers(0, 3, (6, 7))
    for row, column in np.ndindex(labels.shape):
        neighbors = [labels[row, column + 1]] if column + 1 < 7 else []
        neighbors += [labels[row + 1, column]] if row + 1 < 6 else []
        assert label_edges(labels)[row, column] == any(labels[row, column] != other for other in neighbors)


def test_spread_covers_the_range_without_repeats():
    assert spread(100, 4).tolist() == [0, 33, 66, 99]
    assert spread(2, 5).tolist() == [0, 1]


def test_stretch_fills_the_range_and_bears_a_constant_image():
    assert np.ptp(stretch(np.arange(10000).reshape(100, 100))) == 255
    assert stretch(np.full((4, 4), 9)).max() == 0


def test_central_square():
    image = np.zeros((40, 100, 3))
    image[:, 30:70] = 1
    assert central_square(image).shape == (40, 40, 3)
    assert central_square(image).min() == 1
    assert central_square(image, pixels=20).shape == (20, 20, 3)


def test_montage_keeps_images_in_reading_order():
    ax = Figure().subplots()
    images = np.arange(3, dtype=np.uint8)[:, None, None] * np.ones((3, 2, 4), dtype=np.uint8)
    show_montage(ax, images, columns=2, title="")
    grid = ax.images[0].get_array()
    assert grid.shape == (6, 10)
    assert [grid[0, 0], grid[0, 5], grid[3, 0], grid[3, 5]] == [0, 1, 2, 255]


def test_outlines_run_around_inclusive_corners():
    ax = Figure().subplots()
    outline_boxes(ax, np.array([[2, 3, 2, 5]]))
    assert ax.patches[0].get_bbox().extents.tolist() == [1.5, 2.5, 2.5, 5.5]


def test_lifelines_put_children_next_to_their_parent():
    ax = Figure().subplots()
    lineage = Lineage(*np.array([[1, 0, 1, 0], [2, 0, 9, 0], [3, 2, 9, 1], [4, 2, 9, 1]]).T)
    plot_lifelines(ax, lineage)
    rows = [line.get_ydata()[0] for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[1]]
    assert rows == [0, 3, 1, 2]
