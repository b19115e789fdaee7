"""Figure of the rings in the plane (E-fig-1)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE
from reproduction.experiments.equivariant_toy.evaluate import range_label

#: Color and marker of each class, as in the source: a circle, a cross, and an "x".
CLASSES = ((ORANGE, "o"), (GREEN, "P"), (BLUE, "X"))
_CURVES = (
    ("symmetry_error", "share of the disc's area", "(b) symmetry error"),
    ("ring_error", "share of the disc's area", "(c) ring error"),
    ("n_virtual", "virtual samples", "(d) used by the optimizer"),
)


def plot_rings(
    regions: Mapping[str, NDArray],
    points: pd.DataFrame,
    triples: pd.DataFrame,
    fine_grid: int,
    latent: Mapping[str, float],
) -> Figure:
    """Draw the regions for each range of rotations, and the measures of all triples of points.

    ``regions`` has class and margin on a grid for each range, ``points`` the given points and the virtual
    samples, ``triples`` one row per triple and range; ``fine_grid`` is the size of the reference grid,
    ``latent`` has the mean measures of the models with the rotation as a latent variable.
    """
    ranges = regions["ranges"]
    fig = plt.figure(figsize=(13, 5.3))
    above, below = fig.subfigures(2, 1, height_ratios=(1, 1.15))
    *panels, last = above.subplots(1, len(ranges) + 1)
    for k, ax in enumerate(panels):
        shown = points[points["range"] == ranges[k]]
        _plot_regions(ax, regions["axis"], regions["classes"][k], shown, regions["margins"][k])
        ax.set_title(("(a) " if k == 0 else "") + f"range {range_label(ranges[k])}")
    given = points[(points["range"] == ranges[-1]) & (points["kind"] == "given")]
    _plot_regions(last, regions["axis"], regions["latent"], given)
    last.set_title("latent rotation")
    axes = below.subplots(1, len(_CURVES))
    for ax, (name, label, title) in zip(axes, _CURVES, strict=True):
        _plot_curve(ax, triples, name)
        ax.set(ylabel=label, title=title)
        if name in latent:
            ax.axhline(latent[name], color=ORANGE, linestyle="--", linewidth=1.5, label="latent rotation")
    axes[0].legend(fontsize=8)
    axes[2].axhline(fine_grid / 10, color="black", linestyle=":", linewidth=1.2)
    axes[2].annotate(
        "a tenth of a grid\nof one degree",
        (0.02, fine_grid / 10),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
        fontsize=8,
    )
    return fig


def _plot_regions(
    ax: Axes, axis: NDArray, classes: NDArray, points: pd.DataFrame, margins: NDArray | None = None
) -> None:
    extent = (axis[0], axis[-1], axis[0], axis[-1])
    colors = ListedColormap([color for color, _ in CLASSES])
    ax.imshow(
        classes,
        origin="lower",
        extent=extent,
        cmap=colors,
        vmin=0,
        vmax=len(CLASSES) - 1,
        alpha=0.35,
        interpolation="nearest",
    )
    if margins is not None:
        ax.contour(axis, axis, margins, levels=[1], colors="black", linewidths=0.8)
    virtual, given = (points[points["kind"] == kind] for kind in ("virtual", "given"))
    ax.scatter(virtual["x"], virtual["y"], s=9, color="black", linewidths=0, zorder=3)
    for _, row in given.iterrows():
        color, marker = CLASSES[row["sample"]]
        ax.scatter(row["x"], row["y"], s=75, color=color, marker=marker, edgecolors="white", zorder=4)
    ax.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def _plot_curve(ax: Axes, triples: pd.DataFrame, name: str) -> None:
    """Plot a measure against the range: a thin line per triple, and their mean."""
    table = triples.pivot_table(index="triple", columns="range", values=name)
    places = np.arange(len(table.columns))
    ax.plot(places, table.T, color=GREY, linewidth=0.7, alpha=0.7)
    ax.plot(places, table.mean(), color=BLUE, marker="o", linewidth=2.2, label="mean")
    ax.set_xticks(places, [range_label(part) for part in table.columns])
    ax.set(xlabel="range of rotations", ylim=(0, None))
