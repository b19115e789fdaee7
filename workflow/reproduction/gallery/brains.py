"""Pictures of the functional scans."""

from pathlib import Path

import nibabel as nib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from nilearn.datasets import load_mni152_template

from ermlab._utils.palette import COLORS
from reproduction.datasets.drug_stroop import COCAINE, CONTROL, WORDS, read_drug_stroop
from reproduction.datasets.haxby2001_slice import REST
from reproduction.datasets.movie_watching import MovieWatching, read_movie_watching
from reproduction.plotting.pictures import plot_stimuli, show_slice, spread

_SLICES = 4


def draw_movie_watching(folder: Path) -> Figure:
    """Draw a volume of the first film, the regions of the labels, and the labels over time."""
    data = read_movie_watching(folder)
    fig = Figure(figsize=(8, 6.4), layout="constrained")
    grid = fig.add_gridspec(2 + len(data.labels.columns), _SLICES, height_ratios=[3, 3, *[1] * 6])
    volume = np.asanyarray(nib.load(data.bold["film1"]).dataobj[..., 0])
    for column, level in enumerate(spread(volume.shape[2], _SLICES + 2)[1:-1]):
        ax = fig.add_subplot(grid[0, column])
        show_slice(ax, volume[:, :, level], f"film 1, slice {level}")
    _regions([fig.add_subplot(grid[1, column]) for column in range(_SLICES)], data)
    colors = dict(zip(data.labels.columns, COLORS, strict=False))
    seconds = data.repetition_time * np.arange(len(data.labels))
    axes = [fig.add_subplot(grid[2 + row, :]) for row in range(len(colors))]
    for ax, (name, color) in zip(axes, colors.items(), strict=True):
        ax.fill_between(seconds, data.labels[name], color=color, linewidth=0)
        ax.set(ylim=(0, 1), yticks=[], xlim=(0, seconds[-1]))
        ax.set_ylabel(name.replace("_", "\n"), rotation=0, ha="right", va="center", fontsize=7)
        ax.tick_params(labelbottom=ax is axes[-1])
    axes[-1].set_xlabel("seconds of film 1")
    return fig


def _regions(axes: list[Axes], data: MovieWatching) -> None:
    """Show the slices of the template with most voxels of the regions."""
    numbers = np.asanyarray(data.regions.dataobj)
    template = load_mni152_template(resolution=round(float(data.regions.header.get_zooms()[0])))
    background = template.get_fdata()
    levels = np.sort(
        np.argsort([-len(np.unique(numbers[:, :, z])) for z in range(numbers.shape[2])])[: len(axes)]
    )
    for ax, level in zip(axes, levels, strict=True):
        height = data.regions.affine[2, 2] * level + data.regions.affine[2, 3]
        show_slice(ax, background[:, :, level], f"regions, z = {height:.0f} mm")
        shown = np.ma.masked_equal(numbers[:, :, level].T, 0)
        ax.imshow(shown, origin="lower", cmap=ListedColormap(COLORS[:6]), vmin=1, vmax=6, alpha=0.9)


def draw_drug_stroop(folder: Path) -> Figure:
    """Draw the mean image of several subjects, and the voxel of one that follows the words best."""
    data = read_drug_stroop(folder)
    fig = Figure(figsize=(8, 4.8), layout="constrained")
    grid = fig.add_gridspec(3, _SLICES)
    for row, group in enumerate((CONTROL, COCAINE)):
        people = [subject for subject in data.subjects if subject.group == group]
        for column, subject in enumerate(people[:_SLICES]):
            mean = np.asanyarray(nib.load(subject.bold).dataobj).mean(axis=3)
            show_slice(
                fig.add_subplot(grid[row, column]), mean[:, :, mean.shape[2] // 2], f"{subject.name}, {group}"
            )
    series = np.asanyarray(nib.load(data.subjects[0].bold).dataobj).astype(float)
    times = data.repetition_time * (0.5 + np.arange(series.shape[3]))
    labels = np.full(len(times), REST, dtype="U8")
    for onset, duration, kind in data.events.itertuples(index=False):
        labels[(times >= onset) & (times < onset + duration)] = kind
    # The hemodynamic response follows five seconds later.
    words = np.roll(labels == WORDS, round(5 / data.repetition_time)).astype(float)
    brain = series.mean(axis=3) > series.mean()
    z = (series[brain] - series[brain].mean(axis=1, keepdims=True)) @ (words - words.mean())
    best = np.argmax(z / series[brain].std(axis=1))
    ax = fig.add_subplot(grid[2, :])
    plot_stimuli(ax, series[brain][best], labels, data.repetition_time, REST)
    ax.set(xlabel="seconds", ylabel="BOLD")
    ax.set_title(f"a voxel of {data.subjects[0].name} that follows the words", fontsize=9)
    return fig
