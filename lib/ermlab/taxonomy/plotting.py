"""Plots of taxonomies: one tree, several trees side by side, trees with their matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from ermlab._utils.palette import COLORS, GREY, ORANGE
from ermlab.taxonomy.tree import Taxonomy
from ermlab.taxonomy.tree_matrices import centered, tree_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Space for each letter of a name to the right of a leaf, as a share of the width of the tree.
_LETTER = 0.028
_INCHES_PER_LEAF = 0.21


def draw_taxonomy(
    ax: Axes,
    tree: Taxonomy,
    *,
    order: Sequence[str] | None = None,
    colors: Mapping[str, str] | None = None,
    title: str = "",
) -> None:
    """Draw a tree from left to right, with edges to scale and the names of all leaves.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    tree : Taxonomy
        The tree.
    order : sequence of str, default=None
        Names of the leaves from top to bottom, followed as far as the tree allows.
    colors : mapping of str to str, default=None
        Colors of the names of the leaves.
    title : str, default=""
        Title of the axes.
    """
    x, y = _places(tree, order or tree.names)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            ax.plot(
                [x[parent], x[parent], x[node]], [y[parent], y[node], y[node]], color="black", linewidth=1
            )
    ax.plot(x[tree.root], y[tree.root], "o", color=ORANGE, markersize=4, zorder=3)
    width = max(x.max(), np.finfo(float).tiny)
    for leaf, name in zip(tree.leaves, tree.names, strict=True):
        color = (colors or {}).get(name, "black")
        ax.text(x[leaf] + 0.015 * width, y[leaf], name, va="center", fontsize=9, color=color)
    for node, name in zip(tree.inner, tree.inner_names, strict=False):
        if node != tree.root:  # on the edge that leads to the node
            style = {"fontsize": 7.5, "color": GREY, "style": "italic"}
            ax.text(x[node] - 0.01 * width, y[node], name, va="bottom", ha="right", **style)
    longest = max(
        (x[leaf] / width + _LETTER * len(n)) for leaf, n in zip(tree.leaves, tree.names, strict=True)
    )
    ax.set(xlim=(-0.02 * width, longest * width), ylim=(tree.n_leaves - 0.4, -0.6), title=title)
    ax.set_xlabel("length of the path from the root", fontsize=8)
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(False)
    ax.spines["left"].set_visible(False)


def plot_taxonomies(trees: Mapping[str, Taxonomy], *, colors: Mapping[str, str] | None = None) -> Figure:
    """Plot trees of the same classes side by side.

    Parameters
    ----------
    trees : mapping of str to Taxonomy
        Trees by title; the leaves of all follow the order of the first.
    colors : mapping of str to str, default=None
        Colors of the names of the leaves.

    Returns
    -------
    matplotlib Figure
    """
    first = next(iter(trees.values()))
    order = leaf_order(first)
    height = 1.0 + _INCHES_PER_LEAF * first.n_leaves
    fig, axes = plt.subplots(1, len(trees), figsize=(4.6 * len(trees), height), squeeze=False)
    for ax, (title, tree) in zip(axes[0], trees.items(), strict=True):
        draw_taxonomy(ax, tree, order=order, colors=colors, title=title)
    return fig


def plot_rerooting(trees: Mapping[str, Taxonomy]) -> Figure:
    """Plot each tree in a row with its covariance, its distances and its centered covariance."""
    fig, axes = plt.subplots(len(trees), 4, figsize=(9.5, 2.5 * len(trees)), width_ratios=(1.3, 1, 1, 1))
    matrices = {title: _matrices(tree) for title, tree in trees.items()}
    for row, (title, tree) in zip(axes, trees.items(), strict=True):
        draw_taxonomy(row[0], tree, title=title)
        for ax, (name, matrix) in zip(row[1:], matrices[title].items(), strict=True):
            largest = max(np.abs(of_tree[name]).max() for of_tree in matrices.values())
            _draw_matrix(ax, matrix, tree.names, largest, name)
    return fig


def colors_by_group(tree: Taxonomy) -> dict[str, str]:
    """Return a color for the name of each leaf, shared by leaves below the same child of the root.

    Single leaves below a child of the root have none.
    """
    groups: dict[int, list[str]] = {}
    for leaf, name in zip(tree.leaves, tree.names, strict=True):
        path = tree.path_up(leaf)
        groups.setdefault(path[-2] if len(path) > 1 else path[-1], []).append(name)
    together = [names for names in groups.values() if len(names) > 1]
    return {name: COLORS[place % len(COLORS)] for place, names in enumerate(together) for name in names}


def leaf_order(tree: Taxonomy) -> list[str]:
    """Return the names of the leaves from top to bottom as in `draw_taxonomy`."""
    _, y = _places(tree, tree.names)
    return [tree.names[i] for i in np.argsort(y[tree.leaves])]


def rerooting_rows(trees: Mapping[str, Taxonomy]) -> list[dict[str, object]]:
    """Return one row for each entry of the matrices of `plot_rerooting`."""
    return [
        {"tree": title, "matrix": name, "row": row, "column": column, "value": matrix[i, j]}
        for title, tree in trees.items()
        for name, matrix in _matrices(tree).items()
        for i, row in enumerate(tree.names)
        for j, column in enumerate(tree.names)
    ]


def _matrices(tree: Taxonomy) -> dict[str, NDArray[np.float64]]:
    B = tree.covariance()
    return {"covariance $B$": B, "distances $M$": tree_metric(B), "centred, $HBH$": centered(B)}


def _draw_matrix(
    ax: Axes, matrix: NDArray[np.float64], names: Sequence[str], largest: float, title: str
) -> None:
    ax.imshow(matrix, cmap="PuOr_r", vmin=-largest, vmax=largest)
    for (i, j), value in np.ndenumerate(matrix):
        strong = abs(value) > 0.6 * largest
        ax.text(
            j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color="white" if strong else "black"
        )
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.set_title(title)


def _places(tree: Taxonomy, order: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x, the distance from the root, and y: leaves in rows, other nodes in the middle."""
    rank = {name: place for place, name in enumerate(order)}
    x, y = np.zeros(len(tree.parents)), np.zeros(len(tree.parents))
    V = tree.partition_matrix()
    leaf_ranks = np.array([rank[name] for name in tree.names])
    ranks = (V * leaf_ranks[:, None]).sum(axis=0) / V.sum(axis=0)
    pending, next_row = [tree.root], 0
    visited = []
    while pending:
        node = pending.pop()
        visited.append(node)
        if node != tree.root:
            x[node] = x[tree.parents[node]] + tree.lengths[node]
        children = sorted(tree.children(node), key=lambda child: ranks[child])
        if not children:
            y[node] = next_row
            next_row += 1
        pending += reversed(children)
    for node in reversed(visited):
        children = tree.children(node)
        if children:
            y[node] = (y[children].min() + y[children].max()) / 2
    return x, y
