"""What holds for every rule, and how the workflow answers a user's mistakes and wishes."""

import re
from pathlib import Path

import pytest
from conftest import run_snakemake
from snakemake.api import SnakemakeApi
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings

ROOT = Path(__file__).parents[2]
SMOKE = ("--config", "scale=smoke")
STAGES = "acquire|prepare|select|compare|train|evaluate|narrate|check|collect|build"


@pytest.fixture(scope="module")
def rules():
    """The rules of the workflow that run a script, as Snakemake has read them."""
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(
            ResourceSettings(cores=1),
            config_settings=ConfigSettings(config={"scale": "smoke"}),
            snakefile=ROOT / "Snakefile",
            workdir=ROOT,
        )
        yield [rule for rule in workflow._workflow.rules if rule.script is not None]


def test_every_rule_has_log_benchmark_memory_time_message_and_digest(rules):
    assert len(rules) > 70
    for rule in rules:
        assert re.fullmatch(rf"({STAGES})_\w+", rule.name), f"{rule.name} is not named stage_noun"
        assert rule.log, rule.name
        assert rule.benchmark, rule.name
        assert rule.message, rule.name
        assert {"mem_mb", "runtime"} <= set(rule.resources), rule.name
        assert re.fullmatch("[0-9a-f]{16}", rule.params.library), rule.name


def test_logs_are_named_after_rules_and_wildcards(rules):
    by_name = {rule.name: rule for rule in rules}
    assert str(by_name["prepare_car_words"].log[0]) == "logs/prepare_car_words/{seed}.log"
    assert str(by_name["check_claims"].log[0]) == "logs/check_claims.log"


def test_one_exhibit_needs_just_its_own_experiment(project):
    plan = run_snakemake(project, "T-fig-2.1", "--dry-run", *SMOKE)
    assert plan.returncode == 0, plan.stdout
    assert "evaluate_structured_losses" in plan.stdout
    assert "narrate_structured_losses" in plan.stdout
    assert "acquire" not in plan.stdout
    assert "ranking_bounds" not in plan.stdout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("scal=smoke", "config: scal is not a known key: did you mean scale?"),
        ("scale=tiny", "config: scale is 'tiny': expected one of demo, paper, smoke"),
        ("seed=-1", "config: seed: -1 is less than the minimum of 0"),
        ("data=fake", "config: data: 'fake' is not one of ['auto', 'real', 'simulated']"),
    ],
)
def test_a_wrong_setting_is_reported_in_one_line(project, setting, message):
    answer = run_snakemake(project, "--dry-run", "--config", setting)
    assert answer.returncode != 0
    told = [line for line in answer.stdout.splitlines() if message in line]
    assert len(told) == 1, answer.stdout
    assert "Traceback" not in answer.stdout


def test_an_unknown_exhibit_is_reported(project):
    answer = run_snakemake(project, "T-fig-99", "--dry-run", *SMOKE)
    assert answer.returncode != 0
    assert "T-fig-99" in answer.stdout
    assert "Traceback" not in answer.stdout


def test_snakemake_finds_no_fault_but_one(project):
    answer = run_snakemake(project, "--lint")
    found = {line.strip() for line in answer.stdout.splitlines() if line.strip().startswith("* ")}
    # The Snakefile itself imports the library, so the one pinned environment must be active before any rule
    # runs: an environment for each rule would only repeat it.
    assert found <= {"* Specify a conda environment or container for each rule.:"}
