"""Training on small photographs: choices see training photographs alone, and fields find the vessels."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reproduction.datasets.drive_vessels import SIZES, simulate_drive_vessels
from reproduction.experiments.vessels import prepare, train_dense, train_grid, train_pixels
from reproduction.experiments.vessels.features import NAMES, pixel_features
from reproduction.experiments.vessels.field_training import FieldSettings
from reproduction.experiments.vessels.fields import VesselFields
from reproduction.experiments.vessels.measures import mean_f1
from reproduction.experiments.vessels.retinas import Retinas
from reproduction.experiments.vessels.selection import select

FIELD_SETTINGS = FieldSettings(side=40, C=(100.0,), class_weights=(3.0,), tol=0.05)


PIXEL_SETTINGS = {"seed": 0, "pixels": 300, "C": [0.01, 1.0], "class_weights": [1.0, 3.0], "tol": 0.02}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, retinas):
    """Folder with the outputs of `prepare` and `train_pixels`."""
    folder = tmp_path_factory.mktemp("vessels")
    retinas.write(folder / "retinas.npz")
    features = [
        pixel_features(image, field)[field]
        for image, field in zip(retinas.images, retinas.fields, strict=True)
    ]
    np.save(folder / "features.npy", np.concatenate(features).astype(np.float16))
    train_pixels.main(paths(folder, "retinas.npz", "features.npy"), pixel_outputs(folder), **PIXEL_SETTINGS)
    return folder


def paths(folder, *names):
    return {name.partition(".")[0]: str(folder / name) for name in names}


def pixel_outputs(folder):
    return paths(folder, "model.json", "scores.npz", "trials.csv")


def test_prepare_computes_the_features_of_the_pixels(tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", (1, 80))
    simulate_drive_vessels(tmp_path / "raw", 0, "tiny")
    (tmp_path / "receipt.json").write_text(json.dumps({"folder": str(tmp_path / "raw")}))
    prepare.main(paths(tmp_path, "receipt.json"), paths(tmp_path, "retinas.npz", "features.npy"), n_images=20)
    retinas, features = Retinas.read(tmp_path / "retinas.npz"), np.load(tmp_path / "features.npy")
    assert features.shape == (retinas.n_pixels, len(NAMES))
    field = retinas.fields[1]
    expected = pixel_features(retinas.images[1], field)[field]
    np.testing.assert_array_equal(features[retinas.pixels(1)], expected.astype(np.float16))


def test_pixelwise_methods_find_vessels(folder, retinas):
    scores = np.load(folder / "scores.npz")
    truths = [retinas.truth(i) for i in retinas.test_indices]
    for method, least in (("threshold", 0.6), ("linear", 0.75)):
        found = [scores[method][retinas.pixels(i)] > 0 for i in retinas.test_indices]
        assert mean_f1(truths, found) > least, method
    trials = pd.read_csv(folder / "trials.csv")
    assert len(trials) >= 3
    assert trials.loc[trials["chosen"], "validation_f1"].item() == trials["validation_f1"].max()


def test_pixelwise_methods_do_not_see_the_test_photographs(folder, retinas, tmp_path):
    """Other test photographs change neither the choices nor the weights."""
    features = np.load(folder / "features.npy")
    start = retinas.pixels(int(retinas.test_indices[0])).start
    features[start:] = features[start:][::-1]
    np.save(tmp_path / "features.npy", features)
    inputs = {"retinas": str(folder / "retinas.npz"), "features": str(tmp_path / "features.npy")}
    train_pixels.main(inputs, pixel_outputs(tmp_path), **PIXEL_SETTINGS)
    for name in ("model.json", "trials.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_scores_of_a_training_photograph_come_from_a_classifier_without_it(folder, retinas, tmp_path):
    """Changing the marks of a photograph changes the scores of other folds and not those of its own."""
    first = retinas.first.copy()
    first[0] = np.roll(first[0], 9, axis=1) & retinas.fields[0]
    replace(retinas, first=first).write(tmp_path / "retinas.npz")
    inputs = {"retinas": str(tmp_path / "retinas.npz"), "features": str(folder / "features.npy")}
    settings = {**PIXEL_SETTINGS, "C": [1.0], "class_weights": [3.0]}
    train_pixels.main(inputs, pixel_outputs(tmp_path), **settings)
    inputs["retinas"] = str(folder / "retinas.npz")
    (tmp_path / "plain").mkdir()
    train_pixels.main(inputs, pixel_outputs(tmp_path / "plain"), **settings)
    with_change, plain = (np.load(place / "scores.npz")["linear"] for place in (tmp_path, tmp_path / "plain"))
    for i in range(len(retinas)):
        same = np.array_equal(with_change[retinas.pixels(i)], plain[retinas.pixels(i)])
        assert same == (i in retinas.folds[0]), i


def test_squares_are_inside_the_field_of_view(folder):
    fields = VesselFields.read(folder / "retinas.npz", folder / "scores.npz")
    for side in (9, 40, 1000):
        square = fields.draw_square(2, side, seed=0)
        assert fields.retinas.fields[2][square].all()
        assert square == fields.draw_square(2, side, seed=0)
        height, width = fields.retinas.fields[2][square].shape
        assert height == width == (side // 2 * 2 + 1 if side < 1000 else height)


@pytest.mark.parametrize(
    ("module", "segment"), [(train_grid, "segment_by_grid"), (train_dense, "segment_by_dense")]
)
def test_random_fields_find_vessels(folder, tmp_path, module, segment):
    inputs, outputs = paths(folder, "retinas.npz", "scores.npz"), paths(tmp_path, "model.json", "trials.csv")
    module.main(inputs, outputs, seed=0, settings=FIELD_SETTINGS)
    fields = VesselFields.read(inputs["retinas"], inputs["scores"])
    w = np.array(json.loads((tmp_path / "model.json").read_text())["weights"])
    test = fields.retinas.test_indices
    found = [fields.inside(i, getattr(module, segment)(fields, i, w)) for i in test]
    assert mean_f1([fields.retinas.truth(i) for i in test], found) > 0.75
    assert len(pd.read_csv(tmp_path / "trials.csv")) == 1


def test_selection_grows_until_the_best_is_inside():
    tried = []

    def train(C, weight, indices):
        tried.append((C, weight, tuple(indices)))
        return C * weight

    # The weight with the larger C, then C: both grow beyond the end where the best value is.
    chosen, trials = select(train, lambda product: -abs(product - 6), [1, 2], [3, 4], [0, 5])
    assert chosen == (2, 3)
    assert tried == [(*pair, (0, 5)) for pair in ((2, 3), (2, 4), (2, 2.25), (1, 3), (4, 3))]
    assert [(trial["C"], trial["class_weight"]) for trial in trials if trial["chosen"]] == [chosen]
    assert [trial["C"] for trial in trials] == [1, 2, 2, 2, 4]


def test_single_values_are_not_varied():
    chosen, trials = select(lambda C, weight, indices: C, lambda C: C, [7], [3], [0])
    assert chosen == (7, 3)
    assert trials == [{"C": 7, "class_weight": 3, "validation_f1": 7, "chosen": True}]
