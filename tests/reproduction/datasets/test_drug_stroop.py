"""The simulated study: the files, a group difference where it should be and nowhere else."""

import shutil

import nibabel as nib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ermlab.exceptions import DataError
from reproduction.acquire.treehash import tree_hash
from reproduction.datasets.drug_stroop import (
    COCAINE,
    CONTROL,
    ROSTRAL_ACC,
    SIZES,
    WORDS,
    draw_contrast_maps,
    read_drug_stroop,
    simulate_drug_stroop,
)
from reproduction.datasets.simulators.bold_anatomy import draw_head
from reproduction.datasets.simulators.bold_series import FINE, Acquisition, ascending, hemodynamic

SEED, SMOKE = 4, SIZES["smoke"]
LARGE = 4.0


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stroop")
    with threadpool_limits(2):
        simulate_drug_stroop(folder, SEED, "smoke", effect=0.0)
    return folder


@pytest.fixture(scope="module")
def studies(tmp_path_factory, simulated):
    """The contrast of words and rest in percent, in the voxels of each head, by effect."""
    result, large = {}, tmp_path_factory.mktemp("effect")
    simulate_drug_stroop(large, SEED, "smoke", effect=LARGE)
    for effect, folder in ((0.0, simulated), (LARGE, large)):
        data = read_drug_stroop(folder)
        result[effect] = [contrast(data, subject) for subject in data.subjects]
    return result


def contrast(data, subject):
    """Fit words and a slow trend to every voxel by least squares, and return the percentage of words."""
    series = nib.load(subject.bold).get_fdata()
    when = Acquisition(series.shape[3], data.repetition_time, data.slice_times)
    fine = FINE * np.arange(when.fine_count)
    shown = np.zeros((1, when.fine_count))
    for onset, duration, kind in data.events.itertuples(index=False):
        shown[0, (fine >= onset) & (fine < onset + duration)] = 1.0 if kind == WORDS else 0.2
    words = when.sample(hemodynamic(shown))[0]
    trend = np.polynomial.legendre.legvander(np.linspace(-1, 1, when.volumes), 3)
    beta = np.zeros(series.shape[:3])
    for z, course in enumerate(words):
        columns = np.column_stack([course, trend])
        voxels = series[:, :, z].reshape(-1, when.volumes)
        fit = np.linalg.lstsq(columns, voxels.T, rcond=None)[0]
        beta[:, :, z] = (100 * fit[0] / np.maximum(voxels.mean(axis=1), 1)).reshape(series.shape[:2])
    return beta


def weights():
    """Share of gray matter in the rostral ACC, in the voxels of each head."""
    heads = [draw_head(np.random.default_rng([SEED, k]), SMOKE.shape, SMOKE.resolution) for k in range(1, 13)]
    return [ROSTRAL_ACC.weight(head.coordinates) * head.gray() for head in heads]


def test_the_reader_reads_what_is_simulated(simulated):
    data = read_drug_stroop(simulated)
    assert [subject.group for subject in data.subjects] == [COCAINE] * 6 + [CONTROL] * 6
    assert len({subject.name for subject in data.subjects}) == 12
    for subject in data.subjects:
        assert nib.load(subject.bold).shape[:3] == SMOKE.shape
    words = data.events[data.events["trial_type"] == WORDS]
    assert words["duration"].tolist() == [20.0, 20.0]
    assert data.repetition_time == 1.6
    np.testing.assert_allclose(data.slice_times, ascending(SMOKE.shape[2], 1.6), atol=1e-6)
    assert set(np.unique(data.region.get_fdata())) == {0, 1}


def test_demo_and_paper_have_the_subjects_and_words_of_the_study():
    for size in ("demo", "paper"):
        assert (SIZES[size].cocaine, SIZES[size].control) == (16, 17)
        assert 10 * SIZES[size].blocks == 40


def test_same_bytes_for_a_seed_and_any_number_of_threads_but_not_for_another_seed(simulated, tmp_path):
    with threadpool_limits(1):
        simulate_drug_stroop(tmp_path / "one", SEED, "smoke", effect=0.0)
    expected = tree_hash(simulated)
    assert tree_hash(tmp_path / "one") == expected
    simulate_drug_stroop(tmp_path / "other", SEED + 1, "smoke", effect=0.0)
    assert tree_hash(tmp_path / "other").sha256 != expected.sha256


def test_the_effect_changes_the_cocaine_users_in_their_cingulate_cortex_alone(studies):
    """With the same seed all else is the same: two studies differ by the effect, near its size."""
    for number, weight in enumerate(weights()):
        change = studies[0.0][number] - studies[LARGE][number]
        if number >= SMOKE.cocaine:
            assert not change.any()
            continue
        core = weight > 0.4
        assert core.any()
        assert change[core].mean() == pytest.approx(LARGE * weight[core].mean(), rel=0.15)
        assert np.abs(change[weight < 1e-6]).max() < 0.1 * LARGE


def test_groups_differ_by_the_effect_over_the_spread_of_people(studies):
    """And without an effect, by no more than the people and the noise of a short run make likely."""
    means = {
        effect: np.array(
            [beta[w > 0.4].mean() / w[w > 0.4].mean() for beta, w in zip(maps, weights(), strict=True)]
        )
        for effect, maps in studies.items()
    }
    difference = {effect: m[6:].mean() - m[:6].mean() for effect, m in means.items()}
    assert difference[LARGE] - difference[0.0] == pytest.approx(LARGE, rel=0.15)
    groups = means[0.0].reshape(2, 6)
    spread = np.sqrt(groups.var(axis=1, ddof=1).mean())
    assert spread > 0.35  # of the people alone
    assert abs(difference[0.0]) < 3 * spread * np.sqrt(2 / 6)


