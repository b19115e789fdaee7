"""Pictures of the films of nuclei."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from reproduction.datasets.nuclei_films import read_nuclei_films
from reproduction.plotting.pictures import outline_labels, plot_lifelines, show_image, stretch


def draw_nuclei_films(folder: Path) -> Figure:
    """Draw two frames of the first film with the true outlines, and the lineage over time."""
    film = read_nuclei_films(folder)[0]
    fig = Figure(figsize=(8, 6.2), layout="constrained")
    frames = (0, len(film.frames) - 1)
    axes = fig.subplot_mosaic([frames, ["lineage"] * 2], height_ratios=[3, 2])
    for frame in frames:
        labels = film.truth.masks[frame]
        n_nuclei = len(np.unique(labels)) - 1
        show_image(axes[frame], stretch(film.frames[frame]), title=f"frame {frame}: {n_nuclei} nuclei")
        outline_labels(axes[frame], labels)
    plot_lifelines(axes["lineage"], film.truth.lineage)
    return fig
