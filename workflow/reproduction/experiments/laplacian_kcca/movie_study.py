"""Laplacian KCCA between brain volumes and stimuli: outputs, protocols and maps (thesis, 4.1.3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.metrics.splits import Sampling
from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.fmri_studies.movie_series import Films
from reproduction.experiments.laplacian_kcca.protocol import (
    KCCAResults,
    Settings,
    nested_splits,
    run_study,
    weight_map,
)

#: The columns of Tables 4.1 and 4.2.
VARIABLES = ("motion", "temporal_contrast", "human_body", "color", "faces", "language")
#: The columns of Table 4.3. One of them has both "motion" and "visual motion energy"; the thesis computes two
#: labels from the film, so the second name is taken to mean temporal contrast.
SETS = {
    "contrast_body_color": ("temporal_contrast", "human_body", "color"),
    "motion_faces": ("motion", "faces"),
    "motion_contrast_color_faces": ("motion", "temporal_contrast", "color", "faces"),
}
#: The maps of Figures 4.1 to 4.5, and the regions where their weights are expected.
TARGETS = {
    "faces": ("faces",),
    "human_body": ("human_body",),
    "color": ("color",),
    "motion": ("motion",),
    "motion_faces": ("motion", "faces"),
}
#: The experiments of the thesis, without controls.
PUBLISHED_EXPERIMENTS = ("exp1", "exp2", "exp3")
#: Output sets of the Haxby slice, in place of those of Table 4.3.
HAXBY_SETS = {
    "face_house": ("face", "house"),
    "bottle_scissors_shoe": ("bottle", "scissors", "shoe"),
    "all": ("bottle", "cat", "chair", "face", "house", "scissors", "scrambledpix", "shoe"),
}


def study_films(
    films: Films,
    folds: int,
    settings: Settings,
    *,
    permuted: bool = False,
    variables: bool = True,
    sets: bool = True,
    **options: Any,
) -> KCCAResults:
    """Learn the labels of film 1 from its volumes, with film 2 unpaired.

    One stretch is held out at a time; parameters are chosen by holding out one of the others at a time.

    Parameters
    ----------
    films : Films
    folds : int
        Number of stretches, or of parts of permuted volumes.
    settings : Settings
    permuted : bool, default=False
        Hold out random volumes instead of stretches.
    variables, sets : bool, default=True
        Whether to learn the single labels, and the sets of labels.
    **options
        ``variants`` and ``criteria`` of `run_study`.
    """
    outputs: dict[str, NDArray] = {name: films.label(name) for name in VARIABLES} if variables else {}
    if sets:
        outputs |= {name: films.label(*labels) for name, labels in SETS.items()}
    n = len(films.paired)
    sampling = Sampling("permuted", n) if permuted else Sampling("runs", n, runs=films.stretches)
    splits = nested_splits(sampling, folds, folds - 1, settings.seed)
    return run_study(films.paired, films.unpaired, outputs, splits, settings, **options)


def film_maps(films: Films, results: KCCAResults) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the voxel weights for each target and experiment, of models fitted to all stretches."""
    return {
        (target, experiment): weight_map(
            films.paired,
            films.unpaired,
            films.label(*labels),
            experiment,
            *results.chosen[experiment, target],
        )
        for target, labels in TARGETS.items()
        for experiment in PUBLISHED_EXPERIMENTS
    }


def study_haxby(
    series: HaxbySeries, runs: int, settings: Settings, *, permuted: bool = False, **options: Any
) -> KCCAResults:
    """Learn the categories from the volumes of every second run; the runs between are unpaired.

    One paired run is held out at a time, also in the choice of parameters.

    Parameters
    ----------
    series : HaxbySeries
    runs : int
        Number of runs to use, from the first.
    settings : Settings
    permuted : bool, default=False
        Hold out random volumes instead of runs.
    **options
        ``variants`` and ``criteria`` of `run_study`.
    """
    known = np.unique(series.runs)
    if not 6 <= runs <= len(known):
        raise ValueError(f"runs is {runs}: expected 6 to {len(known)}, half of them paired")
    used = known[:runs]
    paired = np.isin(series.runs, used[::2])
    unpaired = np.isin(series.runs, used[1::2])
    names = series.names.tolist()
    outputs = {name: series.category(name)[paired][:, 0] for name in names}
    outputs |= {
        name: series.category(*members)[paired]
        for name, members in HAXBY_SETS.items()
        if set(members) <= set(names)
    }
    n, count = int(paired.sum()), len(used[::2])
    sampling = Sampling("permuted", n) if permuted else Sampling("runs", n, runs=series.runs[paired])
    splits = nested_splits(sampling, count, count - 1, settings.seed)
    return run_study(series.volumes[paired], series.volumes[unpaired], outputs, splits, settings, **options)


def joined(results: Mapping[str, KCCAResults]) -> pd.DataFrame:
    """Return the rows of the results of several protocols, with a column ``protocol``."""
    tables = [found.table.assign(protocol=protocol) for protocol, found in results.items()]
    return pd.concat(tables, ignore_index=True)
