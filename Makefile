# Two commands do everything on a machine with Python 3.11+ and git:
#   make try    in a temporary directory: a recorded session, and what the next one is told of it, on one screen
#               (DEMO=ko: in Korean; ALL=1: all that it is told)
#   make test   the test suite
# `make test-e2e` runs the real Claude Code, Codex, Gemini CLI and OpenCode against it, offline, and clients of MCP that
# are not ours; npm brings them (1.6 GB).
# `make test-e2e-hosts` runs all agents that npm brings, six more (1.5 GB).
# GITMEM_HOSTS=FOLDER has both keep the agents there, for several checkouts.
# `make pictures` makes those of the viewer in docs/, with chromium.
# The rest is for people who work on gitmem. All of it runs in .venv, which the first target makes: with gitmem alone, and
# what its tests and checks need as soon as one of these is asked for.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
READY := $(VENV)/ready

.PHONY: try pictures test test-slow test-e2e test-e2e-hosts lint types layers format clean

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gitmem needs Python 3.11 or later; say PYTHON=python3.13 make ...")'
	@echo "gitmem is installed into $(VENV), once."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(INSTALLED)

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

try: $(INSTALLED)
	@$(BIN)/python packaging/demo.py $(DEMO) $(if $(ALL),--all)

pictures: $(READY)
	PICTURES=docs $(BIN)/python -m pytest -q -m e2e tests/e2e/test_web.py -k pictures

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not e2e'

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'slow or hypothesis' --timeout 600

test-e2e: $(READY)
	$(BIN)/python -m pytest tests/e2e -m 'e2e and not hosts'

test-e2e-hosts: $(READY)
	$(BIN)/python -m pytest -m e2e tests/e2e/test_hosts.py tests/e2e/test_plugin.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
