"""Content of films: sequences of scenes of a few kinds, with shots that vary within a scene."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reproduction.datasets.simulators.bold_series import FINE, forgetful

#: The content of a film that is rated or computed, in the order of the label file.
LABELS = ("motion", "temporal_contrast", "human_body", "color", "faces", "language")
#: Labels that are computed from the frames; the others are rated by observers.
COMPUTED = ("motion", "temporal_contrast")
#: Kinds of scenes with the typical level of each label, chosen such that labels correlate as in films: faces
#: often speak, and action moves.
KINDS = {
    "conversation": (0.2, 0.2, 0.4, 0.4, 0.9, 0.9),
    "company": (0.4, 0.4, 0.8, 0.6, 0.5, 0.4),
    "chase": (0.9, 0.7, 0.3, 0.4, 0.2, 0.1),
    "fight": (0.8, 0.8, 0.9, 0.4, 0.4, 0.2),
    "landscape": (0.2, 0.1, 0.1, 0.8, 0.0, 0.1),
    "things": (0.1, 0.1, 0.1, 0.5, 0.1, 0.2),
    "narration": (0.2, 0.4, 0.2, 0.4, 0.2, 0.9),
    "explosions": (0.6, 0.9, 0.2, 0.1, 0.1, 0.1),
}
#: Mean duration of a scene in seconds, and the shape of its gamma distribution.
_SCENE_SECONDS, _SCENE_SHAPE = 24.0, 3.0
#: Shots within a scene: standard deviation from its level, and correlation time in seconds.
_SHOT_SD, _SHOT_SECONDS = 0.2, 8.0
#: Mean rating of five observers: standard deviation from the content, and correlation time in seconds.
_RATING_SD, _RATING_SECONDS = 0.08, 10.0


@dataclass(frozen=True)
class Film:
    """A film in steps of `FINE` seconds."""

    content: np.ndarray  #: (labels, samples) from 0 to 1
    kinds: np.ndarray  #: (samples,) which of `KINDS` is shown


def draw_film(rng: np.random.Generator, samples: int) -> Film:
    """Draw a film of ``samples`` steps; consecutive scenes are of different kinds."""
    kinds, kind = [], -1
    while len(kinds) < samples:
        kind = int(rng.choice([other for other in range(len(KINDS)) if other != kind]))
        seconds = rng.gamma(_SCENE_SHAPE, _SCENE_SECONDS / _SCENE_SHAPE)
        kinds += [kind] * int(np.ceil(seconds / FINE))
    kinds = np.array(kinds[:samples])
    levels = np.array(list(KINDS.values()))[kinds].T
    shots = _SHOT_SD * forgetful(rng, len(LABELS), samples, _SHOT_SECONDS, FINE)
    return Film(np.clip(levels + shots, 0, 1), kinds)


def rate(rng: np.random.Generator, film: Film, volumes: int, repetition_time: float) -> np.ndarray:
    """Return the label series (volumes, labels): the mean rating during each volume."""
    ratings = _RATING_SD * forgetful(rng, len(LABELS), film.content.shape[1], _RATING_SECONDS, FINE)
    ratings[[LABELS.index(name) for name in COMPUTED]] = 0
    rated = np.clip(film.content + ratings, 0, 1)
    bounds = np.rint(repetition_time * np.arange(volumes + 1) / FINE).astype(int)
    return np.stack([rated[:, start:stop].mean(axis=1) for start, stop in pairwise(bounds)])
