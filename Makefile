# Both commands set up all they need: a virtual environment in .venv, made with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The matrices are small: threads of the linear algebra only get into the way of the workers.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-all tests tests-all bench docs lint release-check clean

demo: $(VENV)/.installed
	$(BIN)/fairbound demo

# Types are checked, by one processor, while tests run.
test: $(VENV)/.installed-test
	$(MAKE) --jobs=2 lint tests

test-all: $(VENV)/.installed-test $(VENV)/.installed-release $(VENV)/.installed-engines
	$(MAKE) --jobs=2 lint tests-all

# A file is run by one worker, so that what its tests share is made once.
tests: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

tests-all: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	@echo "open build/docs/index.html"

release-check: $(VENV)/.installed-release
	$(BIN)/python tools/release_check.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable . --group test
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable . --group docs
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable . --group bench
	@touch $@

$(VENV)/.installed-engines: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable . --group engines
	@touch $@

$(VENV)/.installed-release: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --group release
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis fairbound-demo
