"""The real Haxby slice: labels fit the responses, and categories are told apart as others have found."""

import numpy as np
import pytest
from nilearn.glm.first_level import spm_hrf
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
from sklearn.svm import SVC

from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.experiments.fmri_studies.haxby import detrend_runs, prepare_haxby


@pytest.fixture(scope="module")
def haxby(acquired):
    return read_haxby2001_slice(acquired("haxby2001_slice"))


def test_blocks_are_told_apart_as_published(haxby):
    # Means of blocks reach .69 and more; single volumes, with nine times the noise, about .6.
    series = prepare_haxby(haxby)
    starts = np.flatnonzero(np.append(True, haxby.labels[1:] != haxby.labels[:-1]))
    blocks = [(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    blocks = [(start, end) for start, end in blocks if haxby.labels[start] != "rest"]
    assert len(blocks) == 96
    means = np.array([series.volumes[start:end].mean(axis=0) for start, end in blocks])
    labels, runs = (np.array([values[start] for start, _ in blocks]) for values in (haxby.labels, haxby.runs))
    accuracy = cross_val_score(SVC(kernel="linear"), means, labels, groups=runs, cv=LeaveOneGroupOut()).mean()
    assert 0.65 < accuracy < 0.85


def test_the_labels_follow_the_response(haxby):
    series = prepare_haxby(haxby)

    def explained(categories):
        design = detrend_runs(categories, haxby.runs)
        fit = design @ np.linalg.lstsq(design, series.volumes, rcond=None)[0]
        return (fit**2).sum() / (series.volumes**2).sum()

    shifted = {lag: explained(np.roll(series.categories, lag, axis=0)) for lag in (-2, -1, 0, 1, 2)}
    assert max(shifted, key=shifted.get) == 0
    response = spm_hrf(haxby.repetition_time, 1)
    delayed = np.apply_along_axis(lambda column: np.convolve(column, response)[:1452], 0, series.categories)
    assert explained(delayed) < 0.5 * shifted[0]
