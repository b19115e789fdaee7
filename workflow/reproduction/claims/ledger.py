"""Compare published claims and values with the results of a run.

`config/claims.yaml` states each claim with the criterion that decides it, fixed before the result is seen:
an inequality (``check``), or a value with a tolerance around the published one. A claim that does not hold
is `not reproduced`; one that cannot be decided is `not tested`, with the reason.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ermlab.exceptions import DataError
from reproduction.claims import expression as _expression
from reproduction.claims.exhibits import Catalogue
from reproduction.claims.expression import MissingValue
from reproduction.claims.rows import unique_ids
from reproduction.pipeline.documents import read_document

REPRODUCED, NOT_REPRODUCED, NOT_TESTED = "reproduced", "not reproduced", "not tested"
STATUSES = (REPRODUCED, NOT_REPRODUCED, NOT_TESTED)
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

    ``ours`` maps the shown expressions to values (means over seeds where there are several), ``spread`` to
    ``{"sd", "n"}`` of the same shape; ``badge`` is None when the experiment has no results.
    """

    id: str
    exhibit: str
    text: str
    source: str
    experiment: str
    published: Any
    ours: dict[str, Any]
    spread: dict[str, Any]
    status: str
    reason: str | None
    badge: str | None
    datasets: dict[str, str]


def load_claims(path: str | Path, schema: str | Path | None = None) -> tuple[Claim, ...]:
    """Read ``config/claims.yaml``; every expression must parse and use documented values only."""
    document = read_document(path, schema)
    unique_ids(path, document["claims"], "claim")
    claims = tuple(Claim(**{**row, "show": tuple(row.get("show", ()))}) for row in document["claims"])
    for claim in claims:
        _check_names(path, claim, document["values"].get(claim.experiment))
    return claims


