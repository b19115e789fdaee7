"""Compare published claims and values with the results of a run.

`config/claims.yaml` states each claim with the criterion that decides it, fixed before the result is seen:
an inequality (``check``), or a value with a tolerance around the published one. Where results were measured
repeatedly, the criterion is evaluated on draws from their uncertainty (`uncertainty.draw`): a claim is
`reproduced` if it holds in at least 95 % of the draws, `not reproduced` if it holds in at most 5 %, and
`undecided` otherwise. A claim that cannot be computed is `not tested`, with the reason.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab.exceptions import DataError
from reproduction.claims import expression as _expression
from reproduction.claims.departures import Departure, Published, departures
from reproduction.claims.exhibits import Catalogue
from reproduction.claims.expression import MissingValue
from reproduction.claims.rows import unique_ids
from reproduction.claims.uncertainty import Units, draw, estimate, units_of
from reproduction.pipeline.documents import read_document

REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_TESTED = "reproduced", "not reproduced", "undecided", "not tested"
STATUSES = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_TESTED)
#: A claim is decided if it holds in at least this share of the draws, or fails in as many.
CONFIDENCE = 0.95
NO_DATA, REAL_DATA, SIMULATED_DATA = "no data", "real data", "simulated data"


@dataclass(frozen=True)
class Claim:
    """One row of ``config/claims.yaml``: exactly one of ``check``, ``value`` and ``reason`` is given.

    Attributes
    ----------
    check
        Expression that is true when the claim holds.
    value, tolerance
        Expression for our value, and how far it may lie from ``published``:
        ``{"absolute": 0.1}`` or ``{"relative": 0.1}``.
    reason
        Why the claim cannot be tested at all.
    show
        Expressions whose values are shown as ours.
    published_spread
        The spread printed with the published values, of the same form.
    control
        Whether the row is a control of this project instead of a published claim.
    requires
        Ids of the controls of the same experiment without which the claim cannot be decided.
    history
        Earlier criteria, and why they were changed after results had been seen.
    datasets
        Names of the data sets that the claim's values were computed from; by default all of the experiment.
    deviation
        How the protocol differs from the source's.
    """

    id: str
    exhibit: str
    text: str
    source: str
    experiment: str
    published: Any = None
    check: str | None = None
    value: str | None = None
    tolerance: Mapping[str, float] | None = None
    reason: str | None = None
    show: tuple[str, ...] = ()
    published_spread: Any = None
    control: bool = False
    requires: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    datasets: tuple[str, ...] | None = None
    deviation: str | None = None

    @property
    def expressions(self) -> tuple[str, ...]:
        """All expressions of the claim."""
        return tuple(text for text in (self.check, self.value, *self.show) if text)

    @property
    def names(self) -> set[str]:
        """The results that the experiment must write for this claim."""
        return set().union(*(_expression.names(_expression.parse(text)) for text in self.expressions))


@dataclass(frozen=True)
class ClaimResult:
    """The outcome of a claim in a run: one row of ``reports/claims.json``.

    Attributes
    ----------
    ours
        The shown expressions and their values, means where there are several measurements.
    intervals
        For each shown expression that was measured repeatedly, the ends ``{"low", "high"}`` of its 95 %
        interval, each of the form of its value.
    probability
        Share of the draws in which the claim holds; None if nothing that it rests on was repeated.
    units
        What the results were measured on, such as ``{"film": 8}``.
    badge
        Kind of the data; None when the experiment has no results.
    basis
        How near the test is to the source, a name in `departures.BASES`; None when there are no results.
    departures
        All ways in which the test departs from the source.
    """

    id: str
    exhibit: str
    text: str
    source: str
    experiment: str
    published: Any
    published_spread: Any
    control: bool
    requires: tuple[str, ...]
    history: tuple[str, ...]
    ours: dict[str, Any]
    intervals: dict[str, Any]
    probability: float | None
    units: dict[str, int]
    status: str
    reason: str | None
    badge: str | None
    datasets: dict[str, str]
    basis: str | None
    departures: tuple[Departure, ...]


def load_claims(path: str | Path, schema: str | Path | None = None) -> tuple[Claim, ...]:
    """Read ``config/claims.yaml``; every expression must parse and use documented values only."""
    document = read_document(path, schema)
    unique_ids(path, document["claims"], "claim")
    lists = ("show", "requires", "history", "datasets")
    claims = tuple(
        Claim(**{**row, **{name: tuple(row[name]) for name in lists if name in row}})
        for row in document["claims"]
    )
    controls = {(claim.id, claim.experiment) for claim in claims if claim.control}
    for claim in claims:
        _check_names(path, claim, document["values"].get(claim.experiment))
        if unknown := [name for name in claim.requires if (name, claim.experiment) not in controls]:
            what = f"it requires {unknown[0]!r}, which is not a control of {claim.experiment}"
            raise DataError(f"{path}: claim {claim.id}: {what}")
    return claims


def check_claims(
    claims: Iterable[Claim],
    exhibits: Catalogue,
    results_by_experiment: Mapping[str, Mapping[str, Any]],
    published: Published | None = None,
) -> list[ClaimResult]:
    """Decide each claim on the results of a run.

    Parameters
    ----------
    claims
        As `load_claims` returns them.
    exhibits
        As `load_exhibits` returns them.
    results_by_experiment
        Experiment names to what `read_results` returns; experiments that were not run are left out.
    published
        What the sources used, as `load_published` returns it; by default nothing is known about it.
    """
    published = published or Published()
    rows = [
        _check_claim(claim, exhibits, results_by_experiment.get(claim.experiment), published)
        for claim in claims
    ]
    status = {row.id: row.status for row in rows}
    return [_hold_to_controls(row, status) for row in rows]


def claims_document(results: Iterable[ClaimResult]) -> dict[str, Any]:
    """Return the content of ``reports/claims.json``: claims, controls, and the number of claims by status."""
    rows = [asdict(result) for result in results]
    claims = [row for row in rows if not row["control"]]
    counts = {status: sum(row["status"] == status for row in claims) for status in STATUSES}
    return {"claims": claims, "controls": [row for row in rows if row["control"]], "counts": counts}


def badge(datasets: Mapping[str, str]) -> str:
    """Return the badge of results on these data sets: one that is simulated makes the whole simulated."""
    if not datasets:
        return NO_DATA
    return REAL_DATA if set(datasets.values()) == {"real"} else SIMULATED_DATA


def _check_names(path: str | Path, claim: Claim, documented: Mapping[str, str] | None) -> None:
    """Refuse a claim whose expressions do not parse, name an undocumented value, or show seconds."""
    place = f"{path}: claim {claim.id}"
    if documented is None and claim.expressions:
        raise DataError(f"{place}: `values` does not describe the experiment {claim.experiment!r}")
    try:
        needed = claim.names
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    for name in sorted(needed):
        if name not in documented:
            raise DataError(f"{place}: `values` of {claim.experiment} does not describe {name!r}")
    for text in claim.show:
        if any(name.startswith("timings.") for name in _expression.names(_expression.parse(text))):
            raise DataError(f"{place}: `show` has {text!r}, but seconds change from run to run")


def _check_claim(
    claim: Claim, exhibits: Catalogue, results: Mapping[str, Any] | None, published: Published
) -> ClaimResult:
    section = exhibits.section_of(claim.exhibit)
    verdict = _Verdict(NOT_TESTED)
    ours: dict[str, Any] = {}
    intervals: dict[str, Any] = {}
    if claim.reason is not None:
        verdict = _Verdict(NOT_TESTED, claim.reason)
    elif results is None:
        missing = f"the experiment {claim.experiment} has no results in this run"
        verdict = _Verdict(NOT_TESTED, missing if section.built else "section not built yet")
    else:
        verdict = _decide(claim, results)
    datasets: dict[str, str] = {}
    basis, found = None, []
    if results is not None:
        ours, intervals = _shown(claim, results)
        datasets = _datasets(claim, results["datasets"])
        deviations = filter(None, (exhibits.exhibit(claim.exhibit).deviation, claim.deviation))
        settings = results.get("settings", {})
        basis, found = departures(datasets, settings, claim.experiment, deviations, published)
    given = {name: getattr(claim, name) for name in _COPIED}
    return ClaimResult(
        **given,
        ours=ours,
        intervals=intervals,
        probability=verdict.probability,
        units=verdict.units,
        status=verdict.status,
        reason=verdict.reason,
        badge=None if results is None else badge(datasets),
        datasets=datasets,
        basis=basis,
        departures=tuple(found),
    )


def _datasets(claim: Claim, used: Mapping[str, str]) -> dict[str, str]:
    """Return the kinds of the data sets that the claim's values were computed from."""
    if claim.datasets is None:
        return dict(used)
    if unknown := [name for name in claim.datasets if name not in used]:
        raise DataError(f"claim {claim.id}: the results of {claim.experiment} do not use {unknown[0]!r}")
    return {name: used[name] for name in claim.datasets}