@pytest.mark.parametrize("effect", [np.nan, np.inf])
def test_wrong_arguments_write_nothing(tmp_path, effect):
    with pytest.raises(ValueError, match=r"effect is .*: expected a finite percentage"):
        simulate_drug_stroop(tmp_path / "x", 0, "smoke", effect=effect)
    with pytest.raises(ValueError, match="size is 'huge': expected one of smoke, demo, paper"):
        simulate_drug_stroop(tmp_path / "x", 0, "huge")
    assert not (tmp_path / "x").exists()


SUB2 = "sub-02/func/sub-02_task-stroop_bold.nii.gz"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f, harm: (f / "participants.tsv").unlink(), r"participants\.tsv"),
        (
            lambda f, harm: harm.replace_text(f / "participants.tsv", "cocaine", "heroin"),
            "line 2: group 'heroin'; expected control",
        ),
        (
            lambda f, harm: harm.replace_text(f / "participants.tsv", "sub-02", "sub-01"),
            "line 3: sub-01 again",
        ),
        (lambda f, harm: harm.replace_text(f / "participants.tsv", "sub-02", "../../x"), "leaves"),
        (
            lambda f, harm: harm.replace_text(f / "participants.tsv", "sub-02", "sub-99"),
            "sub-99.*no such file",
        ),
        (lambda f, harm: (f / "participants.tsv").write_text("participant_id\tgroup\n"), "no rows"),
        (lambda f, harm: (f / SUB2).unlink(), r"sub-02.*no such file"),
        (lambda f, harm: harm.truncate(f / SUB2), r"sub-02.*of 4 dimensions"),
        (lambda f, harm: harm.series(f / SUB2, change=harm.with_nan), "sub-02.*NaN"),
        (lambda f, harm: harm.series(f / SUB2, change=lambda d: d[..., 0]), r"sub-02.*of 4 dimensions"),
        (
            lambda f, harm: harm.series(f / SUB2, change=lambda d: d[..., 1:]),
            r"sub-02.*expected that of sub-01",
        ),
        (
            lambda f, harm: harm.series(f / SUB2, change=lambda d: d[:, :, 1:]),
            "15 slices; expected one for each of 16",
        ),
        (lambda f, harm: harm.series(f / SUB2, repetition_time=2.0), "repetition time 2; expected 1.6"),
        (
            lambda f, harm: harm.json(f / "task-stroop_bold.json", RepetitionTime=0),
            "RepetitionTime 0; expected",
        ),
        (
            lambda f, harm: harm.json(f / "task-stroop_bold.json", RepetitionTime=2.0),
            "expected 2 as in the sidecar",
        ),
        (lambda f, harm: (f / "task-stroop_events.tsv").unlink(), "events"),
        (
            lambda f, harm: harm.replace_text(f / "task-stroop_events.tsv", "61.0", "900.0"),
            "line 4: from 900 for 20 s",
        ),
        (
            lambda f, harm: harm.replace_text(f / "task-stroop_events.tsv", "61.0", "nan"),
            "line 4: onset 'nan",
        ),
        (
            lambda f, harm: harm.replace_text(f / "task-stroop_events.tsv", "onset", "start"),
            "no column onset",
        ),
        (lambda f, harm: (f / "truth/regions.nii.gz").unlink(), "regions"),
    ],
)
def test_broken_drug_stroop(simulated, tmp_path, harm, damage, message):
    folder = shutil.copytree(simulated, tmp_path / "copy")
    damage(folder, harm)
    with pytest.raises(DataError, match=message):
        read_drug_stroop(folder)


def test_a_participant_left_out_of_the_table_is_left_out(simulated, tmp_path, harm):
    folder = shutil.copytree(simulated, tmp_path / "copy")
    harm.drop_last_line(folder / "participants.tsv")
    assert len(read_drug_stroop(folder).subjects) == 11


def test_drawn_maps_differ_in_the_region_only():
    mask = np.ones((20, 24, 20), dtype=bool)
    affine = np.diag([8.0, 8, 8, 1])
    affine[:3, 3] = [-76, -110, -70]
    (none, groups), (large, _) = (
        draw_contrast_maps(np.random.default_rng(0), mask, affine, effect, "smoke") for effect in (0.0, 2.0)
    )
    assert groups.tolist() == [COCAINE] * SMOKE.cocaine + [CONTROL] * SMOKE.control
    weight = ROSTRAL_ACC.weight(nib.affines.apply_affine(affine, np.argwhere(mask)))
    # The same noise: only the response of the users changes, by the effect in the core of the region.
    np.testing.assert_allclose(large[groups == CONTROL], none[groups == CONTROL])
    change = (large - none)[groups == COCAINE]
    np.testing.assert_allclose(change, np.tile(-2.0 * weight, (SMOKE.cocaine, 1)), atol=1e-6)
    with pytest.raises(ValueError, match="size"):
        draw_contrast_maps(np.random.default_rng(0), mask, affine, 0.0, "huge")
