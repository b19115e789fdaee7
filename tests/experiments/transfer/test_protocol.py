"""The comparison of strategies on simulated cells: who learns from what, and how settings are chosen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm
from ermlab.tracking.patches import film_patches
from ermlab.tracking.training import average_loss
from reproduction.claims.results import read_json
from reproduction.experiments.transfer import protocol as transfer_protocol
from reproduction.experiments.transfer.patch_training import PatchPool
from reproduction.experiments.transfer.protocol import (
    STRATEGIES,
    Learned,
    Search,
    Setting,
    TransferStudy,
    union_limit_difference,
)
from reproduction.experiments.transfer.train import SCENARIOS, Sizes, _runs, main

SIZES = Sizes(cells=4, source_patches=20, target_patches=25, test_patches=1000)
SEARCH = Search(alphas=[1.0, 10.0], rhos=[10.0, 1.0], n_splits=2, tol=0.05)


def film(seed, step, frames=7, n=12):
    """Return cells that walk about, all of them tracked."""
    rng = np.random.default_rng(seed)
    walk = rng.uniform(15, 105, (n, 2)) + np.cumsum(rng.normal(0, step, (frames, n, 2)), axis=0)
    total = frames * n
    return CellFilm(
        frame=np.repeat(np.arange(frames), n),
        position=walk.reshape(-1, 2),
        area=np.tile(rng.uniform(80, 120, n), frames) * rng.uniform(0.95, 1.05, total),
        intensity=np.tile(rng.uniform(1, 2, n), frames),
        eccentricity=rng.uniform(0, 0.3, total),
        shape=np.array([120, 120]),
        n_frames=frames,
        tracks=np.column_stack([np.arange(total), np.tile(np.arange(1, n + 1), frames)]),
        lineage=np.column_stack(
            [np.arange(1, n + 1), np.zeros(n, dtype=int), np.full(n, frames - 1), np.zeros(n, dtype=int)]
        ),
    )


@pytest.fixture(scope="module")
def films():
    names = ("dcelliq_1", "mitocheck_1", "mitocheck_2", "ctc_sim", "migration_4")
    return {name: film(seed, 1.5 if seed in (0, 3) else 3.0) for seed, name in enumerate(names)}


@pytest.fixture(scope="module")
def study(films):
    parts = SCENARIOS["laboratories"](films, SIZES, np.random.default_rng(0))["laboratories"]
    return TransferStudy(*parts, SEARCH)


@pytest.fixture
def trained(monkeypatch):
    """Record which patches each training sees, and with which setting."""
    calls = []
    train = transfer_protocol.train_on_patches

    def recorded(risks, **options):
        calls.append(
            ([(risk.pool, risk.numbers) for risk in risks], Setting(options["alpha"], options["rho"]))
        )
        return train(risks, **options)

    monkeypatch.setattr(transfer_protocol, "train_on_patches", recorded)
    return calls


def test_who_learns_from_what(study, trained):
    order = study.draw([0])
    n = round(0.5 * len(study.target))
    expected = {
        "all_source": [study.source],
        "all_target": [study.target],
        "partial_target": [study.target],
        "union": [study.source, study.target],
        "transfer": [study.source, study.target],
    }
    for name, pools in expected.items():
        trained.clear()
        share = 1.0 if name == "all_target" else 0.5
        learned = study.run(name, share, order, STRATEGIES[name].published)
        ((parts, setting),) = trained
        assert [pool for pool, _ in parts] == pools
        assert setting == STRATEGIES[name].published
        if name in ("partial_target", "union", "transfer"):
            np.testing.assert_array_equal(parts[-1][1], np.sort(order[:n]))
            assert learned.patches == n
        assert len(parts[0][1]) == (len(study.source) if pools[0] is study.source else learned.patches)
        assert 0 <= learned.loss < 0.5
        assert learned.validation_loss is None


def test_the_loss_is_the_missed_share_of_the_test_events(study):
    w = study.run("union", 0.5, None, Setting(1.0)).weights
    assert study.run("union", 0.5, None, Setting(1.0)).loss == average_loss(w, study.test.patches)
    worse = w + 0.3
    assert study.test.missed_share(worse) == average_loss(worse, study.test.patches) > 0
    few = np.arange(0, len(study.test), 3)
    some = [study.test.patches[i] for i in few]
    assert study.test.missed(worse, few) / study.test.n_events(few) == average_loss(worse, some)


@pytest.mark.parametrize("name", ["all_source", "partial_target", "transfer"])
def test_settings_are_chosen_on_stretches_of_time_that_are_held_out(study, trained, name):
    order = study.draw([1])
    learned = study.run(name, 0.4, order)
    home = study.source if name == "all_source" else study.target
    numbers = np.arange(len(home)) if name == "all_source" else np.sort(order[: learned.patches])
    n_settings = 4 if name == "transfer" else 2
    assert len(trained) == 2 * n_settings + 1
    first, second = (trained[k * n_settings][0][-1][1] for k in (0, 1))
    np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), numbers)
    assert first.min() > second.max()
    np.testing.assert_array_equal(trained[-1][0][-1][1], numbers)
    assert trained[-1][1] == learned.setting
    assert learned.setting.alpha in SEARCH.alphas
    assert (learned.setting.rho in SEARCH.rhos) == (name == "transfer")
    assert 0 <= learned.validation_loss < 0.5


def test_ties_go_to_the_strongest_regularization(study, monkeypatch):
    monkeypatch.setattr(PatchPool, "missed", lambda *_: 1)
    for name in ("union", "transfer"):
        setting, _ = study.choose(STRATEGIES[name], np.arange(len(study.target)))
        assert setting == Setting(10.0, 10.0 if name == "transfer" else np.inf)


def test_shares_grow_in_the_order_of_a_draw(study):
    order = study.draw([2])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(study.target)))
    assert not np.array_equal(order, study.draw([3]))
    assert study.run("partial_target", 0.0, order, Setting(1.0)).patches == 2


def test_transfer_with_a_large_rho_is_the_union(study):
    common = {"alpha": 1.0, "max_patches": 10, "tol": 1e-7}
    pools = study.source, study.target
    assert union_limit_difference(*pools, rho=1e6, **common) < 1e-2
    assert union_limit_difference(*pools, rho=1.0, **common) > 0.05


def test_scenarios_keep_the_test_apart(films):
    made = {name: make(films, SIZES, np.random.default_rng(0)) for name, make in SCENARIOS.items()}
    assert {study for parts in made.values() for study in parts} == {
        "laboratories",
        "migration",
        "shuffled",
        "same",
    }
    _, target, test = made["migration"]["migration"]
    assert _frames(target)[-1] + 1 < _frames(test)[0]
    source, target, _ = made["controls"]["same"]
    assert _frames(source)[-1] + 1 < _frames(target)[0]
    shuffled, honest = made["controls"]["shuffled"][0], made["laboratories"]["laboratories"][0]
    assert [patch.frame for patch in shuffled.patches] == [patch.frame for patch in honest.patches]
    assert not np.array_equal(shuffled.truth, honest.truth)


def _frames(pool):
    return sorted({patch.frame for patch in pool.patches})


def test_patches_are_drawn_from_the_first_pairs_in_the_order_of_time(films):
    sizes = Sizes(cells=4, source_patches=3, target_patches=1000, test_patches=2, pairs=2)
    parts = SCENARIOS["laboratories"](films, sizes, np.random.default_rng(0))["laboratories"]
    source, target, test = parts
    assert (len(source), len(test)) == (3, 2)
    whole = film_patches(films["mitocheck_1"], Gates(), 4, range(2))
    assert [patch.sources.tolist() for patch in target.patches] == [p.sources.tolist() for p in whole]
    places = [(patch.frame, patch.sources[0]) for patch in source.patches]
    cut = film_patches(films["dcelliq_1"], Gates(), 4, range(2))
    order = [(patch.frame, patch.sources[0]) for patch in cut]
    assert sorted(map(order.index, places)) == list(map(order.index, places))
    other = SCENARIOS["laboratories"](films, sizes, np.random.default_rng(1))["laboratories"][0]
    assert places != [(patch.frame, patch.sources[0]) for patch in other.patches]


def test_too_few_or_too_many_splits(study):
    with pytest.raises(ValueError, match="n_splits is 1 for"):
        TransferStudy(study.source, study.target, study.test, replace(SEARCH, n_splits=1))
    with pytest.raises(ValueError, match="expected at least 2, and no more than patches"):
        TransferStudy(study.source, study.target, study.test, replace(SEARCH, n_splits=1000))


def test_every_strategy_is_run_with_its_shares_and_draws(study, monkeypatch):
    """The loss is 1 with the chosen setting, which is chosen once, and 2 with the published one."""
    chosen, asked = Setting(7.0, 8.0), []

    def run(name, share, order, setting):
        return Learned(name, share, 10, 20, setting, None, 1.0 if setting == chosen else 2.0, np.zeros(1))

    def choose_for(name, share, order=None):
        asked.append((name, share))
        return chosen, 0.5

    monkeypatch.setattr(study, "run", run)
    monkeypatch.setattr(study, "choose_for", choose_for)
    rows = list(_runs(study, [0.2, 1], {0: np.arange(3), 1: np.arange(3)}))
    assert asked == [
        ("all_source", 1.0),
        ("all_target", 1.0),
        *[(name, 0.2) for name in ("partial_target", "union", "transfer")],
    ]
    ran = [(row["strategy"], row["share"], row["draw"]) for row in rows]
    assert ran == [
        ("all_source", 0.0, 0),
        ("all_target", 1.0, 0),
        *[(name, 0.2, draw) for draw in (0, 1) for name in ("partial_target", "union", "transfer")],
        ("union", 1, 0),
        ("transfer", 1, 0),
    ]
    assert rows[0] == {
        "strategy": "all_source",
        "draw": 0,
        "share": 0.0,
        "patches": 10,
        "events": 20,
        "lam": 7.0,
        "rho": 8.0,
        "validation_loss": 0.5,
        "loss": 1.0,
        "published_loss": 2.0,
    }


def test_a_scenario_is_written_with_its_sizes(films, tmp_path):
    for name in ("dcelliq_1", "mitocheck_1", "mitocheck_2"):
        films[name].write(tmp_path / f"{name}.npz")
    outputs = {"runs": tmp_path / "runs.csv"}
    outputs |= {name: tmp_path / f"{name}.json" for name in ("facts", "timings")}
    main(
        {name: tmp_path / f"{name}.npz" for name in ("dcelliq_1", "mitocheck_1", "mitocheck_2")},
        outputs,
        seed=0,
        scenario="laboratories-3",
        shares=[0.5],
        control_shares=[0.2],
        draws=1,
        sizes=replace(SIZES, pairs=2),
        search=replace(SEARCH, alphas=[1.0], rhos=[1.0]),
        threads=1,
    )
    written = pd.read_csv(outputs["runs"])
    assert len(written) == 2 + 3
    assert set(written["draw"]) == {3}
    facts = read_json(outputs["facts"])["laboratories"]
    # Two pairs with twelve cells each; patches lose the events between them.
    assert facts["test"]["complete"] <= facts["test"]["patches"]
    assert 12 < facts["test"]["events"] <= 24
    assert facts["source"]["events"] <= 24
    assert facts["union_limit_difference"] < 1e-2
    assert read_json(outputs["timings"])["seconds"] > 0
