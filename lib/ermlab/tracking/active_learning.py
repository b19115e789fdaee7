"""Active structured learning: which sample to annotate next, and when to stop (cheap-data, section 1.4).

Uncertainties are exponentials of scores, so their logarithms are kept. The most uncertain sample does not
depend on the norm of the weights. The average uncertainty, and with it the time to stop, does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from ermlab._utils.files import reading
from ermlab._utils.model_files import read_model, write_model
from ermlab.tracking.assignment import check_events
from ermlab.tracking.patches import Patch
from ermlab.tracking.perceptron import perceptron_pass
from ermlab.tracking.small_assignment import SmallProblems

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

_FORMAT = "ermlab active learner 1"
#: Quantiles that limit the elements of a robust mean.
_INNER = (0.1, 0.9)


def scoring(problems: SmallProblems, w: Vector, numbers: Numbers, n_jobs: int | None = None) -> Vector:
    """Return the logarithm of the uncertainty *scoring*: minus the best score (cheap-data, Table 1.2)."""
    return -problems.best_values(w, numbers, n_jobs=n_jobs)[:, 0]


def best_worst(problems: SmallProblems, w: Vector, numbers: Numbers, n_jobs: int | None = None) -> Vector:
    """Return the logarithm of *best vs. worst*: the smallest minus the best score."""
    best = problems.best_values(w, numbers, n_jobs=n_jobs)[:, 0]
    worst = -problems.best_values(-w, numbers, n_jobs=n_jobs)[:, 0]
    return worst - best


def best_second(problems: SmallProblems, w: Vector, numbers: Numbers, n_jobs: int | None = None) -> Vector:
    """Return the logarithm of *best vs. second best*; -inf if there is only one assignment."""
    best, second = problems.best_values(w, numbers, n_best=2, n_jobs=n_jobs).T
    return second - best


#: Measures of uncertainty by name; *random* needs no weights.
MEASURES: dict[str, Callable[..., Vector] | None] = {
    "random": None,
    "scoring": scoring,
    "best_worst": best_worst,
    "best_second": best_second,
}


@dataclass
class ActiveHistory:
    """History of active learning, one entry per annotated sample."""

    queries: list[int] = field(default_factory=list)  #: indices of the samples
    weights: list[Vector] = field(default_factory=list)  #: after the following pass
    averaged: list[Vector] = field(default_factory=list)  #: mean of the weights after each step so far
    log_uncertainty: list[Vector] = field(default_factory=list)  #: of the remaining samples
    log_average: list[float] = field(default_factory=list)  #: logarithm of their average uncertainty
    log_eta: list[float] = field(default_factory=list)  #: logarithm of eq. 1.8; inf while undefined


class ActiveLearner:
    """Active structured learning with the perceptron (cheap-data, Algorithm 1.2).

    Call `query` for the next sample and `annotate` with its annotation, until `stopped`.

    Parameters
    ----------
    samples : sequence of Patch
        The pool; the annotations of the patches are ignored.
    measure : {"random", "scoring", "best_worst", "best_second"}, default="best_second"
        Measure of uncertainty.
    window : int, default=80
        ``T`` of the convergence measure (eq. 1.8).
    threshold : float, default=1e-4
        Value of the convergence measure at which to stop.
    w0 : array-like, optional
        Initial weights, by default 0: the first query is then the first sample.
    random_state : int or Generator, default=0
        Seed of the uncertainties of *random*, which stops only when all samples are annotated.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    w : ndarray
        The current weights.
    history : ActiveHistory
        The queries and what followed from each.
    """

    def __init__(
        self,
        samples: Sequence[Patch],
        measure: str = "best_second",
        *,
        window: int = 80,
        threshold: float = 1e-4,
        w0: ArrayLike | None = None,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
    ):
        if measure not in MEASURES:
            raise ValueError(f"measure is {measure!r}: expected one of {', '.join(MEASURES)}")
        if window < 1 or not threshold >= 0:
            raise ValueError(f"window is {window}, threshold {threshold}: expected at least 1 and 0")
        self._samples, self._measure, self._window, self._threshold = samples, measure, window, threshold
        self._problems = SmallProblems([sample.hypotheses for sample in samples])
        self._rng = np.random.default_rng(random_state)
        self._seed = int(random_state) if isinstance(random_state, int | np.integer) else None
        self._n_jobs = n_jobs
        self._annotations: list[Numbers] = []
        self._left = np.arange(len(samples))
        dimension = samples[0].hypotheses.dimension
        self.w = np.zeros(dimension) if w0 is None else np.array(w0, dtype=np.float64)
        if self.w.shape != (dimension,) or not np.isfinite(self.w).all():
            raise ValueError(f"w0 has shape {self.w.shape}: expected {dimension} finite numbers")
        self._w0 = self.w.copy()
        self._total, self._steps = np.zeros_like(self.w), 0
        self.history = ActiveHistory()
        self._log_uncertainty = self._measured()

    def save(self, path: str | Path) -> None:
        """Write settings and annotations to a file, from which `load` continues.

        The file holds numbers and text only, no code. The samples are not stored.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.
        """
        if self._seed is None:
            raise ValueError("random_state is a Generator: expected a seed, which can be saved")
        document = {
            "format": _FORMAT,
            "measure": self._measure,
            "window": int(self._window),
            "threshold": float(self._threshold),
            "random_state": self._seed,
            "queries": self.labeled,
        }
        arrays = {f"events{i}": events for i, events in enumerate(self._annotations)}
        sizes = [len(sample.hypotheses) for sample in self._samples]
        write_model(path, document, arrays | {"w0": self._w0, "w": self.w, "sizes": np.array(sizes)})

    @classmethod
    def load(cls, path: str | Path, samples: Sequence[Patch], n_jobs: int | None = None) -> Self:
        """Continue active learning from a file that `save` has written.

        Annotations are repeated one by one, so that weights and history are those of the saved learner.

        Parameters
        ----------
        path : str or Path
            The file. Nothing in it is executed, and a damaged file raises a `DataError`.
        samples : sequence of Patch
            The same pool.
        n_jobs : int, optional
            Number of threads.
        """
        document, arrays = read_model(path)
        with reading(path, "a file that `ActiveLearner.save` has written"):
            if document.get("format") != _FORMAT:
                raise ValueError("another format")
            sizes = [len(sample.hypotheses) for sample in samples]
            if arrays["sizes"].tolist() != sizes:
                raise ValueError(f"other samples: {len(arrays['sizes'])} in the file, {len(sizes)} given")
            settings = {name: document[name] for name in ("measure", "window", "threshold", "random_state")}
            learner = cls(samples, w0=arrays["w0"], n_jobs=n_jobs, **settings)
            for i, number in enumerate(document["queries"]):
                learner.annotate(number, arrays[f"events{i}"])
            if not np.array_equal(learner.w, arrays["w"]):
                raise ValueError("other samples, for which the weights differ")
        return learner

    @property
    def labeled(self) -> list[int]:
        """Indices of the annotated samples, in the order of their annotation."""
        return list(self.history.queries)

    @property
    def stopped(self) -> bool:
        """Whether the average uncertainty has converged, or all samples are annotated."""
        with np.errstate(over="ignore"):  # infinity is above any threshold
            converged = self.history.log_eta and np.exp(self.history.log_eta[-1]) <= self._threshold
        return bool(converged) or not len(self._left)

    def query(self) -> int:
        """Return the index of the most uncertain sample, of several the first (line 4)."""
        if not len(self._left):
            raise ValueError("all samples are annotated: expected one that is not")
        return int(self._left[np.argmax(self._log_uncertainty)])

    def annotate(self, number: int, events: ArrayLike) -> None:
        """Add the annotation of a sample, and update the weights with all annotated samples (lines 5 to 13).

        Parameters
        ----------
        number : int
            Index of the sample.
        events : array-like of int
            Indices of the events that are known to be true; may be empty.
        """
        if number not in self._left:
            raise ValueError(f"sample {number}: expected one that is not annotated yet")
        sample = self._samples[number]
        events = check_events(events, len(sample.hypotheses))
        sample.assigner.best(np.zeros(len(sample.hypotheses)), including=events)  # raises if they clash
        self._left = self._left[self._left != number]
        self.history.queries.append(number)
        self._annotations.append(events)
        assigners = [self._samples[i].assigner for i in self.history.queries]
        self.w, summed, _ = perceptron_pass(self.w, assigners, self._annotations)
        self._total, self._steps = self._total + summed, self._steps + len(assigners)
        self._log_uncertainty = self._measured()
        self._record()

    def _measured(self) -> Vector:
        """Return the logarithm of the uncertainty of each remaining sample."""
        measure = MEASURES[self._measure]
        if measure is None:
            return np.log(1 - self._rng.random(len(self._left)))
        return measure(self._problems, self.w, self._left, self._n_jobs)

    def _record(self) -> None:
        history = self.history
        history.weights.append(self.w.copy())
        history.averaged.append(self._total / self._steps)
        history.log_uncertainty.append(self._log_uncertainty)
        history.log_average.append(log_mean(self._log_uncertainty))
        # Random uncertainties converge at once, whatever was learned.
        defined = len(history.log_average) > self._window and len(self._left) and self._measure != "random"
        last = history.log_average[-self._window - 1 :]
        history.log_eta.append(log_convergence(last) if defined else np.inf)


def log_mean(log_values: ArrayLike) -> float:
    """Return the logarithm of the mean of numbers that are given by their logarithms; -inf without any."""
    log_values = np.asarray(log_values, dtype=np.float64)
    return float(logsumexp(log_values) - np.log(len(log_values))) if len(log_values) else -np.inf


def log_convergence(log_averages: ArrayLike) -> float:
    """Return the logarithm of the convergence measure of average uncertainties (cheap-data, eq. 1.8).

    Of ``T + 1`` successive ones: the distance between the robust means of the first and of the last ``T``.
    """
    log_averages = np.asarray(log_averages, dtype=np.float64)
    if len(log_averages) < 2:
        raise ValueError(f"{len(log_averages)} averages: expected at least 2")
    largest = log_averages.max()
    if largest == -np.inf:
        return -np.inf
    averages = np.exp(log_averages - largest)
    difference = abs(robust_mean(averages[1:]) - robust_mean(averages[:-1]))
    return float(largest + np.log(difference)) if difference else -np.inf


def robust_mean(values: ArrayLike) -> float:
    """Return the mean of the numbers between the 10 % and the 90 % quantile."""
    values = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(values, _INNER)
    inner = values[(low <= values) & (values <= high)]
    # No element of two lies between their quantiles.
    return float(inner.mean()) if len(inner) else float(values.mean())
