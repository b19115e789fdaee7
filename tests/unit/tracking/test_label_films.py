"""Films of label images: compressed, relabeled on access, measured one frame at a time."""

import gc
import weakref

import numpy as np
import pytest

from ermlab.tracking import CellTracker, DetectionSettings, LabelFilm, measure, measured_frames, relabel
from ermlab.tracking.cell_detection import detect_frames, measure_nuclei
from ermlab.tracking.cells import join_frames


def discs(n_frames=5, size=60, n=4):
    """Return label images of discs that move to the right, with labels that change from frame to frame."""
    rng = np.random.default_rng(0)
    row, column = np.indices((size, size + 40))
    masks = np.zeros((n_frames, size, size + 40), dtype=np.int32)
    for t, mask in enumerate(masks):
        for label, k in zip(rng.permutation(n) + 1 + 10 * t, range(n), strict=True):
            mask[np.hypot(row - 8 - 14 * k, column - 12 - 2 * t) < 5] = label
    return masks


def test_frames_come_back_as_they_were():
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, top, (7, 9)) for top in (2, 200, 300, 70_000)] + [np.zeros((7, 9), dtype=int)]
    film = LabelFilm(frames)
    assert len(film) == 5
    for found, frame in zip(film, frames, strict=True):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, frame)
    np.testing.assert_array_equal(film[-2], frames[-2])
    np.testing.assert_array_equal(np.asarray(film[1:3]), np.stack(frames[1:3]))
    film[0][:] = 7  # a copy
    np.testing.assert_array_equal(film[0], frames[0])
    with pytest.raises(IndexError):
        film[5]


def test_labels_are_those_of_relabel():
    """The same as `relabel`, which looks at all pixels."""
    masks = discs()
    regions, cells = zip(*measured_frames(masks), strict=True)
    film = join_frames(cells)
    label = np.random.default_rng(1).integers(1, 99, len(film.frame))
    found = LabelFilm(regions).with_labels([label[film.numbers(t)] for t in range(len(film))])
    for ours, expected in zip(found, relabel(masks, film, label), strict=True):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(ValueError, match="labels of 1 frames: expected 5"):
        found.with_labels([[1]])


def test_film_takes_a_small_part_of_the_memory_of_its_pixels():
    masks = discs(3, size=800, n=40)
    assert sum(len(frame.content) for frame in LabelFilm(masks)._frames) < masks.nbytes / 100


def test_regions_are_measured_by_label():
    mask = np.zeros((20, 20), dtype=np.uint16)
    mask[2:6, 2:6], mask[2:6, 6:9], mask[10, 10] = 60_000, 3, 7  # the first two touch
    ((regions, cells),) = measured_frames([mask])
    assert cells.area.tolist() == [12, 1, 16]
    assert np.unique(regions[mask == 60_000]).tolist() == [3]
    assert cells.intensity.tolist() == [1, 1, 1]
    assert cells.position[2].tolist() == measure(mask)[1].position[2].tolist() == [3.5, 3.5]


def test_intensities_are_those_of_the_detection():
    row, column = np.indices((120, 160))
    image = np.random.default_rng(0).normal(100, 1, (120, 160))
    for light, (y, x) in zip((50, 80, 110), ((30, 30), (60, 110), (90, 50)), strict=True):
        image += light * (np.hypot(row - y, column - x) < 9)
    ((labels, detected),) = detect_frames([image])
    numbers, cells = measure_nuclei(labels * 5, image)
    assert numbers.tolist() == [5, 10, 15]
    np.testing.assert_allclose(cells.intensity, detected.intensity, rtol=0.03)
    np.testing.assert_allclose(cells.intensity, [50, 80, 110], rtol=0.1)
    # Offset and unit of the camera do not matter.
    np.testing.assert_allclose(
        measure_nuclei(labels, 1e30 * image)[1].intensity, 1e30 * cells.intensity, rtol=1e-3
    )
    np.testing.assert_allclose(measure_nuclei(labels, image + 500)[1].intensity, cells.intensity, rtol=1e-3)
    assert (measure_nuclei(labels, np.zeros_like(image))[1].intensity > 0).all()


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.zeros((5, 5)), "frame 1: a label image has shape .* of float64: expected two axes of whole"),
        (np.zeros((5, 5), dtype=bool), "frame 1: a mask of bool does not tell touching cells apart"),
        (np.full((5, 5), -1), "frame 1: a label image has the label -1: expected 0"),
        (np.full((5, 5), 1 << 40), "frame 1: a label image has the label 1099511627776: expected at most"),
        (np.zeros((5, 6), dtype=int), r"frame 1: .* shape \(5, 6\): expected \(5, 5\) as in frame 0"),
        (np.zeros((2, 5, 5), dtype=int), r"frame 1: a label image has shape \(2, 5, 5\)"),
        ([["a"]], "frame 1: a label image has shape"),
    ],
)
def test_broken_masks_are_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        CellTracker.pretrained().track_masks([np.zeros((5, 5), dtype=int), mask])


