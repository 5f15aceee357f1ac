# make site          set everything up, build the site and serve it on a local port (SERVE=0 only builds, PORT=8000)
# make setup         set everything up, nothing more
# make test          set everything up and run all tests (TEST_FLAGS="--all-rows" and the like are passed to pytest)
# make check         formatting, lint, types, workflows
# make format        rewrite the files that `make check` would complain about, where a tool can
# make wheel         build dist/*.whl
# make clean         remove what these commands made

SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
JOBS ?= 2
PORT ?= 8000
SERVE ?= 1
TEST_FLAGS ?=
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help setup site test check format wheel clean

help:
	@sed -n 's/^# //p;/^$$/q' Makefile

setup: $(READY)

# Made again when a dependency changes; otherwise nothing here calls pip. The build backend comes first, so that the
# project itself is installed without an isolated environment of other versions.
$(READY): pyproject.toml constraints.txt scripts/hatch_build.py
	@if [ -z "$(PYTHON)" ]; then echo "TileOps needs Python 3.11 or newer, and found none. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu install its package python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (once; a few minutes) ..."
	@$(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt hatchling
	@$(PY) -m pip install -qq --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@

# Coverage is checked twice: what the sources say before the build, and what the pages hold after it.
site: setup
	$(PY) scripts/check_api_coverage.py --stage 1
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	$(PY) scripts/check_api_coverage.py --stage 2 --site site
ifneq ($(SERVE),0)
	@$(PY) scripts/serve_site.py --port $(PORT)
endif

# One thread a worker: two workers on two cores leave nothing to a second thread.
test: setup
	@command -v g++ >/dev/null || { echo "The CPU target compiles with g++, which is not on PATH" >&2; exit 1; }
	@command -v nvcc >/dev/null || echo "nvcc is not on PATH: tests that compile CUDA source are skipped"
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null || echo "Chromium is not on PATH: tests of pages in a browser are skipped"
	OMP_NUM_THREADS=1 PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pytest -n $(JOBS) --dist loadscope $(TEST_FLAGS)

check: setup
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/actionlint

format: setup
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

wheel: setup
	$(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
