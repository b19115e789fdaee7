"""The comparison of strategies on simulated cells: who learns from what, and how settings are chosen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.tracking.films import CellFilm
from reproduction.claims.results import read_json
from reproduction.experiments.transfer import protocol as transfer_protocol
from reproduction.experiments.transfer.protocol import (
    STRATEGIES,
    Domain,
    Learned,
    Search,
    Setting,
    TransferStudy,
    union_limit_difference,
)
from reproduction.experiments.transfer.train import SCENARIOS, Sizes, _runs, main

SIZES = Sizes(cells=4)
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
    return TransferStudy(*parts, SEARCH, n_jobs=1)


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
        "all_source": [study.source.pool],
        "all_target": [study.target.pool],
        "partial_target": [study.target.pool],
        "union": [study.source.pool, study.target.pool],
        "transfer": [study.source.pool, study.target.pool],
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
        assert len(parts[0][1]) == (len(study.source) if pools[0] is study.source.pool else learned.patches)
        assert 0 <= learned.loss < 0.5
        assert learned.validation_loss is None


def test_held_out_events_are_looked_for_in_whole_frames(study):
    domain, w = study.target, study.run("union", 0.5, None, Setting(1.0)).weights + 0.3
    numbers = np.arange(0, len(domain), 2)
    missed = 0
    for patch in (domain.pool.patches[i] for i in numbers):
        pair = domain.pairs[patch.frame]
        found = pair.assigner.best(pair.hypotheses.scores(w))
        there = {_cells(pair.hypotheses, e) for e in np.flatnonzero(found)}
        for event in patch.annotation.events:
            missed += _cells(patch.hypotheses, event, patch.sources, patch.targets) not in there
    assert missed > 0
    assert domain.missed(w, numbers, 1) == domain.missed(w, numbers, 2) == missed


def _cells(hypotheses, event, sources=None, targets=None):
    """Return the kind of an event and its cells, numbered as in the whole frames."""
    before, after = (
        tuple(sorted(int(c if numbers is None else numbers[c]) for c in cells[event] if c >= 0))
        for cells, numbers in ((hypotheses.sources, sources), (hypotheses.targets, targets))
    )
    return int(hypotheses.kind[event]), before, after


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
    monkeypatch.setattr(Domain, "missed", lambda *_: 1)
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
    pools = study.source.pool, study.target.pool
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
    assert max(target.pairs) + 1 < min(pair.frame for pair in test)
    assert {patch.frame for patch in target.pool.patches} <= set(target.pairs)
    source, target, _ = made["controls"]["same"]
    assert max(source.pairs) + 1 < min(target.pairs)
    shuffled, honest = made["controls"]["shuffled"][0], made["laboratories"]["laboratories"][0]
    assert len(shuffled) == len(honest)
    assert not np.array_equal(shuffled.pool.truth, honest.pool.truth)
    few = SCENARIOS["laboratories"](films, Sizes(cells=4, pairs=2), np.random.default_rng(0))["laboratories"]
    assert set(few[0].pairs) == {patch.frame for patch in few[0].pool.patches} == {0, 1}
    assert len(few[2]) == 2


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
        sizes=Sizes(cells=4, pairs=2),
        search=replace(SEARCH, alphas=[1.0], rhos=[1.0]),
        threads=1,
    )
    written = pd.read_csv(outputs["runs"])
    assert len(written) == 2 + 3
    assert set(written["draw"]) == {3}
    facts = read_json(outputs["facts"])["laboratories"]
    # Two pairs with twelve cells each; patches lose the events between them.
    assert facts["test"]["pairs"] == 2
    assert facts["test"]["events"] == 24
    assert facts["source"]["events"] <= 24
    assert facts["union_limit_difference"] < 1e-2
    assert read_json(outputs["timings"])["seconds"] > 0
