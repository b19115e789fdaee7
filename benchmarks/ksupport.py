"""k-support norm: its prox against ModOpt's and one sort, its path against scikit-learn's elastic net.

The prox is that of ``lam/2 norm^2`` at d = 50,000 and k = 800, of normal and of heavy-tailed vectors. ModOpt
(`pip install modopt`; not a dependency) has the same operator, ``KSupportNorm(beta=lam, k_value=k)``; without
it that row is left out. Results must agree to 1e-12 of the largest entry.

The paths have 20 prices a factor 1000 apart, on 350 samples of 50,000 smooth features and a noisy target of a
few of them: k-support with a relative duality gap of 1e-4, and `enet_path` and `lasso_path` with their
default tolerance. Their prices begin where the objective falls by about 5 % (k-support) and where the first
weight is not 0 (the others). All on one thread. Prints times and ratios: above 1 means that the peer takes
longer.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.linear_model import enet_path, lasso_path
from threadpoolctl import threadpool_limits

from ermlab.sparse import dual_norm, norm, prox
from ermlab.sparse.ksupport_estimators import ksupport_path

try:
    from modopt.opt.proximity import KSupportNorm
except ImportError:
    KSupportNorm = None


def milliseconds(calls, repeats):
    """Return the least and the median time of each call, repeats interleaved."""
    seconds = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return {name: (1e3 * min(times), 1e3 * statistics.median(times)) for name, times in seconds.items()}


def compare_prox(w, k, lam, repeats):
    calls = {"prox": lambda: prox(w, k, lam), "np.sort": lambda: np.sort(w)}
    calls |= {"norm": lambda: norm(w, k), "dual_norm": lambda: dual_norm(w, k)}
    if KSupportNorm is not None:
        peer = KSupportNorm(beta=lam, k_value=k)
        calls["ModOpt"] = lambda: peer.op(w)
    found = {name: call() for name, call in calls.items()}  # compiles, too
    if KSupportNorm is not None:
        difference = np.abs(found["prox"] - found["ModOpt"]).max() / np.abs(w).max()
        assert difference <= 1e-12, f"ModOpt's result differs by {difference}"
    times = milliseconds(calls, repeats)
    for name, (least, median) in times.items():
        print(f"  {name:9} {least:8.3f} ms at least, {median:8.3f} ms median", flush=True)
    for name in ("ModOpt", "np.sort"):
        if name in times:
            ratios = np.divide(times[name], times["prox"])
            print(f"  {name} takes {ratios[0]:.1f} times as long as the prox (medians: {ratios[1]:.1f})")


def smooth_problem(n, d, seed):
    """Features correlated with their neighbours, as voxels are; half of the target's variance is noise."""
    rng = np.random.default_rng(seed)
    X = gaussian_filter1d(rng.normal(size=(n, d)), 3, axis=1)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    y = X[:, :: d // 100] @ rng.normal(size=X[:, :: d // 100].shape[1])
    y += y.std() * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def compare_paths(n, d, ks, repeats, seed):
    X, y = smooth_problem(n, d, seed)
    columns = np.asfortranarray(X)  # what coordinate descent wants
    spread = np.geomspace(1, 1e-3, 20)
    gradient = y @ X / n

    def ours(k):
        lams = spread * dual_norm(gradient, k) ** 2 / (0.05 * np.mean(y**2))
        return ksupport_path(X, y, k, lams).coefs.T

    paths = {f"k-support, k = {k}": lambda k=k: ours(k) for k in ks}
    paths["enet_path"] = lambda: enet_path(columns, y, n_alphas=20, eps=1e-3, l1_ratio=0.5)[1]
    paths["lasso_path"] = lambda: lasso_path(columns, y, n_alphas=20, eps=1e-3)[1]
    seconds = {name: [] for name in paths}
    for _ in range(repeats):
        for name, path in paths.items():
            began = time.perf_counter()
            coefs = path()
            seconds[name].append(time.perf_counter() - began)
            errors = np.mean((X @ coefs[:, [0, -1]] - y[:, None]) ** 2, axis=0)
            print(
                f"  {name:18} {seconds[name][-1]:7.2f} s, {np.count_nonzero(coefs[:, -1]):5} weights last, "
                f"mean squared error {errors[0]:.2f} to {errors[1]:.4f}",
                flush=True,
            )
    for name in list(paths)[: len(ks)]:
        for peer in ("enet_path", "lasso_path"):
            ratio = statistics.median(seconds[peer]) / statistics.median(seconds[name])
            print(f"  {peer} takes {ratio:.2f} times as long as {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=350)
    parser.add_argument("--features", type=int, default=50_000)
    parser.add_argument("--k", type=int, nargs="+", default=[1, 80, 800], help="of the paths [1 80 800]")
    parser.add_argument("--repeats", type=int, default=20, help="of the prox [20]")
    parser.add_argument("--path-repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    warnings.simplefilter("ignore")  # peers that do not get to their tolerance
    rng = np.random.default_rng(options.seed)
    d, k = options.features, min(800, options.features)
    vectors = {"normal": rng.normal(size=d), "Student's t, 2 degrees": rng.standard_t(2, size=d)}
    with threadpool_limits(1):
        if KSupportNorm is None:
            print("ModOpt is not installed: `pip install modopt` to compare with it")
        for name, w in vectors.items():
            for lam in (0.1, 1.0, 10.0):
                print(f"\nprox, d = {d}, k = {k}, lam = {lam}, {name}", flush=True)
                compare_prox(w, k, lam, options.repeats)
        print(f"\npaths of 20 prices, {options.samples} x {d}", flush=True)
        compare_paths(options.samples, d, options.k, options.path_repeats, options.seed)


if __name__ == "__main__":
    main()
