"""Sums over all pairs of points with Gaussian weights, in time linear in the number of points.

The permutohedral lattice (Adams, Baek and Davis, 2010) spreads the values of points in ``d`` dimensions to
the ``d + 1`` corners of the simplex around each (splat), blurs along the ``d + 1`` axes of the lattice, and
interpolates (slice).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads, over_ranges
from ermlab._utils.validation import check_choice, finite_matrix, real_array, require_room
from ermlab.segmentation import _lattice_numba as kernels
from ermlab.segmentation.potentials import finite_potentials

Vector = NDArray[np.float64]

NORMALIZATIONS = ("symmetric", "mean", "none")
#: Largest extent of the features in widths, whose lattice coordinates and their fractions are represented.
LARGEST_EXTENT = 1e7
_PARTS = range(kernels.N_PARTS)
#: Smallest numbers of points or vertices that are worth a thread.
_GRAIN = 4096
#: Numbers of points and vertices that fit into 32 bits, with one more for missing neighbors.
_MOST = 2**31 - 2


class PairwiseFilter(Protocol):
    """A symmetric matrix ``K`` with non-negative entries, one row and column per point."""

    n_points: int
    #: ``K 1``, the sum of each row.
    mass: Vector

    def apply(self, values: ArrayLike) -> Vector:
        """Return ``K values``."""

    def add_to(self, out: Vector, values: Vector, factor: float) -> None:
        """Add ``factor K values`` to ``out``; both of shape (n_points, n_channels), not checked."""

    def quadratic_form(self, values: ArrayLike) -> Vector:
        """Return ``v' K v`` for each column ``v`` of ``values``."""