def check_claims(
    claims: Iterable[Claim], exhibits: Catalogue, results_by_experiment: Mapping[str, Mapping[str, Any]]
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
    """
    return [_check_claim(claim, exhibits, results_by_experiment.get(claim.experiment)) for claim in claims]


def claims_document(results: Iterable[ClaimResult]) -> dict[str, Any]:
    """Return the content of ``reports/claims.json``: the rows, and how many have each status."""
    rows = [asdict(result) for result in results]
    counts = {status: sum(row["status"] == status for row in rows) for status in STATUSES}
    return {"claims": rows, "counts": counts}


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


def _check_claim(claim: Claim, exhibits: Catalogue, results: Mapping[str, Any] | None) -> ClaimResult:
    section = exhibits.section_of(claim.exhibit)
    ours: dict[str, Any] = {}
    spread: dict[str, Any] = {}
    if claim.reason is not None:
        status, reason = NOT_TESTED, claim.reason
    elif results is None:
        missing = f"the experiment {claim.experiment} has no results in this run"
        status, reason = NOT_TESTED, missing if section.built else "section not built yet"
    else:
        status, reason = _decide(claim, results)
    if results is not None:
        ours, spread = _shown(claim, results)
    datasets = dict(results["datasets"]) if results is not None else {}
    return ClaimResult(
        id=claim.id,
        exhibit=claim.exhibit,
        text=claim.text,
        source=claim.source,
        experiment=claim.experiment,
        published=claim.published,
        ours=ours,
        spread=spread,
        status=status,
        reason=reason,
        badge=None if results is None else badge(datasets),
        datasets=datasets,
    )


def _decide(claim: Claim, results: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the status of a claim and the reason if it could not be tested."""
    values = _named_values(results)
    try:
        if claim.check is not None:
            holds = _evaluate(claim, claim.check, values, _mean)
            if np.ndim(holds) or np.asarray(holds).dtype.kind != "b":
                raise ValueError(f"claim {claim.id}: {claim.check!r} is not one truth value")
        else:
            ours = _evaluate(claim, claim.value, values, _mean)
            holds = _close(claim, ours, claim.published, claim.value)
    except MissingValue as missing:
        return NOT_TESTED, f"{claim.experiment}: {missing.args[0]}"
    return (REPRODUCED if holds else NOT_REPRODUCED), None


def _shown(claim: Claim, results: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the claim shows as ours, and the spread over seeds of what has one."""
    values = _named_values(results)
    ours, spread = {}, {}
    for text in claim.show:
        try:
            ours[text] = _plain(_evaluate(claim, text, values, _mean))
        except MissingValue:
            continue
        over_seeds = _spread_of(claim, text, values)
        if over_seeds is not None:
            spread[text] = over_seeds
    return ours, spread


def _spread_of(claim: Claim, text: str, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return sd and number of seeds of an expression evaluated on each seed, or None if it has no seeds."""
    seeds = _count_seeds({name: values[name] for name in _expression.names(_expression.parse(text))})
    if not seeds:
        return None
    if len(seeds) > 1:
        raise ValueError(f"claim {claim.id}: {text!r} mixes results over {sorted(seeds)} seeds")
    n = seeds.pop()
    repeats = [_plain(_evaluate(claim, text, values, itemgetter(i))) for i in range(n)]
    return {"sd": _deviation(repeats), "n": n}


def _named_values(results: Mapping[str, Any]) -> dict[str, Any]:
    return {**results["values"], "timings": results.get("timings", {})}


def _evaluate(claim: Claim, text: str, values: Mapping[str, Any], take: Callable) -> Any:
    """Evaluate an expression on the values it names, with ``take`` of each set of repeated measurements."""
    tree = _expression.parse(text)
    needed = {name.split(".")[0] for name in _expression.names(tree)}
    try:
        taken = {name: _over_seeds(item, take) for name, item in values.items() if name in needed}
        return _expression.evaluate(tree, taken)
    except ValueError as error:
        raise ValueError(f"claim {claim.id}: {error}") from error


def _is_over_seeds(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"per_seed"}


def _over_seeds(value: Any, take: Callable) -> Any:
    """Replace each set of repeated measurements in ``value`` by what ``take`` makes of it."""
    if _is_over_seeds(value):
        return take(value["per_seed"])
    if isinstance(value, Mapping):
        return {name: _over_seeds(item, take) for name, item in value.items()}
    if isinstance(value, list):
        return [_over_seeds(item, take) for item in value]
    return value


def _mean(repeats: list[float]) -> float:
    if not repeats:
        raise MissingValue("a value over seeds has no measurement")
    return float(np.mean(repeats))


def _count_seeds(value: Any) -> set[int]:
    """Return the numbers of repeated measurements that occur in ``value``."""
    if _is_over_seeds(value):
        return {len(value["per_seed"])}
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return set().union(*(_count_seeds(item) for item in items))


def _deviation(repeats: list[Any]) -> Any:
    """Return the standard deviation over repeats of numbers, lists or mappings; None for a single repeat."""
    if isinstance(repeats[0], Mapping):
        return {name: _deviation([repeat[name] for repeat in repeats]) for name in repeats[0]}
    if len(repeats) < 2:
        return None
    return _plain(np.std(np.asarray(repeats, dtype=float), axis=0, ddof=1))


def _close(claim: Claim, ours: Any, published: Any, place: str) -> bool:
    """Whether every published number has ours within the tolerance."""
    if isinstance(published, Mapping):
        if not isinstance(ours, Mapping):
            raise ValueError(f"claim {claim.id}: {place} is not a mapping of {', '.join(published)}")
        # Every part is judged, so that a missing value is never hidden by a wrong one.
        parts = [
            _close(claim, _part(ours, name, place), item, f"{place}.{name}")
            for name, item in published.items()
        ]
        return all(parts)
    theirs, mine = np.asarray(published, dtype=float), np.asarray(ours, dtype=float)
    if mine.shape != theirs.shape:
        raise MissingValue(f"{place} has shape {mine.shape}, {theirs.shape} is published")
    allowed = claim.tolerance.get("absolute", 0.0) + claim.tolerance.get("relative", 0.0) * np.abs(theirs)
    return bool(np.all(np.abs(mine - theirs) <= allowed))


def _part(mapping: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in mapping:
        raise MissingValue(f"there is no {name!r} in {place}")
    return mapping[name]


def _plain(value: Any) -> Any:
    """Turn numpy numbers and arrays into what JSON knows."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return np.asarray(value).tolist()
