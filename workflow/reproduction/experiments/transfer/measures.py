"""How much annotation transfer saves, from the losses of many runs (cheap-data, Figure 1.10)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import over_seeds

#: Share of the annotation at which the chapter finds transfer as good as training on all of the target.
FIFTH = 0.2
#: Share beyond which it finds transfer and union better.
THIRD = 0.3
#: What a strategy is when it has all of the target.
_WHOLE = {"partial_target": "all_target"}
#: A loss matches another if it is at most so many times that.
COMPARABLE = 1.1


def percent(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with their losses in percent."""
    return runs.assign(**{name: 100 * runs[name] for name in ("loss", "published_loss", "validation_loss")})


def learning_curves(runs: pd.DataFrame, strategy: str, column: str = "loss") -> pd.DataFrame:
    """Return losses with a row for each share and a column for each draw.

    What was learned from all of the target is the same in each draw, and from it alone that is *all target*.
    """
    some = runs[(runs.strategy == strategy) & (runs.share < 1)]
    curves = some.pivot(index="share", columns="draw", values=column)
    whole = runs[(runs.strategy == _WHOLE.get(strategy, strategy)) & (runs.share == 1)]
    if len(whole):
        curves.loc[1.0] = float(whole[column].iloc[0])
    return curves.sort_index()


def share_needed(shares: Sequence[float], losses: Sequence[float], level: float) -> float:
    """Return the first share at which a curve, straight between its points, is no higher than ``level``.

    1 where it is not before all is annotated.
    """
    shares, losses = np.asarray(shares, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    low = np.flatnonzero(losses <= level)
    if not len(low):
        return 1.0
    k = int(low[0])
    if k == 0:
        return float(shares[0])
    part = (losses[k - 1] - level) / (losses[k - 1] - losses[k])
    return float(shares[k - 1] + part * (shares[k] - shares[k - 1]))


def summarise(runs: pd.DataFrame, strategies: Sequence[str]) -> dict[str, Any]:
    """Return the numbers of a study, losses as in ``runs``; of one with small shares those at `FIFTH` alone.

    Parameters
    ----------
    runs
        Columns ``strategy``, ``draw``, ``share`` and ``loss``; ``all_source`` and ``all_target`` have a row.
    strategies
        Those with a curve.
    """
    whole = {
        name: float(runs.loc[runs.strategy == name, "loss"].iloc[0]) for name in ("all_source", "all_target")
    }
    curves = {name: learning_curves(runs, name) for name in strategies}
    level = COMPARABLE * whole["all_target"]
    at_fifth = {
        "loss_all_source": whole["all_source"],
        "loss_all_target": whole["all_target"],
        "loss_at_fifth": {name: over_seeds(curve.loc[FIFTH]) for name, curve in curves.items()},
    }
    if runs.share[runs.strategy.isin(strategies)].max() <= THIRD:
        return at_fifth
    return {
        **at_fifth,
        "loss_beyond_third": {
            name: over_seeds(curve[curve.index > THIRD].mean()) for name, curve in curves.items()
        },
        "share_needed": {
            name: over_seeds(share_needed(curve.index, curve[draw], level) for draw in curve)
            for name, curve in curves.items()
        },
    }
