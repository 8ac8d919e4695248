# Every target works on a machine with Python 3.11 or newer and make. It creates .venv and installs logikern there
# once, and again when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
WORKERS ?= 2
# Duration and first seed of `make fuzz`. The default seed is the time, so every run has other cases.
MINUTES ?= 20
FIRST ?= $(shell date +%s)000
# Tests of `make test-lowest` and `make test-newest`, and the packages that they need besides logikern's own.
TESTS ?= tests
TEST_TOOLS := pytest pytest-xdist hypothesis towncrier polars networkx psutil
# Of `make reproduce` and `make bench`: names of parts, and 1 for a run of what is current, or for no run at all.
PART ?=
AGAIN ?=
STORED ?=
QUICK ?=
export LOGIKERN_DATA ?= ../shared/data

# One thread per test worker: more would compete for the same cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
CHOICE = $(foreach part,$(PART),--part $(part)) $(if $(AGAIN),--again) $(if $(STORED),--stored) $(if $(QUICK),--quick)

.PHONY: help demo test test-lowest test-newest fuzz lint reproduce reproduce-quick bench docs release-check clean
.DEFAULT_GOAL := help

help:
	@echo "make demo             fit and compare on bundled data, offline"
	@echo "make test             the test suite, WORKERS=$(WORKERS) processes"
	@echo "make test-lowest      TESTS=$(TESTS) with the oldest supported libraries; test-newest: with the newest"
	@echo "make fuzz             compare with a second implementation on random data, MINUTES=$(MINUTES), FIRST=a seed"
	@echo "make lint             ruff and mypy"
	@echo "make reproduce        docs/reproduction.md, tables and figures of the papers: PART=ripley, AGAIN=1, STORED=1"
	@echo "make reproduce-quick  small versions of the same in under a minute, written to build/quick"
	@echo "make bench            docs/benchmarks.md, ours against others: PART=large, AGAIN=1, STORED=1"
	@echo "make docs             the documentation site, in build/site"
	@echo "make release-check    build the archives, check them, and test-install them in clean environments"
	@echo "make clean            remove .venv, caches and build products"
	@echo "reproduce and bench run the parts whose results are not current; data in LOGIKERN_DATA=$(LOGIKERN_DATA)"
	@echo "Another interpreter: make PYTHON=python3.12 test"

$(INSTALLED): pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || \
		{ echo "No '$(PYTHON)' found. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "logikern needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name a newer one: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

demo: $(INSTALLED)
	$(BIN)/logikern demo

test: $(INSTALLED)
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS)

fuzz: $(INSTALLED)
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz.run --minutes $(MINUTES) --first $(FIRST)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/mypy

# uv chooses the libraries: the lowest versions that pyproject.toml allows, or the newest that exist.
define test-with
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(PYTHON) -m venv --clear build/$(1)
	$(BIN)/uv pip install --quiet --python build/$(1)/bin/python --resolution $(1) -e '.[all,dask]'
	$(BIN)/uv pip install --quiet --python build/$(1)/bin/python $(TEST_TOOLS)
	$(ONE_THREAD) build/$(1)/bin/python -m pytest -n $(WORKERS) $(TESTS)
endef

test-lowest: $(INSTALLED)
	$(call test-with,lowest-direct)

test-newest: $(INSTALLED)
	$(call test-with,highest)

release-check: $(INSTALLED)
	rm -rf dist build/bare build/cli
	$(BIN)/python -m build
	$(BIN)/python -m tests.packaging.archives dist/*
	$(BIN)/towncrier build --draft > /dev/null
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/bare/bin/python tests/packaging/bare.py
	$(PYTHON) -m venv build/cli
	build/cli/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli]"
	build/cli/bin/logikern demo > /dev/null
	@echo "the archives in dist are ready"

reproduce: $(INSTALLED)
	$(BIN)/python benchmarks/reproduction.py $(CHOICE)

reproduce-quick: $(INSTALLED)
	$(BIN)/python benchmarks/reproduction.py --quick $(CHOICE)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/comparison.py $(CHOICE)

$(VENV)/.docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html. For the search box: $(BIN)/python -m http.server -d build/site"

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
