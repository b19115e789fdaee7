"""Figure of the level sets of regularizers and the minima on them (T-sec-2.2)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D
from numpy.typing import NDArray

from ermlab._utils.palette import AMBER, BLUE, GREEN, GREY, ORANGE
from reproduction.experiments.level_sets.regularizers import CONVEX, K
from reproduction.experiments.level_sets.risks import sphere

NAMES = {"l0": "L0", "l1": "L1", "l2": "L2", "elastic_net": "elastic net", "k_support": f"{K}-support"}
#: Half-width of the shown plane, and points along each axis.
HALF_WIDTH, RESOLUTION = 2.4, 301
#: Polar and azimuthal points on the drawn unit balls.
BALL = (61, 121)
#: Elevation and azimuth from which they are seen, in degrees.
VIEW = (22, 32)


def plot_level_sets(example: Mapping[str, NDArray], zeros: pd.DataFrame) -> Figure:
    """Draw level sets that touch in the plane, unit balls in space, and the share of minima with zeros.

    ``example`` is a risk of two coefficients with its minima, ``zeros`` has one row per dimension and
    regularizer.
    """
    fig = plt.figure(figsize=(11, 6.2))
    grid = fig.add_gridspec(2, 4)
    for column, name in enumerate(("l0", "l1", "elastic_net", "l2")):
        ax = fig.add_subplot(grid[0, column])
        _plot_plane(ax, example, name)
        ax.set_title(f"({'abcd'[column]}) {NAMES[name]}")
    for column, name in enumerate(("l1", "k_support")):
        ax = fig.add_subplot(grid[1, column], projection="3d")
        _plot_ball(ax, name)
        ax.set_title(f"({'ef'[column]}) unit ball of {NAMES[name]}")
    _plot_zeros(fig.add_subplot(grid[1, 2:]), zeros)
    return fig


def _plot_plane(ax: Axes, example: Mapping[str, NDArray], name: str) -> None:
    A, c, w = example["A"], example["c"], example[name]
    axis = np.linspace(-HALF_WIDTH, HALF_WIDTH, RESOLUTION)
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    risk = 0.5 * np.einsum("ni,ij,nj->n", plane - c, A, plane - c).reshape(RESOLUTION, RESOLUTION)
    least = float(0.5 * (w - c) @ A @ (w - c))
    ax.contour(axis, axis, risk, [0.3 * least, 2 * least, 3.5 * least], colors=BLUE, linewidths=0.7)
    ax.contour(axis, axis, risk, [least], colors=BLUE, linewidths=1.8)
    if name == "l0":  # at most one coefficient that is not 0
        ax.axhline(0, color=ORANGE, linewidth=2.2)
        ax.axvline(0, color=ORANGE, linewidth=2.2)
    else:
        omega = CONVEX[name].value(plane).reshape(RESOLUTION, RESOLUTION)
        level = float(CONVEX[name].value(w[None])[0])
        ax.contourf(axis, axis, omega, [0, level], colors=[ORANGE], alpha=0.2)
        ax.contour(axis, axis, omega, [level], colors=ORANGE, linewidths=2.2)
        ax.axhline(0, color=GREY, linewidth=0.7)
        ax.axvline(0, color=GREY, linewidth=0.7)
    ax.plot(*c, "+", color=BLUE, markersize=9, markeredgewidth=2)
    ax.plot(*w, "o", color="black", markersize=6)
    zero = [f"$w_{i + 1} = 0$" for i in np.flatnonzero(w == 0)]
    ax.text(0.05, 0.06, "\n".join(zero) or "no zero", transform=ax.transAxes, fontsize=9)
    ax.set(aspect="equal", xlabel="$w_1$", ylabel="$w_2$", xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    ax.set(xlim=(-HALF_WIDTH, HALF_WIDTH), ylim=(-HALF_WIDTH, HALF_WIDTH))
    ax.grid(visible=False)


def _plot_ball(ax: Axes3D, name: str) -> None:
    polar, azimuth = np.meshgrid(np.linspace(0, np.pi, BALL[0]), np.linspace(0, 2 * np.pi, BALL[1]))
    directions = sphere(polar, azimuth)
    # The squared norms are halved: the unit ball is where they are 1/2.
    level = 1.0 if name == "l1" else 0.5
    ball = CONVEX[name].to_level(directions.reshape(-1, 3), level).reshape(directions.shape)
    ax.plot_surface(
        *np.moveaxis(ball, -1, 0),
        color=AMBER,
        linewidth=0,
        antialiased=False,
        rstride=1,
        cstride=1,
        rasterized=True,
        lightsource=LightSource(azdeg=160, altdeg=40),
    )
    elevation, turn = np.radians(VIEW)
    towards = [np.cos(elevation) * np.cos(turn), np.cos(elevation) * np.sin(turn), np.sin(elevation)]
    for i in range(3):  # the kinks lie in the planes in which a coefficient is 0
        angle = np.linspace(0, 2 * np.pi, 361)
        circle = np.insert(np.stack([np.cos(angle), np.sin(angle)], axis=1), i, 0.0, axis=1)
        edge = CONVEX[name].to_level(circle, level)
        edge[edge @ towards < 0] = np.nan  # behind the ball
        ax.plot(*(1.02 * edge).T, color="black", linewidth=1, zorder=10)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), xticks=[], yticks=[], zticks=[])
    ax.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="$w_3$")
    ax.xaxis.labelpad = ax.yaxis.labelpad = ax.zaxis.labelpad = -12
    ax.set_box_aspect((1, 1, 1), zoom=1.15)
    ax.view_init(*VIEW)
    ax.set_proj_type("ortho")


def _plot_zeros(ax: Axes, zeros: pd.DataFrame) -> None:
    dimensions = sorted(zeros["dimension"].unique())
    width = 0.8 / len(dimensions)
    for number, (d, color) in enumerate(zip(dimensions, (BLUE, GREEN), strict=True)):
        rows = zeros[zeros["dimension"] == d].set_index("regularizer").loc[list(NAMES)]
        places = np.arange(len(rows)) + (number - (len(dimensions) - 1) / 2) * width
        errors = np.maximum([rows["share"] - rows["low"], rows["high"] - rows["share"]], 0)
        ax.bar(places, rows["share"], width, yerr=errors, capsize=3, color=color, label=f"{d} coefficients")
        for place, share, high in zip(places, rows["share"], rows["high"], strict=True):
            ax.annotate(
                f"{share:.2f}",
                (place, high),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    ax.set(xticks=range(len(NAMES)), xticklabels=NAMES.values(), ylim=(0, 1.18))
    ax.set_ylabel("share of risks")
    ax.set_title("(g) minima with an exact zero")
    ax.legend(fontsize=8, loc="upper right", ncols=2)
    ax.grid(visible=False, axis="x")
