"""Rigid realignment of a series with known motion, against dipy's rigid registration: seconds and errors.

A brain (nilearn's template) that shifts and turns a little from volume to volume is scanned under noise on
the grid of the thesis, 64 x 64 x 46 voxels of 3 mm, and on one of 6 mm. Ours is the whole of `realign`: two
passes of least squares and the reslicing. dipy (`pip install dipy`; not a dependency) maximises mutual
information, a criterion that also serves volumes of unlike contrast and asks for more work, and reslices:
with its defaults, and on one level at full resolution. As it is slow, it gets only the first few volumes. All
run on one thread, in CPU seconds. Prints one row per run and ratios of medians.
"""

import argparse
import logging
import statistics
import time

import nibabel as nib
import numpy as np
from nilearn.datasets import load_mni152_template
from nilearn.image import resample_img, smooth_img
from scipy.spatial.transform import Rotation
from threadpoolctl import threadpool_limits

from ermlab.fmri import realign

try:
    from dipy.align import affine_registration
except ImportError:
    affine_registration = None

GRIDS = {3.0: (64, 64, 46), 6.0: (32, 38, 30)}
PEERS = {
    "dipy, defaults": {},
    "dipy, one level": {"level_iters": [100], "sigmas": [1.0], "factors": [1]},
}


def rigid(row):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("XYZ", row[3:], degrees=True).as_matrix()
    matrix[:3, 3] = row[:3]
    return matrix


def scanned(voxel, volumes, seed):
    """Return a series and the motion in it."""
    rng = np.random.default_rng(seed)
    motion = rng.normal(scale=0.05, size=(volumes, 6)).cumsum(axis=0)
    motion -= motion[0]
    shape = GRIDS[voxel]
    affine = np.diag([voxel, voxel, voxel, 1.0])
    affine[:3, 3] = -voxel * (np.array(shape) - 1) / 2
    brain = smooth_img(load_mni152_template(2), voxel)  # a voxel averages over what it holds
    brain = nib.Nifti1Image(brain.get_fdata(dtype=np.float32), brain.affine)
    brain.affine[:3, 3] -= [0, -18, 12]  # its middle to that of the grid
    series = np.empty((*shape, volumes), dtype=np.float32)
    for t, row in enumerate(motion):
        moved = nib.Nifti1Image(brain.get_fdata(dtype=np.float32), rigid(row) @ brain.affine)
        volume = resample_img(moved, affine, shape, interpolation="continuous").get_fdata()
        series[..., t] = 1000 * volume + 10 * rng.normal(size=shape)
    return nib.Nifti1Image(series, affine), motion


def by_dipy(img, settings):
    data, found = img.get_fdata(dtype=np.float32), [np.zeros(6)]
    for t in range(1, data.shape[3]):
        _, matrix = affine_registration(
            data[..., t],
            data[..., 0],
            moving_affine=img.affine,
            static_affine=img.affine,
            pipeline=["rigid"],
            **settings,
        )
        angles = Rotation.from_matrix(matrix[:3, :3]).as_euler("XYZ", degrees=True)
        found.append(np.concatenate([matrix[:3, 3], angles]))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--volumes", type=int, default=100)
    parser.add_argument("--peer-volumes", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    if affine_registration is None:
        print("dipy is not installed: `pip install dipy` to compare with it")
    logging.getLogger("dipy").setLevel(logging.WARNING)
    with threadpool_limits(1):
        for voxel in GRIDS:
            compare(voxel, options)


def compare(voxel, options):
    img, motion = scanned(voxel, options.volumes, options.seed)
    few = img.slicer[..., : options.peer_volumes]
    runs = {"realign": (options.volumes, lambda: realign(img).parameters)}
    if affine_registration is not None:
        for name, settings in PEERS.items():
            runs[name] = (options.peer_volumes - 1, lambda settings=settings: by_dipy(few, settings))
    realign(few)  # compiles
    seconds = {name: [] for name in runs}
    for _ in range(options.repeats):
        for name, (volumes, run) in runs.items():
            began = time.process_time()
            found = run()
            seconds[name].append((time.process_time() - began) / volumes)
            errors = np.abs(found - motion[: len(found)]).max(axis=0)
            print(
                f"{voxel:g} mm, {name:16} {1000 * seconds[name][-1]:8.1f} ms a volume, largest error "
                f"{errors[:3].max():.3f} mm, {errors[3:].max():.3f} degrees",
                flush=True,
            )
    ours = statistics.median(seconds["realign"])
    for name in list(runs)[1:]:
        ratio = statistics.median(seconds[name]) / ours
        print(f"{voxel:g} mm: {name} takes {ratio:.1f} times as long a volume")


if __name__ == "__main__":
    main()
