from dataclasses import asdict, replace
from pathlib import Path

import pytest
import yaml

from ermlab.exceptions import DataError
from reproduction.acquire.registry import acquire, load_registry
from reproduction.pipeline.documents import read_yaml

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "workflow/schemas/registry.schema.yaml"
MIRRORED = {
    "uiuc_cars", "voc2007_sample", "daimler_pedestrians", "kit_ais_cars", "flowers17", "newsgroups20",
    "haxby2001_slice", "wager2008_contrasts", "cell_migration", "ctc_hela02_images", "ctc_sim_truth",
    "graphs_tu", "mslr_5k", "drive_vessels",
}  # fmt: skip
PACKAGED = {"mutag", "letters", "snakes"}
SIMULATED = {"movie_watching", "drug_stroop", "dcelliq_nuclei", "mitocheck_nuclei"}


@pytest.fixture
def registry():
    return load_registry(ROOT / "data/registry.yaml")


def changed(tmp_path, change):
    """Write the registry with a change in its first row, and return its path."""
    rows = read_yaml(ROOT / "data/registry.yaml")
    change(rows["uiuc_cars"])
    path = tmp_path / "registry.yaml"
    path.write_text(yaml.safe_dump(rows))
    return path


def test_registry_holds_every_data_set(registry):
    assert set(registry) == MIRRORED | PACKAGED | SIMULATED


def test_rows_are_plain_values_that_a_workflow_can_compare(registry):
    assert asdict(registry["mutag"])["package"]["version"] == "0.1.11"


def test_exhibits_that_use_a_data_set_exist(registry):
    known = {row["id"] for row in read_yaml(ROOT / "config/exhibits.yaml")["exhibits"]}
    assert {exhibit for row in registry.values() for exhibit in row.used_for} <= known


def test_data_without_a_source_are_simulated_and_nothing_else(registry, tmp_path, contents):
    for name in SIMULATED:
        row = registry[name]
        assert (row.tree, row.mirror, row.package, row.address) == (None, None, None, None)
    (tmp_path / "movie_watching").mkdir()
    (tmp_path / "movie_watching/mine.txt").write_text("mine")
    with pytest.raises(DataError, match="expected simulated files only; it is left alone"):
        acquire("movie_watching", tmp_path, registry=registry)
    assert contents(tmp_path / "movie_watching") == {"mine.txt": b"mine"}


def test_data_without_a_source_are_acquired_once(tmp_path, toy):
    rows = toy(mirror=False, simulator="reproduction.datasets.haxby2001_slice.simulate_haxby2001_slice")
    rows["toy"] = replace(rows["toy"], tree=None)
    first = acquire("toy", tmp_path, size="smoke", registry=rows)
    assert (first.kind, first.source, first.files) == ("simulated", "simulator", 3)
    assert acquire("toy", tmp_path, size="smoke", registry=rows) == first


def test_simulators_exist(registry):
    for row in registry.values():
        if row.simulator is not None:
            module, _, name = row.simulator.rpartition(".")
            assert hasattr(pytest.importorskip(module), name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: row.update(lisence="x"),
            r"uiuc_cars: lisence is not a known key: did you mean licence\?",
        ),
        (lambda row: row.pop("citation"), "uiuc_cars: 'citation' is a required property"),
        (lambda row: row.update(files="many"), r"uiuc_cars files: 'many' is not of type 'integer'"),
        (lambda row: row.update(tree_sha256="0" * 63), r"uiuc_cars tree_sha256: .*64 hexadecimal digits"),
        (lambda row: row["sources"].update(ftp=None), "uiuc_cars sources: ftp is not a known key"),
        (
            lambda row: row["sources"]["mirror"].update(archive="../x.zip"),
            r"mirror.archive: .*without folders",
        ),
        (lambda row: row["sources"]["address"].update(urls=["ftp://x"]), r"urls.0: .*http or https"),
        (lambda row: row.update(tree_sha256=None), "uiuc_cars .*is not of type 'null'"),
        (lambda row: row.update(files=None), "uiuc_cars files: None is not of type 'integer'"),
        (lambda row: row["sources"].update(simulator="os.system"), r"simulator: .*simulate_<name>"),
    ],
)
def test_a_wrong_row_gives_one_clear_line(tmp_path, change, message):
    with pytest.raises(DataError, match=message) as caught:
        load_registry(changed(tmp_path, change), SCHEMA)
    assert "\n" not in str(caught.value)
    assert "registry.yaml" in str(caught.value)


def test_broken_yaml_names_the_line(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text("a: 1\nb: [2\n")
    with pytest.raises(DataError, match=r"registry.yaml, line 3: not valid YAML"):
        load_registry(path, SCHEMA)


def test_unknown_names_and_policies_are_refused(tmp_path, toy):
    with pytest.raises(ValueError, match="data set 'toys' is not in the registry: expected one of toy"):
        acquire("toys", tmp_path, registry=toy())
    with pytest.raises(ValueError, match="policy is 'fake': expected one of auto, real, simulated"):
        acquire("toy", tmp_path, policy="fake", registry=toy())


def test_a_simulator_that_does_not_exist_is_reported(tmp_path, toy):
    rows = toy(mirror=False)
    rows["toy"] = replace(rows["toy"], simulator="ermlab.absent.simulate_toy")
    with pytest.raises(
        DataError, match=r"names the simulator ermlab.absent.simulate_toy, which does not exist"
    ):
        acquire("toy", tmp_path / "raw", registry=rows)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("toy: 1\nother: 2\ntoy: 3\n", "line 3: not valid YAML: toy is given twice"),
        ("toy: 1" + 2000 * ":1", "line 1: not valid YAML: a number of 4001 characters"),
    ],
)
def test_a_registry_with_a_name_twice_or_an_endless_number_is_refused(tmp_path, text, problem):
    (tmp_path / "registry.yaml").write_text(text)
    with pytest.raises(DataError, match=problem):
        load_registry(tmp_path / "registry.yaml")


def test_a_registry_that_is_a_link_to_itself_is_not_there(tmp_path):
    (tmp_path / "registry.yaml").symlink_to(tmp_path / "registry.yaml")
    with pytest.raises(DataError, match="is not there"):
        load_registry(tmp_path / "registry.yaml")
