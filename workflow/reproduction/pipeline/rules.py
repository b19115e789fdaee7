"""Derive log, benchmark, resources, settings and digest of a rule from its script.

A rule names its script once. `complete_rules` derives the rest, after all rules are read:

- the log and the benchmark from the name and the wildcards of the rule;
- memory and run time, where the rule does not ask for others;
- the settings: every keyword-only parameter of the script's ``main`` that the rule does not give in its
  ``params`` is taken from the block of the configuration that is named like the folder of the script, and
  ``seed`` from the top level. For a parameter that is annotated with a dataclass, the fields are taken;
- the digest of all code that the script imports, so that a change in the library reruns the rule. A rule that
  gives ``library`` itself, as those of notebooks do, gives all of its parameters.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.pipeline.digest import Library

#: Parameters of a rule that are not passed to its script: a change in them only reruns the rule.
DERIVED = ("library", "tracked")
DEFAULT_RESOURCES = {"mem_mb": 2000, "runtime": 30}


def complete_rules(workflow: Any, config: Mapping[str, Any], library: Library) -> None:
    """Complete all rules that have a script; raise ValueError if a setting is missing."""
    from snakemake.resources import Resources  # scripts import this module, and need no Snakemake

    for rule in workflow.rules:
        if rule.script is None:
            continue
        script = Path(os.path.relpath(rule.basedir.join(rule.script).get_path_or_uri(secret_free=True)))
        if not script.is_file():
            raise ValueError(f"rule {rule.name}: no script {script}")
        place = "/".join([rule.name, *(f"{{{name}}}" for name in sorted(rule.wildcard_names))])
        rule.log_modifier = rule.benchmark_modifier = workflow.modifier.path_modifier
        if not rule.log:
            rule.set_log(f"logs/{place}.log")
        if not rule.benchmark:
            rule.benchmark = f"logs/benchmarks/{place}.tsv"
        defaults = {name: value for name, value in DEFAULT_RESOURCES.items() if name not in rule.resources}
        rule.resources.update(Resources.from_mapping(defaults))
        given = set(rule.params.keys())
        if "library" not in given:
            block = {"seed": config["seed"], **config.get(script.parent.name, {})}
            settings = rule_settings(script, library, block, given, rule.name)
            rule.set_params(**settings, library=library.digest(script))


def rule_settings(
    script: Path, library: Library, block: Mapping[str, Any], given: set[str], rule: str
) -> dict[str, Any]:
    """Return the values of the keyword-only parameters of a script's ``main`` that its rule does not give."""
    values = {}
    for parameter in library.parameters(script):
        name = parameter.name
        if name in given or name == "threads":
            continue
        fields = library.dataclass_fields(script, parameter.annotation) if parameter.annotation else None
        wanted = fields if fields is not None else {name: parameter.optional}
        if missing := [key for key, optional in wanted.items() if key not in block and not optional]:
            raise ValueError(
                f"rule {rule}: main of {script} takes {', '.join(missing)}, which neither the rule gives nor "
                f"the block {script.parent.name} of the configuration"
            )
        taken = {key: block[key] for key in wanted if key in block}
        if fields is not None:
            values[name] = taken
        else:
            values |= taken
    return values
