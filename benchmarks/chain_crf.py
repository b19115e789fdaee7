"""Chain CRF on handwritten words: ermlab against a Viterbi algorithm in numpy and against PyStruct.

Training on the words of one fold (704 words, 5,375 letters of 128 pixels, 26 states, 4,004 weights) and test
on the other nine, as in the letters example of PyStruct. All solve the same problem, whose loss is the
fraction of wrong letters, on one thread, and stop at the relative gap of their own bounds, or after a while.
Prints the processor time, and the ratio to that of `ChainCRF`.

PyStruct 0.3.2 joins in if it can be imported. It is not installable with a current Python: compile its two
Cython modules by hand and put the folder on ``PYTHONPATH``, with cvxopt. Old names in numpy and scikit-learn
that it uses are restored here.
"""

import argparse
import importlib.util
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import joblib
import numba
import numpy as np
import sklearn.externals
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ermlab.segmentation import ChainCRF
from ermlab.structured import StructuredSVM
from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry
from reproduction.datasets.letters import read_letters

N_STATES, N_FEATURES = 26, 128


class NumpyChains:
    """The task of a `ChainCRF` with the Viterbi algorithm in numpy, for one sample at a time."""

    def __init__(self):
        self._task = ChainCRF(N_STATES, N_FEATURES)
        self.dimension = self._task.dimension

    def joint_feature(self, x, y):
        unary, pairwise = np.zeros((N_STATES, N_FEATURES)), np.zeros((N_STATES, N_STATES))
        np.add.at(unary, y, x)
        np.add.at(pairwise, (y[:-1], y[1:]), 1.0)
        return np.concatenate([unary.ravel(), pairwise.ravel()])

    def loss(self, y, z):
        return float(np.mean(y != z))

    def predict(self, w, x):
        return viterbi(*self._scores(w, x))

    def most_violated(self, w, x, y, rescaling):
        unary, pairwise = self._scores(w, x)
        unary += 1.0 / len(y)
        unary[np.arange(len(y)), y] -= 1.0 / len(y)
        return viterbi(unary, pairwise)

    def _scores(self, w, x):
        n_unary = N_STATES * N_FEATURES
        return x @ w[:n_unary].reshape(N_STATES, -1).T, w[n_unary:].reshape(N_STATES, N_STATES)


def viterbi(unary, pairwise):
    best, pointers = unary[0], np.empty(unary.shape, dtype=np.int64)
    for i in range(1, len(unary)):
        scores = best[:, None] + pairwise
        pointers[i] = scores.argmax(axis=0)
        best = unary[i] + scores.max(axis=0)
    labels = np.empty(len(unary), dtype=np.int64)
    labels[-1] = best.argmax()
    for i in range(len(unary) - 1, 0, -1):
        labels[i - 1] = pointers[i, labels[i]]
    return labels


class Stopwatch:
    """Note the processor time at which a learner of PyStruct reaches each gap; stop it after the last."""

    def __init__(self, gaps, seconds):
        self._gaps, self._seconds, self._began = gaps, seconds, time.process_time()
        self._value, self._bound = np.inf, -np.inf
        self.reached = {}
        self.passes = 0

    @property
    def gap(self):
        return (self._value - self._bound) / self._value

    def __call__(self, learner, iteration):
        if iteration == "final" or not (learner.primal_objective_curve_ and learner.objective_curve_):
            return
        self.passes = iteration + 1
        self._value = min(self._value, learner.primal_objective_curve_[-1])
        self._bound = max(self._bound, learner.objective_curve_[-1])
        spent = time.process_time() - self._began
        for gap in self._gaps:
            if self.gap <= gap:
                self.reached.setdefault(gap, spent)
        if len(self.reached) == len(self._gaps) or spent > self._seconds:
            raise KeyboardInterrupt  # what the learners take as a request to stop


def pystruct_learners(C, watch):
    """Return learners of PyStruct for the same problem."""
    for name, kind in (("float", float), ("int", int), ("object", object)):
        if name not in np.__dict__:
            setattr(np, name, kind)
    sys.modules.setdefault("sklearn.externals.joblib", joblib)
    sklearn.externals.joblib = joblib
    from pystruct import learners, models

    class MeanLoss(models.ChainCRF):
        """The loss divided by the number of letters."""

        def loss_augmented_inference(self, x, y, w, **options):
            self.class_weight = np.full(N_STATES, 1.0 / len(y))
            return super().loss_augmented_inference(x, y, w, **options)

        def batch_loss_augmented_inference(self, X, Y, w, relaxed=None):
            return [
                self.loss_augmented_inference(x, y, w, relaxed=relaxed) for x, y in zip(X, Y, strict=True)
            ]

        def loss(self, y, z):
            return float(np.mean(y != z))

        def batch_loss(self, Y, Z):
            return [self.loss(y, z) for y, z in zip(Y, Z, strict=True)]

    return {
        "PyStruct, one slack": learners.OneSlackSSVM(MeanLoss(), C=C, tol=1e-12, logger=watch),
        "PyStruct, Frank-Wolfe": learners.FrankWolfeSSVM(
            MeanLoss(), C=C, tol=1e-12, random_state=0, logger=watch
        ),
    }


