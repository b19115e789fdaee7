# make            the whole report: environment, data, experiments, manual and book
# make smoke      the report at the smallest scale, in minutes
# make paper      the report at the published sizes: a night, or a cluster
# make figure ID=T-fig-2.1    run one exhibit again
# make reference  run the report on real data and keep its verdicts in reference/
# make reference SCALE=paper SECTIONS="tracking transfer"    the same for sections at the published sizes
# make compare    hold a run against the reference
# make docs       the manual alone: reports/html-manual/index.html
# make track IN=film/01 OUT=film/01_RES          track the cells of a film; MODEL=my.json for a tracker of your own
# make tracker IN=film/01 TRA=film/01_GT/TRA OUT=my.json    learn one from the cells that you annotated
# make environment            install the pinned environment into .venv
# make test       everything that continuous integration runs
# make test-bounds            only the tests of compiled code, with bounds checking
# make lint       check style and imports
# make format     format the code
# make lock       pin the newest versions that pyproject.toml allows
# make clean      remove what was built; raw data and the environment stay
# make help       this list

PYTHON ?= python3
BIN := .venv/bin
SNAKEMAKE := $(BIN)/snakemake

.DEFAULT_GOAL := report
.PHONY: report smoke paper reference compare figure track tracker test test-bounds lint format lock environment clean docs help

# Tests of all packages with compiled code, which also run with bounds checking.
KERNEL_TESTS := $(addprefix tests/unit/,_utils detection features fmri kernels metrics optimize ranking segmentation sparse \
	structured taxonomy tracking) $(addprefix tests/experiments/,joint_kernel_support ranking_bounds ranking_oracle \
	transfer vessels window_cascade) \
	$(addprefix tests/reproduction/datasets/,test_bold.py test_simulate_drive_vessels.py) tests/properties

report: environment
	@$(SNAKEMAKE)
	@echo "The report: reports/html/index.html"

smoke paper: environment
	@$(SNAKEMAKE) --config scale=$@
	@echo "The report: reports/html/index.html"

reference: SCALE ?= demo
reference: environment
	@$(SNAKEMAKE) $(SECTIONS:%=narrate_%) --config scale=$(SCALE) data=real
	@$(BIN)/python -m reproduction.book.write_reference --scale $(SCALE) $(SECTIONS)

compare: environment
	@$(BIN)/python -m reproduction.book.compare_reference

docs: environment
	@$(BIN)/python -m reproduction.book.build_manual

# The comment at the top of this file.
help:
	@sed -n '/^#/!q; s/^# //p' $(firstword $(MAKEFILE_LIST))

figure: environment
	@test -n "$(ID)" || { echo "which exhibit? for example: make figure ID=T-fig-2.1"; exit 2; }
	@section=$$($(BIN)/python workflow/reproduction/claims/section_of.py $(ID)) && $(SNAKEMAKE) $(ID) --forcerun narrate_$$section

track: environment
	@test -n "$(IN)" -a -n "$(OUT)" || { echo "which film, and where to? make track IN=film/01 OUT=film/01_RES"; exit 2; }
	@$(BIN)/ermlab track "$(IN)" "$(OUT)" $(if $(MODEL),--model "$(MODEL)") $(if $(FORCE),--force)

tracker: environment
	@test -n "$(IN)" -a -n "$(TRA)" -a -n "$(OUT)" || \
		{ echo "from what, and where to? make tracker IN=film/01 TRA=film/01_GT/TRA OUT=my.json"; exit 2; }
	@$(BIN)/ermlab track-train "$(IN)" "$(TRA)" "$(OUT)" $(if $(FORCE),--force)

# The processes of the tests share the cores: threads of the linear algebra would spin, waiting for each other.
test: export OMP_NUM_THREADS ?= 1
test: environment lint
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 25
	@$(MAKE) --no-print-directory test-bounds

# An index out of bounds is an IndexError here, where it would be a crash or a wrong number otherwise.
test-bounds: export NUMBA_BOUNDSCHECK := 1
test-bounds: export OMP_NUM_THREADS ?= 1
test-bounds: environment
	@$(BIN)/pytest -n 2 --dist loadfile --quiet $(KERNEL_TESTS)

lint: environment
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/snakefmt --check --compact-diff Snakefile workflow

format: environment
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow

environment: .venv/.installed

# --no-deps: the lock is complete, and leaves out python-mip's CBC on purpose (see README.md).
.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else \
		"ermlab needs Python 3.11 to 3.13, this is " + sys.version.split()[0] + ": make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the pinned environment into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# The versions that fit the oldest Python are taken for all, so that one list serves everywhere.
lock:
	@$(PYTHON) -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.cache/uv/bin/uv pip compile pyproject.toml --quiet --all-extras --upgrade --python-version 3.11 \
		--override config/lock-overrides.txt --no-emit-package ermlab --no-header --no-annotate \
		-o .cache/uv/oldest.txt
	@.cache/uv/bin/uv pip compile pyproject.toml --quiet --all-extras --upgrade --python-version 3.11 \
		--override config/lock-overrides.txt --constraint .cache/uv/oldest.txt --universal \
		--fork-strategy fewest --generate-hashes --no-header --no-annotate -o requirements.lock \
		--no-emit-package ermlab --no-emit-package cbcbox --no-emit-package rfc3987-syntax --no-emit-package lark
	@{ cat config/environment-head.yml; \
		sed -nE 's/^([A-Za-z0-9._-]+==.*[^ ]) \\$$/      - \1/p' requirements.lock; } > environment.yml

clean:
	rm -rf .cache .snakemake data/processed data/results logs reports
