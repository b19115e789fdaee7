# What all rules share: the validated configuration, the exhibits, the data sets, the digests of library code.

import os
from dataclasses import asdict
from pathlib import Path

from ermlab.datasets.registry import MIRROR_VARIABLE, load_registry
from ermlab.errors import DataError
from ermlab.evaluation.exhibits import load_exhibits
from ermlab.evaluation.results import read_json
from ermlab.workflow.config import load_config
from ermlab.workflow.digest import library_digest
from ermlab.workflow.locks import clear_stale_lock
from ermlab.workflow.parameters import declared_parameters

try:
    config = load_config(config)
    catalogue = load_exhibits("config/exhibits.yaml")
    registry = load_registry("data/registry.yaml")
except DataError as error:
    raise WorkflowError(str(error)) from None

# Compiled kernels are kept in the project folder, where a stale cache of another clone cannot be met.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(".cache/numba").resolve()))
# Where a mirror lies says nothing about the data in it, so it is no parameter of a rule.
if config["mirror"]:
    os.environ[MIRROR_VARIABLE] = config["mirror"]

if workflow.is_main_process:
    run_lock = clear_stale_lock()


wildcard_constraints:
    dataset="|".join(sorted(registry)),
