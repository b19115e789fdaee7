"""The price C of a taxonomic experiment, chosen on validation samples (thesis, section 5.2.6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sklearn.multiclass import OneVsRestClassifier

from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM


@dataclass(frozen=True)
class Trial:
    """A classifier trained with a price, and how good it is on the validation part."""

    C: float
    validation: float  #: accuracy
    gap: float  #: relative, of the optimiser; 0 where it does not tell
    iterations: int
    classifier: OneVsRestClassifier | TaxonomicSVM


def search_price(
    train: Callable[[float], Trial], prices: Sequence[float], limits: tuple[float, float]
) -> tuple[Trial, list[Trial]]:
    """Return the best trial and all of them, rising; the grid grows until the best is inside it.

    Of equally good prices the lowest inside the grid is taken. New prices keep the ratio of the last two at
    that end and stay within ``limits``.
    """
    if len(prices) < 2 or sorted(set(prices)) != list(prices) or prices[0] <= 0:
        raise ValueError(f"prices are {list(prices)}: expected at least two, positive and rising")
    trials = [train(C) for C in prices]
    while True:
        best = max(trial.validation for trial in trials)
        inside = [trial for trial in trials[1:-1] if trial.validation == best]
        low, high = (trials[0].C ** 2 / trials[1].C, trials[-1].C ** 2 / trials[-2].C)
        if inside:
            return inside[0], trials
        if trials[0].validation == best and low >= limits[0]:
            trials.insert(0, train(low))
        elif trials[-1].validation == best and high <= limits[1]:
            trials.append(train(high))
        else:
            return next(trial for trial in trials if trial.validation == best), trials
