"""BOLD series: neural activity with hemodynamics, breathing, heartbeat, drift, head motion and scanner noise.

Amplitudes are relative to the mean signal (0.01 is 1 %). The total signal-dependent noise has a standard
deviation near 1.1 % in gray matter, where the temporal signal-to-noise ratio of large voxels saturates at 3 T
(Triantafyllou and others, NeuroImage 26, 2005); thermal noise is added and decreases with the volume of a
voxel. Not modeled: spin history, susceptibility drop-out, and motion within a volume.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage, signal, stats
from scipy.spatial.transform import Rotation

from reproduction.datasets.simulators.bold_anatomy import BRIGHTNESS, Head, random_fields
from reproduction.datasets.simulators.bold_motion_numba import resample

#: Seconds between the samples of neural activity.
FINE = 0.1
#: Ongoing activity in the core of a region or network, as large as evoked activity (Fox and Raichle,
#: Nature Reviews Neuroscience 8, 2007).
ONGOING_SD = 0.005
#: Local noise: amplitude, width in millimeters, and correlation time in seconds, such that volumes 3.2 s
#: apart correlate by 0.3.
LOCAL_SD, LOCAL_FWHM, LOCAL_MEMORY = 0.005, 6.0, 2.7
#: Breathing and pulse, as root mean square over the brain, and their slow global changes.
BREATH_SD, PULSE_SD, GLOBAL_SD = 0.0035, 0.0035, 0.002
BREATH_HZ, PULSE_HZ = 0.25, 1.1
#: Drift of the scanner over a run.
DRIFT_SD = 0.007
#: Thermal noise of a voxel of 3 x 3 x 3 mm (a signal-to-noise ratio of 100).
THERMAL_SD = 0.01
#: Head motion of cooperative volunteers at the end of a run: millimeters and degrees for each axis.
MOTION_MM, MOTION_DEGREES = 0.3, 0.3
#: Standard deviation between people of the logarithm of their motion.
RESTLESSNESS = 0.3


@dataclass(frozen=True)
class Acquisition:
    """Timing of a run: a volume every ``repetition_time`` seconds, slice z at ``slice_times[z]``."""

    volumes: int
    repetition_time: float
    slice_times: np.ndarray

    @property
    def seconds(self) -> float:
        """Length of the run."""
        return self.volumes * self.repetition_time

    @property
    def times(self) -> np.ndarray:
        """Seconds at which each slice of each volume is measured, (slices, volumes)."""
        return self.slice_times[:, None] + self.repetition_time * np.arange(self.volumes)

    def sample(self, courses: np.ndarray) -> np.ndarray:
        """Sample fine time courses (count, samples) at the measured times: (count, slices, volumes)."""
        fine = FINE * np.arange(courses.shape[1])
        return np.stack([np.interp(self.times, fine, course) for course in courses]).astype(np.float32)

    @property
    def fine_count(self) -> int:
        """Number of fine samples in a run."""
        return int(np.ceil(self.seconds / FINE)) + 1


def ascending(slices: int, repetition_time: float) -> np.ndarray:
    """Return the times of slices measured from the feet upwards."""
    return repetition_time * np.arange(slices) / slices


def interleaved(slices: int, repetition_time: float) -> np.ndarray:
    """Return the times of interleaved slices; an even number starts with the second slice (Siemens)."""
    first = 1 - slices % 2
    order = [*range(first, slices, 2), *range(1 - first, slices, 2)]
    times = np.empty(slices)
    times[order] = ascending(slices, repetition_time)
    return times


def hemodynamic(courses: np.ndarray, peak: np.ndarray | float = 6.0) -> np.ndarray:
    """Convolve fine courses with the canonical response, a difference of gamma densities.

    A constant time course of 1 converges to 1. ``peak`` is the first density's shape, 6 in SPM; people and
    regions differ by about half a second (Handwerker and others, NeuroImage 21, 2004).
    """
    t = FINE * np.arange(int(32 / FINE))
    responses = []
    for course, shape in zip(courses, np.broadcast_to(peak, len(courses)), strict=True):
        kernel = stats.gamma.pdf(t, shape) - stats.gamma.pdf(t, shape + 10) / 6
        responses.append(signal.fftconvolve(course, kernel / kernel.sum())[: len(course)])
    return np.array(responses)


def draw_peaks(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw the shape of the response of ``count`` regions of one person."""
    return rng.normal(6.0, 0.4) + rng.normal(0, 0.3, count)


def ongoing(rng: np.random.Generator, count: int, samples: int) -> np.ndarray:
    """Draw spontaneous time courses of unit variance: activity with a correlation time of 5 s, convolved."""
    lead = int(40 / FINE)
    courses = hemodynamic(forgetful(rng, count, samples + lead, 5.0, FINE))[:, lead:]
    return courses / courses.std(axis=1, keepdims=True)


