"""Maximum flow on grids of 512 x 512 pixels: ermlab against PyMaxflow and scipy, CPU time on one thread.

Problems: random terminals and capacities, weak and strong, in both directions equal or not; a noisy smooth
image with Potts potentials; the photographs "camera" and "astronaut" of scikit-image, with two classes of
normal distribution on either side of Otsu's threshold and contrast-sensitive potentials. Each method in turn,
least of several runs. The time of ermlab is that of `max_flow` from the edges on. Those of the peers are
with, and in parentheses without, the construction of their graphs. scipy takes whole numbers only: it gets
the capacities times 1000, rounded. PyMaxflow and scipy are left out where they are not installed or not
wanted. Prints seconds and ratios, and compares the flows.
"""

import argparse
import time

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from skimage import color, data
from skimage.filters import threshold_otsu

from ermlab.segmentation import contrast_features, grid_edges, max_flow

try:
    import maxflow
except ImportError:
    maxflow = None

SIDE = 512
SHAPE = SIDE, SIDE
# Capacities of scipy are whole numbers.
SCALE = 1000


def random_problems(rng, n_edges):
    terminal = rng.normal(size=SIDE * SIDE)
    for strength in (0.3, 1.0, 3.0):
        capacity = strength * rng.random(n_edges)
        yield f"random, capacities up to {strength:g}", terminal, capacity, capacity
    yield "random, other capacities backward", terminal, rng.random(n_edges), rng.random(n_edges)


def smooth_problems(rng, n_edges):
    image = gaussian_filter(rng.normal(size=SHAPE), 8)
    noisy = image / image.std() + rng.normal(size=SHAPE)
    for strength in (0.5, 2.0, 8.0):
        capacity = np.full(n_edges, strength)
        yield f"noisy smooth image, Potts {strength:g}", noisy.ravel(), capacity, capacity


def photograph_problems():
    for name in ("camera", "astronaut"):
        image = getattr(data, name)() / 255.0
        gray = color.rgb2gray(image) if image.ndim == 3 else image
        above = gray > threshold_otsu(gray)
        scores = [-0.5 * ((gray - gray[side].mean()) / gray[side].std()) ** 2 for side in (above, ~above)]
        terminal = scores[0] - scores[1] + np.log(gray[~above].std() / gray[above].std())
        similar = contrast_features(image)[:, 1]
        for strength in (1.0, 10.0):
            capacity = strength * similar
            yield f"{name}, contrast {strength:g}", terminal.ravel(), capacity, capacity


def time_own(terminal, edges, forward, backward):
    source, sink = np.maximum(terminal, 0), np.maximum(-terminal, 0)
    began = time.process_time()
    found = max_flow(source, sink, edges, forward, backward)
    return found.value, time.process_time() - began


def time_peer(terminal, edges, forward, backward):
    """Return the flow of PyMaxflow and its seconds with and without construction."""
    terminal = terminal.reshape(SHAPE)
    n = SIDE * (SIDE - 1)
    weights = np.zeros((4, *SHAPE))
    weights[0][:, :-1], weights[1][:, 1:] = (c[:n].reshape(SIDE, -1) for c in (forward, backward))
    weights[2][:-1], weights[3][1:] = (c[n:].reshape(-1, SIDE) for c in (forward, backward))
    began = time.process_time()
    graph = maxflow.Graph[float](SIDE * SIDE, 4 * SIDE * SIDE)
    nodes = graph.add_grid_nodes(SHAPE)
    for weight, place in zip(weights, ((1, 2), (1, 0), (2, 1), (0, 1)), strict=True):
        structure = np.zeros((3, 3))
        structure[place] = 1
        graph.add_grid_edges(nodes, weights=weight, structure=structure)
    graph.add_grid_tedges(nodes, np.maximum(terminal, 0), np.maximum(-terminal, 0))
    built = time.process_time()
    value = graph.maxflow()
    ended = time.process_time()
    return value, ended - began, ended - built


def time_scipy(terminal, edges, forward, backward):
    """Return the flow of scipy for rounded capacities and its seconds with and without construction."""
    began = time.process_time()
    n = SIDE * SIDE
    nodes = np.arange(n)
    rows = np.concatenate([np.full(n, n), nodes, edges[:, 0], edges[:, 1]])
    columns = np.concatenate([nodes, np.full(n, n + 1), edges[:, 1], edges[:, 0]])
    values = np.concatenate([np.maximum(terminal, 0), np.maximum(-terminal, 0), forward, backward])
    matrix = csr_array((np.round(SCALE * values).astype(np.int32), (rows, columns)), shape=(n + 2, n + 2))
    built = time.process_time()
    value = maximum_flow(matrix, n, n + 1).flow_value
    ended = time.process_time()
    return value / SCALE, ended - began, ended - built


def compare(name, problem, repeats, with_scipy):
    own, peer = [], []
    for _ in range(repeats):
        own.append(time_own(*problem))
        if maxflow is not None:
            peer.append(time_peer(*problem))
    value, seconds = own[0][0], min(run[1] for run in own)
    print(f"{name}: {1e3 * seconds:.0f} ms", end="", flush=True)
    if peer:
        whole, alone = (min(run[i] for run in peer) for i in (1, 2))
        difference = abs(peer[0][0] / value - 1)
        print(
            f"; PyMaxflow {1e3 * whole:.0f} ({1e3 * alone:.0f}) ms, ratio {whole / seconds:.2f} "
            f"({alone / seconds:.2f}), flows differ by {difference:.0e}",
            end="",
            flush=True,
        )
    if with_scipy:
        runs = [time_scipy(*problem) for _ in range(2)]
        whole, alone = (min(run[i] for run in runs) for i in (1, 2))
        print(
            f"; scipy {1e3 * whole:.0f} ({1e3 * alone:.0f}) ms, ratio {whole / seconds:.0f} "
            f"({alone / seconds:.0f}), {abs(runs[0][0] / value - 1):.0e}",
            end="",
        )
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scipy", action="store_true", help="time scipy too, which takes minutes")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    edges = grid_edges(SHAPE)
    problems = [
        *random_problems(rng, len(edges)),
        *smooth_problems(rng, len(edges)),
        *photograph_problems(),
    ]
    max_flow([1.0, 0.0], [0.0, 1.0], [[0, 1]], [1.0])  # compiles
    for name, terminal, forward, backward in problems:
        compare(name, (terminal, edges, forward, backward), options.repeats, options.scipy)


if __name__ == "__main__":
    main()
