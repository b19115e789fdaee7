"""Figures of the flowers: taxonomies (figure 5.8), accuracies (table 5.3) and the choice of C."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import AMBER, BLUE, COLORS, GREEN, GREY, ORANGE, PINK
from ermlab.taxonomy import Taxonomy, draw_taxonomy, leaf_order
from reproduction.experiments.flowers_taxonomy.evaluate import TITLES, validation_curves
from reproduction.plotting.style import PUBLISHED

STYLES = {
    "one_vs_rest": {"color": GREY, "linestyle": "--"},
    "identity": {"color": "black", "linestyle": "-"},
    "semantic": {"color": ORANGE, "linestyle": "-"},
    "learned": {"color": BLUE, "linestyle": "-"},
    "learned_topology": {"color": GREEN, "linestyle": "-."},
    "permuted": {"color": PINK, "linestyle": ":"},
}


def plot_flower_taxonomies(
    trees: Mapping[str, Taxonomy], examples: np.ndarray, names: Sequence[str], families: Taxonomy
) -> Figure:
    """Draw trees side by side with an example of every flower; names have the color of their family."""
    fig = plt.figure(figsize=(10.5, 6.4))
    axes = fig.subplots(1, 2 * len(trees), width_ratios=[1, 0.075] * len(trees))
    pictures = dict(zip(names, examples, strict=True))
    order = leaf_order(next(iter(trees.values())))
    for (title, tree), ax, side in zip(trees.items(), axes[::2], axes[1::2], strict=True):
        draw_taxonomy(ax, tree, order=order, colors=family_colors(families), title=title)
        _show_examples(side, pictures, ax)
    return fig


def family_colors(tree: Taxonomy) -> dict[str, str]:
    """Return a color for the members of each family, a node with only leaves below it."""
    leaves = set(tree.leaves.tolist())
    families = [node for node in tree.inner.tolist() if leaves.issuperset(tree.children(node))]
    colors = dict(zip(families, (color for color in COLORS if color != AMBER), strict=False))
    parents = tree.parents[tree.leaves].tolist()
    return {name: colors[node] for name, node in zip(tree.names, parents, strict=True) if node in colors}


def _show_examples(ax: Axes, pictures: Mapping[str, np.ndarray], tree_axes: Axes) -> None:
    """Show the pictures at the height of their names."""
    for text in tree_axes.texts:
        if text.get_text() in pictures:
            row = text.get_position()[1]
            extent = (0, 1, row + 0.48, row - 0.48)
            ax.imshow(pictures[text.get_text()], extent=extent, aspect="auto", interpolation="antialiased")
    ax.set(xlim=(0, 1), ylim=tree_axes.get_ylim())
    ax.set_axis_off()


def plot_accuracies(
    values: Mapping, published: Mapping[str, float], published_spread: Mapping[str, float]
) -> Figure:
    """Plot the accuracy of each method: per split, mean, and published."""
    fig, ax = plt.subplots(figsize=(7.5, 3.1))
    for row, method in enumerate(TITLES):
        accuracies = values["accuracy"][method]["repeats"]
        mean = np.mean(accuracies)
        ax.plot(accuracies, [row] * len(accuracies), "o", color=GREY, markersize=4, alpha=0.7)
        ax.plot(mean, row, "D", color=STYLES[method]["color"], markersize=8)
        label = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
        ax.annotate(f"{mean:.1f}", (mean, row), (0, 8), **label)
        if method in published:
            spread = published_spread[method]
            ax.errorbar(published[method], row + 0.22, xerr=spread, fmt="k|", capsize=3, linewidth=1)
    ax.set_yticks(range(len(TITLES)), TITLES.values())
    ax.set(ylim=(len(TITLES) - 0.5, -0.7), xlabel="accuracy in percent")
    ax.plot([], [], "D", color=GREY, label="mean of this run")
    ax.plot([], [], "o", color=GREY, markersize=4, label="one split")
    ax.errorbar([], [], xerr=[], fmt="k|", capsize=3, label="published, standard deviation")
    fig.legend(loc="outside lower center", ncols=3, fontsize=8)
    return fig


def plot_validation(trials: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Plot the accuracy on the validation part against C, where all splits tried it."""
    fig, ax = plt.subplots(figsize=(7.5, 3.4))
    curves = validation_curves(trials)
    for method, title in TITLES.items():
        rows = curves[curves["method"] == method]
        ax.plot(rows["C"], rows["validation"], label=title, **STYLES[method])
    ax.axhline(published["semantic"], **PUBLISHED)
    note = {"va": "bottom", "fontsize": 8, "transform": ax.get_yaxis_transform()}
    ax.text(0.02, published["semantic"], "published for the Linnaean taxonomy (test images)", **note)
    ax.set(xscale="log", xlabel="C", ylabel="accuracy on validation images, %")
    fig.legend(loc="outside right upper", fontsize=8)
    return fig
