"""Detection and measurement of nuclei: ermlab against a plain scikit-image pipeline, on one thread.

The peer is the pipeline of textbooks: background by a white top-hat, Gaussian, Otsu's threshold, distance
transform, peaks, watershed; once more without the top-hat, which takes most of its time. Measuring the labels
that ermlab found is compared with `regionprops` and `regionprops_table`. Frames are simulated, 460 x 500
pixels with about 80 nuclei, and real, 700 x 1100 pixels, where the folder of ctc_hela02_images is named. CPU
time, each in turn, medians; errors of all are counted against the true masks.
"""

import argparse
import time

import numpy as np
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.measure import regionprops, regionprops_table
from skimage.morphology import disk, white_tophat
from skimage.segmentation import watershed

from ermlab.tracking.cell_detection import DetectionSettings, detect, typical_diameter
from ermlab.tracking.cells import match_tracks, measure
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.nuclei_films import MITOCHECK
from reproduction.datasets.simulators.nuclei import Tracks, take_film

MEASURES = ("centroid", "area", "intensity_mean", "eccentricity")
#: Frames of the simulated film, and their pixels.
SIZE = (30, (460, 500))


def peer_detect(image, diameter, top_hat=True):
    image = image.astype(np.float32)
    smooth = gaussian(white_tophat(image, disk(round(diameter))) if top_hat else image, 0.06 * diameter)
    mask = smooth > threshold_otsu(smooth)
    depth = ndimage.distance_transform_edt(mask)
    peaks = peak_local_max(depth, min_distance=round(diameter / 3), labels=mask.astype(int))
    seeds = np.zeros(mask.shape, dtype=int)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-depth, seeds, mask=mask)


def cpu_times(calls, repeats):
    """Return the median CPU seconds of each call, taken in turn."""
    seconds = {name: [] for name in calls}
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            began = time.process_time()
            call()
            if repeat:  # the first run imports and compiles
                seconds[name].append(time.process_time() - began)
    return {name: float(np.median(some)) for name, some in seconds.items()}


def compare(name, image, diameter, repeats):
    settings = DetectionSettings(diameter=diameter)
    labels = detect(image, settings)
    calls = {
        "ermlab detect": lambda: detect(image, settings),
        "peer detect": lambda: peer_detect(image, diameter),
        "without top-hat": lambda: peer_detect(image, diameter, top_hat=False),
        "ermlab measure": lambda: measure(labels, image),
        "regionprops": lambda: [[region[key] for key in MEASURES] for region in regionprops(labels, image)],
        "regionprops_table": lambda: regionprops_table(labels, image, properties=MEASURES),
    }
    seconds = cpu_times(calls, repeats)
    print(f"{name}: {image.shape[0]} x {image.shape[1]} pixels, {labels.max()} nuclei")
    for call, peer in (
        ("ermlab detect", "peer detect"),
        ("ermlab detect", "without top-hat"),
        ("ermlab measure", "regionprops"),
        ("ermlab measure", "regionprops_table"),
    ):
        ours, theirs = 1e3 * seconds[call], 1e3 * seconds[peer]
        print(f"  {call:<15} {ours:7.1f} ms   {peer:<18} {theirs:8.1f} ms   ratio {theirs / ours:.1f}")


def error_shares(labels, truth):
    """Return shares of the true cells in percent: missed, cut, joined, and spurious detections."""
    rows = match_tracks(labels, truth)
    detected, true = np.unique(labels[labels > 0]), np.unique(truth[truth > 0])
    held = np.array([np.sum(rows[:, 0] == label) for label in detected])
    holders = np.array([np.sum(rows[:, 1] == label) for label in true])
    return np.array(
        [np.sum(holders == 0), np.sum(holders > 1), held[held > 1].sum(), np.sum(held == 0)]
    ), len(true)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--hela", help="folder of ctc_hela02_images")
    arguments = parser.parse_args()
    frames, masks = zip(*take_film(MITOCHECK, np.random.default_rng(2026), *SIZE, Tracks()), strict=True)
    diameter = typical_diameter(frames)
    compare("simulated", frames[15], diameter, arguments.repeats)
    for name, method in (
        ("ermlab", lambda image: detect(image, DetectionSettings(diameter=diameter))),
        ("peer", lambda image: peer_detect(image, diameter)),
        ("without top-hat", lambda image: peer_detect(image, diameter, top_hat=False)),
    ):
        found = [error_shares(method(frames[t]), masks[t]) for t in range(0, len(frames), 5)]
        errors, cells = (np.sum(counts, axis=0) for counts in zip(*found, strict=True))
        text = ", ".join(f"{share:.1f}" for share in 100 * errors / cells)
        print(f"  {name}: missed, cut, joined, spurious {text} % of {cells} true nuclei")
    if arguments.hela:
        images = read_ctc_hela02_images(arguments.hela).images
        compare("HeLa", images[10], typical_diameter(images), arguments.repeats)


if __name__ == "__main__":
    main()