def accuracy(predictions, truths):
    return float(np.mean(np.concatenate(predictions) == np.concatenate(truths)))


def read_words(mirror):
    registry = load_registry(Path(__file__).parents[1] / "data/registry.yaml")
    with tempfile.TemporaryDirectory() as folder:
        acquire("letters", Path(folder), policy="real", mirror=mirror, registry=registry)
        return read_letters(Path(folder) / "letters")


def fit(task, X, y, C, gap, solver, seconds):
    """Return the model and the least processor time."""
    model = StructuredSVM(task, C=C, tol=gap, solver=solver, max_iter=10_000, max_time=seconds)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model, time.process_time() - began


def report(name, gap, seconds, done, own, details):
    ratio = f"{'' if done else 'more than '}{seconds / own:.1f}"
    print(f"{name:24} gap {gap:g}  {seconds:8.2f} s  ratio {ratio:>16}  {details}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--C", type=float, default=0.03)
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for each of the peers")
    parser.add_argument("--peers", nargs="+", choices=("numpy", "pystruct"), default=("numpy", "pystruct"))
    parser.add_argument("--gaps", type=float, nargs="+", default=[1e-2, 1e-3])
    options = parser.parse_args()
    mirror = os.environ.get(MIRROR_VARIABLE)
    words = read_words(Path(mirror) if mirror else None)
    images = [image.reshape(len(image), -1).astype(np.float64) for image in words.images]
    inside, outside = np.flatnonzero(words.folds == options.fold), np.flatnonzero(words.folds != options.fold)
    X, X_test = ([images[i] for i in part] for part in (inside, outside))
    y, y_test = ([words.labels[i] for i in part] for part in (inside, outside))
    print(f"{len(X)} words, {sum(map(len, X))} letters to train, {sum(map(len, X_test))} to test")
    numba.set_num_threads(1)
    with threadpool_limits(1):
        compare(options, X, y, X_test, y_test)


def compare(options, X, y, X_test, y_test):
    C, own = options.C, {}
    fit(ChainCRF(N_STATES, N_FEATURES), X[:20], y[:20], C, 0.1, "auto", 60)  # compile or load the kernels
    for gap in options.gaps:
        runs = [
            fit(ChainCRF(N_STATES, N_FEATURES), X, y, C, gap, "auto", options.seconds)
            for _ in range(options.repeats)
        ]
        model, own[gap] = runs[0][0], min(seconds for _, seconds in runs)
        right = accuracy(model.predict(X_test), y_test)
        details = f"{model.result_.n_iter} passes, accuracy {right:.4f}"
        report("ChainCRF", gap, own[gap], model.result_.converged, own[gap], details)
    alone = [[row[i : i + 1] for row in part for i in range(len(row))] for part in (X, y)]
    single, seconds = fit(ChainCRF(N_STATES, N_FEATURES), *alone, C, min(own), "auto", options.seconds)
    flat = [row[i : i + 1] for row in X_test for i in range(len(row))]
    right = accuracy(single.predict(flat), y_test)
    report("each letter alone", min(own), seconds, True, own[min(own)], f"accuracy {right:.4f}")
    if "numpy" in options.peers:
        compare_numpy(options, X, y, own)
    if "pystruct" not in options.peers:
        return
    if importlib.util.find_spec("pystruct"):
        compare_pystruct(options, X, y, X_test, y_test, own)
    else:
        print("pystruct cannot be imported: left out")


def compare_numpy(options, X, y, own):
    for gap in options.gaps:
        for solver in ("bundle", "auto"):
            model, seconds = fit(NumpyChains(), X, y, options.C, gap, solver, options.seconds)
            reached = model.result_.converged
            details = f"{model.result_.n_iter} passes, gap {model.result_.relative_gap:.2g}"
            report(f"numpy, {solver}", gap, seconds, reached, own[gap], details)


def compare_pystruct(options, X, y, X_test, y_test, own):
    for name in pystruct_learners(options.C, None):
        watch = Stopwatch(options.gaps, options.seconds)
        learner = pystruct_learners(options.C, watch)[name]
        began = time.process_time()
        learner.fit(X, y)
        spent = time.process_time() - began
        right = accuracy(learner.predict(X_test), y_test)
        details = f"{watch.passes} passes, gap {watch.gap:.2g}, accuracy {right:.4f}"
        for gap in options.gaps:
            report(name, gap, watch.reached.get(gap, spent), gap in watch.reached, own[gap], details)


if __name__ == "__main__":
    main()
