"""Every estimator is saved and loaded without pickle, and answers as before, in another process too."""

import inspect
import json
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import sklearn.base
from estimator_catalog import catalog, fitted, gaussian
from file_mutations import BYTES, change_node, pick
from scipy.sparse import issparse

import ermlab
from ermlab import DataError, LatentSVM, MultiClassTask, RankingSVM, StructuredSVM
from ermlab._utils import saving
from ermlab._utils.model_files import read_model, write_model
from ermlab.kernels import SlotMap, WeisfeilerLehman
from ermlab.segmentation import DenseCRF, GraphCRF, GridCRF, TreeCRF

CATALOG = catalog()
PACKAGES = ("cca", "features", "kernels", "ranking", "segmentation", "semisupervised", "sparse", "structured")
PACKAGES += ("taxonomy", "fmri")


def same(one, other):
    """Whether two answers are equal bit for bit."""
    if issparse(one):
        return same(one.toarray(), other.toarray())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one == other


def test_every_exported_estimator_can_be_saved():
    for package in PACKAGES:
        module = getattr(ermlab, package, None) or __import__(f"ermlab.{package}", fromlist=["x"])
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, sklearn.base.BaseEstimator):
                assert saving._MODULES[name] == value.__module__
                assert issubclass(value, saving.SavedModel)


def test_classes_are_where_they_are_listed():
    for name in saving._MODULES:
        assert saving._class_of(name).__name__ == name


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of all fitted models, and their answers."""
    folder, answers = tmp_path_factory.mktemp("models"), {}
    for name, entry in CATALOG.items():
        model = fitted(entry)
        model.save(folder / name)
        answers[name] = entry.answers(model, entry.data[0])
    return folder, answers


@pytest.mark.parametrize("name", CATALOG)
def test_answers_after_loading_are_the_same_bits(saved, name):
    folder, answers = saved
    entry = CATALOG[name]
    model = type(entry.estimator).load(str(folder / name), **entry.given)
    assert same(entry.answers(model, entry.data[0]), answers[name])
    parameters, expected = model.get_params(deep=False), entry.estimator.get_params(deep=False)
    assert {key: type(value) for key, value in parameters.items()} == {
        key: type(value) for key, value in expected.items()
    }
    model.save(folder / f"{name}.again")
    assert (folder / f"{name}.again").read_bytes() == (folder / name).read_bytes()


SCRIPT = """
import pickle, sys
from estimator_catalog import catalog
folder, out = sys.argv[1:]
answers = {}
for name, entry in catalog().items():
    model = type(entry.estimator).load(f"{folder}/{name}", **entry.given)
    answers[name] = entry.answers(model, entry.data[0])
with open(out, "wb") as file:
    pickle.dump(answers, file)
