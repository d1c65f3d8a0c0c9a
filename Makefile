# Every target sets up what it needs (a virtual environment in .venv, pinned by constraints.txt), then does its work.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/pip install --quiet --quiet --no-compile

unexport PYTHONDONTWRITEBYTECODE # bytecode is kept, whatever the shell says: tests start hundreds of processes

.DEFAULT_GOAL := help
.PHONY: help demo test test-all mutants fuzz simulate paper paper-tests check minimum format bench bench-scale docs dist clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.ready-demo ## see it work on a small study that ships with the package
	@$(BIN)/dissensus demo

test: $(VENV)/.ready-dev $(VENV)/.kernels ## run the tests, but for those that are rare or long
	@$(BIN)/pytest -n 2 --dist worksteal

test-all: $(VENV)/.ready-rare $(VENV)/.kernels ## run all tests
	@HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n 2 --dist worksteal -m ""

mutants: $(VENV)/.ready-dev ## break the code in small ways and see whether the tests notice; some minutes
	@PYTHONPATH=tests $(BIN)/python -m mutants

fuzz: $(VENV)/.ready-dev ## read 20 000 spoiled files and see whether one is read wrongly; some minutes
	@PYTHONPATH=tests $(BIN)/python -m fuzz --mutants 20000 --seed $(or $(SEED),1)

simulate: $(VENV)/.ready-dev $(VENV)/.kernels ## see on simulated studies whether intervals hold; some minutes
	@PYTHONPATH=tests $(BIN)/python -m simulation

paper: $(VENV)/.ready-paper $(VENV)/.kernels ## reproduce the paper and run all trials, into their pages; needs DATA=DIR, an hour
	@$(BIN)/python -m paper $(or $(DATA),data) $(if $(STUDIES),--studies $(STUDIES))

paper-tests: $(VENV)/.ready-paper $(VENV)/.kernels ## test the experiments, the trials and the loaders of published data
	@$(BIN)/pytest paper -n 2 --dist worksteal -o "pythonpath=. tests"

check: $(VENV)/.ready-dev ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

minimum: $(VENV)/.ready-demo ## try the oldest versions that are declared, in a place of their own
	@$(BIN)/python tests/minimum/versions.py

format: $(VENV)/.ready-dev ## let ruff format and mend what it can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-bench $(VENV)/.kernels ## measure; ratios of one run go to benchmarks/results.json (OLD=DIR: a checkout of version 0.2, in the same run)
	@rm -f benchmarks/raw.jsonl benchmarks/old.json
	@PYTHONPATH=benchmarks MEASURED=benchmarks/raw.jsonl DISSENSUS_OLD=$(OLD) $(BIN)/pytest benchmarks -o pythonpath=benchmarks -p recording -p no:cacheprovider -s
	@$(if $(OLD),cd $(OLD) && PYTHONPATH=src $(CURDIR)/$(BIN)/pytest benchmarks --benchmark-only -o pythonpath=benchmarks --benchmark-json=$(CURDIR)/benchmarks/old.json -p no:cacheprovider)
	@$(BIN)/python benchmarks/ratios.py benchmarks/raw.jsonl benchmarks/results.json $(if $(OLD),benchmarks/old.json)

bench-scale: $(VENV)/.ready-dev $(VENV)/.kernels ## measure a million cases, into docs/evidence/scale.md; half an hour (SIZES=10000,30000 to try)
	@PYTHONPATH=benchmarks $(BIN)/python -m scale

docs: $(VENV)/.ready-docs $(VENV)/.kernels ## build the documentation into site/, and follow its links
	@$(BIN)/python docs/assembly.py pages build/pages
	@$(BIN)/zensical build --clean --strict
	@$(BIN)/python docs/assembly.py check site

dist: $(VENV)/.ready-dist ## build wheel and sdist into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist

clean: ## remove what make made
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/.ready-demo: pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Dissensus needs Python 3.11 or newer; got $$($(PYTHON) --version). Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.ready-pip: $(VENV)/.ready-demo
	@$(PIP) --upgrade pip # which knows groups
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready-pip
	@echo "adding what tests and checks need (once)"
	@$(PIP) --group dev
	@touch $@

$(VENV)/.ready-rare: $(VENV)/.ready-dev
	@$(PIP) --group rare
	@touch $@

$(VENV)/.ready-paper: $(VENV)/.ready-dev
	@$(PIP) --group paper
	@touch $@

$(VENV)/.ready-bench: $(VENV)/.ready-dev
	@$(PIP) --group peers
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready-pip
	@$(PIP) --group docs
	@touch $@

$(VENV)/.ready-dist: $(VENV)/.ready-pip
	@$(PIP) --group dist
	@touch $@

$(VENV)/.kernels: $(wildcard src/dissensus/kernels/*.py) | $(VENV)/.ready-demo
	@echo "compiling all kernels (once; some 25 seconds)"
	@$(BIN)/dissensus compile
	@touch $@