def forgetful(rng: np.random.Generator, count: int, samples: int, memory: float, step: float) -> np.ndarray:
    """Draw first-order autoregressive time courses of unit variance with a correlation time in seconds."""
    keep = np.exp(-step / memory)
    start = rng.standard_normal((count, 1))
    innovations = np.sqrt(1 - keep**2) * rng.standard_normal((count, samples))
    return signal.lfilter([1.0], [1.0, -keep], innovations, axis=1, zi=keep * start)[0]


@dataclass(frozen=True)
class Components:
    """Activity as a sum of maps (count, x, y, z) times courses (count, slices, volumes)."""

    maps: np.ndarray
    courses: np.ndarray

    def __add__(self, other: "Components") -> "Components":
        return Components(
            np.concatenate([self.maps, other.maps]), np.concatenate([self.courses, other.courses])
        )

    def volume(self, number: int) -> np.ndarray:
        """Return the sum at one volume."""
        # Not a matrix product, whose last bits may depend on the number of threads.
        return np.einsum("kxyz,kz->xyz", self.maps, self.courses[:, :, number])


def draw_nuisance(rng: np.random.Generator, head: Head, when: Acquisition) -> Components:
    """Draw drift, breathing, pulse and their slow changes for one run."""
    brain = head.t1() > 0

    def fields(count: int, fwhm: float) -> np.ndarray:
        return brain * random_fields(rng, count, head.shape, head.resolution, fwhm)

    seconds = FINE * np.arange(when.fine_count)
    waves = []
    for rate in (BREATH_HZ, PULSE_HZ):
        # The rate varies by a tenth.
        wander = forgetful(rng, 1, when.fine_count, 20.0, FINE)[0]
        phase = 2 * np.pi * FINE * np.cumsum(rate * (1 + 0.1 * wander)) + rng.uniform(0, 2 * np.pi)
        waves += [np.sin(phase), np.cos(phase)]
    trend = 2 * seconds / when.seconds - 1
    slow = [trend, np.cos(np.pi * trend), np.sin(1.5 * np.pi * trend)]
    changes = ongoing(rng, 1, when.fine_count)
    maps = np.concatenate(
        [
            BREATH_SD * fields(2, 30.0),
            PULSE_SD * fields(2, 12.0),
            DRIFT_SD * fields(3, 40.0),
            GLOBAL_SD * brain[None],
        ]
    )
    return Components(maps.astype(np.float32), when.sample(np.concatenate([waves, slow, changes])))


def draw_motion(rng: np.random.Generator, volumes: int) -> np.ndarray:
    """Draw a smooth random walk of the head, (volumes, 6): millimeters and degrees, 0 at the first volume."""
    steps = ndimage.gaussian_filter1d(rng.standard_normal((volumes, 6)), 3.0, axis=0)
    walk = np.cumsum(steps, axis=0)
    walk -= walk[0]
    scale = np.repeat([MOTION_MM, MOTION_DEGREES], 3) * np.exp(rng.normal(0, RESTLESSNESS))
    return scale * walk / np.sqrt(volumes)


def moved(volume: np.ndarray, shift: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the volume of a head shifted by voxels and rotated about the center of the field of view."""
    middle = (np.array(volume.shape) - 1) / 2
    # A voxel shows the place that the motion moves to this voxel.
    return resample(volume, turn.T, middle - turn.T @ (middle + shift))


def render(
    rng: np.random.Generator,
    head: Head,
    epi: np.ndarray,
    activity: Components,
    when: Acquisition,
    motion: np.ndarray,
) -> np.ndarray:
    """Simulate the measurement of a run: integers of shape (x, y, z, volumes)."""
    series = np.empty((*head.shape, when.volumes), dtype=np.int16, order="F")
    brain = (LOCAL_SD * (head.t1() > 0)).astype(np.float32)
    sigma = LOCAL_FWHM / head.resolution / np.sqrt(8 * np.log(2))
    impulse = np.zeros((25, 25, 25))
    impulse[12, 12, 12] = 1
    unit = np.float32(1 / np.sqrt((ndimage.gaussian_filter(impulse, sigma) ** 2).sum()))
    keep = np.float32(np.exp(-when.repetition_time / LOCAL_MEMORY))
    thermal = np.float32(BRIGHTNESS * THERMAL_SD * (3.0 / head.resolution) ** 3)
    shifts = motion[:, :3] / head.resolution
    turns = Rotation.from_euler("xyz", motion[:, 3:], degrees=True).as_matrix()
    local = None
    for number in range(when.volumes):
        fresh = unit * ndimage.gaussian_filter(rng.standard_normal(head.shape, dtype=np.float32), sigma)
        local = fresh if local is None else keep * local + np.sqrt(1 - keep**2) * fresh
        volume = epi * (1 + activity.volume(number) + brain * local)
        volume = moved(volume, shifts[number], turns[number])
        real, imaginary = thermal * rng.standard_normal((2, *head.shape), dtype=np.float32)
        series[..., number] = np.rint(np.hypot(volume + real, imaginary))
    return series
