"""Vicinal risk and the losses whose supremum bounds it (equivariant structured SVM, appendix A).

The set of transformations is finite here: ``losses[t]`` is the loss after transformation ``t`` and
``probabilities[t]`` the probability of ``t``. A family of bounding functions is a matrix with one function
per row. It must be *ordered*: of any two rows one is nowhere below the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import require_finite

Vector = NDArray[np.float64]


def vicinal_risk(losses: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the expected loss over the transformations (eq. 9, one example)."""
    losses = np.asarray(losses, dtype=float)
    if losses.ndim != 1 or not np.isfinite(losses).all():
        raise ValueError(f"losses has shape {losses.shape}: expected (T,), finite numbers")
    return float(_distribution(probabilities, len(losses)) @ losses)


def is_ordered(family: ArrayLike) -> bool:
    """Return whether of any two rows of ``family`` one is nowhere below the other (lemma 1, i)."""
    family = np.asarray(family, dtype=float)
    ascending = family[np.argsort(family.sum(axis=1), kind="stable")]
    return bool((np.diff(ascending, axis=0) >= 0).all())


def smallest_members(family: ArrayLike, losses: ArrayLike) -> NDArray[np.intp]:
    """Return the smallest row that reaches ``losses[t]`` at ``t``, for each ``t`` (lemma 1, ii)."""
    family, losses = np.asarray(family, dtype=float), np.asarray(losses, dtype=float)
    if family.ndim != 2 or losses.shape != family.shape[1:]:
        raise ValueError(
            f"shapes of family and losses are {family.shape} and {losses.shape}: expected (m, T), (T,)"
        )
    ascending = np.argsort(family.sum(axis=1), kind="stable")
    reaches = family[ascending] >= losses
    if not reaches.any(axis=0).all():
        t = int(np.argmin(reaches.any(axis=0)))
        raise ValueError(f"no member of the family reaches the loss {losses[t]} at transformation {t}")
    return ascending[np.argmax(reaches, axis=0)]


def equivariant_losses(family: ArrayLike, members: ArrayLike, probabilities: ArrayLike) -> Vector:
    """Return ``Delta(t)``, the expectation of the member of each ``t`` (eq. 11)."""
    family, members = np.asarray(family, dtype=float), np.asarray(members)
    if family.ndim != 2 or not np.isfinite(family).all():
        raise ValueError(f"family has shape {family.shape}: expected (m, T), finite numbers")
    if not np.issubdtype(members.dtype, np.integer) or ((members < 0) | (members >= len(family))).any():
        raise ValueError(f"members are {members}: expected row numbers, 0 to {len(family) - 1}")
    return (family @ _distribution(probabilities, family.shape[1]))[members]


def lemma_bound(family: ArrayLike, losses: ArrayLike, probabilities: ArrayLike) -> float:
    """Return ``max_t Delta(t)``, which is at least the vicinal risk if ``family`` is ordered (lemma 1).

    The bound is the expectation of the smallest member that is nowhere below the losses.
    """
    return float(equivariant_losses(family, smallest_members(family, losses), probabilities).max())


def step_family(transformations: ArrayLike) -> Vector:
    """Return the functions that are 1 for ``|t| >= q`` and 0 elsewhere, one per size ``q``, and 0 itself.

    This is the ordered interpretation of the family of figure 4, for losses of at most 1.
    """
    sizes = np.abs(np.asarray(transformations, dtype=float))
    thresholds = np.append(np.unique(sizes), np.inf)
    return (sizes >= thresholds[:, None]).astype(float)


def scaled_family(profile: ArrayLike, losses: ArrayLike) -> Vector:
    """Return the multiples ``c * profile`` that touch the losses.

    Any profile gives an ordered family, for which (11) is ``Delta(t) = losses[t] * E[profile] / profile[t]``:
    a weight for each transformation. A constant profile gives the plain supremum; the losses themselves, if
    they were known, would give the vicinal risk.
    """
    profile, losses = np.asarray(profile, dtype=float), np.asarray(losses, dtype=float)
    blind = (profile <= 0) & (losses > 0)
    if blind.any():
        t = int(np.argmax(blind))
        raise ValueError(f"profile[{t}] is {profile[t]} for the loss {losses[t]}: expected more than 0")
    ratios = np.divide(losses, profile, out=np.zeros_like(losses), where=profile > 0)
    # A ratio that is rounded down would leave its member just below the loss that it must reach.
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        family = np.unique(ratios)[:, None] * (1 + 4 * np.finfo(float).eps) * profile
    message = f"multiples of the profile that reach losses up to {losses.max()} are NaN or infinite"
    return require_finite(family, f"{message}: expected finite numbers")


def scaled_step_losses(transformations: ArrayLike, losses: ArrayLike, probabilities: ArrayLike) -> Vector:
    """Return (11) for steps of height ``losses[t]`` instead of 1: a family that is *not* ordered.

    This is the interpretation of figure 4 in which the height enters the formula; lemma 1 does not cover it.
    """
    family = step_family(transformations)
    sizes = np.abs(np.asarray(transformations, dtype=float))
    members = np.searchsorted(np.unique(sizes), sizes)
    losses = np.asarray(losses, dtype=float)
    return losses * equivariant_losses(family, members, probabilities)


def _distribution(probabilities: ArrayLike, size: int) -> Vector:
    probabilities = np.asarray(probabilities, dtype=float)
    if probabilities.shape != (size,):
        raise ValueError(f"probabilities has shape {probabilities.shape}: expected ({size},)")
    if not (probabilities >= 0).all() or not np.isclose(probabilities.sum(), 1):
        raise ValueError(
            f"probabilities sum to {probabilities.sum()} with minimum {probabilities.min()}: "
            "expected sum 1 and none below 0"
        )
    return probabilities
