"""Sentences about the newsgroups, computed from the results."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.experiments.taxonomies import difference_text
from reproduction.experiments.text_taxonomy.evaluate import LOSS_TITLES
from reproduction.experiments.text_taxonomy.protocol import PUBLISHED

#: Pairs of covariances whose losses are compared, and what they are.
COMPARISONS = {
    "B* minus I": ("learned", "identity"),
    "B* minus tree of names": ("learned", "semantic_centred"),
    "tree of names minus the same with permuted classes": ("semantic_centred", "permuted"),
    "topology of B* with lengths D* minus B*": ("learned_topology", "learned"),
    "tree of names, centered minus not centered": ("semantic_centred", "semantic"),
}


def difference_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return differences of losses between covariances, with 95 % intervals over the splits."""
    columns = {}
    for loss, title in LOSS_TITLES.items():
        measured = dict(zip(PUBLISHED, values["loss"][loss], strict=True)) | values["controls"][loss]
        columns[title] = {
            name: difference_text(measured[first], measured[second], ".3f")
            for name, (first, second) in COMPARISONS.items()
        }
    return pd.DataFrame(columns)


def forms_text(values: Mapping[str, Any], timings: Mapping[str, Any]) -> str:
    """Compare iterations and memory of the two forms of the kernel."""
    iterations, memory = values["iterations_to_gap"], timings["memory"]
    multiples = ", ".join(f"{multiple:.2f}" for multiple in memory["over_order"])
    posts = ", ".join(f"{n:.0f}" for n in memory["posts"])
    return (
        f"To the same gap the Kronecker form needs {iterations['kronecker']} iterations and the cached form "
        f"{iterations['cached']}. With {posts} posts the Kronecker form needs {multiples} times the memory "
        "of $n^2 + k^2 + nk$ numbers, kernel matrix included; with the most posts that is "
        f"{100 * memory['over_joint_kernel'][-1]:.2g} % of what the joint kernel matrix would need."
    )
