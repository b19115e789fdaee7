"""Pictures of handwritten words and snakes."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE
from reproduction.datasets import snakes
from reproduction.datasets.letters import ALPHABET, read_letters
from reproduction.datasets.snakes import read_snakes
from reproduction.plotting.pictures import show_image, spread

_ROWS, _COLUMNS = 6, 3


def draw_letters(folder: Path) -> Figure:
    """Draw words as they were written, and the number of letters of each kind."""
    data = read_letters(folder)
    fig = Figure(figsize=(8, 5.2), layout="constrained")
    grid = fig.add_gridspec(_ROWS + 3, _COLUMNS)
    # A prime step through the words, so that neighbors are by different writers.
    chosen = [(index * 997) % len(data) for index in range(_ROWS * _COLUMNS)]
    width = max(len(labels) for labels in data.labels)
    for place, index in enumerate(chosen):
        letters = data.images[index]
        word = np.pad(np.hstack(list(letters)), ((0, 0), (0, (width - len(letters)) * letters.shape[2])))
        ax = fig.add_subplot(grid[place % _ROWS, place // _ROWS])
        show_image(ax, 1 - word)
        ax.set_title(data.words[index], fontsize=9, loc="left")
    ax = fig.add_subplot(grid[_ROWS:, :])
    counts = np.bincount(np.concatenate(data.labels), minlength=len(ALPHABET))
    ax.bar(range(len(ALPHABET)), counts, color=BLUE)
    ax.set(xticks=range(len(ALPHABET)), xticklabels=list(ALPHABET), ylabel="letters")
    ax.grid(visible=False, axis="x")
    return fig


def draw_snakes(folder: Path) -> Figure:
    """Draw six images of snakes with the numbers of their cells."""
    data = read_snakes(folder).train
    fig = Figure(figsize=(8, 2), layout="constrained")
    for ax, index in zip(fig.subplots(1, 6), spread(len(data), 6), strict=False):
        show_image(ax, snakes.COLORS[data.colors[index]])
        for (row, column), label in np.ndenumerate(data.labels[index]):
            if label:
                ax.text(column, row, str(label), ha="center", va="center", fontsize=7)
    return fig
