# Everything runs from here: each target sets up what it needs in a virtual environment of its own.
SHELL := /bin/sh
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
COMPILED := $(VENV)/compiled
QUIET := --quiet --disable-pip-version-check
LOCK := requirements/ci.txt
FUZZ_SECONDS ?= 600
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

.DEFAULT_GOAL := help
.PHONY: help demo recordings test fast check style types docs size bench mutants fuzz soak agents schemas rules dist lock clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml $(LOCK)
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed and was not found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(QUIET) --require-hashes --requirement $(LOCK)
	@$(BIN)/python -m pip install $(QUIET) --no-deps --no-build-isolation --editable .
	@touch $@

# Python may be told not to write bytecode, and then compiles everything at every start.
$(COMPILED): $(READY) $(shell find acp_proxy tests/agents -name '*.py')
	@$(BIN)/python -m compileall -q acp_proxy tests/agents
	@touch $@

demo: $(COMPILED) ## talk to a real agent, record it with a real client, show the recording
	@$(BIN)/python -m tests.agents.demo $(BIN)/acp-proxy

recordings: $(COMPILED) ## make the recordings in recordings/ anew, and what the manual and tests show of them
	@$(BIN)/python -m tests.agents.make_recordings $(BIN)/acp-proxy recordings
	@$(BIN)/python -m tests.tools.questions
	@$(BIN)/python -m tests.tools.walkthrough
	@$(BIN)/python -m tests.tools.pictures
	@$(BIN)/python -m tests.tools.page_pictures
	@$(BIN)/python -m tests.tools.screens
	@for name in tour edit-rejected; do \
		$(BIN)/acp-proxy transcript recordings/$$name.db >tests/data/transcripts/$$name.md; done

# The packages from npm are installed beside those of Python, which leave a core idle.
test: ## every test, JOBS=N at a time (one more than there are cores, since many wait)
	@test -z "$(PYTHON)" || $(PYTHON) -m tests.support.npm_packages & \
		$(MAKE) --no-print-directory $(COMPILED); made=$$?; wait; exit $$made
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=10

fast: $(COMPILED) ## the tests that take no time
	@$(BIN)/python -m pytest -m 'not slow and not soak' -x -q

check: style types size test docs ## style, types, size, tests and docs: what has to be green

# Without Node, the scripts of the report are not checked.
style: $(READY) ## ruff: lint and format; the English; eslint for the scripts of the report
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tests.tools.prose
	@$(BIN)/python -m tests.tools.front_end_checks style

types: $(READY) ## mypy, strict; tsc for the scripts of the report
	@$(BIN)/mypy
	@$(BIN)/python -m tests.tools.front_end_checks types

docs: $(READY) ## the manual agrees with the code
	@$(BIN)/python -m pytest -q tests/unit/test_docs.py

size: ## count the lines of code of the package, room by room; fails above what pyproject.toml allows
	@$(PYTHON) -m tests.tools.size

bench: $(COMPILED) ## figures, as ratios to a direct pipe and to a C copier
	@$(BIN)/python -m bench

mutants: $(COMPILED) ## change the code in small ways; the tests have to notice at least 85 % of them
	@$(BIN)/python -m pip install $(QUIET) 'mutmut>=3.8'
	@$(BIN)/mutmut run >/dev/null
	@$(BIN)/python -m tests.tools.mutants $(BIN)/mutmut

# atheris has no wheel for every Python and system; without it Hypothesis alone looks for inputs.
fuzz: $(COMPILED) ## each fuzzer, FUZZ_SECONDS=600 or FUZZ_TARGETS="log_reader splicing" to choose
	@$(BIN)/python -m pip install $(QUIET) --only-binary :all: 'atheris>=3' \
		2>/dev/null || echo "make: atheris cannot be installed here; Hypothesis runs alone"
	@$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

soak: $(COMPILED) ## the long runs: hundreds of kills, a million frames
	@$(BIN)/python -m pytest -m soak

agents: $(READY) ## read the known agents anew from the official registry, or from REGISTRY=FILE
	@$(BIN)/python -m tests.tools.known_agents $(REGISTRY)

schemas: $(READY) ## derive the types of messages anew from the official schemas
	@$(BIN)/python -m tests.tools.schemas

rules: $(READY) ## write the page of all rules of `check` anew, docs/rules.md
	@$(BIN)/python -m tests.tools.rules_page

# The same files give the same bytes: without SOURCE_DATE_EPOCH, times are those of 2020.
dist: $(READY) ## the wheel and the source distribution, in dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build

# One lock for all Pythons and systems; no name of a registry gets into it.
lock: ## choose the newest versions of all that tests need, with hashes, for Python and npm
	@$(PYTHON) -m venv .cache/lock
	@.cache/lock/bin/python -m pip install $(QUIET) uv
	@.cache/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-header --extra dev pyproject.toml requirements/build.in --output-file $(LOCK)
	@cd tests/integration/npm && npm install --package-lock-only --ignore-scripts --silent \
		--omit-lockfile-registry-resolved

clean: ## remove what make made
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
