# Two commands set a fresh machine up: `make demo` and `make test`. Both need only Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := integrations langchain_tools llamaindex_tools

.PHONY: demo test test-real check bench lock clean

demo: $(VENV)/.demo
	$(BIN)/unabridged demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --nbmake notebooks -p no:socket -W default

# Needs root once, on Debian: the script installs the servers that the tests start by themselves.
test-real: $(VENV)/.dev
	bash tests/real/install.sh
	$(BIN)/python -m pytest -m real tests/real

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry $(ROOMS)
	$(BIN)/codespell

bench: $(VENV)/.dev
	$(BIN)/pip install --quiet --constraint constraints.txt --group bench
	$(BIN)/python -m benchmarks

# Writes what is installed now as the pinned development environment.
lock: $(VENV)/.dev
	$(BIN)/pip freeze --exclude-editable | grep -E '^[A-Za-z0-9_.-]+==' > constraints.txt

clean:
	rm -rf $(VENV) dist build

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade --constraint constraints.txt pip

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[langchain,llamaindex,demo]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	touch $(VENV)/.demo $@
