"""Figures and tables of the flowers: taxonomies, accuracies, the price of slack (T-fig-5.8, T-tab-5.3)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import AMBER, BLUE, COLORS, GREEN, GREY, ORANGE, PINK
from ermlab.taxonomy.plotting import draw_taxonomy, leaf_order
from ermlab.taxonomy.tree import Taxonomy, robinson_foulds
from reproduction.plotting.style import PUBLISHED

TITLES = {
    "one_vs_rest": "one-vs-rest SVM",
    "identity": "no taxonomy, B = I",
    "semantic": "Linnaean taxonomy",
    "learned": "learned taxonomy",
    "learned_topology": "learned topology, lengths by 5.34",
    "permuted": "learned taxonomy, classes shuffled",
}
STYLES = {
    "one_vs_rest": {"color": GREY, "linestyle": "--"},
    "identity": {"color": "black", "linestyle": "-"},
    "semantic": {"color": ORANGE, "linestyle": "-"},
    "learned": {"color": BLUE, "linestyle": "-"},
    "learned_topology": {"color": GREEN, "linestyle": "-."},
    "permuted": {"color": PINK, "linestyle": ":"},
}
#: Standard deviations of table 5.3.
PUBLISHED_SPREAD = {"one_vs_rest": 1.9, "semantic": 6.3, "learned": 2.6}


def plot_flower_taxonomies(
    trees: Mapping[str, Taxonomy], examples: np.ndarray, names: Sequence[str], families: Taxonomy
) -> Figure:
    """Draw trees side by side with an example of every flower; names have the colour of their family."""
    fig = plt.figure(figsize=(10.5, 6.4))
    axes = fig.subplots(1, 2 * len(trees), width_ratios=[1, 0.075] * len(trees))
    pictures = dict(zip(names, examples, strict=True))
    order = leaf_order(next(iter(trees.values())))
    for (title, tree), ax, side in zip(trees.items(), axes[::2], axes[1::2], strict=True):
        draw_taxonomy(ax, tree, order=order, colors=family_colors(families), title=title)
        _show_examples(side, pictures, ax)
    return fig


def family_colors(tree: Taxonomy) -> dict[str, str]:
    """Return a colour for the members of each family, a node with nothing but leaves below it."""
    leaves = set(tree.leaves.tolist())
    families = [node for node in tree.inner.tolist() if leaves.issuperset(tree.children(node))]
    colors = dict(zip(families, (color for color in COLORS if color != AMBER), strict=False))
    parents = tree.parents[tree.leaves].tolist()
    return {name: colors[node] for name, node in zip(tree.names, parents, strict=True) if node in colors}


def _show_examples(ax: Axes, pictures: Mapping[str, np.ndarray], tree_axes: Axes) -> None:
    """Put the pictures at the height of the names beside them."""
    for text in tree_axes.texts:
        if text.get_text() in pictures:
            row = text.get_position()[1]
            extent = (0, 1, row + 0.48, row - 0.48)
            ax.imshow(pictures[text.get_text()], extent=extent, aspect="auto", interpolation="antialiased")
    ax.set(xlim=(0, 1), ylim=tree_axes.get_ylim())
    ax.set_axis_off()


def tree_rows(trees: Mapping[str, Taxonomy]) -> pd.DataFrame:
    """Return the nodes of the trees, a row each, with the flowers below every node."""
    rows = []
    for title, tree in trees.items():
        V = tree.partition_matrix() > 0
        for node, (parent, length) in enumerate(zip(tree.parents, tree.lengths, strict=True)):
            below = ", ".join(np.array(tree.names)[V[:, node]])
            rows.append({"tree": title, "node": node, "parent": parent, "length": length, "flowers": below})
    return pd.DataFrame(rows)


def accuracy_table(values: Mapping, published: Mapping[str, float]) -> pd.DataFrame:
    """Return table 5.3 with the controls: accuracies in percent, standard deviations over the splits."""
    rows = []
    for method, title in TITLES.items():
        accuracies = values["accuracy"][method]["per_seed"]
        rows.append(
            {
                "method": title,
                "accuracy": np.mean(accuracies),
                "spread": np.std(accuracies, ddof=1) if len(accuracies) > 1 else 0.0,
                "over one-vs-rest": np.mean(accuracies)
                - np.mean(values["accuracy"]["one_vs_rest"]["per_seed"]),
                "published": published.get(method, np.nan),
                "published spread": PUBLISHED_SPREAD.get(method, np.nan),
                "validation": np.mean(values["validation"][method]["per_seed"]),
                "C chosen": ", ".join(f"{price:.3g}" for price in values["price"][method]),
            }
        )
    return pd.DataFrame(rows)


def plot_accuracies(values: Mapping, published: Mapping[str, float]) -> Figure:
    """Plot the accuracy of each method, split by split, its mean, and what was published."""
    fig, ax = plt.subplots(figsize=(7.5, 3.1))
    for row, method in enumerate(TITLES):
        accuracies = values["accuracy"][method]["per_seed"]
        ax.plot(accuracies, [row] * len(accuracies), "o", color=GREY, markersize=4, alpha=0.7)
        ax.plot(np.mean(accuracies), row, "D", color=STYLES[method]["color"], markersize=8)
        ax.annotate(
            f"{np.mean(accuracies):.1f}",
            (np.mean(accuracies), row),
            (0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
        if method in published:
            spread = PUBLISHED_SPREAD[method]
            ax.errorbar(published[method], row + 0.22, xerr=spread, fmt="k|", capsize=3, linewidth=1)
    ax.set_yticks(range(len(TITLES)), TITLES.values())
    ax.set(ylim=(len(TITLES) - 0.5, -0.7), xlabel="accuracy in percent")
    ax.plot([], [], "D", color=GREY, label="mean of this run")
    ax.plot([], [], "o", color=GREY, markersize=4, label="a split")
    ax.errorbar([], [], xerr=[], fmt="k|", capsize=3, label="published, standard deviation")
    fig.legend(loc="outside lower center", ncols=3, fontsize=8)
    return fig


def price_curves(prices: pd.DataFrame) -> pd.DataFrame:
    """Return the validation accuracy in percent, the mean over runs, at the prices that all of them tried."""
    runs = prices.assign(run=prices["split"].astype(str) + "/" + prices["run"].astype(str))
    n_runs = runs.groupby("method")["run"].nunique()
    curves = runs.groupby(["method", "C"])["validation"].agg(["mean", "count"]).reset_index()
    complete = curves[curves["count"] == curves["method"].map(n_runs)]
    return complete.assign(validation=100 * complete["mean"])[["method", "C", "validation"]]


def plot_prices(prices: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Plot the accuracy on the validation part against the price, where all splits tried it."""
    fig, ax = plt.subplots(figsize=(7.5, 3.4))
    curves = price_curves(prices)
    for method, title in TITLES.items():
        rows = curves[curves["method"] == method]
        ax.plot(rows["C"], rows["validation"], label=title, **STYLES[method])
    ax.axhline(published["semantic"], **PUBLISHED)
    note = {"va": "bottom", "fontsize": 8, "transform": ax.get_yaxis_transform()}
    ax.text(0.02, published["semantic"], "published for the Linnaean taxonomy (test images)", **note)
    ax.set(xscale="log", xlabel="price C of a slack", ylabel="accuracy on validation images, %")
    fig.legend(loc="outside right upper", fontsize=8)
    return fig


def topology_rows(trees: Mapping[str, Taxonomy], reference: str) -> pd.DataFrame:
    """Return how much of each tree's length leads to single flowers, and how its topology differs."""
    return pd.DataFrame(
        {
            "taxonomy": title,
            "share of length at single flowers": tree.lengths[tree.leaves].sum() / tree.lengths.sum(),
            f"splits not shared with {reference}": robinson_foulds(tree, trees[reference]),
        }
        for title, tree in trees.items()
    )


def class_table(classes: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return the flowers that lose most by the Linnaean taxonomy: shares recognised, in percent."""
    shares = classes.pivot_table(index="flower", columns="method", values="accuracy").mul(100)
    order = (shares["semantic"] - shares["identity"]).sort_values(kind="stable").index[:rows]
    return shares.loc[order, list(TITLES)].rename(columns=TITLES).rename_axis(columns=None)
