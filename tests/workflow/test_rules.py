"""What holds for every rule, and how the workflow answers a user's mistakes and wishes."""

import re
from pathlib import Path

import pytest
from conftest import run_snakemake

ROOT = Path(__file__).parents[2]
RULE_FILES = [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]
SMOKE = ("--config", "scale=smoke")


def rules():
    """Yield (name, text) of every rule that does work: targets only name their inputs."""
    for path in RULE_FILES:
        for block in re.split(r"^\s*(?=rule\b.*:$)", path.read_text(), flags=re.MULTILINE)[1:]:
            if "script:" in block or "shell:" in block:
                named = re.match(r"rule (\w+):", block) or re.search(r'name:\s+f?"(\w+)', block)
                yield named.group(1), block


@pytest.mark.parametrize(("name", "text"), list(rules()), ids=[name for name, _ in rules()])
def test_every_rule_names_its_log_benchmark_threads_memory_and_time(name, text):
    verbs = "acquire|prepare|choose|compare|train|evaluate|narrate|check|collect|build"
    assert re.match(rf"({verbs})_\w*", name), f"{name} is not named verb_noun"
    for directive in ("log:", "benchmark:", "threads:", "mem_mb=", "runtime=", "message:", "library="):
        assert directive in text, f"rule {name} has no {directive}"


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
def test_a_wrong_setting_is_told_in_one_line(project, setting, message):
    answer = run_snakemake(project, "--dry-run", "--config", setting)
    assert answer.returncode != 0
    told = [line for line in answer.stdout.splitlines() if message in line]
    assert len(told) == 1, answer.stdout
    assert "Traceback" not in answer.stdout


def test_an_unknown_exhibit_is_told(project):
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
