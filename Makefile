# Two commands are all a newcomer needs: make demo, make test.
# PYTHON names the interpreter (3.11 or newer), VENV the environment's folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help demo page test check lint format types model install clean

help:
	@echo "make demo     install, index the bundled decisions, answer three propositions"
	@echo "make page     open the page on the demo's index (http://127.0.0.1:8420, stop with Ctrl-C)"
	@echo "make test     install what the tests need (torch among it; TORCH=0 leaves it out), run them all"
	@echo "make check    lint, format and type checks"
	@echo "make model    train the stance model that ships, from the bundled propositions"
	@echo "make install  install the program with the page, into $(VENV) (TRAIN=1: with what training needs)"
	@echo "make clean    remove $(VENV)"

demo: $(VENV)/.installed
	@$(BIN)/sicetnon demo

page: $(VENV)/.installed
	@$(BIN)/sicetnon serve

# Torch and what builds on it are there for the encoder that loads a local directory; TORCH=0 skips its tests.
TORCH ?= 1
ifeq ($(TORCH),1)
test: $(VENV)/.installed-dev $(VENV)/.installed-torch
else
test: $(VENV)/.installed-dev
endif
	$(BIN)/python -m pytest

check: lint types

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

model: $(VENV)/.installed
	$(BIN)/sicetnon train-stance --out src/sicetnon/data/stance-model.json > docs/stance-report.json.new
	mv docs/stance-report.json.new docs/stance-report.json
	@cat docs/stance-report.json

# TRAIN=1 installs what training needs as well: torch above all.
TRAIN ?= 0
ifeq ($(TRAIN),1)
install: $(VENV)/.installed $(VENV)/.installed-torch
else
install: $(VENV)/.installed
endif

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[serve,evaluate]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

# Named first and alone, so that the build of torch that this machine offers is the one that the rest is fitted to.
$(VENV)/.installed-torch: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch
	$(PIP) --editable '.[train]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11; name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) has no venv; on Debian: apt-get install python3-venv"; exit 1; }

clean:
	rm -rf $(VENV)
