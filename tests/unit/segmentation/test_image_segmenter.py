import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ermlab import ImageSegmenter
from ermlab.exceptions import DataError
from ermlab.segmentation import pixel_features

MODELS = ("grid", "dense", "unary")


def blobs(seed, n_images=4, n_classes=2):
    """Return noisy images of different sizes and their labels."""
    rng = np.random.default_rng(seed)
    images, labels = [], []
    for i in range(n_images):
        field = gaussian_filter(rng.normal(size=(30 + 3 * i, 40)), 4)
        y = np.searchsorted(np.quantile(field, np.arange(1, n_classes) / n_classes), field)
        images.append(y + 0.8 * rng.normal(size=y.shape))
        labels.append(y)
    return images, labels


def smoothed(image):
    return np.stack([image, gaussian_filter(image, 1.0)], axis=-1)


@pytest.mark.parametrize("model", MODELS)
def test_saved_segmenter_labels_new_images_alike(model, tmp_path):
    images, labels = blobs(0)
    segmenter = ImageSegmenter(model, class_weight=[1.0, 2.0]).fit(images[:3], labels[:3])
    assert segmenter.score(images[3:], labels[3:]) > 0.85
    lower, upper = segmenter.objective_bounds_
    assert lower <= segmenter.result_.value <= upper < np.inf
    segmenter.save(tmp_path / "model.npz")
    loaded = ImageSegmenter.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(images)[3], segmenter.predict(images)[3])
    assert loaded.get_params() == segmenter.get_params()
    segmenter.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_neighbors_help():
    images, labels = blobs(1, n_images=6)
    scores = {
        model: ImageSegmenter(model, features=lambda image: image[:, :, np.newaxis])
        .fit(images[:3], labels[:3])
        .score(images[3:], labels[3:])
        for model in ("grid", "unary")
    }
    assert scores["grid"] > scores["unary"] + 0.05


def test_labels_may_be_any_integers_and_partly_unknown():
    images, labels = blobs(2, n_classes=3)
    names = np.array([3, 7, 250])
    known = [names[y] for y in labels]
    for y in known:
        y[::2] = -1
    known[0][:] = -1  # an image without any labels is of no use, but no error
    for model in ("grid", "unary"):
        segmenter = ImageSegmenter(model, class_weight="balanced", max_iter=60).fit(images, known)
        np.testing.assert_array_equal(segmenter.classes_, names)
        assert segmenter.score(images, [names[y] for y in labels]) > 0.8
        assert segmenter.score(images, known) > 0.8


def test_unknown_pixels_change_nothing_but_their_own_part():
    images, labels = blobs(3, n_images=2)
    known = [y.copy() for y in labels]
    known[1][:, 20:] = -1
    disturbed = [image.copy() for image in images]
    disturbed[1][:, 20:] += 5.0  # the features of pixels that are far from the border
    first, second = (
        ImageSegmenter(features=lambda image: image[:, :, np.newaxis]).fit(X, known)
        for X in (images, disturbed)
    )
    np.testing.assert_array_equal(first.mean_, second.mean_)


def test_dense_model_leaves_out_unknown_pixels():
    images, labels = blobs(4, n_images=3)
    known = [np.where(np.arange(40) < 30, y, -1) for y in labels]
    segmenter = ImageSegmenter("dense", max_iter=60).fit(images[:2], known[:2])
    assert segmenter.score(images[2:], labels[2:]) > 0.85


def test_own_features_are_not_saved(tmp_path):
    images, labels = blobs(5)
    segmenter = ImageSegmenter(features=smoothed).fit(images, labels)
    segmenter.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=r"parameter features, a function .*: pass it"):
        ImageSegmenter.load(tmp_path / "model.npz")
    loaded = ImageSegmenter.load(tmp_path / "model.npz", features=smoothed)
    np.testing.assert_array_equal(loaded.predict(images)[0], segmenter.predict(images)[0])
    with pytest.raises(ValueError, match="1 features: expected 2"):
        ImageSegmenter.load(tmp_path / "model.npz", features=lambda x: x[:, :, np.newaxis]).predict(images)


def test_bytes_and_real_numbers_are_the_same_image():
    rng = np.random.default_rng(6)
    image = rng.integers(0, 256, (20, 22, 3), dtype=np.uint8)
    np.testing.assert_allclose(pixel_features(image), pixel_features(image / 255.0))
    np.testing.assert_allclose(pixel_features(image.astype(np.uint16) * 257), pixel_features(image / 255.0))


