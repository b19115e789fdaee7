"""Mean field of a fully connected CRF against pydensecrf2: time, and error of both lattices.

The photograph of scikit-image, resized to 584 x 565 pixels, two labels with noisy unary scores, ten updates,
one kernel of position and color (5-D) or of position alone, both symmetrically normalized; and a volume of
64 x 96 x 96 voxels with a kernel of position and intensity (4-D). The time includes the construction of the
lattice. The peer has one thread; ours is measured with one and with two. Repeats are interleaved, least times
compared. Marginals are compared with those of the peer, and on a part of the image both with those of direct
summation. Install the peer with `pip install pydensecrf2`.
"""

import argparse
import time
import tracemalloc

import numpy as np
import pydensecrf.densecrf as peer
from skimage.data import astronaut
from skimage.transform import resize

from ermlab.segmentation import ExactGaussianFilter, GaussianFilter, mean_field, position_features

SHAPE = (584, 565)
VOLUME = (64, 96, 96)
UPDATES = 10
WEIGHT = 3.0


def photograph(shape=SHAPE):
    """Positions, colors from 0 to 255, and unary scores that say where the image is bright, with noise."""
    colors = 255 * resize(astronaut() / 255, (*shape, 3), anti_aliasing=True)
    return position_features(shape), colors.reshape(-1, 3), noisy_scores(colors.mean(axis=2).ravel() > 110)


def volume():
    """Positions, intensities and unary scores of balls in a volume."""
    rng = np.random.default_rng(0)
    positions = position_features(VOLUME)
    inside = np.zeros(len(positions), dtype=bool)
    for _ in range(20):
        center, radius = rng.uniform(0, VOLUME), rng.uniform(5, 15)
        inside |= ((positions - center) ** 2).sum(axis=1) < radius**2
    intensity = 100.0 * inside + 15 * rng.normal(size=len(positions))
    return positions, intensity[:, None], noisy_scores(inside)


def noisy_scores(labels, seed=1):
    side = np.where(labels, 0.5, -0.5) + np.random.default_rng(seed).normal(size=labels.size)
    return np.column_stack([-side, side])


def problems():
    positions, colors, unary = photograph()
    for width, color_width in ((80, 13), (20, 13), (10, 5)):
        features = np.hstack([positions / width, colors / color_width])
        yield f"2-D, position {width}, color {color_width}", features, unary
    yield "2-D, position 3", positions / 3.0, unary
    positions, intensity, unary = volume()
    yield "3-D, position 5, intensity 20", np.hstack([positions / 5, intensity / 20]), unary


def ours(features, unary, n_jobs=None, kind=GaussianFilter):
    kernel = kind(features, n_jobs=n_jobs)
    return mean_field(unary, [kernel], [WEIGHT], max_iter=UPDATES, tol=0, n_jobs=n_jobs).marginals


def theirs(features, unary):
    field = peer.DenseCRF(len(unary), unary.shape[1])
    field.setUnaryEnergy(np.ascontiguousarray(-unary.T, dtype=np.float32))
    field.addPairwiseEnergy(np.ascontiguousarray(features.T, dtype=np.float32), compat=WEIGHT)
    return np.array(field.inference(UPDATES)).T


def timed(function, *arguments):
    """Seconds of the clock and of the processor, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return time.perf_counter() - clock, time.process_time() - processor, result


def compare(name, features, unary, repeats):
    runs = {"one thread": lambda: ours(features, unary, 1), "two threads": lambda: ours(features, unary, 2)}
    runs["peer"] = lambda: theirs(features, unary)
    clock, processor, marginals = {}, {}, {}
    for _ in range(repeats):
        for who, run in runs.items():
            seconds, cpu, marginals[who] = timed(run)
            clock[who] = min(seconds, clock.get(who, np.inf))
            processor[who] = min(cpu, processor.get(who, np.inf))
    if not np.array_equal(marginals["one thread"], marginals["two threads"]):
        raise AssertionError("marginals depend on the number of threads")
    print(name)
    for who in runs:
        print(
            f"  {who:12} {1e3 * clock[who]:7.0f} ms, processor {1e3 * processor[who]:7.0f} ms: "
            f"ratio {clock['peer'] / clock[who]:.2f} ({processor['peer'] / processor[who]:.2f})"
        )
    difference = np.abs(marginals["two threads"] - marginals["peer"])
    same = np.mean(marginals["two threads"].argmax(axis=1) == marginals["peer"].argmax(axis=1))
    print(f"  mean difference of marginals from the peer {difference.mean():.4f}, same labels {same:.4f}")


def memory(features):
    """Bytes per point that the filter keeps, and at most while it is built."""
    tracemalloc.start()
    kernel = GaussianFilter(features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept, peak = kernel.nbytes / len(features), peak / len(features)
    print(f"  {kept:.0f} bytes per point kept, {peak:.0f} at most, {kernel.n_vertices} vertices")


def errors(features, unary, shape, side=100):
    """Error of the lattice, and of the marginals of both lattices, on the middle of an image."""
    rows, columns = (slice((length - side) // 2, (length + side) // 2) for length in shape)
    part = np.arange(np.prod(shape)).reshape(shape)[rows, columns].ravel()
    features, unary = features[part], unary[part]
    labels = (unary[:, 1] > 0).astype(float)
    filtered = ExactGaussianFilter(features).apply(labels)
    error = np.linalg.norm(GaussianFilter(features).apply(labels) - filtered) / np.linalg.norm(filtered)
    print(f"  relative error of the lattice {error:.3f}")
    exact = ours(features, unary, None, ExactGaussianFilter)
    for who, found in (("ours", ours(features, unary)), ("peer", theirs(features, unary))):
        same = np.mean(found.argmax(axis=1) == exact.argmax(axis=1))
        print(f"  {who}: mean error {np.abs(found - exact).mean():.4f}, labels as exact {same:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    tiny = np.zeros((2, 2))
    for kind in (GaussianFilter, ExactGaussianFilter):  # compile or load the kernels
        ours(tiny, tiny, None, kind)
    for name, features, unary in problems():
        compare(name, features, unary, options.repeats)
        memory(features)
        if name.startswith("2-D"):
            errors(features, unary, SHAPE)


if __name__ == "__main__":
    main()