_COPIED = (
    "id",
    "exhibit",
    "text",
    "source",
    "experiment",
    "published",
    "published_spread",
    "control",
    "requires",
    "history",
)


@dataclass(frozen=True)
class _Verdict:
    status: str
    reason: str | None = None
    probability: float | None = None
    units: dict[str, int] = field(default_factory=dict)


def _hold_to_controls(row: ClaimResult, status: Mapping[str, str]) -> ClaimResult:
    """Leave a claim undecided if a control that it requires does not hold."""
    failed = [name for name in row.requires if status[name] != REPRODUCED]
    if not failed or row.status == NOT_TESTED:
        return row
    reason = f"a control that the claim requires does not hold: {', '.join(failed)}"
    return replace(row, status=UNDECIDED, reason=reason)


def _decide(claim: Claim, results: Mapping[str, Any]) -> _Verdict:
    """Decide a claim on draws of the results."""
    values = _named_values(results)
    try:
        if claim.check is not None:
            holds = _evaluate(claim, claim.check, values)
            if np.ndim(holds) > 1 or np.asarray(holds).dtype.kind != "b":
                raise ValueError(f"claim {claim.id}: {claim.check!r} is not one truth value")
        else:
            ours = _evaluate(claim, claim.value, values)
            holds = _close(claim, ours, claim.published, claim.value)
    except MissingValue as missing:
        return _Verdict(NOT_TESTED, f"{claim.experiment}: {missing.args[0]}")
    units = _units(claim.check or claim.value, values)
    counts = {unit.name: unit.number for unit in sorted(units, key=lambda unit: unit.number, reverse=True)}
    if single := sorted(unit.name for unit in units if unit.number < 2):
        return _Verdict(UNDECIDED, f"one {single[0]} only, so that the spread is unknown", None, counts)
    share = float(np.mean(holds))
    status = REPRODUCED if share >= CONFIDENCE else NOT_REPRODUCED if share <= 1 - CONFIDENCE else UNDECIDED
    return _Verdict(status, None, round(share, 3) if units else None, counts)


