"""Conditional random fields on the pixels of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import check_choice, real_array, whole_number
from ermlab.segmentation._flow_graph import grid_graph, neighboring_pixels
from ermlab.segmentation.graph_crf import GraphCRF, GraphSample

Vector = NDArray[np.float64]
CONNECTIVITIES = (4, 8)


@remembers_arguments
class GridCRF(GraphCRF):
    """Segmentation of images as a `Task` of `ermlab.structured.StructuredSVM`.

    A sample ``x`` is an array (height, width, n_features), or ``(array, edge_features)`` with one row of
    features for each edge in the order of `grid_edges`, for example `contrast_features`. The labels ``y`` are
    an array (height, width). Images may have different sizes.

    Weights, losses and inference are those of `GraphCRF`, except that ``submodular`` is true by default:
    neighbors are never encouraged to have different labels, and training and prediction are exact for two
    states.

    Parameters
    ----------
    n_states, n_features : int
        Number of states, at least 2, and of features of a pixel. One feature should be constant, as the
        intercept.
    n_edge_features : int, default=0
        Number of features of an edge.
    connectivity : {4, 8}, default=4
        Number of neighbors of a pixel.
    directed, submodular, class_weight, ignore_label, inference
        See `GraphCRF`.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab import GridCRF, StructuredSVM
    >>> rng = np.random.default_rng(0)
    >>> labels = np.zeros((4, 12, 12), dtype=int)
    >>> labels[:, 3:9, 3:9] = 1
    >>> noisy = labels + rng.normal(size=labels.shape)
    >>> images = np.stack([noisy, np.ones_like(noisy)], axis=-1)
    >>> model = StructuredSVM(GridCRF(2, 2), C=10).fit(images[:3], labels[:3])
    >>> bool(model.score(images[3:], labels[3:]) > 0.9)
    True
    """

    def __init__(
        self,
        n_states: int,
        n_features: int,
        n_edge_features: int = 0,
        *,
        connectivity: int = 4,
        directed: bool = False,
        submodular: bool = True,
        class_weight: ArrayLike | None = None,
        ignore_label: int | None = None,
        inference: str = "auto",
    ):
        super().__init__(
            n_states,
            n_features,
            n_edge_features,
            directed=directed,
            submodular=submodular,
            class_weight=class_weight,
            ignore_label=ignore_label,
            inference=inference,
        )
        check_choice("connectivity", connectivity, CONNECTIVITIES)
        self.connectivity = connectivity

    def sample(self, x: Any) -> GraphSample:
        """Return a checked sample, or raise a ValueError."""
        image, edge_features = x if isinstance(x, tuple) and len(x) == 2 else (x, None)
        image = real_array(image, "image")
        if image.ndim != 3 or image.shape[2] != self.n_features or image.size == 0:
            raise ValueError(
                f"image has shape {image.shape}: expected (height, width, {self.n_features}), at least one "
                "pixel"
            )
        features = self._phi.check_nodes(image.reshape(-1, self.n_features))
        graph = grid_graph(*image.shape[:2], self.connectivity)
        return GraphSample(features, graph, self._edge_features(edge_features, graph.edges), image.shape[:2])


def grid_edges(shape: tuple[int, int], connectivity: int = 4) -> NDArray[np.int64]:
    """Return the edges (n_edges, 2) between neighboring pixels, numbered row by row.

    Edges to the right come first, then those down, then for ``connectivity=8`` those down to the right and
    down to the left; each group is in the order of its first pixel.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    connectivity : {4, 8}, default=4
        Number of neighbors of a pixel.
    """
    check_choice("connectivity", connectivity, CONNECTIVITIES)
    height, width = (whole_number("shape", side, 1) for side in shape)
    return neighboring_pixels(height, width, connectivity)


def contrast_features(image: ArrayLike, connectivity: int = 4, beta: float | None = None) -> Vector:
    """Return two features for each edge: 1, and a measure of the similarity of its pixels from 0 to 1.

    The similarity of pixels ``i`` and ``j`` is ``exp(-beta |x_i - x_j|^2)``. Both features are divided by
    the distance of the pixels, so that diagonal edges count less.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Gray values or colors.
    connectivity : {4, 8}, default=4
        Number of neighbors of a pixel.
    beta : float, optional
        By default 1 divided by twice the mean of ``|x_i - x_j|^2`` over the edges of the image.

    Returns
    -------
    ndarray of shape (n_edges, 2)
        Features in the order of `grid_edges`.
    """
    image = real_array(image, "image")
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(
            f"image has shape {image.shape}: expected (height, width) or (height, width, channels)"
        )
    if not np.isfinite(image).all():
        raise ValueError("image holds NaN or infinity: expected finite numbers")
    edges = grid_edges(image.shape[:2], connectivity)
    values = image.reshape(image.shape[0] * image.shape[1], -1)
    values = values / (np.abs(values).max() or 1.0) if beta is None else values  # squares must not overflow
    with np.errstate(over="ignore"):  # the similarity is 0 then
        squares = ((values[edges[:, 0]] - values[edges[:, 1]]) ** 2).sum(axis=1)
    if beta is None:
        mean = squares.mean() if squares.size else 0.0
        beta = 0.5 / mean if mean > 0 else 0.0
    elif not 0 <= beta < np.inf:
        raise ValueError(f"beta is {beta}: expected a finite number of at least 0")
    features = np.column_stack([np.ones(len(edges)), np.exp(-np.minimum(beta * squares, 700.0))])
    diagonal = edges[:, 0] // image.shape[1] != edges[:, 1] // image.shape[1]
    diagonal &= edges[:, 0] % image.shape[1] != edges[:, 1] % image.shape[1]
    features[diagonal] /= np.sqrt(2.0)
    return features
