"""Simulated films of nuclei: truth and frames agree, cells behave, and all depends on the seed alone."""

import shutil

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from ermlab.exceptions import DataError
from reproduction.datasets.nuclei_films import (
    BINNING,
    DCELLIQ,
    MITOCHECK,
    N_FILMS,
    SIZES,
    read_nuclei_films,
    simulate_dcelliq_nuclei,
    simulate_mitocheck_nuclei,
)
from reproduction.datasets.simulators._nuclei_numba import paint_nuclei
from reproduction.datasets.simulators.nuclei import VISIBLE, Tracks
from reproduction.datasets.simulators.nuclei_population import DYING, HARMONICS, STEP, Population, looks
from reproduction.datasets.simulators.scenes.noise import Noise

LABORATORIES = {"dcelliq": DCELLIQ, "mitocheck": MITOCHECK}
#: Enough frames for some divisions, at the smallest view.
LONG = (16, SIZES["smoke"][1])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nuclei")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "long", LONG)
        patch.setitem(N_FILMS, "long", 2)
        simulate_dcelliq_nuclei(folder / "dcelliq", 5, "long")
        simulate_mitocheck_nuclei(folder / "mitocheck", 5, "long")
    return {name: folder / name for name in LABORATORIES}


@pytest.fixture(params=LABORATORIES)
def films(request, folders):
    return read_nuclei_films(folders[request.param])


@pytest.fixture
def population():
    """Make the nuclei of a laboratory on a field of 200 x 250 micrometers."""

    def make(laboratory="mitocheck", seed=0):
        rng = np.random.default_rng(seed)
        return Population(LABORATORIES[laboratory].culture, (200.0, 250.0), Noise(rng), rng)

    return make


def places(mask):
    """Return the center of each label of a frame."""
    labels = np.unique(mask)[1:]
    return dict(zip(labels.tolist(), np.array(ndimage.center_of_mass(mask > 0, mask, labels)), strict=True))


def test_films_have_the_layout_of_the_challenge(folders, films):
    assert [film.name for film in films] == ["01", "02"]
    for film in films:
        assert len(film.frames) == len(film.truth.masks) == LONG[0]
        for frame, mask in zip(film.frames, film.truth.masks, strict=True):
            assert frame.shape == mask.shape == LONG[1]
            assert frame.dtype == mask.dtype == np.uint16
    assert (folders["dcelliq"] / "01/t015.tif").exists()
    assert (folders["dcelliq"] / "02_GT/TRA/man_track015.tif").exists()
    assert len(read_nuclei_films(folders["dcelliq"])) == len(read_nuclei_films(folders["mitocheck"])) == 2


def test_nuclei_are_brighter_than_what_is_around_them(films):
    for film in films:
        levels = []
        for frame, mask in zip(film.frames, film.truth.masks, strict=True):
            gray = ndimage.uniform_filter(frame.astype(float), 3)
            background = np.median(gray[mask == 0])
            noise = 1.4826 * np.median(np.abs(gray[mask == 0] - background))
            levels.append((ndimage.mean(gray, mask, np.unique(mask)[1:]) - background) / noise)
        levels = np.concatenate(levels)
        assert (levels > 1).mean() > 0.93  # a few are dim, or about to vanish
        assert np.median(levels) > 4


def test_counts_and_sizes(films):
    for film in films:
        counts = [len(places(mask)) for mask in film.truth.masks]
        assert min(counts) >= 10
        assert max(counts) <= 40
        areas = np.concatenate([np.bincount(mask.ravel())[1:] for mask in film.truth.masks])
        assert areas[areas > 0].min() >= VISIBLE // BINNING**2
        assert 250 < BINNING**2 * np.median(areas[areas > 0]) < 650


def test_some_nuclei_touch(films):
    touching, seen = 0, 0
    for mask in (mask for film in films for mask in film.truth.masks):
        pairs = np.vstack(
            [
                np.column_stack([mask[1:].flat, mask[:-1].flat]),
                np.column_stack([mask[:, 1:].flat, mask[:, :-1].flat]),
            ]
        )
        touching += len(np.unique(pairs[(pairs[:, 0] != pairs[:, 1]) & pairs.all(axis=1)]))
        seen += len(places(mask))
    assert 0.03 < touching / seen < 0.5


def test_tracks_have_no_holes_and_move_less_than_their_size(films):
    for film in films:
        spots = [places(mask) for mask in film.truth.masks]
        lineage = film.truth.lineage
        steps = []
        for label, begin, end, _ in lineage.rows():
            path = [spots[t][label] for t in range(begin, end + 1)]  # a KeyError is a hole
            steps += np.linalg.norm(np.diff(path, axis=0), axis=1).tolist() if len(path) > 1 else []
        assert 0.5 < np.median(steps) < 3
        assert np.percentile(steps, 99) < 15


