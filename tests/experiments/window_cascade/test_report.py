"""The computed text of the window cascade on curves and weights that were made up."""

import pandas as pd
import pytest

from reproduction.experiments.window_cascade.report import chance_text, cue_text
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
        (0, f"{graph}_slack", 1.0, *cues) for graph, cues in (("complete", (3, 4)), ("bipartite", (-2, 0)))
    ]
    rows += [(0, "star_slack", 1.0, 0, 1), (0, "sosvm", 1.0, 5, 5)]
    weights = pd.DataFrame(rows, columns=["split", "variant", "C", "SS", "CC"])
    text = cue_text(weights)
    assert "CC (+0.80) for the complete graph, SS (-1.00) for the bipartite graph" in text
    assert text.endswith("and CC (+1.00) for the star graph.")
