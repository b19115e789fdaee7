"""The readers on the real data: published counts, and what is known of the data from elsewhere."""

import itertools

import numpy as np
import pytest
from scipy.spatial import KDTree
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, recall_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
from sklearn.svm import SVC

from reproduction.datasets.cell_migration import UNTRACKED, read_cell_migration
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth
from reproduction.datasets.daimler_pedestrians import read_daimler_pedestrians
from reproduction.datasets.drive_vessels import read_drive_vessels
from reproduction.datasets.flowers17 import read_flowers17
from reproduction.datasets.graphs_tu import read_graphs_tu
from reproduction.datasets.haxby2001_slice import REST, read_haxby2001_slice
from reproduction.datasets.kit_ais_cars import read_kit_ais_cars
from reproduction.datasets.letters import read_letters
from reproduction.datasets.mslr_5k import read_mslr_5k
from reproduction.datasets.mutag import read_mutag
from reproduction.datasets.newsgroups20 import ancestors, read_newsgroups20
from reproduction.datasets.snakes import LENGTH, STEP_COLORS, read_snakes
from reproduction.datasets.uiuc_cars import read_uiuc_cars
from reproduction.datasets.voc2007_sample import CLASSES, read_voc2007_sample
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts


def boxes_that_leave(scenes):
    """Count boxes with a corner outside their image."""
    count = 0
    for image, boxes in zip(scenes.images, scenes.boxes, strict=True):
        height, width = image.shape
        count += ((boxes[:, :2] < 0).any(axis=1) | (boxes[:, 2] >= width) | (boxes[:, 3] >= height)).sum()
    return count


def test_uiuc_cars(acquired):
    data = read_uiuc_cars(acquired("uiuc_cars"))
    assert len(data.cars) == 550
    assert len(data.others) == 500
    assert len(data.single_scale.images) == 170
    assert sum(map(len, data.single_scale.boxes)) == 200
    assert len(data.multi_scale.images) == 108
    assert sum(map(len, data.multi_scale.boxes)) == 139
    assert boxes_that_leave(data.single_scale) == 18
    # With heights of .4 width, not rounded to pixels, a twentieth leaves by a fifth of a pixel.
    assert boxes_that_leave(data.multi_scale) == 19


def test_uiuc_boxes_are_on_cars(acquired):
    """What the boxes hold looks like the mean crop of a car: row and column are not mixed up."""
    data = read_uiuc_cars(acquired("uiuc_cars"))
    pattern = data.cars.mean(axis=0)
    pattern = (pattern - pattern.mean()).ravel()

    def likeness(image, left, top):
        window = image[top : top + 40, left : left + 100].astype(float)
        return np.corrcoef(window.ravel(), pattern)[0, 1]

    right, elsewhere = [], []
    rng = np.random.default_rng(0)
    for image, boxes in zip(data.single_scale.images, data.single_scale.boxes, strict=True):
        height, width = image.shape
        for left, top, last_column, last_row in boxes:
            if left >= 0 and top >= 0 and last_column < width and last_row < height:
                right.append(likeness(image, left, top))
                elsewhere.append(likeness(image, rng.integers(width - 99), rng.integers(height - 39)))
    assert np.mean(right) > np.mean(elsewhere) + 0.2


def test_voc2007_sample(acquired):
    data = read_voc2007_sample(acquired("voc2007_sample"))
    assert len(data.images) == 100
    assert sum(map(len, data.boxes)) == 273
    assert set(np.concatenate(data.labels).tolist()) == set(range(len(CLASSES)))
    assert all(image.ndim == 3 for image in data.images)


def test_daimler_pedestrians(acquired):
    data = read_daimler_pedestrians(acquired("daimler_pedestrians"))
    sets = data.train + data.test
    assert len(sets) == 5
    assert all(crops.pedestrians.shape == (4800, 36, 18) for crops in sets)
    assert all(crops.others.shape == (5000, 36, 18) for crops in sets)
    mirrored = [(crops.pedestrians[1::6] == crops.base[:, :, ::-1]).all(axis=(1, 2)).sum() for crops in sets]
    assert mirrored == [800, 800, 800, 800, 764]
    distinct = [len(np.unique(crops.others, axis=0)) for crops in sets]
    assert distinct == [5000, 4937, 5000, 5000, 5000]


def test_kit_ais_cars(acquired):
    data = read_kit_ais_cars(acquired("kit_ais_cars"))
    assert len(data.images) == 29
    assert sum(len(data.cars(frame)) for frame in range(29)) == 1085
    assert sum(map(len, data.boxes)) == 1085 + 21
    scenes, frames = np.unique(data.scenes, return_counts=True)
    assert scenes.tolist() == ["MOS155-179", "MOS74-92", "MunichStreet02"]
    assert frames.tolist() == [9, 10, 10]
    # Cars are about 35 x 17 pixels, in any direction.
    boxes = np.vstack([data.cars(frame) for frame in range(29)])
    sides = boxes[:, 2:] - boxes[:, :2] + 1
    assert 25 < np.median(sides.max(axis=1)) < 45
    assert 12 < np.median(sides.min(axis=1)) < 30


