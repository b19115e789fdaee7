"""Style of all figures, and functions that save figures and tables."""

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from cycler import cycler
from matplotlib.figure import Figure

from ermlab._utils.palette import COLORS

#: Style of published values in all figures.
PUBLISHED = {"color": "black", "linestyle": ":", "linewidth": 1.2}

_STYLE = {
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "figure.figsize": (6.4, 3.6),
    "font.size": 10,
    "grid.alpha": 0.3,
    "image.cmap": "viridis",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    # Fixed, so that the same figure is always written with the same bytes.
    "svg.hashsalt": "ermlab",
    "svg.fonttype": "path",
}


def use_style() -> None:
    """Apply the style to all subsequent figures; notebooks show them as SVG."""
    mpl.rcParams.update(_STYLE)
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})


def save_figure(fig: Figure, folder: str | Path, exhibit: str, data: pd.DataFrame | None = None) -> None:
    """Save ``fig`` as ``<folder>/<exhibit>.svg``, and its numbers as ``<folder>/<exhibit>.csv``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    fig.savefig(folder / f"{exhibit}.svg", metadata={"Date": None})
    if data is not None:
        save_table(data, folder, exhibit)


def save_table(table: pd.DataFrame, folder: str | Path, exhibit: str) -> None:
    """Save ``table`` as ``<folder>/<exhibit>.csv``, with full precision and without row numbers."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{exhibit}.csv", index=False, lineterminator="\n")
