"""Figures of the snakes."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, ORANGE
from reproduction.datasets.snakes import COLORS
from reproduction.experiments.snake_fields.evaluate import MODELS, TITLES
from reproduction.experiments.snake_fields.prepare import split_cells
from reproduction.plotting.pictures import show_image
from reproduction.plotting.style import PUBLISHED

#: Shades of wrong cells and of all others.
_WRONG, _PLAIN = np.array([[255, 200, 160], [235, 235, 235]], dtype=np.uint8)


def draw_accuracies(ax: Axes, values: Mapping[str, Any], published: Mapping[str, float]) -> None:
    """Draw the share of right cells of each model, of snakes and of all cells, with the published shares."""
    models = [model for model in MODELS if model in values["cell_accuracy"]]
    rows = np.arange(len(models))
    snakes, cells = (
        np.array([values[name][model] for model in models]) for name in ("snake_accuracy", "cell_accuracy")
    )
    ax.barh(rows - 0.2, snakes, height=0.38, color=BLUE, label="cells of snakes")
    ax.barh(rows + 0.2, cells, height=0.38, color=ORANGE, label="all cells")
    for row, share in zip(rows, snakes, strict=True):
        ax.text(
            max(share - 0.02, 0.02),
            row - 0.2,
            f"{share:.0%}",
            ha="right" if share > 0.1 else "left",
            va="center",
            color="white",
            fontsize=8,
        )
    for number, (model, share) in enumerate(published.items()):
        place = models.index(model) + 0.2
        label = "published, all cells" if number == 0 else None
        ax.plot([share] * 2, [place - 0.25, place + 0.25], label=label, **PUBLISHED)
    ax.set(yticks=rows, yticklabels=[TITLES[model] for model in models], xlim=(0, 1.02))
    ax.xaxis.set_major_formatter(plt.matplotlib.ticker.PercentFormatter(1))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")


def plot_labelings(arrays: Mapping[str, np.ndarray], models: Sequence[str], images: Sequence[int]) -> Figure:
    """Draw images with their numbers, and what each model found; wrong numbers are orange."""
    shapes = arrays["shapes"]
    colors, truths = (split_cells(arrays[name], shapes) for name in ("colors", "labels"))
    rows = ["truth", *models]
    fig, axes = plt.subplots(
        len(rows), len(images), figsize=(1.7 * len(images), 1.6 * len(rows)), squeeze=False
    )
    for row, name in enumerate(rows):
        found = truths if name == "truth" else split_cells(arrays[f"found_{name}"], shapes)
        for ax, index in zip(axes[row], images, strict=True):
            wrong = found[index] != truths[index]
            plain = np.where(wrong[..., None], _WRONG, _PLAIN)
            show_image(ax, COLORS[colors[index]] if name == "truth" else plain)
            _write_numbers(ax, found[index], truths[index])
    for row, name in enumerate(rows):
        title = "image and truth" if name == "truth" else TITLES[name]
        axes[row, 0].set_title(title, loc="left", fontsize=9)
    return fig


def _write_numbers(ax: Axes, found: np.ndarray, truth: np.ndarray) -> None:
    for place, number in np.ndenumerate(found):
        if number or truth[place]:
            wrong = number != truth[place]
            ax.text(
                place[1],
                place[0],
                str(number),
                ha="center",
                va="center",
                fontsize=7,
                color=ORANGE if wrong else "black",
                weight="bold" if wrong else "normal",
            )