class _Filter(ABC):
    """What the filters have in common."""

    def __init__(self, features: Vector, normalization: str, n_jobs: int | None):
        self.n_points, self.n_features = features.shape
        self.normalization, self.n_jobs = normalization, n_jobs

    def apply(self, values: ArrayLike) -> Vector:
        """Return the weighted sums of the values of all points, one for each point.

        Parameters
        ----------
        values : array-like of shape (n_points,) or (n_points, n_channels)
            The values of the points.
        """
        values = finite_potentials(values, "values")
        if values.ndim not in (1, 2) or len(values) != self.n_points:
            raise ValueError(
                f"values have shape {values.shape}: expected ({self.n_points},) or "
                f"({self.n_points}, n_channels)"
            )
        out = np.zeros((self.n_points, values.size // self.n_points))
        self.add_to(out, values.reshape(out.shape), 1.0)
        return out.reshape(values.shape)

    @abstractmethod
    def add_to(self, out: Vector, values: Vector, factor: float) -> None:
        """Add ``factor`` times the weighted sums of ``values`` to ``out``, both of two dimensions."""

    def quadratic_form(self, values: ArrayLike) -> Vector:
        """Return ``v' K v`` for each column ``v`` of ``values``, where ``K`` is the matrix of weights."""
        values = finite_potentials(values, "values")
        return np.sum(values * self.apply(values), axis=0)

    def _factors(self, sums: Vector) -> tuple[Vector, Vector]:
        """Return the factors of the results and of the values that normalize the weights."""
        ones = np.ones(self.n_points)
        if self.normalization == "none":
            return ones, ones
        if self.normalization == "mean":
            return 1.0 / sums, ones
        root = 1.0 / np.sqrt(sums)
        return root, root

    def _each(self, work, n: int, grain: int = _GRAIN) -> None:
        over_ranges(work, n, self.n_jobs, grain)


class GaussianFilter(_Filter):
    """Gaussian weights between all pairs of points, by the permutohedral lattice.

    The weight of two points is approximately ``exp(-|f_i - f_j|^2 / 2)``, normalized: with ``"symmetric"`` it
    is divided by the roots of the sums of both points' weights, with ``"mean"`` by the sum of those of the
    point at which the result is taken, such that constant values are preserved. The matrix of weights is
    linear, has no negative entries, and is symmetric and positive semidefinite, up to rounding, unless the
    normalization is ``"mean"``: the lattice is blurred along all axes with half of the variance, and then
    again in the opposite order, since blurs along different axes do not commute where vertices are missing.

    Time and memory are linear in the number of points. Barycentric weights are stored in single precision,
    which is far below the error of the lattice (a few percent of the weights); all sums are in double
    precision. Results do not depend on the number of threads.

    Parameters
    ----------
    features : array-like of shape (n_points, n_features)
        Position of each point in feature space, divided by the standard deviation of the Gaussian.
    normalization : {"symmetric", "mean", "none"}, default="symmetric"
        How the weights are normalized.
    n_jobs : int, optional
        Number of threads, by default that of numba.

    Attributes
    ----------
    n_vertices : int
        Number of vertices of the lattice.
    mass : ndarray of shape (n_points,)
        Sum of the weights of each point.
    """

    def __init__(self, features: ArrayLike, normalization: str = "symmetric", n_jobs: int | None = None):
        features = check_features(features, normalization)
        super().__init__(features, normalization, n_jobs)
        n, d = features.shape
        if n * (d + 1) > _MOST:
            raise ValueError(f"{n} points of {d} features: expected at most {_MOST // (d + 1)} points")
        require_room((n, d + 1, 4), "the lattice", 4)
        self._amplitude = math.sqrt(d + 1) * (4 * math.pi / 3) ** (d / 2)
        self._build(features)
        self._normalize()

    @property
    def nbytes(self) -> int:
        """Bytes that the filter keeps."""
        arrays = (self._vertices, self._weights, self._starts, self._points, self._ordered, self._neighbors)
        return sum(array.nbytes for array in arrays) + self.mass.nbytes

    def add_to(self, out: Vector, values: Vector, factor: float) -> None:
        """Add ``factor`` times the weighted sums of ``values`` to ``out``, both of two dimensions."""
        lattice, spare = self._half(values)
        for axis in reversed(range(len(self._neighbors))):
            lattice, spare = self._blur(axis, lattice, spare)
        factor *= self._amplitude
        self._each(
            lambda start, stop: kernels.slice_lattice(
                self._vertices, self._weights, lattice, factor, out, start, stop
            ),
            self.n_points,
        )

    def quadratic_form(self, values: ArrayLike) -> Vector:
        """Return ``v' K v`` for each column ``v`` of ``values``, where ``K`` is the matrix of weights."""
        if self.normalization == "mean":
            return super().quadratic_form(values)
        values = finite_potentials(values, "values")
        lattice, _ = self._half(values.reshape(self.n_points, -1))
        return (self._amplitude * np.sum(lattice * lattice, axis=0)).reshape(values.shape[1:])

    def _half(self, values: Vector) -> tuple[Vector, Vector]:
        """Return the lattice after splat and the first half of the blur, and an array of the same shape."""
        lattice, spare = np.zeros((2, self.n_vertices + 1, values.shape[1]))
        self._each(
            lambda start, stop: kernels.splat(
                self._starts, self._points, self._ordered, values, lattice, start, stop
            ),
            self.n_vertices,
        )
        for axis in range(len(self._neighbors)):
            lattice, spare = self._blur(axis, lattice, spare)
        return lattice, spare

    def _blur(self, axis: int, before: Vector, after: Vector) -> tuple[Vector, Vector]:
        neighbors = self._neighbors[axis]
        self._each(lambda start, stop: kernels.blur(neighbors, before, after, start, stop), self.n_vertices)
        return after, before

    def _build(self, features: Vector) -> None:
        """Find the vertices around each point, and join neighbors."""
        n, d = features.shape
        packing = _Packing(features)
        self._vertices = np.empty((n, d + 1), dtype=np.int32)
        self._weights = np.empty((n, d + 1), dtype=np.float32)
        words = np.empty((n, d + 1, packing.n_words), dtype=np.int64)
        hashes = np.empty((n, d + 1), dtype=np.int64)
        self._each(
            lambda start, stop: kernels.embed(
                *(features, packing.center, packing.scales, *packing.fields, packing.steps),
                *(words, hashes, self._weights, start, stop),
            ),
            n,
        )
        keys, slots, starts = self._number(words.reshape(n * (d + 1), -1), hashes.ravel())
        self._neighbors = np.full((d + 1, self.n_vertices, 2), self.n_vertices, dtype=np.int32)
        self._each(
            lambda start, stop: kernels.join_neighbors(
                keys, slots, starts, packing.steps, self._neighbors, start, stop
            ),
            self.n_vertices,
        )
        self._starts, self._points, self._ordered = kernels.by_vertex(
            self._vertices, self._weights, self.n_vertices
        )

    def _number(
        self, words: NDArray[np.int64], hashes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """Number the vertices; return their words, and a hash table of the numbers in several parts."""
        n_corners, vertices = self._vertices.shape[1], self._vertices.ravel()
        found = map_in_threads(
            lambda part: kernels.number_vertices(words, hashes, part, n_corners, vertices),
            _PARTS,
            self.n_jobs,
        )
        tables, counts = zip(*found, strict=True)
        numbers = np.full(max(counts) * len(counts), -1, dtype=np.int32)
        self.n_vertices = kernels.renumber(vertices, numbers)
        keys = np.empty((self.n_vertices, words.shape[1]), dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
        slots = np.empty(starts[-1], dtype=np.int32)
        map_in_threads(
            lambda part: kernels.compact(
                tables[part], part, numbers, keys, slots[starts[part] : starts[part + 1]]
            ),
            _PARTS,
            self.n_jobs,
        )
        return keys, slots, starts

    def _normalize(self) -> None:
        """Multiply the factors of the normalization into the barycentric weights."""
        ones = np.ones(self.n_points)
        self.mass = self.apply(ones)
        if self.normalization == "none":
            return
        left, right = self._factors(self.mass)
        self._each(lambda start, stop: kernels.scale_rows(self._weights, left, start, stop), self.n_points)
        self._each(
            lambda start, stop: kernels.scale_entries(self._ordered, self._points, right, start, stop),
            len(self._ordered),
        )
        self.mass = self.apply(ones)


class ExactGaussianFilter(_Filter):
    """Gaussian weights between all pairs of points by direct summation, in quadratic time.

    It takes the parameters of `GaussianFilter` and has the same methods, for small inputs and for checking.
    """

    def __init__(self, features: ArrayLike, normalization: str = "symmetric", n_jobs: int | None = None):
        self._features = check_features(features, normalization)
        super().__init__(self._features, normalization, n_jobs)
        self._left = self._right = np.ones(self.n_points)
        self._left, self._right = self._factors(self.apply(self._left))
        self.mass = self.apply(np.ones(self.n_points))

    def add_to(self, out: Vector, values: Vector, factor: float) -> None:
        """Add ``factor`` times the weighted sums of ``values`` to ``out``, both of two dimensions."""
        self._each(
            lambda start, stop: kernels.gaussian_sums(
                self._features, self._left, self._right, values, factor, out, start, stop
            ),
            self.n_points,
            16,
        )


class _Packing:
    """Map of points to the lattice, and places of the coordinates of a vertex in its words.

    Attributes
    ----------
    center, scales : ndarray of shape (n_features,)
        Point that is mapped to 0, and factors of the features.
    fields : tuple of ndarray
        For each coordinate the number of its word, its shift, and the value that is stored as 0.
    steps : ndarray of shape (n_features + 1, n_words)
        What is added to the words of a vertex to get its neighbor along each axis.
    """

    def __init__(self, features: Vector):
        d = features.shape[1]
        # The standard deviation of splat, blur and slice together is sqrt(2/3) (d + 1).
        self.scales = math.sqrt(2 / 3) * (d + 1) / np.sqrt(np.arange(1.0, d + 1) * np.arange(2.0, d + 2))
        lowest, highest = np.empty((2, d))
        kernels.column_ranges(features, lowest, highest)
        # Around the center coordinates have the most digits; weights depend on differences only.
        self.center = 0.5 * lowest + 0.5 * highest
        scaled = 0.5 * (highest - lowest) * self.scales
        # Coordinate j is the sum of the scaled features from j on, minus j times feature j - 1.
        largest = np.cumsum(scaled[::-1])[::-1]
        largest[1:] += np.arange(1.0, d) * scaled[:-1]
        # Corners are less than 2 (d + 1) away from a point, and neighbors at most d from a corner.
        margin = 3 * (d + 1)
        largest = np.ceil(largest).astype(np.int64) + margin
        n_bits = [int(2 * bound).bit_length() for bound in largest]
        word_of, shifts = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
        word, used = 0, 0
        for j in range(d):
            if used + n_bits[j] > kernels.WORD_BITS:
                word, used = word + 1, 0
            word_of[j], shifts[j] = word, used
            used += n_bits[j]
        self.n_words = word + 1
        self.fields = (word_of, shifts, -largest)
        self.steps = np.zeros((d + 1, self.n_words), dtype=np.int64)
        for axis in range(d + 1):
            for j in range(d):
                self.steps[axis, word_of[j]] += (d if j == axis else -1) << int(shifts[j])


def check_features(features: ArrayLike, normalization: str = "symmetric") -> Vector:
    """Return features of points as a contiguous matrix, or raise a ValueError."""
    check_choice("normalization", normalization, NORMALIZATIONS)
    features = np.ascontiguousarray(real_array(features, "features"))
    if features.ndim != 2 or features.size == 0:
        raise ValueError(
            f"features have shape {features.shape}: expected (n_points, n_features), at least one of both"
        )
    lowest, highest = np.empty((2, features.shape[1]))
    if not kernels.column_ranges(features, lowest, highest):
        finite_matrix(features, "features")
    with np.errstate(over="ignore"):
        extents = highest - lowest
    if not extents.max() <= LARGEST_EXTENT:
        j = int(extents.argmax())
        raise ValueError(
            f"feature {j} extends over {extents[j]:.3g} standard deviations of the Gaussian: expected at "
            f"most {LARGEST_EXTENT:.3g}; divide the features by larger widths"
        )
    return features


def position_features(shape: tuple[int, ...], spacing: float | ArrayLike = 1.0) -> Vector:
    """Return the positions of the pixels of an image, of shape (n_pixels, n_axes), in C order.

    Parameters
    ----------
    shape : tuple of int
        Shape of the image, of any number of axes.
    spacing : float or array-like of shape (n_axes,), default=1.0
        Distance of neighboring pixels along each axis.
    """
    spacing = np.broadcast_to(real_array(spacing, "spacing"), (len(shape),))
    axes = [step * np.arange(length) for step, length in zip(spacing, shape, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
