# Two commands do everything on a machine with Python 3.11+ and git:
#   make try    in a temporary directory: a recorded session, and what the next one is told of it, on one screen
#               (DEMO=ko: in Korean; ALL=1: all that it is told)
#   make test   the test suite
# `make test-e2e` runs the real Claude Code, Codex, Gemini CLI and OpenCode against it, offline, and clients of MCP that
# are not ours; npm brings them (1.6 GB).
# `make test-e2e-hosts` runs all agents that npm brings, six more (1.5 GB).
# GITMEM_HOSTS=FOLDER has both keep the agents there, for several checkouts.
# `make pictures` makes those of the viewer in docs/, with chromium.
# The rest is for people who work on gitmem. All of it runs in .venv, which the first target makes: with gitmem alone,
# what its tests need or what its checks and chromium need, as soon as one of these is asked for.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then; to compile all takes a third of an installation.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable
MADE := $(VENV)/made
INSTALLED := $(VENV)/installed
READY := $(VENV)/ready
TOOLS := $(VENV)/tools

.PHONY: try pictures test test-slow test-e2e test-e2e-hosts lint types layers format clean

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gitmem needs Python 3.11 or later; say PYTHON=python3.13 make ...")'
	@echo "gitmem is installed into $(VENV), once."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(INSTALLED): pyproject.toml $(MADE)
	@$(INSTALL) .
	@touch $@

$(READY): pyproject.toml $(MADE)
	$(INSTALL) '.[test]'
	touch $(INSTALLED) $@

$(TOOLS): $(READY)
	$(INSTALL) '.[dev]'
	touch $@

try: $(INSTALLED)
	@$(BIN)/python packaging/demo.py $(DEMO) $(if $(ALL),--all)

pictures: $(TOOLS)
	PICTURES=docs $(BIN)/python -m pytest -q -m e2e tests/e2e/test_web.py -k pictures

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not e2e'

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'slow or hypothesis' --timeout 600

test-e2e: $(TOOLS)
	$(BIN)/python -m pytest tests/e2e -m 'e2e and not hosts'

test-e2e-hosts: $(READY)
	$(BIN)/python -m pytest -m e2e tests/e2e/test_hosts.py tests/e2e/test_plugin.py

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TOOLS)
	$(BIN)/mypy

layers: $(TOOLS)
	$(BIN)/lint-imports

format: $(TOOLS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
