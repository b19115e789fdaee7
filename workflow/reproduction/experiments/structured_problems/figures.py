"""Figure of four structured prediction problems and what is learned of them (C-fig-1.1)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE
from reproduction.experiments.structured_problems.parsing import SYMBOLS, WORDS, Tree, split_of
from reproduction.experiments.structured_problems.sequences import BASES, N_FEATURES

Arrays = Mapping[str, NDArray]


def plot_problems(examples: Arrays, losses: pd.DataFrame, gains: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw an example of each problem with its prediction, and the losses of both learners.

    Parameters
    ----------
    examples : mapping
        Inputs, truths and predictions of the first test sample of each problem.
    losses : DataFrame
        One row per problem and draw: ``structured_loss`` and ``independent_loss``.
    gains : mapping
        Interval of the difference of both for each problem.
    """
    fig = plt.figure(figsize=(12, 6.2))
    above, below = fig.subfigures(2, 1, height_ratios=(1.25, 1))
    drawings = {
        "parsing": ("A  parsing", _draw_tree),
        "sequence": ("B  a biological sequence", _draw_sequence),
        "segmentation": ("C  segmentation", _draw_masks),
        "tracking": ("D  tracking", _draw_links),
    }
    for ax, (name, (title, draw)) in zip(above.subplots(1, 4), drawings.items(), strict=True):
        draw(ax, {key.removeprefix(f"{name}_"): examples[key] for key in examples if key.startswith(name)})
        ax.set_title(title, loc="left", fontweight="bold")
    for ax, name in zip(below.subplots(1, 4), drawings, strict=True):
        _draw_losses(ax, losses[losses["problem"] == name], gains[name])
    below.axes[0].set_ylabel("loss on held-out samples (%)")
    return fig


def _draw_losses(ax: Axes, losses: pd.DataFrame, gain: tuple[float, float]) -> None:
    pairs = 100 * losses[["independent_loss", "structured_loss"]].to_numpy()
    ax.plot([0, 1], pairs.T, color=GREY, linewidth=0.8, marker="o", markersize=3, alpha=0.6)
    ax.plot(
        [0, 1], pairs.mean(axis=0), color=BLUE, linewidth=0, marker="_", markersize=22, markeredgewidth=2.5
    )
    ax.set_xticks([0, 1], ["parts alone", "structured"])
    ax.set(xlim=(-0.4, 1.4), ylim=(0, None))
    ax.set_title(f"gain {100 * gain[0]:.1f} to {100 * gain[1]:.1f} points", fontsize=9)
    ax.grid(visible=False, axis="x")


def _draw_tree(ax: Axes, example: Arrays) -> None:
    """Draw the predicted tree; wrong constituents are orange."""
    words, truth = example["x"], tree_of(example["y"])
    tree = tree_of(example["structured"])
    names = list(WORDS)

    def draw(start: int, end: int, depth: int) -> tuple[float, float]:
        label = SYMBOLS[tree[start, end]]
        color = GREEN if truth.get((start, end)) == tree[start, end] else ORANGE
        if end - start == 1:
            place = float(start), -float(height)
            ax.text(
                place[0], place[1] - 1, names[words[start]], ha="center", va="center", fontsize=8, rotation=40
            )
        else:
            middle = split_of(tree, start, end)
            children = draw(start, middle, depth + 1), draw(middle, end, depth + 1)
            place = float(np.mean([x for x, _ in children])), -float(depth)
            for x, y in children:
                ax.plot([place[0], x], [place[1] - 0.25, y + 0.25], color=GREY, linewidth=1)
        ax.text(*place, label, ha="center", va="center", color=color, fontsize=8 if end - start > 1 else 7)
        return place

    height = _height(tree, 0, len(words))
    draw(0, len(words), 0)
    ax.set(xlim=(-0.8, len(words) - 0.2), ylim=(-height - 2, 0.6))
    ax.axis("off")


def _height(tree: Tree, start: int, end: int) -> int:
    if end - start == 1:
        return 0
    middle = split_of(tree, start, end)
    return 1 + max(_height(tree, start, middle), _height(tree, middle, end))


def tree_of(rows: NDArray[np.int64]) -> Tree:
    """Return a tree from rows of start, end and symbol."""
    return {(int(start), int(end)): int(symbol) for start, end, symbol in rows}


def _draw_sequence(ax: Axes, example: Arrays) -> None:
    """Draw where a C is followed by a G, and the true and predicted islands."""
    pairs = example["x"][:, : N_FEATURES - 1]
    places = np.flatnonzero(pairs[:, BASES.index("C") * len(BASES) + BASES.index("G")])
    ax.vlines(places, 2.3, 2.9, color=GREY, linewidth=0.8)
    rows = (("CpG", None), ("truth", "y"), ("structured", "structured"), ("parts alone", "independent"))
    for row, (_, key) in enumerate(rows[1:]):
        labels = np.atleast_2d(example[key])
        color = (GREEN, BLUE, ORANGE)[row]
        ax.fill_between(
            np.arange(labels.size),
            1.5 - 0.8 * row,
            1.5 - 0.8 * row + 0.6 * labels[0],
            step="mid",
            color=color,
        )
    ax.set_yticks([2.6, 1.8, 1.0, 0.2], [label for label, _ in rows])
    ax.set(xlabel="position", ylim=(-0.3, 3.1))
    ax.grid(visible=False)


def _draw_masks(ax: Axes, example: Arrays) -> None:
    """Draw the noisy image, with the outlines of the true and the predicted mask."""
    ax.imshow(example["x"], cmap="gray")
    for key, color, style in (("y", GREEN, "solid"), ("structured", BLUE, "dashed")):
        if example[key].any():
            ax.contour(example[key], levels=[0.5], colors=[color], linestyles=style, linewidths=1.8)
    ax.text(0.02, -0.03, "truth", color=GREEN, transform=ax.transAxes, va="top", fontsize=9)
    ax.text(0.3, -0.03, "structured", color=BLUE, transform=ax.transAxes, va="top", fontsize=9)
    ax.axis("off")


def _draw_links(ax: Axes, example: Arrays) -> None:
    """Draw the cells of both images and the predicted links; wrong ones are orange."""
    before, after = example["x_0"], example["x_1"]
    for cell, (true, found) in enumerate(zip(example["y"], example["structured"], strict=True)):
        if found < len(after):
            color = GREEN if true == found else ORANGE
            ends = np.stack([before[cell], after[found]])
            ax.plot(ends[:, 1], ends[:, 0], color=color, linewidth=1.5)
    for cells, marker, label in ((before, "o", "first image"), (after, "+", "second image")):
        ax.scatter(cells[:, 1], cells[:, 0], s=22, marker=marker, color="black", linewidths=0.9, label=label)
    ax.set_aspect("equal")
    ax.axis("off")
