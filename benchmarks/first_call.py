"""Seconds of CPU of the import and the first calls of each exported name, in processes of their own.

The import is measured after numpy, scipy, scikit-learn and numba with the parts of them that are in use. A
call on little data is then made twice: with an empty cache of compiled code (cold), and in another process
with the cache that the first one has left (warm).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

EXPORTS = Path(__file__).parents[1] / "lib/ermlab/__init__.pyi"
BEFORE = """
import json, time
import numpy as np, scipy, sklearn, numba
import scipy.interpolate, scipy.ndimage, scipy.optimize, scipy.signal, scipy.sparse.csgraph, scipy.spatial
import scipy.sparse.linalg, scipy.stats
import sklearn.cluster, sklearn.ensemble, sklearn.linear_model, sklearn.metrics, sklearn.model_selection
import sklearn.neighbors, sklearn.svm, numba.core.event
rng = np.random.default_rng(0)
"""
VECTORS = "X = rng.normal(size=(200, 10)); y = (X @ rng.normal(size=(10, 4))).argmax(axis=1)\n"
PAIRS = "from ermlab import StructuredSVM\n"
GRIDS = PAIRS + "X = rng.normal(size=(4, 12, 12, 2)); y = (X[..., 0] > 0).astype(int)\n"
FILM = """
from ermlab.tracking import CellFilm, Gates, film_patches
n, frames = 60, 5
paths = rng.uniform(0, 300, (n, 2)) + np.cumsum(rng.normal(0, 8, (frames, n, 2)), axis=0)
film = CellFilm(
    frame=np.repeat(np.arange(frames), n), position=paths.reshape(-1, 2),
    area=np.tile(rng.uniform(50, 150, n), frames), intensity=np.ones(frames * n),
    eccentricity=np.zeros(frames * n), shape=np.array([300, 300]), n_frames=frames,
    tracks=np.column_stack([np.arange(frames * n), np.tile(np.arange(1, n + 1), frames)]),
    lineage=np.array([[track, 0, frames - 1, 0] for track in range(1, n + 1)]),
)
"""
SCAN = """
import nibabel as nib
from ermlab.fmri import Preprocessing
from nilearn.datasets import load_mni152_template
brain = load_mni152_template(8)
noise = rng.normal(size=(*brain.shape, 20))
scan = nib.Nifti1Image((1000 * brain.get_fdata()[..., None] + 10 * noise).astype(np.float32), brain.affine)
"""
GRAPHS = """
edges = [np.array([(v, (v + 1) % 20) for v in range(20)]) for _ in range(10)]
"""
#: What is made before the clock starts, and the call.
CALLS = {
    "LaplacianKCCA": ("X = rng.normal(size=(60, 50))", "LaplacianKCCA(eps_x=1.0).fit(X, X[:, :3])"),
    "detect": (
        "points = rng.integers(0, 200, (500, 2)); weights = rng.normal(-0.1, size=500)",
        "list(detect(points, weights, (200, 200), n_detections=3))",
    ),
    "Vocabulary": (
        "X = rng.normal(size=(500, 16))",
        "Vocabulary(n_words=20, random_state=0).fit(X).assign(X)",
    ),
    "dense_surf": ("image = rng.integers(0, 256, (100, 120))", "dense_surf(image, step=8)"),
    "preprocess": (SCAN, "preprocess(scan, Preprocessing(repetition_time=3.2))"),
    "PyramidWL": (
        GRAPHS + "samples = [(e, rng.normal(size=(20, 2))) for e in edges]",
        "PyramidWL(h=2).fit_transform(samples)",
    ),
    "WeisfeilerLehman": (
        GRAPHS + "samples = [(e, rng.integers(0, 3, 20)) for e in edges]",
        "WeisfeilerLehman(h=2).fit_transform(samples)",
    ),
    "RankingSVM": (
        "X = rng.normal(size=(300, 5)); losses = 1 / (1 + np.exp(X[:, 0]))",
        "RankingSVM(C=10.0).fit(X, losses)",
    ),
    "ChainCRF": (
        PAIRS + "X = [rng.normal(size=(8, 3)) for _ in range(30)]; y = [x.argmax(axis=1) for x in X]",
        "StructuredSVM(ChainCRF(n_states=3, n_features=3)).fit(X, y).predict(X)",
    ),
    "DenseCRF": (
        PAIRS
        + "guides = rng.normal(size=(4, 12, 12)); y = [(guide > 0).astype(int) for guide in guides]\n"
        + "X = [(np.stack([guide, np.ones((12, 12))], axis=-1), guide) for guide in guides]",
        "StructuredSVM(DenseCRF(2, 2, kernels=[2.0, (3.0, 0.5)]), tol=0.1).fit(X, y).predict(X)",
    ),
    "GridCRF": (GRIDS, "StructuredSVM(GridCRF(n_states=2, n_features=2)).fit(X, y).predict(X)"),
    "ImageSegmenter": (
        "images = rng.normal(size=(2, 40, 40)); labels = (images > 0).astype(int)",
        "ImageSegmenter(model='grid').fit(images, labels).predict(images)",
    ),
    "graph_cut": (
        "from ermlab.segmentation import grid_edges\nedges = grid_edges((20, 30), connectivity=4)\n"
        "unary = rng.normal(size=(600, 2))",
        "graph_cut(unary, edges, 0.5 * np.eye(2))",
    ),
    "LaplacianRidge": (
        "X = rng.normal(size=(100, 2)); y = np.where(np.arange(100) < 10, X[:, 0], np.nan)",
        "LaplacianRidge().fit(X, y)",
    ),
    "LaplacianSVC": (
        "X = rng.normal(size=(100, 2)); y = np.where(np.arange(100) < 20, X[:, 0] > 0, -1)",
        "LaplacianSVC().fit(X, y)",
    ),
    "KSupportRegressor": (
        "X = rng.normal(size=(50, 200))",
        "KSupportRegressor(k=10, alpha=0.5).fit(X, X[:, 0])",
    ),
    "KSupportClassifier": (
        "X = rng.normal(size=(50, 200))",
        "KSupportClassifier(k=10, alpha=0.5).fit(X, X[:, 0] > 0)",
    ),
    "InvariantSVM": (
        "y = np.where(rng.random(100) < 0.5, -1, 1); X = rng.normal(size=(100, 20)) + 0.3 * y[:, None]\n"
        "bags = np.stack([np.roll(X, k, axis=1) for k in (0, -1, 1)], axis=1)",
        "InvariantSVM(C=0.1).fit(bags, y)",
    ),
    "StructuredSVM": (
        VECTORS + "from ermlab import MultiClassTask",
        "StructuredSVM(MultiClassTask(4, 10)).fit(X, y)",
    ),
    "TransferSVM": (
        VECTORS + "from ermlab import MultiClassTask\ndomains = ['a'] * 100 + ['b'] * 100",
        "TransferSVM(MultiClassTask(4, 10)).fit(X, y, domains)",
    ),
    "TaxonomicSVM": (VECTORS + "K = X @ X.T", "TaxonomicSVM().fit(K, y).predict(K)"),
    "learn_taxonomy": (VECTORS, "learn_taxonomy(X @ X.T, y.astype(str))"),
    "ActiveLearner": (
        FILM + "patches = film_patches(film, Gates(), max_cells=5)",
        "learner = ActiveLearner(patches, 'best_second', window=5)\nlearner.query()",
    ),
    "CellTracker": (FILM, "CellTracker.pretrained().predict(film)"),
}


def script(name):
    """Return the code that prints the seconds of the import, the first and the second call."""
    prepare, call = CALLS.get(name, ("", "None"))
    return (
        f"{BEFORE}began = time.process_time()\nfrom ermlab import {name}\n"
        "loaded = time.process_time() - began\n"
        f"import logging; logging.getLogger('ermlab').setLevel(logging.ERROR)\n"
        f"import warnings; warnings.simplefilter('ignore')\n{prepare}\nseconds = [loaded]\n"
        f"code = compile({call!r}, 'call', 'exec')\n"
        "for _ in range(2):\n    began = time.process_time()\n    exec(code)\n"
        "    seconds.append(time.process_time() - began)\nprint(json.dumps(seconds))"
    )


def run(name, cache):
    """Return the seconds of CPU of the import, the first and the second call, in a process of their own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script(name)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, repeats):
    """Return a row: import, first call with a cold and with a warm cache, second call."""
    with tempfile.TemporaryDirectory() as cache:
        loaded, cold, _ = run(name, cache)
        rows = [run(name, cache) for _ in range(repeats)]
    warm = [statistics.median(column) for column in zip(*rows, strict=True)]
    return min(loaded, warm[0]), cold, warm[1], warm[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="exported names [all]")
    parser.add_argument("--repeats", type=int, default=1, help="processes with a warm cache [1]")
    options = parser.parse_args()
    exported = [line.split()[-1] for line in EXPORTS.read_text().splitlines() if line.strip()]
    print(f"{'name':20} {'import':>7} {'cold':>7} {'warm':>7} {'second':>7}  seconds of CPU", flush=True)
    for name in options.names or exported:
        loaded, *calls = measure(name, options.repeats)
        shown = " ".join(f"{seconds:7.2f}" for seconds in calls) if name in CALLS else ""
        print(f"{name:20} {loaded:7.2f} {shown}", flush=True)


if __name__ == "__main__":
    main()
