"""A frame with tracks shows each cell's outline, its path, and the line to its parent."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from ermlab.tracking.ctc import Lineage
from ermlab.tracking.plotting import show_tracked_frame

pytestmark = pytest.mark.usefixtures("figure_style")


def mask_of(**cells):
    mask = np.zeros((20, 30), dtype=int)
    for label, column in cells.items():
        mask[8:12, column : column + 4] = int(label[1:])
    return mask


def test_paths_and_divisions_are_drawn():
    masks = [mask_of(c1=10), mask_of(c1=11), mask_of(c2=6, c3=16)]
    lineage = Lineage(*np.array([[1, 0, 1, 0], [2, 2, 2, 1], [3, 2, 2, 1]]).T)
    ax = plt.figure().subplots()
    show_tracked_frame(ax, np.where(masks[2] > 0, 100.0, 10.0), masks, lineage, 2, "last")
    paths, divisions = ax.collections
    assert [path.vertices.tolist() for path in paths.get_paths()] == [[[7.5, 9.5]], [[17.5, 9.5]]]
    assert [path.vertices.tolist() for path in divisions.get_paths()] == [
        [[12.5, 9.5], [7.5, 9.5]],
        [[12.5, 9.5], [17.5, 9.5]],
    ]
    outline = ax.images[1].get_array()
    assert (outline[..., 3] > 0).sum() == 24
    assert not np.array_equal(outline[8, 6], outline[8, 16])
    ax.figure.canvas.draw()


def test_earlier_frames_show_the_path_so_far_and_empty_ones_nothing():
    masks = [mask_of(c1=10), mask_of(c1=11), mask_of()]
    lineage = Lineage(*np.array([[1, 0, 1, 0]]).T)
    first, last = plt.figure().subplots(2)
    show_tracked_frame(first, masks[1], masks, lineage, 1)
    assert first.collections[0].get_paths()[0].vertices.tolist() == [[11.5, 9.5], [12.5, 9.5]]
    show_tracked_frame(last, np.zeros((20, 30)), masks, lineage, 2)
    assert last.collections[0].get_paths() == []
    first.figure.canvas.draw()
