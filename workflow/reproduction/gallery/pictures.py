"""A picture of each data set: what a reader should have seen before reading its results.

``draw_<name>(folder)`` reads the data set in ``folder`` and returns a figure; `DRAW` holds all of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from scipy import stats

from ermlab._utils.palette import BLUE, COLORS, SKY, YELLOW
from ermlab.kernels import GraphSet
from reproduction.datasets import flowers17, voc2007_sample
from reproduction.datasets.cell_migration import read_cell_migration
from reproduction.datasets.ctc_hela02_images import read_ctc_hela02_images
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth
from reproduction.datasets.daimler_pedestrians import BLOCK, read_daimler_pedestrians
from reproduction.datasets.drive_vessels import read_drive_vessels
from reproduction.datasets.flowers17 import read_flowers17
from reproduction.datasets.graphs_tu import read_graphs_tu
from reproduction.datasets.haxby2001_slice import REST, read_haxby2001_slice
from reproduction.datasets.kit_ais_cars import CAR, read_kit_ais_cars
from reproduction.datasets.mslr_5k import HIGHEST_GRADE, read_mslr_5k
from reproduction.datasets.mutag import read_mutag
from reproduction.datasets.newsgroups20 import Posts, read_newsgroups20
from reproduction.datasets.uiuc_cars import CarScenes, read_uiuc_cars
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts
from reproduction.gallery.brains import draw_drug_stroop, draw_movie_watching
from reproduction.gallery.fields import draw_letters, draw_snakes
from reproduction.gallery.nuclei import draw_nuclei_films
from reproduction.plotting.pictures import (
    central_square,
    outline_boxes,
    outline_labels,
    plot_lifelines,
    plot_stimuli,
    plot_tracks,
    show_graph,
    show_image,
    show_montage,
    show_slice,
    spread,
    stretch,
)

_TAG = {"facecolor": YELLOW, "edgecolor": "none", "pad": 1}


def draw_uiuc_cars(folder: Path) -> Figure:
    """Draw crops of cars and other things, and scenes of both kinds with boxes of the cars."""
    data = read_uiuc_cars(folder)
    fig = Figure(figsize=(8, 5.2), layout="constrained")
    axes = fig.subplot_mosaic([["cars", "others"], ["single", "single"], ["multi", "multi"]])
    show_montage(axes["cars"], data.cars[:20], columns=5, title="crops: car")
    show_montage(axes["others"], data.others[:20], columns=5, title="crops: other")
    for name, scenes in (("single", data.single_scale), ("multi", data.multi_scale)):
        _scenes(axes[name], scenes, title=f"{name}-scale scenes with boxes")
    return fig


def draw_voc2007_sample(folder: Path) -> Figure:
    """Draw eight photographs with their objects; difficult ones dashed."""
    data = read_voc2007_sample(folder)
    fig = Figure(figsize=(8, 4.4), layout="constrained")
    for ax, index in zip(fig.subplots(2, 4).flat, spread(len(data.images), 8), strict=False):
        show_image(ax, data.images[index])
        styles = np.where(data.difficult[index], "--", "-")
        outline_boxes(ax, data.boxes[index], styles=styles)
        for box, label in zip(data.boxes[index], data.labels[index], strict=True):
            ax.text(*box[:2], voc2007_sample.CLASSES[label], fontsize=6, va="bottom", bbox=_TAG)
    return fig


def draw_daimler_pedestrians(folder: Path) -> Figure:
    """Draw base pedestrians, one block of six versions of a pedestrian, and other crops."""
    first = read_daimler_pedestrians(folder).train[0]
    fig = Figure(figsize=(8, 2.9), layout="constrained")
    axes = fig.subplot_mosaic([["base", "block", "others"]], width_ratios=[12, 3, 12])
    show_montage(
        axes["base"], first.base[spread(len(first.base), 48)], columns=12, title="pedestrians (base images)"
    )
    show_montage(axes["block"], first.pedestrians[:BLOCK], columns=2, title="a block of six")
    show_montage(axes["others"], first.others[spread(len(first.others), 48)], columns=12, title="other crops")
    return fig


def draw_kit_ais_cars(folder: Path) -> Figure:
    """Draw the first frame of each scene, cars in one color and other vehicles in another."""
    data = read_kit_ais_cars(folder)
    scenes, first = np.unique(data.scenes, return_index=True)
    images = [data.images[index] for index in first]
    heights = [min(image.shape[0] / image.shape[1], 0.36) for image in images]
    fig = Figure(figsize=(8, 8 * sum(heights) + 0.3 * len(images)), layout="constrained")
    axes = np.atleast_1d(fig.subplots(len(scenes), 1, height_ratios=heights))
    for ax, image, index, scene in zip(axes, images, first, scenes, strict=True):
        cars = int((data.labels[index] == CAR).sum())
        show_image(
            ax, image, title=f"{scene}: {(data.scenes == scene).sum()} frames, {cars} cars on this one"
        )
        outline_boxes(
            ax, data.boxes[index], colors=np.where(data.labels[index] == CAR, YELLOW, SKY), linewidth=0.8
        )
    return fig


def draw_flowers17(folder: Path) -> Figure:
    """Draw one photograph of each class."""
    data = read_flowers17(folder)
    fig = Figure(figsize=(8, 4.6), layout="constrained")
    axes = fig.subplots(3, 6).flat
    for label, name in enumerate(flowers17.CLASSES):
        image = data.images[np.flatnonzero(data.labels == label)[0]]
        show_image(next(axes), central_square(image), title=name)
    next(axes).set_axis_off()
    return fig


def draw_drive_vessels(folder: Path) -> Figure:
    """Draw a photograph without and one with signs of disease, and what both observers have marked."""
    test = read_drive_vessels(folder).test
    fig = Figure(figsize=(8, 5.5), layout="constrained")
    for axes, ill in zip(fig.subplots(2, 3), (False, True), strict=True):
        index = np.flatnonzero(test.pathological == ill)[0]
        state = "signs of disease" if ill else "healthy"
        show_image(axes[0], test.images[index], title=f"photograph {test.numbers[index]} ({state})")
        show_image(axes[1], test.first[index], title="first observer")
        show_image(axes[2], test.second[index], title="second observer")
    return fig


def draw_newsgroups20(folder: Path) -> Figure:
    """Draw the number of posts in each group, and the subject of one of them."""
    data = read_newsgroups20(folder)
    rows = np.arange(len(data.groups))
    fig = Figure(figsize=(8, 5), layout="constrained")
    bars, subjects = fig.subplots(1, 2, sharey=True, width_ratios=[3, 4])
    offset = np.zeros(len(rows))
    for posts, name, color in ((data.train, "train", BLUE), (data.test, "test", SKY)):
        counts = np.bincount(posts.labels, minlength=len(rows))
        bars.barh(rows, counts, left=offset, color=color, label=name)
        offset += counts
    bars.set_yticks(rows, data.groups, fontsize=8)
    bars.invert_yaxis()
    bars.set(xlabel="posts")
    fig.legend(loc="outside upper left", ncols=2)
    subjects.set_axis_off()
    for row in rows:
        subjects.text(0, row, _subject(data.train, row), fontsize=8, va="center", style="italic")
    return fig


def draw_haxby2001_slice(folder: Path) -> Figure:
    """Draw the mean slice, the contrast of faces and houses, and the voxel that separates them best."""
    data = read_haxby2001_slice(folder)
    faces, houses = (data.bold[..., data.labels == name].astype(float) for name in ("face", "house"))
    contrast = np.where(data.mask, stats.ttest_ind(faces, houses, axis=-1).statistic, np.nan)
    voxel = np.unravel_index(np.nanargmax(np.abs(contrast)), contrast.shape)
    fig = Figure(figsize=(8, 4.4), layout="constrained")
    axes = fig.subplot_mosaic([["mean", "contrast"], ["series", "series"]])
    z = voxel[2]
    mean = data.bold[:, :, z].mean(axis=-1)
    show_slice(axes["mean"], mean, title="mean image, brain mask outlined")
    axes["mean"].contour(data.mask[:, :, z].T, levels=[0.5], colors=YELLOW, linewidths=1)
    image = show_slice(
        axes["contrast"], contrast[:, :, z], title="face against house (t)", limit=np.nanmax(np.abs(contrast))
    )
    axes["contrast"].plot(*voxel[:2], "s", ms=8, mfc="none", mec="black")
    fig.colorbar(image, ax=axes["contrast"])
    run = data.runs == data.runs[0]
    plot_stimuli(axes["series"], data.bold[voxel][run], data.labels[run], data.repetition_time, REST)
    return fig


def draw_wager2008_contrasts(folder: Path) -> Figure:
    """Draw one subject, the mean over subjects in standard errors, and the scores."""
    data = read_wager2008_contrasts(folder)
    maps = np.where(data.mask, data.maps, np.nan)
    t = maps.mean(axis=0) / maps.std(axis=0, ddof=1) * np.sqrt(len(maps))
    levels = spread(data.maps.shape[3], 8)[2:7]
    fig = Figure(figsize=(8, 4.8), layout="constrained")
    rows = {"subject 1": data.maps[0], "mean / s.e.": t}
    grid = fig.add_gridspec(len(rows) + 1, len(levels))
    for index, (name, values) in enumerate(rows.items()):
        limit = np.nanpercentile(np.abs(values[data.mask]), 99)
        axes = [fig.add_subplot(grid[index, column]) for column in range(len(levels))]
        for ax, level in zip(axes, levels, strict=True):
            height = data.affine[2, 2] * level + data.affine[2, 3]
            image = show_slice(ax, values[:, :, level], f"z = {height:.0f} mm", limit=limit)
        axes[0].set_ylabel(name, fontsize=9)
        fig.colorbar(image, ax=axes)
    scores = fig.add_subplot(grid[-1, :])
    scores.plot(data.prefrontal, data.score, "o")
    scores.set(xlabel="right ventrolateral prefrontal response", ylabel="reappraisal\nsuccess")
    return fig


def draw_cell_migration(folder: Path) -> Figure:
    """Draw raw images with their segmentation, and all tracks with the divisions."""
    data = read_cell_migration(folder)
    fig = Figure(figsize=(8, 4.1), layout="constrained")
    axes = fig.subplot_mosaic([["first", "tracks"], ["last", "tracks"]], width_ratios=[1, 3])
    last = len(data.example_images) - 1
    for name, frame in (("first", 0), ("last", last)):
        show_image(axes[name], stretch(data.example_images[frame]), title=f"detail, frame {frame}")
        axes[name].contour(data.example_labels[frame] > 0, levels=[0.5], colors=YELLOW, linewidths=0.7)
    ax = axes["tracks"]
    plot_tracks(ax, data.sequences[1].detections, data.sequences[1].lineage)
    ax.set(aspect="equal", xlabel="pixels", ylabel="pixels")
    ax.set_title(
        f"{len(data.truth.lineage)} tracks over {len(data.truth.masks)} frames, divisions as dots", fontsize=9
    )
    ax.invert_yaxis()
    ax.grid(visible=False)
    return fig


def draw_ctc_hela02_images(folder: Path) -> Figure:
    """Draw the first and last frame, and a detail with its segmentation."""
    data = read_ctc_hela02_images(folder)
    fig = Figure(figsize=(8, 4.6), layout="constrained")
    frames = (0, len(data.images) - 1)
    height, width = (side // 3 for side in data.images.shape[1:])
    for column, frame in zip(fig.subplots(2, 2).T, frames, strict=True):
        image = stretch(data.images[frame])
        show_image(column[0], image[::2, ::2], title=f"frame {frame}")
        detail = slice(height, 2 * height), slice(width, 2 * width)
        show_image(column[1], image[detail], title="its middle, segmentation outlined")
        outline_labels(column[1], data.segmentation[frame][detail])
    return fig


def draw_ctc_sim_truth(folder: Path) -> Figure:
    """Draw three label images and the lineage over time."""
    data = read_ctc_sim_truth(folder)
    fig = Figure(figsize=(8, 4.8), layout="constrained")
    frames = [0, len(data.masks) // 2, len(data.masks) - 1]
    axes = fig.subplot_mosaic([frames, ["lineage"] * 3], height_ratios=[3, 2])
    for frame in frames:
        labels = data.masks[frame][::2, ::2]
        colors = np.where(labels > 0, 1 + labels % len(COLORS), 0)
        cells = len(np.unique(labels)) - 1
        show_image(
            axes[frame],
            colors,
            title=f"frame {frame}: {cells} nuclei",
            cmap=ListedColormap(["black", *COLORS]),
        )
    plot_lifelines(axes["lineage"], data.lineage)
    return fig


def draw_graphs_tu(folder: Path) -> Figure:
    """Draw four graphs of each set, nodes colored by their label."""
    return _graph_sets(list(read_graphs_tu(folder).values()))


def draw_mutag(folder: Path) -> Figure:
    """Draw four molecules, atoms colored by their kind."""
    return _graph_sets([read_mutag(folder)])


def draw_mslr_5k(folder: Path) -> Figure:
    """Draw the grades of all documents, and the documents of each query."""
    data = read_mslr_5k(folder)
    fig = Figure(figsize=(8, 3.2), layout="constrained")
    overall, queries = fig.subplots(1, 2, width_ratios=[2, 3])
    grades = np.arange(HIGHEST_GRADE + 1)
    for shift, (part, name) in enumerate(((data.train, "train"), (data.test, "test"))):
        counts = np.bincount(part.relevance, minlength=len(grades))
        overall.bar(grades + 0.4 * shift - 0.2, counts, width=0.4, label=name)
    overall.set(xlabel="grade of relevance", ylabel="documents", xticks=grades)
    overall.legend()
    names, query = np.unique(data.train.query, return_inverse=True)
    table = np.zeros((len(names), len(grades)))
    np.add.at(table, (query, data.train.relevance), 1)
    table = table[np.argsort(-table.sum(axis=1), kind="stable")]
    shades = mpl.colormaps["viridis_r"](np.linspace(0.05, 0.95, len(grades)))
    for grade in grades:
        bottom = table[:, :grade].sum(axis=1)
        queries.bar(
            np.arange(len(names)),
            table[:, grade],
            bottom=bottom,
            color=shades[grade],
            label=str(grade),
            width=1,
        )
    queries.set(xlabel=f"{len(names)} training queries", ylabel="documents", xticks=[])
    queries.legend(title="grade", fontsize=8)
    return fig


#: Function that draws the picture of each data set.
DRAW: dict[str, Callable[[Path], Figure]] = {
    draw.__name__.removeprefix("draw_"): draw
    for draw in (
        draw_uiuc_cars,
        draw_voc2007_sample,
        draw_daimler_pedestrians,
        draw_kit_ais_cars,
        draw_flowers17,
        draw_drive_vessels,
        draw_newsgroups20,
        draw_haxby2001_slice,
        draw_movie_watching,
        draw_drug_stroop,
        draw_wager2008_contrasts,
        draw_cell_migration,
        draw_ctc_hela02_images,
        draw_ctc_sim_truth,
        draw_graphs_tu,
        draw_mutag,
        draw_mslr_5k,
        draw_letters,
        draw_snakes,
    )
} | dict.fromkeys(("dcelliq_nuclei", "mitocheck_nuclei"), draw_nuclei_films)


def _graph_sets(sets: Sequence[GraphSet]) -> Figure:
    fig = Figure(figsize=(8, 2.3 * len(sets)), layout="constrained")
    for axes, graphs in zip(fig.subplots(len(sets), 4, squeeze=False), sets, strict=True):
        for ax, index in zip(axes, spread(len(graphs), 4), strict=False):
            show_graph(ax, graphs.adjacency[index], graphs.joint_labels[index])
            ax.set_title(f"{graphs.name} {index + 1}, class {graphs.labels[index]}")
    return fig


def _scenes(ax: Axes, scenes: CarScenes, title: str, width: int = 900) -> None:
    """Show scenes with their boxes side by side, as many as fit into ``width`` pixels."""
    images, boxes, left = [], [], 0
    for index in spread(len(scenes.images), 8):
        image = scenes.images[index]
        if left + image.shape[1] > width:
            continue
        images.append(image)
        boxes.append(scenes.boxes[index] + [left, 0, left, 0])
        left += image.shape[1] + 4
    height = max(image.shape[0] for image in images)
    pads = [((0, height - image.shape[0]), (0, 4)) for image in images]
    strip = np.hstack(
        [np.pad(image, pad, constant_values=255) for image, pad in zip(images, pads, strict=True)]
    )
    show_image(ax, strip, title)
    outline_boxes(ax, np.vstack(boxes))


def _subject(posts: Posts, group: int) -> str:
    """Return the shortened subject line of the first post of a group."""
    text = posts.texts[np.flatnonzero(posts.labels == group)[0]]
    lines = [line for line in text.splitlines() if line.startswith("Subject:")]
    subject = lines[0].removeprefix("Subject:").strip() if lines else ""
    return subject if len(subject) <= 55 else subject[:54] + "…"