def test_flowers17(acquired):
    data = read_flowers17(acquired("flowers17"))
    assert np.bincount(data.labels).tolist() == [80] * 17
    assert all(image.shape[2] == 3 and min(image.shape[:2]) >= 300 for image in data.images[::80])


def test_drive_vessels(acquired):
    data = read_drive_vessels(acquired("drive_vessels"))
    assert data.training.numbers.tolist() == list(range(21, 41))
    assert data.test.numbers.tolist() == list(range(1, 21))
    assert data.training.pathological.sum() == 3
    assert data.test.pathological.sum() == 4
    assert {image.shape for image in data.training.images} == {(584, 565, 3)}


def test_second_observer_of_drive(acquired):
    """The published figures of the second observer, which are means over the test photographs."""
    test = read_drive_vessels(acquired("drive_vessels")).test
    found = []
    for field, first, second in zip(test.fields, test.first, test.second, strict=True):
        truth, marked = first[field], second[field]
        found.append(
            [
                recall_score(truth, marked),
                recall_score(~truth, ~marked),
                precision_score(truth, marked),
                f1_score(truth, marked),
                matthews_corrcoef(truth, marked),
                (truth == marked).mean(),
            ]
        )
    published = [0.7760, 0.9725, 0.8066, 0.7881, 0.7601, 0.9473]
    np.testing.assert_allclose(np.mean(found, axis=0), published, atol=6e-5)


def test_newsgroups20(acquired):
    data = read_newsgroups20(acquired("newsgroups20"))
    assert len(data.train.texts) == 11314
    assert len(data.test.texts) == 7532
    assert len(data.groups) == 20
    tops = {ancestors(group)[0] for group in data.groups}
    assert tops == {"alt", "comp", "misc", "rec", "sci", "soc", "talk"}
    for group, word in (("rec.sport.hockey", "nhl"), ("sci.crypt", "encryption"), ("sci.space", "orbit")):
        among = data.train.labels == data.groups.index(group)
        says = np.array([word in text.lower() for text in data.train.texts])
        assert says[among].mean() > 5 * says[~among].mean()


def test_haxby2001_slice(acquired):
    data = read_haxby2001_slice(acquired("haxby2001_slice"))
    assert data.bold.shape == (40, 20, 1, 1452)
    assert data.repetition_time == 2.5
    assert np.bincount(data.runs).tolist() == [121] * 12
    kinds, volumes = np.unique(data.labels[data.labels != REST], return_counts=True)
    assert len(kinds) == 8
    assert volumes.tolist() == [108] * 8


def test_haxby_labels_fit_the_volumes(acquired):
    """A linear classifier names the category of volumes of a run it has not seen, far above chance (1/8)."""
    data = read_haxby2001_slice(acquired("haxby2001_slice"))
    seen = data.labels != REST
    volumes = data.bold[data.mask].T.astype(float)
    for run in np.unique(data.runs):
        volumes[data.runs == run] -= volumes[data.runs == run].mean(axis=0)
    correct = cross_val_score(
        SVC(kernel="linear"), volumes[seen], data.labels[seen], groups=data.runs[seen], cv=LeaveOneGroupOut()
    )
    assert correct.mean() > 0.5


def test_wager2008_contrasts(acquired):
    data = read_wager2008_contrasts(acquired("wager2008_contrasts"))
    assert data.maps.shape == (30, 47, 56, 31)
    assert len(data.score) == 30
    assert np.isfinite(data.maps[:, data.mask]).all()
    assert data.mask.mean() > 0.9
    # The first line of the published table.
    assert (data.prefrontal[0], data.score[0]) == (1.6567, 0.5518)


def wrong_neighbours(detections):
    """Count moves from one frame to the next, and those that do not end at the nearest tracked cell."""
    moves = wrong = 0
    for frame in range(detections.frame.max()):
        here, there = ((detections.frame == t) & (detections.track != UNTRACKED) for t in (frame, frame + 1))
        stays = np.isin(detections.track[here], detections.track[there])
        nearest = KDTree(detections.centroid[there]).query(detections.centroid[here][stays])[1]
        moves += stays.sum()
        wrong += (detections.track[there][nearest] != detections.track[here][stays]).sum()
    return moves, wrong