def test_children_begin_beside_their_parent_in_the_next_frame(films):
    divisions = 0
    for film in films:
        lineage = film.truth.lineage
        spots = [places(mask) for mask in film.truth.masks]
        for parent in lineage.dividing:
            (end,) = lineage.end[lineage.label == parent]
            children = lineage.parent == parent
            assert children.sum() == 2
            assert (lineage.begin[children] == end + 1).all()
            first, second = (spots[end + 1][label] for label in lineage.label[children])
            assert 2 < np.linalg.norm(first - second) < 23
            assert np.linalg.norm((first + second) / 2 - spots[end][parent]) < 6
            divisions += 1
    assert divisions >= 3


@pytest.mark.parametrize("simulate", [simulate_dcelliq_nuclei, simulate_mitocheck_nuclei])
def test_same_bytes_for_a_seed(simulate, tmp_path, contents, monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", (2, (60, 70)))
    monkeypatch.setitem(N_FILMS, "tiny", 2)
    for name, seed in (("one", 5), ("again", 5), ("other", 6)):
        simulate(tmp_path / name, seed, "tiny")
    one, again, other = (contents(tmp_path / name) for name in ("one", "again", "other"))
    assert len(one) == 2 * (2 + 2 + 1)
    assert one == again
    assert not any(one[name] == other[name] for name in one if name.endswith(".tif"))
    assert one["01/t000.tif"] != one["02/t000.tif"]


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of smoke, demo, paper"):
        simulate_dcelliq_nuclei(tmp_path, 0, size)
    assert not any(tmp_path.iterdir())


def test_population_grows_as_fast_as_its_cycle_lets_it(population):
    culture = LABORATORIES["dcelliq"].culture
    cells = population("dcelliq")
    before = len(cells.nuclei)
    for _ in range(round(culture.cycle / STEP)):
        cells.step()
    deaths = culture.death / 1000 * culture.cycle / 60
    assert len(cells.nuclei) / before == pytest.approx(2 * np.exp(-deaths), rel=0.2)


def test_fluorescence_is_kept_in_division_and_halved_by_it(population):
    cells = population()
    chosen = cells.nuclei[:1].copy()
    chosen["death"], chosen["age"] = np.inf, chosen["cycle"] - 1
    cells.nuclei = chosen
    whole = total(cells.nuclei)
    bright = looks(cells.nuclei).level[0]
    cells.step()
    assert cells.nuclei["parent"].tolist() == chosen["number"].tolist() * 2
    assert total(cells.nuclei) == pytest.approx(whole, rel=0.2)
    cells.nuclei = chosen
    chosen["age"] = chosen["cycle"] / 2
    assert bright > 2 * looks(chosen).level[0]  # condensed chromosomes


def total(nuclei):
    seen = looks(nuclei)
    return (seen.level * np.pi * seen.axes.prod(axis=1)).sum()


def test_a_dying_nucleus_shrinks_fades_and_is_gone(population):
    cells = population()
    chosen = cells.nuclei[:1].copy()
    chosen["age"], chosen["cycle"] = 300, 2000
    chosen["death"] = chosen["age"] + DYING
    cells.nuclei = chosen
    sizes, amounts = [], []
    while len(cells.nuclei):
        sizes.append(looks(cells.nuclei).axes.prod())
        amounts.append(total(cells.nuclei))
        cells.step()
    assert len(sizes) == DYING / STEP
    assert (np.diff(sizes) < 0).all()
    assert amounts[len(amounts) // 2] == pytest.approx(amounts[0], rel=0.05)
    assert amounts[-1] < 0.1 * amounts[0]


@pytest.mark.parametrize("seed", range(3))
def test_nuclei_do_not_lie_on_each_other(population, seed):
    cells = population(seed=seed)
    for _ in range(30):
        cells.step()
    grown = cells.nuclei[cells.nuclei["age"] > 60]
    radius = np.sqrt(looks(grown).axes.prod(axis=1))
    distance = np.linalg.norm(grown["position"][:, None] - grown["position"], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (distance > 0.7 * (radius[:, None] + radius)).all()


def test_a_nucleus_that_leaves_and_comes_back_is_another_track():
    tracks = Tracks()
    nuclei = np.array([(1, 0), (2, 0)], dtype=[("number", int), ("parent", int)])
    both, one = np.repeat([[0, 1, 2]], VISIBLE, axis=0), np.repeat([[0, 1, 0]], VISIBLE, axis=0)
    sliver = both.copy()
    sliver[0, 2] = 0  # of the second nucleus a pixel too little is in view
    seen = [
        np.unique(tracks.label(t, view, nuclei)).tolist() for t, view in enumerate([both, one, both, sliver])
    ]
    assert seen == [[0, 1, 2], [0, 1], [0, 1, 3], [0, 1]]
    assert tracks.rows == {1: [0, 3, 0], 2: [0, 0, 0], 3: [2, 2, 0]}


def test_a_child_that_enters_later_has_no_parent():
    tracks = Tracks()
    kind = [("number", int), ("parent", int)]
    mother, children = np.array([(1, 0)], dtype=kind), np.array([(2, 1), (3, 1)], dtype=kind)
    views = [np.repeat([row], VISIBLE, axis=0) for row in ([1, 0], [2, 0], [2, 3])]
    for t, (view, nuclei) in enumerate(zip(views, [mother, children, children], strict=True)):
        tracks.label(t, view, nuclei)
    assert tracks.rows == {1: [0, 0, 0], 2: [1, 2, 1], 3: [2, 2, 0]}


def rewrite(name, change):
    """Return damage that changes an image."""

    def damage(folder):
        image = np.array(Image.open(folder / name))
        Image.fromarray(change(image)).save(folder / name)

    return damage


def cut(name):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:300])


def unborn(folder):
    """Let the first track be the child of one that lives on."""
    path = folder / "01_GT/TRA/man_track.txt"
    lines = path.read_text().splitlines()
    label, begin, end, _ = lines[0].split()
    path.write_text("\n".join([f"{label} {begin} {end} 2", *lines[1:]]))


FRAME, MASK = "01/t003.tif", "01_GT/TRA/man_track003.tif"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "no such folder"),
        (lambda f: shutil.rmtree(f / "01"), "the next file is 02; expected number 1"),
        (lambda f: shutil.rmtree(f / "02_GT"), "02_GT/TRA: no such folder"),
        (lambda f: (f / FRAME).unlink(), r"the next file is t004\.tif; expected number 3"),
        (lambda f: (f / "01/t015.tif").unlink(), "15 frames; expected 16, one per mask"),
        (lambda f: (f / MASK).unlink(), r"the next file is man_track004\.tif; expected number 3"),
        (rewrite(FRAME, lambda image: image[1:]), r"t003\.tif: shape \(119, 130\); expected \(120, 130\)"),
        (rewrite(MASK, lambda image: image[1:]), r"track003\.tif: shape \(119, 130\); expected \(120, 130\)"),
        (
            rewrite(MASK, lambda image: image.astype(np.float32)),
            "float32; expected a label image of 8 or 16 bits",
        ),
        (rewrite(MASK, np.zeros_like), "as in the images"),
        (cut(MASK), r"man_track003\.tif: .*expected a complete image"),
        (unborn, "cell 1 begins at 0, its parent 2 ends at .*expected the parent to end first"),
    ],
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_broken_films(folders, tmp_path, damage, message):
    shutil.copytree(folders["dcelliq"], tmp_path / "films")
    damage(tmp_path / "films")
    with pytest.raises(DataError, match=message):
        read_nuclei_films(tmp_path / "films")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut(FRAME), r"t003\.tif: .*expected a complete image"),
        (
            rewrite(FRAME, lambda image: image.astype(np.float32)),
            r"t003\.tif: .*float32; expected a gray image",
        ),
        (
            rewrite(FRAME, lambda image: np.dstack([(image // 256).astype(np.uint8)] * 3)),
            r"t003\.tif: shape \(120, 130, 3\) of uint8; expected a gray image",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_broken_frames(folders, tmp_path, damage, message):
    shutil.copytree(folders["dcelliq"], tmp_path / "films")
    damage(tmp_path / "films")
    with pytest.raises(DataError, match=message):
        list(read_nuclei_films(tmp_path / "films")[0].frames)


def paint(axes, angle, bumps, decay):
    """Return the light and the owners of one nucleus without texture in the middle of a canvas."""
    light, owner = np.zeros((61, 61), np.float32), np.zeros((61, 61), int)
    center, texture = np.array([[30.2, 29.7]]), np.zeros((1, 3))
    one = np.ones(1)
    paint_nuclei(
        center, np.array([axes]), np.array([angle]), bumps[None], np.array([decay]), one, texture,
        np.array([7]), np.zeros((8, 8), np.float32), 1.0, light, owner,
    )  # fmt: skip
    return light, owner


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_a_painted_nucleus_has_the_outline_of_its_formula(angle):
    axes, bumps = np.array([12.0, 8.0]), np.array([[0.1, 0.05, 0.02, 0.03], [0.3, 1.0, 2.0, 3.0]])
    light, owner = paint(axes, angle, bumps, decay=0.0)
    row, column = np.indices(light.shape) - np.array([30.2, 29.7])[:, None, None]
    along = (row * np.cos(angle) + column * np.sin(angle)) / axes[0]
    across = (column * np.cos(angle) - row * np.sin(angle)) / axes[1]
    direction = np.arctan2(across, along)
    outline = 1 + sum(a * np.cos(f * direction + p) for f, a, p in zip(HARMONICS, *bumps, strict=True))
    inside = np.hypot(along, across) / outline
    np.testing.assert_array_equal(owner, np.where(inside < 1, 7, 0))
    np.testing.assert_allclose(light, np.clip((1 - inside) * np.sqrt(96) + 0.5, 0, 1), atol=1e-5)


def test_a_dying_nucleus_is_painted_in_three_pieces():
    bumps = np.array([[0.0] * 4, [0.0, 2 * np.pi / 3, 4 * np.pi / 3, 0.0]])
    whole, broken = (paint(np.array([12.0, 12.0]), 0.0, bumps, decay)[1] for decay in (0.0, 1.0))
    assert ndimage.label(whole)[1] == 1
    assert ndimage.label(broken)[1] == 3
    assert (broken > 0).sum() == pytest.approx(3 * np.pi * 6**2, rel=0.05)
