"""The evaluation of active learning on two studies that are counted by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated, write_json
from reproduction.experiments.active_learning.evaluate import (
    STUDIES,
    TABLES,
    TITLES,
    comparison_table,
    describe_strengths,
    main,
    measure_table,
    stop_table,
    study_table,
    summary_table,
    timing_table,
)

MEASURES = list(TITLES)
ON_ALL = ("all_data", "perceptron", "averaged_perceptron")
DATASETS = {"dcelliq_nuclei": "simulated", "mitocheck_nuclei": "simulated", "cell_migration": "real"}


def write_study(folder, shift, seeds=(0, 1), film=0):
    """Write what training leaves of some seeds; all errors of a measure, and of the study, are different."""
    folder.mkdir()
    runs = [(m, number, seed) for number, m in enumerate(MEASURES) for seed in seeds]
    curve = [
        {"measure": m, "seed": seed, "query": query, "test_error": error}
        for m, number, seed in runs
        # The mean of those that were tested is the number of the measure plus 10 for the second seed.
        for query, error in enumerate([np.nan, number + 10 * seed - 1, number + 10 * seed + 1])
    ]
    table = [
        {
            "measure": m,
            "seed": seed,
            "share": share,
            "active": number + 10 * seed + 100 * share,
            "averaged": number + 10 * seed + 200 * share,
            "combined": number + 10 * seed + 300 * share,
            "strength": 0.1,
        }
        for m, number, seed in runs
        for share in (0.5, 0.1, 0.25)
    ]
    stops = [
        {"measure": m, "seed": seed, "scale": scale, "stop": stop, "patches": 40}
        for m, number, seed in runs
        if m != "random"
        # With the second seed the rule does not stop before all 40 patches are annotated.
        for scale, stop in (("unit", 1), ("1", np.nan if seed else 10 * number), ("10", 2))
    ]
    tables = {"curve": curve, "table": table, "stops": stops, "cells": [{"frame": 0, "patch": 0}]}
    for name, rows in tables.items():
        written = pd.DataFrame(rows)
        columns = [c for c in written if c in ("test_error", "active", "combined")]
        written.assign(**{c: written[c] + shift for c in columns}).to_csv(folder / f"{name}.csv", index=False)
    summary = {"patches": 40, "enumeration_difference": shift, "strength": 0.5 + film}
    errors = {name: 7.0 + k + shift + 10 * film for k, name in enumerate(ON_ALL)}
    as_printed = {"as_printed_difference": 2.0 - shift, "predictions_over_pool": 3.0 + shift}
    write_json(folder / "summary.json", {**summary, **errors, **as_printed})
    write_json(folder / "timings.json", {"random": [[shift, 0.25]]})


@pytest.fixture
def results(tmp_path):
    studies = ["migration", "nuclei-1", "nuclei-2"]
    write_study(tmp_path / "migration", 0)
    for film in (0, 1):
        write_study(tmp_path / f"nuclei-{film + 1}", 1, [film], film)
    for name, kind in DATASETS.items():
        write_json(tmp_path / f"{name}.json", {"kind": kind})
    files = {name: f"{name}.csv" for name in TABLES} | {n: f"{n}.json" for n in ("summary", "timings")}
    inputs = {name: [tmp_path / study / file for study in studies] for name, file in files.items()}
    inputs["receipts"] = [tmp_path / f"{name}.json" for name in DATASETS]
    folder = tmp_path / "active_learning"
    folder.mkdir()
    outputs = {"values": folder / "values.json"} | {name: folder / f"{name}.csv" for name in TABLES}
    main(inputs, outputs, studies=studies, threshold=1e-4, window=5, shares=(0.25, 0.5), alphas=(0.1, 1))
    return folder


def test_numbers_of_the_claims_are_those_of_the_nuclei(results):
    found = read_results(results)
    assert found["datasets"] == DATASETS
    assert found["timings"] == {
        "seconds_per_query_max": 1,
        "migration": {"random": [[0, 0.25]]},
        "nuclei": {"random": [[1, 0.25], [1, 0.25]]},
    }
    values = found["values"]
    assert (values["threshold"], values["window"], values["shares"]) == (1e-4, 5, [0.25, 0.5])
    assert values["enumeration_difference_max"] == 1
    assert (values["as_printed_difference_max"], values["predictions_per_query_over_pool"]) == (2.0, 4.0)
    assert values["all_data"] == repeated([8.0, 18.0], "film")
    assert values["earliest_stop"] == repeated([0.15, 0.15], "film")
    assert values["combined_at_tenth"]["random"] == repeated([31, 41], "film")
    # Stops after 10, 20 and 30 of 40 patches, and with the last one.
    assert values["stop_share"] == {
        m: repeated([number / 4, 1.0], "film") for number, m in enumerate(MEASURES) if m != "random"
    }
    assert values["test_error"] == {m: repeated([n + 1, n + 11], "film") for n, m in enumerate(MEASURES)}
    # Shares in ascending order, films within them.
    assert values["active"]["scoring"] == [repeated([27, 37], "film"), repeated([52, 62], "film")]
    assert values["combined"]["best_second"] == [repeated([79, 89], "film"), repeated([154, 164], "film")]


def test_each_study_has_its_own_numbers(results):
    studies = read_results(results)["values"]["studies"]
    migration = studies["migration"]
    assert migration["summary"]["all_data"] == 7.0
    assert migration["test_error"]["best_worst"] == repeated([2, 12])
    assert studies["nuclei"]["averaged_perceptron"] == repeated([10.0, 20.0], "film")
    assert studies["nuclei"]["strengths"] == [0.5, 1.5]
    assert migration["averaged"]["scoring"] == [repeated([51, 61]), repeated([101, 111])]
    for name in TABLES:
        assert set(pd.read_csv(results / f"{name}.csv")["study"]) == {"migration", "nuclei"}
    # The cells are those of the first film.
    assert len(pd.read_csv(results / "cells.csv")) == 2


@pytest.fixture
def values():
    """The second study has other numbers than the first."""

    def study(base):
        return {
            "summary": {
                "pairs": {"train": base + 9, "test": base + 8},
                "patches": 40,
                "cells_per_patch": base + 5.25,
                "complete_patches": 0.9,
                "true_events": base + 200,
                "lost_to_gates": 0.001,
                "lost_to_borders": 0.045,
                "test_events": base + 150,
            },
            "strengths": [0.001, 0.1],
            **{name: repeated([base + k + 1.0, base + k + 3.0]) for k, name in enumerate(ON_ALL)},
            "test_error": {m: repeated([base + 4.0, base + 6.0]) for m in MEASURES},
            **{
                kind: {
                    m: [repeated([base + 10 * more + k + 1.0, base + 10 * more + k + 2.0]) for k in range(3)]
                    for m in MEASURES
                }
                for more, kind in enumerate(("active", "averaged", "combined"))
            },
        }

    return {
        "shares": [0.17, 0.3, 0.4],
        "stop_share": dict.fromkeys(MEASURES[1:]),
        "studies": {name: study(base) for name, base in zip(STUDIES, (0, 20), strict=True)},
    }


def test_the_table_of_studies(values):
    table = study_table(values, DATASETS)
    assert table.iloc[1].tolist() == [
        "migrating cells, every 4th frame (real)", "29, 28", 40, "25.2", "90%", 220, "0.1%", "4.5%", 170,
    ]  # fmt: skip
    assert table["study"][0] == "nuclei of two laboratories (simulated)"


def test_what_each_measure_queries(values):
    curves = pd.DataFrame(
        {"study": study, "measure": m, "seed": seed, "share": q / 40, "events": q / 50, "rare": q / 25}
        for study in STUDIES
        for m in MEASURES
        for seed in range(2)
        for q in range(1, 21)
    )
    table = measure_table(values, curves).set_index("measure")
    # 17 % of 40 patches are 7 queries.
    assert table.loc["best vs. 2nd", "nuclei: events annotated"] == "14%"
    assert table.loc["best vs. 2nd", "nuclei: of those that are no moves"] == "28%"


def test_times_are_means_over_seeds_and_queries_in_milliseconds():
    timings = {study: {measure: [[0.01], [0.03]] for measure in MEASURES} for study in STUDIES}
    timings["nuclei"] = {measure: [[0.001, 0.001]] for measure in MEASURES}
    table = timing_table(timings)
    assert (table["ms per query, migration"] == "20").all()
    assert (table["ms per query, nuclei"] == "1").all()


def test_active_and_combined_errors_next_to_the_published(values):
    published = {"active": {m: [7.0, 8.0, 9.0] for m in MEASURES}}
    table = comparison_table(values, "nuclei", published).set_index("measure")
    assert table.loc["scoring", "30% AL, published"] == "8.00"
    assert table.loc["scoring", "30% AL"] == "2.50 ± 0.71"
    assert table.loc["scoring", "30% AL, averaged"] == "12.50 ± 0.71"
    assert table.loc["scoring", "40% CL"] == "23.50 ± 0.71"
    assert "30% CL, published" not in table
    other = comparison_table(values, "migration")
    assert not any("published" in name for name in other)
    assert other["17% AL"][0] == "21.50 ± 0.71"


def test_all_patches_are_below_the_means_of_the_curves(values):
    table = summary_table(values, published=1.07).set_index("")
    nuclei, migration = (title for title, _ in STUDIES.values())
    assert table.loc["best vs. 2nd, mean of the curve", nuclei] == "5.00 ± 1.41"
    assert table.loc["random, mean of the curve", migration] == "25.00 ± 1.41"
    assert table.loc["all patches, max-margin"].tolist() == ["2.00 ± 1.41", "22.00 ± 1.41", "1.07"]
    assert table.loc["all patches, perceptron"].tolist() == ["3.00 ± 1.41", "23.00 ± 1.41", ""]
    assert table.loc["all patches, averaged perceptron"].tolist() == ["4.00 ± 1.41", "24.00 ± 1.41", ""]


def test_choices_at_the_ends_of_the_grid_are_counted(values):
    """Of nine choices: at a tenth and at the first share with four measures, and on all patches of a film."""
    values["alphas"] = [0.001, 0.01, 0.1]
    values["studies"]["nuclei"]["strengths"] = [0.1]
    table = pd.DataFrame(
        {"study": study, "measure": m, "seed": 0, "share": share, "strength": 0.01 if share > 0.1 else 0.001}
        for study in STUDIES
        for m in MEASURES
        for share in (0.1, 0.17, 0.3)
    )
    text = describe_strengths(table, values)
    assert "from 0.001 to 0.1, with a median of 0.01; of 9 choices 4 are the lowest" in text
    assert "0.001, and 1 the highest, 0.1." in text
    assert "of 10 choices 5 are the lowest" in text


def test_runs_that_do_not_stop_are_counted(values):
    stops = pd.DataFrame(
        [
            {"study": study, "measure": measure, "seed": seed, "scale": scale, "stop": stop, "patches": 40}
            for study in STUDIES
            for measure in MEASURES[1:]
            for scale, both in (("1", (8, 12)), ("unit", (8, np.nan)))
            for seed, stop in enumerate(both)
        ]
    )
    table = stop_table(stops, values).set_index(["study", "length of w"])["scoring"]
    assert table["nuclei of two laboratories", "as it is"] == "25.0%"
    assert table["nuclei of two laboratories", "set to 1"] == "1 of 2 runs"