def test_cell_migration(acquired):
    data = read_cell_migration(acquired("cell_migration"))
    full = data.sequences[1]
    assert len(data.truth.masks) == 86
    assert len(full.lineage) == 571
    assert len(full.detections) == 27630
    assert (full.detections.track == UNTRACKED).sum() == 1543
    parents, children = np.unique(full.lineage.parent[full.lineage.parent > 0], return_counts=True)
    assert (children == 2).sum() == 100
    assert (children == 3).sum() == 1
    assert full.lineage.dividing.tolist() == parents.tolist()
    assert wrong_neighbours(full.detections) == (25516, 1)
    for step, share in ((2, 0.005), (4, 0.16)):
        moves, wrong = wrong_neighbours(data.sequences[step].detections)
        assert wrong / moves == pytest.approx(share, abs=0.005)


def test_cell_detections_lie_on_their_masks(acquired):
    data = read_cell_migration(acquired("cell_migration"))
    detections = data.sequences[1].detections
    for frame in (0, 40, 85):
        here = (detections.frame == frame) & (detections.track != UNTRACKED)
        rows, columns = np.rint(detections.centroid[here]).astype(int).T
        assert (data.truth.masks[frame][rows, columns] == detections.track[here]).mean() > 0.99


def test_ctc_hela02_images(acquired):
    data = read_ctc_hela02_images(acquired("ctc_hela02_images"))
    assert data.images.shape == data.segmentation.shape == (20, 700, 1100)
    inside, outside = data.images[data.segmentation > 0], data.images[data.segmentation == 0]
    assert inside.mean() > outside.mean() + 3 * outside.std()


def test_ctc_sim_truth(acquired):
    data = read_ctc_sim_truth(acquired("ctc_sim_truth"))
    assert len(data.masks) == 65
    assert len(data.lineage) == 95
    assert len(data.lineage.dividing) == 28
    assert sum(len(np.unique(mask)) - 1 for mask in data.masks) == 2607


def test_graphs_tu(acquired):
    data = read_graphs_tu(acquired("graphs_tu"))
    mutag, enzymes = data["MUTAG"], data["ENZYMES"]
    assert len(mutag) == 188
    assert len(enzymes) == 600
    assert np.bincount(enzymes.labels).tolist() == [0, 100, 100, 100, 100, 100, 100]
    assert {attributes.shape[1] for attributes in enzymes.node_attributes} == {18}
    for graphs in data.values():
        for adjacency in graphs.adjacency:
            assert (adjacency != adjacency.T).nnz == 0


def test_mutag_is_a_part_of_the_collection(acquired):
    alone = read_mutag(acquired("mutag"))
    part = read_graphs_tu(acquired("graphs_tu"))["MUTAG"]
    assert alone.labels.tolist() == part.labels.tolist()
    assert all((one != other).nnz == 0 for one, other in zip(alone.adjacency, part.adjacency, strict=True))


def test_mslr_5k_against_scikit_learn(acquired):
    folder = acquired("mslr_5k")
    data = read_mslr_5k(folder)
    for part, name in ((data.train, "train"), (data.test, "test")):
        path = folder / f"msn1.fold1.{name}.5k.txt"
        features, relevance, query = load_svmlight_file(str(path), query_id=True, n_features=136)
        np.testing.assert_array_equal(part.features, features.toarray())
        np.testing.assert_array_equal(part.relevance, relevance)
        np.testing.assert_array_equal(part.query, query)
        assert len(part) == 5000
        assert len(np.unique(part.query)) == 43


def test_letters(acquired):
    data = read_letters(acquired("letters"))
    assert len(data) == 6877
    assert sum(map(len, data.labels)) == 52152
    assert np.bincount(data.folds).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert len(set(data.words)) == 55
    assert data.words[0] == "ommanding"


def test_letters_are_upright(acquired):
    """A letter p has ink below on the left alone, a letter d above on the right: nothing is transposed."""
    data = read_letters(acquired("letters"))
    images, labels = np.concatenate(data.images), np.concatenate(data.labels)
    p, d = (images[labels == "abcdefghijklmnopqrstuvwxyz".index(letter)].mean(axis=0) for letter in "pd")
    assert p[12:, :4].sum() > 3 * p[12:, 4:].sum()
    assert d[:4, 4:].sum() > 3 * d[:4, :4].sum()


def test_snakes_follow_their_colors(acquired):
    data = read_snakes(acquired("snakes"))
    assert (len(data.train), len(data.test)) == (200, 100)
    for part in (data.train, data.test):
        for colors, labels in zip(part.colors, part.labels, strict=True):
            cells = [np.argwhere(labels == number)[0] for number in range(1, LENGTH + 1)]
            for cell, following in itertools.pairwise(cells):
                assert (cell + list(STEP_COLORS)[colors[tuple(cell)] - 1] == following).all()