"""


def test_answers_in_another_process_are_the_same_bits(saved, tmp_path):
    folder, answers = saved
    fixtures = str(Path(__file__).parents[1] / "fixtures")
    code = f"import sys; sys.path.insert(0, {fixtures!r})\n{SCRIPT}"
    subprocess.run([sys.executable, "-c", code, str(folder), str(tmp_path / "out")], check=True)
    again = pickle.loads((tmp_path / "out").read_bytes())
    assert [name for name in answers if not same(answers[name], again[name])] == []


def test_a_loaded_model_can_be_fitted_again(saved):
    entry = CATALOG["ranking"]
    model = RankingSVM.load(saved[0] / "ranking")
    assert same(model.fit(*entry.data).coef_, fitted(entry).coef_)
    assert model.result_.value == RankingSVM.load(saved[0] / "ranking").result_.value


def test_what_continues_a_search_is_not_stored(saved):
    result = RankingSVM.load(saved[0] / "ranking").result_
    assert result.planes is None
    assert result.best is None
    assert result.relative_gap <= 1e-3


def test_parameters_that_a_file_cannot_hold(saved):
    kind = type(CATALOG["laplacian_kcca_own"].estimator)
    message = (
        r"does not contain the parameter kernel, a function .*: pass it, LaplacianKCCA.load\(path, kernel"
    )
    with pytest.raises(ValueError, match=message):
        kind.load(saved[0] / "laplacian_kcca_own")
    assert kind.load(saved[0] / "laplacian_kcca_own", kernel=gaussian, eps_x=3.0).eps_x == 3.0


class OwnTask(MultiClassTask):
    """A task that is not part of the library."""


def test_a_task_of_ones_own_is_passed_again(tmp_path):
    X, y = CATALOG["structured"].data
    model = StructuredSVM(OwnTask(3, 4)).fit(X, y)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"parameter task, an object of type .*OwnTask: pass it"):
        StructuredSVM.load(tmp_path / "model")
    again = StructuredSVM.load(tmp_path / "model", task=OwnTask(3, 4))
    assert same(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "task",
    [
        TreeCRF(3, 2, class_weight=[1.0, 2.0, 3.0]),
        GraphCRF(2, 3, 1, inference="cut", submodular=True),
        GridCRF(2, 3, connectivity=8, ignore_label=1),
        DenseCRF(2, 3, kernels=(2.0, (3.0, 10.0)), max_iter=4),
    ],
)
def test_tasks_are_saved_by_their_arguments(task, tmp_path):
    model = StructuredSVM(task, C=2.0)
    model.coef_ = np.arange(float(task.dimension))
    model.save(tmp_path / "model")
    again = StructuredSVM.load(tmp_path / "model").task
    assert type(again) is type(task)
    assert again.dimension == task.dimension
    assert vars(again)[saving._ARGUMENTS].keys() == vars(task)[saving._ARGUMENTS].keys()
    assert str(vars(again)[saving._ARGUMENTS]) == str(vars(task)[saving._ARGUMENTS])


def test_slots_are_restored(tmp_path):
    rng = np.random.default_rng(0)
    descriptors = rng.normal(size=(30, 98))
    slots = SlotMap(4, random_state=0).fit(descriptors)
    slots.save(tmp_path / "slots")
    assert same(SlotMap.load(tmp_path / "slots").assign(descriptors), slots.assign(descriptors))


def test_unfitted_models_and_attributes_of_ones_own(tmp_path):
    RankingSVM(C=3.0, threshold=np.array([np.nan, np.inf])).save(tmp_path / "model")
    again = RankingSVM.load(tmp_path / "model")
    assert again.C == 3.0
    np.testing.assert_array_equal(again.threshold, [np.nan, np.inf])
    model = RankingSVM()
    model.note_ = object()
    with pytest.raises(ValueError, match="RankingSVM cannot be saved: note_ holds an object of type"):
        model.save(tmp_path / "model")
    assert RankingSVM.load(tmp_path / "model").C == 3.0  # the file is as it was
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_latent_values_of_ones_own_are_left_out(tmp_path):
    model = LatentSVM(OwnTask(3, 4))
    model.coef_, model.latent_ = np.ones(12), [object()]
    model.save(tmp_path / "model")
    assert not hasattr(LatentSVM.load(tmp_path / "model", task=OwnTask(3, 4)), "latent_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "another format"),
        ({"version": 2}, "version 2 of the format; expected version 1: update ermlab"),
        ({"model": {"class": "KSupportRegressor", "parameters": {}}}, "a KSupportRegressor; expected a Ran"),
        ({"model": {"class": "Popen", "parameters": {}}}, "a Popen; expected a RankingSVM"),
    ],
)
def test_files_of_other_models_and_versions(saved, tmp_path, change, message):
    document, arrays = read_model(saved[0] / "ranking")
    write_model(tmp_path / "model", document | change, arrays)
    with pytest.raises(DataError, match=message):
        RankingSVM.load(tmp_path / "model")


def test_no_class_is_loaded_that_is_not_listed(saved, tmp_path):
    document, arrays = read_model(saved[0] / "ranking")
    document["model"]["attributes"]["coef_"] = {"class": "Popen", "arguments": {"args": "true"}}
    write_model(tmp_path / "model", document, arrays)
    with pytest.raises(DataError, match="the class 'Popen' is not known"):
        RankingSVM.load(tmp_path / "model")


def test_parameters_that_do_not_exist(saved):
    with pytest.raises(DataError, match="RankingSVM has no parameter 'gamma'"):
        RankingSVM.load(saved[0] / "ranking", gamma=1)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files(saved, tmp_path, seed):
    rng = np.random.default_rng(seed)
    name = pick(rng, list(CATALOG))
    whole = (saved[0] / name).read_bytes()
    (tmp_path / "model").write_bytes(pick(rng, BYTES)(whole, rng))
    entry = CATALOG[name]
    models = [type(entry.estimator).load(saved[0] / name, **entry.given)]
    with suppress(DataError):
        models.append(type(entry.estimator).load(tmp_path / "model", **entry.given))
    # Damage between the members, where nothing is read, has no effect.
    answers = [entry.answers(model, entry.data[0]) for model in models]
    assert same(answers[0], answers[-1])


@pytest.mark.parametrize("seed", range(60))
def test_forged_documents_raise_a_data_error_or_give_a_model(saved, tmp_path, seed):
    """The digest is that of the changed document; models that load may not crash when they are used."""
    rng = np.random.default_rng(seed)
    name = pick(rng, ["ranking", "weisfeiler_lehman", "pyramid", "laplacian_kcca", "chains", "vocabulary"])
    document, arrays = read_model(saved[0] / name)
    document = change_node(document, rng)
    if rng.random() < 0.5 and arrays:
        key = pick(rng, list(arrays))
        arrays[key] = pick(
            rng, [arrays[key][:-1], arrays[key] * 0, arrays[key].astype(np.float32), -arrays[key]]
        )
    try:
        document = json.loads(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError):
        pytest.skip("not JSON")
    write_model(tmp_path / "model", document, arrays)
    entry = CATALOG[name]
    try:
        model = type(entry.estimator).load(tmp_path / "model", **entry.given)
    except (DataError, ValueError):
        return
    with suppress(Exception):  # but no access to other memory
        entry.answers(model, entry.data[0])


@pytest.mark.parametrize("change", ["compressed", "twice", "no digest"])
def test_archives_of_another_kind(saved, tmp_path, change):
    with ZipFile(saved[0] / "ranking") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if change == "no digest":
        del members["sha256"]
    with ZipFile(tmp_path / "model", "w", 8 if change == "compressed" else 0) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    if change == "twice":
        with ZipFile(tmp_path / "model", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("model.json", members["model.json"])
    with pytest.raises(DataError):
        RankingSVM.load(tmp_path / "model")


@pytest.mark.parametrize("place", ["missing", "folder", "\0"])
def test_files_that_are_none(tmp_path, place):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError):
        RankingSVM.load(tmp_path / place)


def test_patterns_with_other_bounds(saved, tmp_path):
    document, arrays = read_model(saved[0] / "weisfeiler_lehman")
    patterns = document["model"]["attributes"]["vocabulary_"]["arguments"]["patterns"]["tuple"]
    for height in patterns:
        name = height["arguments"]["bounds"]["array"]
        write_model(tmp_path / "model", document, {**arrays, name: arrays[name] + 1000})
        with pytest.raises(DataError, match="patterns whose bounds or types do not fit"):
            WeisfeilerLehman.load(tmp_path / "model")