def test_features_of_a_line_and_a_step_by_hand():
    ridge = np.zeros((41, 41))
    ridge[20] = 1.0
    features = pixel_features(ridge, scales=(2.0,))
    assert features.shape == (41, 41, 5)
    _, smooth, gradient, larger, smaller = features[20, 20]
    # Derivatives of a Gaussian across the line, times the square of its standard deviation.
    assert smooth == pytest.approx(1 / np.sqrt(2 * np.pi) / 2, rel=1e-3)
    assert gradient == pytest.approx(0.0, abs=1e-12)
    assert larger == pytest.approx(0.0, abs=1e-3)
    assert smaller == pytest.approx(-smooth, rel=0.05)
    step = np.repeat([0.0, 1.0], 20)[np.newaxis].repeat(40, axis=0)
    assert pixel_features(step, scales=(3.0,))[20, :, 2].argmax() in (19, 20)


def test_scores_of_classes_decide_without_neighbors():
    images, labels = blobs(7)
    segmenter = ImageSegmenter("unary").fit(images, labels)
    scores = segmenter.decision_function(images)[1]
    assert scores.shape == (*labels[1].shape, 2)
    np.testing.assert_array_equal(scores.argmax(axis=2), segmenter.predict(images)[1])


def test_scale_of_the_image_does_not_matter():
    images, labels = blobs(8)
    plain = ImageSegmenter().fit(images, labels).predict(images)[0]
    for factor in (1e-9, 1e9):
        scaled = [factor * image for image in images]
        found = ImageSegmenter().fit(scaled, labels).predict(scaled)[0]
        assert np.mean(found == plain) > 0.999


def test_it_is_an_estimator():
    segmenter = ImageSegmenter("unary", C=3.0)
    assert clone(segmenter).get_params() == segmenter.get_params()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "tree"}, "model is 'tree'"),
        ({"features": "hog"}, "features is 'hog'"),
        ({"C": -1.0}, "C is -1.0"),
        ({"class_weight": "equal"}, "class_weight is 'equal'"),
        ({"class_weight": [1.0]}, "expected 2 finite numbers"),
        ({"connectivity": 5}, "connectivity is 5"),
        ({"features": lambda image: image}, "features of image 0 have shape"),
        ({"features": lambda image: np.full((*image.shape, 2), np.nan)}, "features of image 0 hold NaN"),
    ],
)
def test_bad_options_are_refused(options, message):
    images, labels = blobs(9, n_images=2)
    with pytest.raises(ValueError, match=message):
        ImageSegmenter(**options).fit(images, labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: ([], []), "0 images, 0 label images"),
        (lambda x, y: (x, y[:1]), "2 images, 1 label images"),
        (lambda x, y: (x, [y[0], y[0]]), r"labels 1 of type int64, shape \(30, 40\): expected .* \(33, 40\)"),
        (lambda x, y: (x, [y[0], y[1] + 0.5]), "labels 1 of type float64"),
        (lambda x, y: (x, [y[0], y[1] - 2]), "labels 1 hold -2"),
        (lambda x, y: (x, [0 * z for z in y]), r"labels \[0\]: expected at least 2 classes"),
        (lambda x, y: (x, [0 * z - 1 for z in y]), r"labels \[\]: expected at least 2 classes"),
        (lambda x, y: ([x[0], np.where(x[1] > 0, np.nan, x[1])], y), "image 1 is nan"),
        (lambda x, y: ([x[0], np.repeat(x[1][:, :, None], 3, axis=2)], y), r"\[1, 3\] channels"),
        (lambda x, y: (x[0], y[0]), r"image 0 has shape \(40,\)"),
        (lambda x, y: ([x[0], 1e200 * x[1]], y), "expected finite values up to 1e"),
    ],
)
def test_bad_training_sets_are_refused(change, message):
    images, labels = blobs(10, n_images=2)
    with pytest.raises(ValueError, match=message):
        ImageSegmenter().fit(*change(images, labels))


def test_bad_images_are_refused_after_training():
    images, labels = blobs(11, n_images=2)
    segmenter = ImageSegmenter("unary").fit(images, labels)
    with pytest.raises(ValueError, match="3 channels: expected 1"):
        segmenter.predict([np.zeros((5, 5, 3))])
    with pytest.raises(ValueError, match="no pixel is labeled"):
        segmenter.score(images, [np.full(image.shape, -1) for image in images])
    assert segmenter.predict([]) == []


@pytest.mark.parametrize("name", ["coef_", "mean_"])
def test_arrays_that_do_not_fit_are_refused(name, tmp_path):
    images, labels = blobs(12, n_images=2)
    segmenter = ImageSegmenter().fit(images, labels)
    setattr(segmenter, name, getattr(segmenter, name)[:-1])
    segmenter.save(tmp_path / "model")
    with pytest.raises(DataError, match="weights of shape"):
        ImageSegmenter.load(tmp_path / "model")


def test_limits_and_progress(capsys):
    images, labels = blobs(12, n_images=2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ImageSegmenter(max_iter=1, tol=1e-6, max_time=60.0, verbose=True).fit(images, labels)
    assert capsys.readouterr().out.startswith("[StructuredSVM] iteration 1")


def test_missing_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        ImageSegmenter.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(DataError, match=r"text\.npz"):
        ImageSegmenter.load(tmp_path / "text.npz")
