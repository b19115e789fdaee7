"""Text of the window cascade that depends on the results of a run."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.experiments.window_cascade.evaluate import mean_directions
from reproduction.experiments.window_cascade.train import CHANCE, COUNTS, GRAPHS, RESCALINGS, SUPPRESSIONS

#: Number of windows for which ranked windows are compared with those in random order.
COMPARED = 100


def chance_text(curves: pd.DataFrame) -> str:
    """Return from which overlap on ranked windows find more objects than windows in random order.

    ``curves`` is a table as returned by ``evaluate.recall_curves``.
    """
    table = curves[curves["windows"] == COMPARED].pivot(index="overlap", columns="variant", values="recall")
    rankings = table[[f"{graph}_{rescaling}" for graph in GRAPHS for rescaling in RESCALINGS]].mean(axis=1)
    # At an overlap of 1 nothing is found.
    better = (rankings > table[CHANCE]) | ((rankings == 0) & (table[CHANCE] == 0))
    always = better[::-1].cummin()[::-1]
    more = "find on average more objects than windows in random order"
    if not always.any() or (rankings[always] == 0).all():
        return f"Among {COMPARED} windows, those of the six rankings {more} at no overlap."
    first, lowest = always.idxmax(), table.index[0]
    if first == lowest:
        return f"Among {COMPARED} windows, those of the six rankings {more} at all overlaps."
    return (
        f"Among {COMPARED} windows, those of the six rankings {more} from an overlap of {first:.2f} on; at "
        f"{lowest:.2f} they find {rankings[lowest]:.1%}, and a random order {table.loc[lowest, CHANCE]:.1%}."
    )


def cue_text(weights: pd.DataFrame) -> str:
    """Return which cue has the largest mean weight in each graph, and its sign.

    ``weights`` is a table as returned by ``evaluate.weight_table``.
    """
    directions = mean_directions(weights)
    means = directions.groupby(directions.index.str.split("_").str[0]).mean().loc[list(GRAPHS)]
    parts = []
    for graph, row in means.iterrows():
        cue = row.abs().idxmax()
        parts.append(f"{cue} ({row[cue]:+.2f}) for the {graph} graph")
    return f"The cue with the largest weight is {parts[0]}, {parts[1]} and {parts[2]}."


def edge_text(at_edge: Mapping[str, Any]) -> str:
    """Return how many choices were made at the edge of their grid.

    ``at_edge`` is that of the results of the experiment.
    """
    shares = dict(zip(COUNTS, at_edge["suppression"], strict=True))
    parts = [f"{share:.0%} for {count} windows" for count, share in shares.items() if share]
    edges = f"{SUPPRESSIONS[0]:g} or {SUPPRESSIONS[-1]:g}, the edges of the grid"
    text = (
        f"Of the chosen overlaps some are {edges}: {', '.join(parts)}."
        if parts
        else f"No chosen overlap is {edges}."
    )
    return f"{text} {at_edge['C']:.0%} of the chosen $C$ are the largest candidate."
