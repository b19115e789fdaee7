"""The computed text of the window cascade on curves and weights that were made up."""

import pandas as pd
import pytest

from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.report import chance_text, cue_text, edge_text
from reproduction.experiments.window_cascade.train import VARIANTS


def curves(ranked, chance):
    """Return recalls at overlaps .5, .75 and 1, the same for all rankings, with 100 windows."""
    recalls = dict.fromkeys(VARIANTS, ranked) | {"chance": chance}
    return pd.DataFrame(
        {
            "variant": variant,
            "windows": windows,
            "overlap": overlap,
            "recall": recall if windows == 100 else 0.9,
        }
        for variant, values in recalls.items()
        for windows in (10, 100)
        for overlap, recall in zip((0.5, 0.75, 1.0), values, strict=True)
    )


@pytest.mark.parametrize(
    ("ranked", "chance", "expected"),
    [
        ((0.6, 0.4, 0), (0.5, 0.1, 0), "more objects than windows in random order at all overlaps"),
        (
            (0.4, 0.4, 0),
            (0.5, 0.1, 0),
            "from an overlap of 0.75 on; at 0.50 they find 40.0%, and a random order 50.0%",
        ),
        ((0.6, 0.0, 0), (0.5, 0.1, 0), "in random order at no overlap"),
    ],
)
def test_where_rankings_beat_a_random_order(ranked, chance, expected):
    assert expected in chance_text(curves(ranked, chance))


def test_the_cue_with_the_largest_weight_of_each_graph():
    rows = [
        (f"{graph}_slack", *cues, 0, 0, 0, 0)
        for graph, cues in (("complete", (3, 4)), ("bipartite", (-2, 0)), ("star", (0, 1)))
    ]
    weights = pd.DataFrame([*rows, ("sosvm", 5, 5, 0, 0, 0, 0)], columns=["variant", *CUES])
    text = cue_text(weights)
    assert f"{CUES[1]} (+0.80) for the complete graph, {CUES[0]} (-1.00) for the bipartite graph" in text
    assert text.endswith(f"and {CUES[1]} (+1.00) for the star graph.")


def test_choices_at_the_edge_are_named():
    text = edge_text({"suppression": [0, 0, 0], "C": 0.0})
    assert text.startswith("No chosen overlap is 0.3 or 0.9, the edges of the grid. 0% of")
    text = edge_text({"suppression": [0.5, 0, 0.25], "C": 0.125})
    assert "grid: 50% for 10 windows, 25% for 1000 windows. 12% of the chosen" in text
