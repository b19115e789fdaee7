"""Simulated nuclei of the Mitocheck laboratory have the sizes, distances and steps of real HeLa nuclei."""

import warnings

import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial import cKDTree

from ermlab.tracking import detect_frames
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.nuclei_films import BINNING, read_nuclei_films

#: Pixels of a region that is no speck and no sliver at the border.
SMALLEST = 150


def centres(mask, pixel):
    """Return the areas and centres of the regions of a frame, whose pixels have a side of ``pixel``."""
    labels = np.unique(mask)[1:]
    area = pixel**2 * ndimage.sum_labels(mask > 0, mask, labels)
    centre = pixel * np.array(ndimage.center_of_mass(mask > 0, mask, labels))
    return area[area >= SMALLEST], centre[area >= SMALLEST]


def summary(films, pixel=1):
    """Return the medians of area, distance to the next nucleus and step, which needs no tracks.

    Nuclei are matched that are each other's next one in two frames; the shift of the stage is taken out.
    """
    areas, gaps, steps = [], [], []
    for masks in films:
        before = None
        for mask in masks:
            area, now = centres(mask, pixel)
            areas.append(area)
            gaps.append(cKDTree(now).query(now, 2)[0][:, 1])
            if before is not None:
                back, forth = cKDTree(before).query(now)[1], cKDTree(now).query(before)[1]
                mutual = forth[back] == np.arange(len(now))
                step = (now - before[back])[mutual]
                steps.append(np.linalg.norm(step - np.median(step, axis=0), axis=1))
            before = now
    return np.array([np.median(np.concatenate(values)) for values in (areas, gaps, steps)])


def test_sizes_distances_and_steps_are_those_of_real_nuclei(acquired):
    real = read_ctc_hela02_images(acquired("ctc_hela02_images")).segmentation[:10]
    films = read_nuclei_films(acquired("mitocheck_nuclei"))
    ratio = summary([film.truth.masks for film in films], BINNING) / summary([real])
    assert ratio == pytest.approx(1, rel=0.25)


def test_brightness_over_the_background_is_that_of_real_nuclei(acquired):
    def levels(images, masks):
        found = []
        for image, mask in zip(images, masks, strict=True):
            image = image.astype(float)
            found.append(ndimage.mean(image, mask, np.unique(mask)[1:]) - np.median(image[mask == 0]))
        return np.percentile(np.concatenate(found), [25, 50, 75])

    real = read_ctc_hela02_images(acquired("ctc_hela02_images"))
    film = read_nuclei_films(acquired("mitocheck_nuclei"))[0]
    expected = levels(real.images[:10], real.segmentation[:10])
    assert levels(film.frames, film.truth.masks) / expected == pytest.approx(1, rel=0.4)


def test_real_nuclei_do_not_look_like_noise(acquired):
    images = read_ctc_hela02_images(acquired("ctc_hela02_images")).images
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [len(cells.area) for _, cells in detect_frames(images[::6])]
    assert min(found) > 100
    rough = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=images[0].shape), 4)
    with pytest.warns(UserWarning, match="look like noise in 1 of 1 frames"):
        list(detect_frames([0.1 * images[0] + 2000 * rough]))