def test_masks_and_images_must_agree():
    masks, tracker = discs(3), CellTracker.pretrained()
    images = np.random.default_rng(0).normal(100, 1, masks.shape)
    for wrong, message in (
        (images[:2], "masks and images differ in number"),
        (np.concatenate([images, images]), "masks and images differ in number"),
        (images[:, 1:], r"frame 0: an image has shape \(59, 100\): expected \(60, 100\)"),
        (np.where(images > 102, np.nan, images), "frame 0: an image has nan in row"),
    ):
        with pytest.raises(ValueError, match=message):
            tracker.track_masks(masks, wrong)
    for wrong in (masks[0], masks[None]):
        with pytest.raises(ValueError, match="expected the axes time, row and column"):
            tracker.track_masks(wrong)
    with pytest.raises(ValueError, match="no frames"):
        tracker.track_masks([])


def test_masks_get_the_labels_of_their_tracks():
    masks, tracker = discs(), CellTracker.pretrained()
    found, lineage = tracker.track_masks(masks)
    assert lineage.rows() == [[label, 0, 4, 0] for label in (1, 2, 3, 4)]
    for frame, mask in zip(found, masks, strict=True):
        np.testing.assert_array_equal(frame > 0, mask > 0)
        assert [frame[8 + 14 * k, 16] for k in range(4)] == [found[0][8 + 14 * k, 12] for k in range(4)]
    # With images that tell nothing, the result is the same; generators are accepted.
    images = (100 + 50.0 * (mask > 0) for mask in masks)
    np.testing.assert_array_equal(np.asarray(tracker.track_masks(iter(masks), images)[0]), np.asarray(found))


def test_masks_without_cells_and_single_frames_are_legal():
    tracker = CellTracker.pretrained()
    nothing, lineage = tracker.track_masks(np.zeros((3, 8, 8), dtype=int))
    assert len(lineage) == 0
    assert not np.any(np.asarray(nothing))
    masks = discs()
    assert len(tracker.track_masks(masks[:1])[1]) == 4
    masks[2] = 0
    assert [row[1:] for row in tracker.track_masks(masks)[1].rows()] == [[0, 1, 0]] * 4 + [[3, 4, 0]] * 4


class _Frame(np.ndarray):
    """An array that can be watched."""


@pytest.mark.parametrize("kind", ["images", "masks"])
def test_no_frame_is_kept(kind):
    """When a frame is read, at most the two before are still in use."""
    watched, most = [], 0
    masks = discs(12)

    def frames():
        nonlocal most
        for mask in masks:
            frame = (mask if kind == "masks" else 100 + 80 * (mask > 0)).view(_Frame)
            watched.append(weakref.ref(frame))
            most = max(most, sum(one() is not None for one in watched))
            yield frame
            del frame
            gc.collect()

    tracker = CellTracker.pretrained().set_params(detection=DetectionSettings(diameter=10))
    tracker.n_jobs = 1
    found, _ = getattr(tracker, f"track_{kind}")(frames())
    assert len(found) == 12
    assert 1 <= most <= 3
    gc.collect()
    assert not any(one() is not None for one in watched)


def test_an_iterator_of_images_needs_a_diameter():
    with pytest.raises(ValueError, match="images is a generator, which can be read only once: expected a"):
        CellTracker.pretrained().track_images(image for image in np.ones((3, 30, 30)))
