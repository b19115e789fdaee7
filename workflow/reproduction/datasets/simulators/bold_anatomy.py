"""Heads for simulated BOLD series: the MNI152 template with the pose and the anatomy of a person."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from nilearn.datasets import load_mni152_brain_mask, load_mni152_gm_template, load_mni152_template
from scipy import ndimage
from scipy.spatial.transform import Rotation

#: Center of the field of view in millimeters: 138 mm of slices exclude the lowest part of the cerebellum.
FIELD_CENTER = np.array([0.0, -16.0, 10.0])
#: Standard deviations of the linear size of adults (3 %, a tenth in volume) and of the manual positioning.
SIZE_SD, SHIFT_SD, TURN_SD = 0.03, 3.0, 2.0
#: Nonlinear variation between people: sulci differ by some millimeters.
WARP_SD, WARP_FWHM = 2.0, 40.0
#: T2*-weighted EPI shows white matter darker than gray and liquid brightest; arbitrary scanner units.
BRIGHTNESS = 1000.0
#: Brightness of scalp and fat after fat saturation, and their distance from the brain in millimeters.
_SCALP_BRIGHTNESS, _SCALP_FROM, _SCALP_TO = 0.25, 6.0, 14.0


@dataclass(frozen=True)
class Template:
    """The MNI152 brain of nilearn on its grid."""

    t1: np.ndarray  #: 0 outside the brain
    gray: np.ndarray  #: share of gray matter
    brain: np.ndarray  #: 1 in the brain, 0 outside
    affine: np.ndarray

    @property
    def coordinates(self) -> np.ndarray:
        """Millimeters of every voxel, (x, y, z, 3)."""
        return grid_coordinates(self.t1.shape, self.affine)


@cache
def load_template(resolution: int) -> Template:
    """Return the template with voxels of ``resolution`` millimeters."""
    loaders = (load_mni152_template, load_mni152_gm_template, load_mni152_brain_mask)
    images = [load(resolution=resolution) for load in loaders]
    return Template(*(image.get_fdata(dtype=np.float32) for image in images), images[0].affine)


def grid_coordinates(shape: Sequence[int], affine: np.ndarray) -> np.ndarray:
    """Return the millimeters of every voxel of a grid, (x, y, z, 3)."""
    index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    return index @ affine[:3, :3].T + affine[:3, 3]


def scanner_affine(shape: Sequence[int], resolution: float) -> np.ndarray:
    """Return the affine of a grid centered at `FIELD_CENTER`."""
    affine = np.diag([resolution, resolution, resolution, 1.0])
    affine[:3, 3] = FIELD_CENTER - resolution * (np.array(shape) - 1) / 2
    return affine


@dataclass(frozen=True)
class Region:
    """A functional region: ellipsoids of one size with ``centers`` in MNI millimeters."""

    name: str
    centers: tuple[tuple[float, float, float], ...]
    radii: tuple[float, float, float]

    def weight(self, coordinates: np.ndarray) -> np.ndarray:
        """Return 1 inside, 0 outside, and 0.5 on the surface of the nearest ellipsoid."""
        weights = [
            1 / (1 + np.exp((np.linalg.norm((coordinates - center) / self.radii, axis=-1) - 1) / 0.15))
            for center in self.centers
        ]
        return np.max(weights, axis=0).astype(np.float32)


def label_regions(regions: Sequence[Region], template: Template) -> np.ndarray:
    """Return the number (from 1) of the region with the largest weight per voxel, 0 if all are below 0.5."""
    weights = np.stack([region.weight(template.coordinates) for region in regions])
    inside = (weights.max(axis=0) >= 0.5) & (template.t1 > 0)
    return np.where(inside, weights.argmax(axis=0) + 1, 0).astype(np.int16)


def random_fields(
    rng: np.random.Generator, count: int, shape: Sequence[int], resolution: float, fwhm: float
) -> np.ndarray:
    """Return smooth Gaussian random fields (count, x, y, z), of mean 0 and variance 1 over the grid."""
    sigma = fwhm / resolution / np.sqrt(8 * np.log(2))
    fields = rng.standard_normal((count, *shape), dtype=np.float32)
    for one in fields:
        one -= one.mean()  # which is nearly all that smoothing leaves of a field wider than the grid
        ndimage.gaussian_filter(one, sigma, mode="wrap", output=one)
        one /= one.std()
    return fields


@dataclass(frozen=True)
class Head:
    """A person in the scanner: the place in MNI space of each voxel of the scanner grid."""

    shape: tuple[int, int, int]
    affine: np.ndarray
    resolution: float
    template: Template
    #: MNI millimeters to scanner millimeters
    pose: np.ndarray
    #: MNI millimeters of every voxel, (x, y, z, 3)
    coordinates: np.ndarray = field(repr=False)

    def sample(self, values: np.ndarray) -> np.ndarray:
        """Resample a map on the grid of the template to this head."""
        inverse = np.linalg.inv(self.template.affine)
        index = np.moveaxis(self.coordinates @ inverse[:3, :3].T + inverse[:3, 3], -1, 0)
        return ndimage.map_coordinates(values.astype(np.float32), index, order=1, mode="constant")

    def regrid(self, shape: tuple[int, int, int], affine: np.ndarray, template: Template) -> "Head":
        """Return the same person on another grid of the scanner, with a template of another resolution."""
        to_voxel = np.linalg.inv(self.affine)
        index = grid_coordinates(shape, affine) @ to_voxel[:3, :3].T + to_voxel[:3, 3]
        index = np.moveaxis(index, -1, 0)
        coordinates = np.stack(
            [
                ndimage.map_coordinates(self.coordinates[..., axis], index, order=1, mode="nearest")
                for axis in range(3)
            ],
            axis=-1,
        )
        return Head(shape, affine, float(affine[0, 0]), template, self.pose, coordinates)

    def gray(self) -> np.ndarray:
        """Return the share of gray matter in every voxel."""
        return self.sample(self.template.gray)

    def t1(self) -> np.ndarray:
        """Return the T1-weighted image without noise."""
        return self.sample(self.template.t1)

    def epi(self, rng: np.random.Generator) -> np.ndarray:
        """Return the mean EPI image: contrast of T2*, coil shading, and a dim scalp.

        What a voxel at the rim has of the brain shines by its share: both terms of the contrast have it.
        """
        brain = self.sample(self.template.brain)
        contrast = np.clip(1.6 * brain - 0.9 * self.t1(), 0, None)
        shading = 1 + 0.1 * random_fields(rng, 1, self.shape, self.resolution, 120.0)[0]
        outside = ndimage.distance_transform_edt(brain < 0.5, sampling=self.resolution)
        scalp = _SCALP_BRIGHTNESS * ((outside > _SCALP_FROM) & (outside < _SCALP_TO))
        return (BRIGHTNESS * shading * (contrast + scalp)).astype(np.float32)


def draw_head(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    resolution: float,
    *,
    affine: np.ndarray | None = None,
    template_resolution: int | None = None,
) -> Head:
    """Draw size, pose and anatomy of a person, by default in a field of view around `FIELD_CENTER`."""
    pose = np.eye(4)
    turn = Rotation.from_euler("xyz", rng.normal(0, TURN_SD, 3), degrees=True).as_matrix()
    pose[:3, :3] = turn * rng.normal(1, SIZE_SD, 3)
    pose[:3, 3] = rng.normal(0, SHIFT_SD, 3)
    affine = scanner_affine(shape, resolution) if affine is None else affine
    to_mni = np.linalg.inv(pose)
    coordinates = grid_coordinates(shape, affine) @ to_mni[:3, :3].T + to_mni[:3, 3]
    warp = WARP_SD * random_fields(rng, 3, shape, resolution, WARP_FWHM)
    template = load_template(template_resolution or int(resolution))
    return Head(shape, affine, resolution, template, pose, coordinates + np.moveaxis(warp, 0, -1))


def draw_networks(rng: np.random.Generator, count: int, template: Template) -> np.ndarray:
    """Draw networks on the grid of the template: orthogonal maps of gray matter, (count, x, y, z).

    Each is the high part of a smooth field, alike in both hemispheres as most networks are, so that the core
    of a patch is near 1 and most of the cortex near 0.
    """
    resolution = float(np.abs(template.affine[0, 0]))
    fields = random_fields(rng, count, template.t1.shape, resolution, 20.0)
    fields = (fields + 0.7 * fields[:, ::-1]) / np.hypot(1, 0.7)
    maps = np.clip(fields - 0.5, 0, None) * template.gray
    orthogonal: list[np.ndarray] = []
    for one in maps.astype(float):
        for other in orthogonal:
            one = one - (one * other).sum() * other
        orthogonal.append(one / np.sqrt((one**2).sum()))
    # With a third of the cortex in use, a root mean square of 0.4 gives values near 1 in the cores.
    scale = 0.4 * np.sqrt((template.gray > 0.3).sum())
    return (scale * np.stack(orthogonal)).astype(np.float32)
