"""Figures of the handwritten words."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREY, ORANGE
from reproduction.datasets.letters import ALPHABET, SHAPE
from reproduction.experiments.handwritten_words.protocol import MODELS
from reproduction.plotting.pictures import show_image
from reproduction.plotting.style import PUBLISHED

TITLES = {"unary": "each letter\nalone", "chain": "chain"}


def draw_errors(ax: Axes, errors: Mapping[str, Any], published: Mapping[str, float] | None = None) -> None:
    """Draw the errors of both models, a line per training fold, and published ones beside them."""
    table = np.array([errors[model]["repeats"] for model in MODELS])
    for fold in table.T:
        ax.plot([0, 1], fold, color=GREY, linewidth=0.8, alpha=0.7)
    for place, (values, color) in enumerate(zip(table, (ORANGE, BLUE), strict=True)):
        ax.plot(np.full(len(values), place), values, "o", color=color, markersize=5)
        ax.annotate(
            f"{values.mean():.1%}",
            (place, values.min()),
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
        )
    if published is not None:
        for place, model in enumerate(MODELS):
            ax.plot([place - 0.25, place + 0.25], [published[model]] * 2, **PUBLISHED)
    ax.set(
        xlim=(-0.5, 1.5),
        ylim=(0, 1.18 * table.max()),
        xticks=[0, 1],
        xticklabels=[TITLES[model] for model in MODELS],
    )
    ax.yaxis.set_major_formatter(plt.matplotlib.ticker.PercentFormatter(1))


def plot_transitions(weights: np.ndarray) -> Figure:
    """Draw the learned weights of all pairs of letters."""
    fig, ax = plt.subplots(figsize=(6, 5.2))
    limit = np.abs(weights).max()
    image = ax.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ticks = range(len(ALPHABET))
    ax.set(xticks=ticks, xticklabels=list(ALPHABET), yticks=ticks, yticklabels=list(ALPHABET))
    ax.set(xlabel="second letter", ylabel="first letter")
    ax.grid(visible=False)
    fig.colorbar(image, ax=ax, label="weight of the pair")
    return fig


def plot_examples(examples: Mapping[str, np.ndarray]) -> Figure:
    """Draw words with what both models read; wrong letters are orange."""
    lengths = examples["lengths"]
    starts = np.cumsum(lengths) - lengths
    columns = 2
    rows = max(-(-len(lengths) // columns), 1)
    fig, axes = plt.subplots(rows, columns, figsize=(8.6, 1.35 * rows), squeeze=False)
    longest = max([*lengths, 1])
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, start, length in zip(axes.flat, starts, lengths, strict=False):
        letters = examples["pixels"][start : start + length].reshape(length, *SHAPE)
        show_image(ax, 1 - np.hstack(list(letters)))
        ax.set(xlim=(-18, longest * SHAPE[1]), ylim=(2.1 * SHAPE[0], -1))
        truth = examples["truth"][start : start + length]
        for line, model in enumerate(MODELS):
            y = SHAPE[0] + 5 + 8 * line
            ax.text(-3, y, {"unary": "alone", "chain": "chain"}[model], ha="right", va="center", fontsize=8)
            for place, (found, true) in enumerate(
                zip(examples[model][start : start + length], truth, strict=True)
            ):
                wrong = found != true
                ax.text(
                    (place + 0.5) * SHAPE[1] - 0.5,
                    y,
                    ALPHABET[found],
                    ha="center",
                    va="center",
                    color=ORANGE if wrong else "black",
                    weight="bold" if wrong else "normal",
                )
    return fig