def _shown(claim: Claim, results: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the claim shows as ours, and the 95 % intervals of what was measured repeatedly."""
    values = _named_values(results)
    ours, intervals = {}, {}
    for text in claim.show:
        try:
            ours[text] = _plain(_evaluate(claim, text, values, estimate), lambda draws: draws[..., 0])
            drawn = _evaluate(claim, text, values)
        except MissingValue:
            continue
        if any(unit.number > 1 for unit in _units(text, values)):
            low, high = (_plain(drawn, partial(np.quantile, q=q, axis=-1)) for q in _TAILS)
            intervals[text] = {"low": low, "high": high}
    return ours, intervals


_TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


def _units(text: str, values: Mapping[str, Any]) -> set[Units]:
    """Return the units that the results in an expression were measured on."""
    return set().union(*map(units_of, _expression.operands(_expression.parse(text), values)))


def _named_values(results: Mapping[str, Any]) -> dict[str, Any]:
    return {**results["values"], "timings": results.get("timings", {})}


def _evaluate(claim: Claim, text: str, values: Mapping[str, Any], take: Callable[[Any], Any] = draw) -> Any:
    """Evaluate an expression on draws or estimates of the results that it names."""
    tree = _expression.parse(text)
    needed = {name.split(".")[0] for name in _expression.names(tree)}
    try:
        taken = {name: take(item) for name, item in values.items() if name in needed}
        return _expression.evaluate(tree, taken)
    except ValueError as error:
        raise ValueError(f"claim {claim.id}: {error}") from error


def _close(claim: Claim, ours: Any, published: Any, place: str) -> NDArray[np.bool_]:
    """Return for each draw whether every published number has ours within the tolerance."""
    if isinstance(published, Mapping):
        if not isinstance(ours, Mapping):
            raise ValueError(f"claim {claim.id}: {place} is not a mapping of {', '.join(published)}")
        parts = [
            _close(claim, _part(ours, name, place), item, f"{place}.{name}")
            for name, item in published.items()
        ]
        return reduce(np.logical_and, parts)
    theirs, mine = np.asarray(published, dtype=float), _expression.numbers(ours, place)
    if mine.shape[:-1] != theirs.shape:
        raise MissingValue(f"{place} has shape {mine.shape[:-1]}, {theirs.shape} is published")
    allowed = claim.tolerance.get("absolute", 0.0) + claim.tolerance.get("relative", 0.0) * np.abs(theirs)
    close = np.abs(mine - theirs[..., None]) <= allowed[..., None]
    return close.reshape(-1, close.shape[-1]).all(axis=0)


def _part(mapping: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in mapping:
        raise MissingValue(f"there is no {name!r} in {place}")
    return mapping[name]


def _plain(value: Any, summary: Callable[[NDArray], Any]) -> Any:
    """Turn arrays of draws into what JSON knows, each number into a summary of its draws."""
    if isinstance(value, Mapping):
        return {name: _plain(item, summary) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, summary) for item in value]
    return np.asarray(summary(value)).tolist()
