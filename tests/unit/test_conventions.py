"""Conventions of scikit-learn that hold for every estimator of the library."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from estimator_catalog import catalog, fitted
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ermlab.features import Vocabulary
from ermlab.kernels import PyramidWL, WeisfeilerLehman, WeisfeilerLehmanKernel
from ermlab.ranking import InvariantRankingSVM
from ermlab.structured import InvariantSVM

CATALOG = catalog()
TABLES = [name for name, entry in CATALOG.items() if entry.table]
SCORED = [name for name, entry in CATALOG.items() if hasattr(entry.estimator, "score")]
VERBOSE = [name for name, entry in CATALOG.items() if "verbose" in entry.estimator.get_params(deep=False)]
#: A parameter of each estimator with values for a grid search.
GRIDS = {"C": [0.1, 1.0], "alpha": [0.1, 1.0], "eps_x": [0.1, 1.0], "n_splits": [3, 4], "nu": [0.3, 0.7]}
WEIGHTS = "weighted and repeated samples give the same objective to a tolerance, not the same bits"


class OfTwoClasses(InvariantRankingSVM):
    """For checks whose target has more values: the upper half is relevant."""

    def fit(self, X, y=None, groups=None):
        if y is not None and len(np.unique(y)) > 2:
            y = np.asarray(y) > np.median(y)
        return super().fit(X, y, groups)

    def score(self, X, y):
        return super().score(X, np.asarray(y) > np.median(y))


@parametrize_with_checks(
    [InvariantSVM(fit_intercept=True), OfTwoClasses(), Vocabulary(3, random_state=0)],
    expected_failed_checks=lambda estimator: (
        {"check_sample_weight_equivalence_on_dense_data": WEIGHTS}
        if isinstance(estimator, InvariantSVM)
        else {}
    ),
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def grid_of(estimator):
    """Return a parameter of an estimator and two values."""
    return next((name, values) for name, values in GRIDS.items() if name in estimator.get_params(deep=False))


def entry_of(name):
    entry = CATALOG[name]
    return clone(entry.estimator, safe=False), entry


@pytest.mark.parametrize("name", CATALOG)
def test_parameters(name):
    entry = CATALOG[name]
    given = entry.estimator.get_params(deep=False)
    copy = clone(entry.estimator)
    assert {key: type(value) for key, value in copy.get_params(deep=False).items()} == {
        key: type(value) for key, value in given.items()
    }
    assert copy.set_params(**given) is copy
    assert repr(copy)
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(nonsense=1)


@pytest.mark.parametrize("name", CATALOG)
def test_not_fitted(name):
    estimator, entry = entry_of(name)
    with pytest.raises(NotFittedError):
        entry.answers(estimator, entry.data[0])


@pytest.mark.parametrize("name", TABLES)
def test_data_frames(name):
    estimator, entry = entry_of(name)
    X, *y = entry.data
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])], index=np.arange(len(X))[::-1])
    y = [pd.Series(values, index=frame.index) for values in y]
    model = estimator.fit(frame, *y, **entry.fit_params)
    assert model.n_features_in_ == X.shape[1]
    if name != "quantizer":  # which takes series of numbers, too
        assert model.feature_names_in_.tolist() == list(frame.columns)
    expected = entry.answers(fitted(entry), X)
    for ours, theirs in zip(entry.answers(model, frame), expected, strict=True):
        if isinstance(theirs, np.ndarray) and theirs.dtype.kind == "f":
            # The rows of a frame are not contiguous, which changes the order of sums.
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", [name for name in TABLES if name in SCORED])
def test_pipelines(name):
    estimator, entry = entry_of(name)
    pipeline = make_pipeline(StandardScaler(), estimator)
    step = pipeline.steps[-1][0]
    params = {f"{step}__{key}": value for key, value in entry.fit_params.items()}
    pipeline.fit(*entry.data, **params)
    assert np.isfinite(pipeline.score(*entry.data))


@pytest.mark.parametrize("name", SCORED)
def test_cross_validation(name):
    estimator, entry = entry_of(name)
    options = {"cv": KFold(3), "params": entry.fit_params, "error_score": "raise"}
    scores = cross_val_score(estimator, *entry.data, **options)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", SCORED)
def test_grid_search(name):
    estimator, entry = entry_of(name)
    parameter, values = grid_of(estimator)
    search = GridSearchCV(estimator, {parameter: values}, cv=KFold(3), error_score="raise")
    search.fit(*entry.data, **entry.fit_params)
    assert search.best_params_[parameter] in values


@pytest.mark.parametrize("transformer", [WeisfeilerLehman(h=1), PyramidWL(h=1), WeisfeilerLehmanKernel(h=1)])
def test_graphs_in_pipelines_and_searches(transformer):
    graphs = CATALOG["weisfeiler_lehman"].data[0]
    y = np.array([int(np.mean(labels) > 1) for _, labels in graphs])
    kernel = "precomputed" if isinstance(transformer, WeisfeilerLehmanKernel) else "linear"
    pipeline = make_pipeline(transformer, SVC(kernel=kernel))
    name = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{name}__h": [0, 1]}, cv=2, error_score="raise").fit(graphs, y)
    assert search.best_score_ >= 0


@pytest.mark.parametrize("name", VERBOSE)
def test_progress_is_printed_if_asked_for(name, capsys):
    estimator, entry = entry_of(name)
    estimator.fit(*entry.data, **entry.fit_params)
    assert capsys.readouterr().out == ""
    estimator.set_params(verbose=True).fit(*entry.data, **entry.fit_params)
    printed = capsys.readouterr().out
    assert printed
    if name != "vocabulary":
        assert printed.startswith(f"[{type(estimator).__name__}] ")


@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOG.items() if "max_iter" in entry.estimator.get_params(deep=False)]
)
def test_a_limit_that_is_hit_is_a_warning(name):
    estimator, entry = entry_of(name)
    if isinstance(estimator, Vocabulary):
        pytest.skip("k-means stops at a limit as a rule")
    estimator.set_params(max_iter=1)
    if "tol" in estimator.get_params(deep=False):
        estimator.set_params(tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        estimator.fit(*entry.data, **entry.fit_params)


@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOG.items() if "max_time" in entry.estimator.get_params(deep=False)]
)
def test_a_time_limit_is_kept(name):
    estimator, entry = entry_of(name)
    estimator.set_params(max_time=1e-9, tol=1e-13)
    # The first call of libsvm is exact here.
    expected = (
        nullcontext() if name == "laplacian_svc" else pytest.warns(ConvergenceWarning, match="max_time")
    )
    with expected:
        estimator.fit(*entry.data, **entry.fit_params)
    assert entry.answers(estimator, entry.data[0])
    with pytest.raises(ValueError, match="max_time"):
        estimator.set_params(max_time=-1.0).fit(*entry.data, **entry.fit_params)


@pytest.mark.parametrize("name", CATALOG)
def test_limits_in_time_and_progress_go_together(name):
    parameters = CATALOG[name].estimator.get_params(deep=False)
    if "max_iter" in parameters and name != "vocabulary":
        assert {"max_time", "verbose", "tol"} <= parameters.keys()
