"""The evaluation of trackers on two films of two cells, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks
from reproduction.claims.results import read_results, repeated, write_json
from reproduction.experiments.tracking.baselines import hand_tuned
from reproduction.experiments.tracking.evaluate import (
    STUDIES,
    TITLES,
    count_table,
    describe_strengths,
    error_table,
    main,
    measure_table,
    time_table,
    tracker_data,
    tracker_table,
    tuning_table,
)
from reproduction.experiments.tracking.links import write_tracks
from reproduction.experiments.tracking.scenes import DetectedFrames, TrackedFrames

PUBLISHED = {"graph_matching": 6.18, "l2": 0.3}


def film_of(n_frames):
    """Return two cells that stay in their places, the second without a known track in the first frame."""
    n = 2 * n_frames
    return CellFilm(
        frame=np.repeat(np.arange(n_frames), 2),
        position=np.tile([[10.0, 10.0], [30.0, 30.0]], (n_frames, 1)),
        area=np.full(n, 50.0),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([40, 40]),
        n_frames=n_frames,
        tracks=np.array([[d, 1 + d % 2] for d in range(n) if d != 1]),
        lineage=np.array([[1, 0, n_frames - 1, 0], [2, 1, n_frames - 1, 0]]),
    )


def tracks_of(labels, rows):
    return CellTracks(np.array(labels), Lineage(*np.array(rows).T))


def write_study(folder, name, first, missed):
    """Write what training leaves of a study whose test part has two pairs from frame ``first`` on.

    Of 10 known events of each pair 8 are moves, one of which gating has lost, and 2 are divisions. The
    methods miss ``missed`` of them, one of these a division, and find a wrong move and two wrong merges.
    """
    counts = {"move": (8, 1), "division": (2, 0)}
    rows = [
        {"part": "training", "method": "truth", "frame": 9, "kind": kind, "known": known, "missed": 0}
        for kind, known in (("move", 5), ("division", 3))
    ]
    for method, total in missed.items():
        for frame in (first, first + 1):
            for kind in EVENTS:
                known, lost = counts.get(kind, (0, 0))
                rows.append(
                    {
                        "part": "test",
                        "method": method,
                        "frame": frame,
                        "kind": kind,
                        "known": known,
                        "missed": {"move": total - 1, "division": 1}.get(kind, 0),
                        "false": {"move": 1, "merge": 2}.get(kind, 0),
                        "lost": lost,
                    }
                )
    pd.DataFrame(rows).to_csv(folder / f"errors_{name}.csv", index=False)
    tuning = [
        {"method": method, "parameter": parameter, "fold": 0, "missed": 3, "chosen": parameter == chosen}
        for method, chosen in (("l1", "0.1"), ("l2", "1"))
        for parameter in ("1", "0.1")
    ]
    pd.DataFrame(tuning).to_csv(folder / f"tuning_{name}.csv", index=False)
    right = tracks_of([1, 2, 1, 2, 1, 2], [[1, 0, 2, 0], [2, 0, 2, 0]])
    # The second cell is lost between the last two frames.
    broken = tracks_of([1, 2, 1, 2, 1, 3], [[1, 0, 2, 0], [2, 0, 1, 0], [3, 2, 2, 0]])
    write_tracks(folder / f"tracks_{name}.npz", {"l1": broken, "l2": right})
    np.savez(folder / f"weights_{name}.npz", l1=np.zeros(1), l2=hand_tuned("nuclei"))
    write_json(folder / f"timings_{name}.json", {"l2": {"training_seconds": 1.0}})


@pytest.fixture
def results(tmp_path):
    """Run the evaluation on a film of 3 frames, and on the last 3 frames of a film of 5."""
    write_study(tmp_path, "dcelliq", 0, {"l1": 3, "l2": 1})
    write_study(tmp_path, "migration_1", 2, {"l1": 2, "l2": 5})
    studies = ["dcelliq", "migration_1"]
    film_of(3).write(tmp_path / "nuclei_film.npz")
    film_of(5).write(tmp_path / "migration_1.npz")
    film_of(2).write(tmp_path / "hela_film.npz")
    for name, n_frames in (("nuclei", 4), ("hela", 2)):
        # One pixel of each detection; the frames of the nuclei are more than were tracked.
        detections = np.arange(1, 2 * n_frames + 1).reshape(n_frames, 1, 2).astype(np.int32)
        DetectedFrames(detections.astype(np.uint16), detections).write(tmp_path / f"{name}_frames.npz")
    film_of(2).write(tmp_path / "few_cells.npz")
    np.savez(tmp_path / "few_images.npz", images=np.zeros((2, 3, 3)))
    for name, kind in (("dcelliq_nuclei", "simulated"), ("cell_migration", "real")):
        write_json(tmp_path / f"{name}.json", {"kind": kind})
    more = [
        {"method": method, "loss": loss, "repetition": film}
        for film, losses in ((2, (20.0, 40.0)), (3, (25.0, 15.0)))
        for method, loss in zip(("l1", "l2"), losses, strict=True)
    ]
    pd.DataFrame(more).to_csv(tmp_path / "losses.csv", index=False)
    kinds = {"errors": "csv", "tuning": "csv", "tracks": "npz", "weights": "npz", "timings": "json"}
    inputs = {
        **{kind: [tmp_path / f"{kind}_{study}.{end}" for study in studies] for kind, end in kinds.items()},
        "films": [tmp_path / "nuclei_film.npz", tmp_path / "migration_1.npz"],
        "losses": tmp_path / "losses.csv",
        "receipts": [tmp_path / "dcelliq_nuclei.json", tmp_path / "cell_migration.json"],
        **{
            name: tmp_path / f"{name}.npz"
            for name in ("nuclei_frames", "few_cells", "few_images", "hela_film", "hela_frames")
        },
    }
    folder = tmp_path / "tracking"
    main(
        inputs,
        {"values": folder / "values.json"},
        seed=0,
        studies=studies,
        enumerated={"problems": 3, "largest": 1},
    )
    return folder


def test_losses_errors_and_counts_of_each_study(results):
    found = read_results(results)
    assert found["datasets"] == {"cell_migration": "real", "dcelliq_nuclei": "simulated"}
    assert found["timings"]["migration_1"] == {"l2": {"training_seconds": 1.0}}
    values = found["values"]
    assert values["loss"] == {
        "l1": repeated([30.0, 20.0, 25.0], "film"),
        "l2": repeated([10.0, 40.0, 15.0], "film"),
    }
    assert values["loss_migration_1"] == {"l1": 20.0, "l2": 50.0}
    assert values["enumerated_pairs"] == 3
    assert values["enumeration_difference_max"] < 1e-9
    nuclei, migration = (values["studies"][name] for name in ("dcelliq", "migration_1"))
    # Both pairs have the same loss, so that all draws of them have.
    assert nuclei["interval"] == {"l1": [30.0, 30.0], "l2": [10.0, 10.0]}
    assert nuclei["above_l2_interval"] == {"l1": [20.0, 20.0], "l2": [0.0, 0.0]}
    assert migration["above_l2_interval"]["l1"] == [-30.0, -30.0]
    none = dict.fromkeys(EVENTS, 0)
    assert nuclei["events"] == none | {"move": 16, "division": 4}
    assert nuclei["missed"] == {
        "l1": none | {"move": 4, "division": 2},
        "l2": none | {"move": 0, "division": 2},
    }
    assert migration["missed"]["l2"] == none | {"move": 8, "division": 2}
    assert nuclei["false"]["l1"] == none | {"move": 2, "merge": 4}
    assert nuclei["lost_by_gating"] == 2
    assert nuclei["training_events"] == {"move": 5, "division": 3}
    assert nuclei["pairs"] == {"training": 1, "test": 2}
    assert nuclei["chosen"] == {"l1": 0.1, "l2": 1.0}
    assert (migration["detections"], migration["untracked"], migration["cells"]) == (10, 1, 2.0)


def test_measures_are_those_of_the_tested_frames(results):
    """There are 5 true cells and 3 links in the nuclei, 6 and 4 in the tested frames of the other film."""
    studies = read_results(results)["values"]["studies"]
    for name, cells, links in (("dcelliq", 5, 3), ("migration_1", 6, 4)):
        measures = studies[name]["measures"]
        assert set(measures["l2"].values()) == {1.0}
        assert measures["l1"]["DET"] == 1.0
        assert measures["l1"]["LNK"] == pytest.approx(1 - 1 / links)
        assert measures["l1"]["TRA"] == pytest.approx(1 - 1.5 / (10 * cells + 1.5 * links))
        assert measures["l1"]["edge_f1"] == pytest.approx(2 * (links - 1) / (2 * (links - 1) + 1))


def test_tables_and_frames_are_written(results):
    errors, tuning = (pd.read_csv(results / f"{name}.csv") for name in ("errors", "tuning"))
    assert errors.groupby("study").size().to_dict() == {"dcelliq": 26, "migration_1": 26}
    assert errors[errors["study"] == "migration_1"]["missed"].sum() == 2 * (2 + 5)
    assert tuning["chosen"].sum() == 4
    nuclei, hela = (TrackedFrames.read(results / f"{name}.npz") for name in ("nuclei", "hela"))
    # The nuclei are shown with the tracks of the L2 norm; HeLa cells that do not move keep theirs.
    assert nuclei.masks.tolist() == [[[1, 2]], [[1, 2]], [[1, 2]]]
    assert nuclei.lineage.tolist() == [[1, 0, 2, 0], [2, 0, 2, 0]]
    assert hela.masks.tolist() == [[[1, 2]], [[1, 2]]]
    assert len(CellFilm.read(results / "film_migration_1.npz")) == 5
    assert {path.name for path in results.iterdir()} >= {
        "few_cells.npz",
        "few_images.npz",
        "tracks_migration_1.npz",
        "weights_dcelliq.npz",
    }


@pytest.fixture
def values():
    """Every number of a study, tracker and kind of event is different."""

    def study(base):
        kinds = {kind: base + k for k, kind in enumerate(EVENTS)} | {"merge": 0}
        of_methods = {method: base + k for k, method in enumerate(TITLES)}
        return {
            "pairs": {"training": base + 5, "test": base + 4},
            "cells": base + 81.4,
            "untracked": base + 2,
            "detections": base + 400,
            "training_events": {kind: count + 50 for kind, count in kinds.items()},
            "events": kinds,
            "lost_by_gating": base + 1,
            "loss": of_methods,
            "interval": {method: [loss - 0.5, loss + 0.25] for method, loss in of_methods.items()},
            "above_l2_interval": {method: [loss + 0.5, loss + 0.75] for method, loss in of_methods.items()},
            "missed": {m: {kind: 10 * n + k for kind, k in kinds.items()} for m, n in of_methods.items()},
            "false": {
                m: {kind: 11 * n * bool(k) for kind, k in kinds.items()} for m, n in of_methods.items()
            },
            "measures": {
                method: {"DET": n / 100, "TRA": n / 200, "LNK": n / 400, "edge_f1": n / 800}
                for method, n in of_methods.items()
            },
        }

    loss = {"l1": repeated([1.0, 2.0], "film"), "l2": repeated([1.0, 3.0], "film")}
    return {"loss": loss, "studies": {name: study(8 * k) for k, name in enumerate(STUDIES)}}


def test_the_table_of_losses(values):
    table = tracker_table(values, PUBLISHED)
    assert table.loc[TITLES["l2"]].tolist() == [
        "0.30",
        "2.00 ± 1.41",
        "5.00 (4.50 to 5.25)",
        "13.00 (12.50 to 13.25)",
        "21.00 (20.50 to 21.25)",
        "29.00 (28.50 to 29.25)",
    ]
    assert table.loc[TITLES["l1"], "published"] == ""
    assert table.loc[TITLES["laptrack"], "nuclei, mean over films"] == ""
    data = tracker_data(values, PUBLISHED).set_index(["film", "tracker"])
    assert len(data) == len(STUDIES) * len(TITLES)
    assert data.loc[("dcelliq", "l2")].tolist() == [
        0.3, 2.0, 5, 4.5, 5.25, 5.5, 5.75, 5 / 100, 5 / 200, 5 / 400, 5 / 800,
    ]  # fmt: skip
    assert list(data.columns[-4:]) == ["DET", "TRA", "LNK", "edge_f1"]
    assert np.isnan(data.loc[("migration_1", "l2"), "published_loss"])


def test_tables_of_measures_errors_and_counts(values):
    measures = measure_table(values)
    nuclei, migrating = STUDIES["dcelliq"], STUDIES["migration_1"]
    assert measures.loc[TITLES["l1"], nuclei].to_dict() == {
        "TRA": "2.00", "DET": "4.00", "LNK": "1.00", "edge F1": "0.50",
    }  # fmt: skip
    assert list(measures[migrating].columns) == ["LNK", "edge F1"]
    errors = error_table(values["studies"]["migration_1"])
    assert errors.loc["known"].tolist() == ["8", "9", "11", "12", "13"]
    assert "merge" not in errors.columns
    # Missed before false: the trackers are numbered from 8, the kinds of events, too.
    assert errors.loc[TITLES["max_flow"], "split"] == f"{10 * 9 + 11} / {11 * 9}"
    assert count_table(values)[migrating].tolist() == [13, 12, 89, 59, 53, 8, 9, 11, 25, 9, "10 of 408"]
    seconds = {method: {"training_seconds": 2.0, "seconds_per_pair": 0.004} for method in TITLES}
    assert time_table({"dcelliq": seconds}).iloc[0].tolist() == ["2.0", "4.0"]


def test_the_chosen_parameter_is_marked():
    tuning = pd.DataFrame(
        [
            {
                "method": "l2",
                "parameter": parameter,
                "study": "dcelliq",
                "fold": fold,
                "missed": missed + fold,
                "chosen": parameter == "1",
            }
            for missed, parameter in enumerate(("0.03", "0.1", "1"))
            for fold in (0, 1)
        ]
    )
    table = tuning_table(tuning)
    assert table[STUDIES["dcelliq"]].tolist() == ["5 *", "3", "1"]
    assert table.index.get_level_values(1).tolist() == ["1", "0.1", "0.03"]
    assert table.index.get_level_values(0).unique().tolist() == [TITLES["l2"]]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (1.0, "All regularization strengths are chosen inside their grids."),
        (0.1, "At an end of the grid, extended as far as it may be: 0.1 of structured learning, L2"),
        (10.0, "At an end of the grid, extended as far as it may be: 10 of structured learning, L2"),
    ],
)
def test_strengths_at_an_end_of_the_grid_are_named(chosen, expected):
    rows = [
        {"study": "dcelliq", "method": "l2", "parameter": str(alpha), "fold": fold, "chosen": alpha == chosen}
        for alpha in (10.0, 1.0, 0.1)
        for fold in (0, 1)
    ]
    forest = {"study": "dcelliq", "method": "random_forest", "parameter": "(1, 0)", "fold": 0, "chosen": True}
    assert describe_strengths(pd.DataFrame([*rows, forest])).startswith(expected)
