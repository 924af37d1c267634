# Everything a developer runs. `make demo` and `make test` need python3 >= 3.11 and nothing else.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ARGS   ?=

.PHONY: demo test test-peers test-faults test-all test-long test-n8n up lint types contract bench coverage-map docs reference fuzz lock clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.runtime            ## Tell a story: episodes, questions, a mood, a picture, merge, undo, as-of, rebuild.
	@$(BIN)/mnemolog demo

up: $(VENV)/.runtime              ## Run an engine with the HTTP API until Ctrl-C.
	@$(BIN)/mnemolog up $(ARGS)

# Some containers forbid it. Hundreds of processes of one run of the tests would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

# Python compiles a module when it is first imported; pip would compile all of them, one after another.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq --no-compile
# A locked file has every dependency, so that none is looked for.
LOCKED := --no-deps --require-hashes -r

# One more than there are cores: now and then each of them waits for its servers.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$(( n < 4 ? n + 1 : 4 )))
# File by file, in the order of tests/conftest.py: the longest first.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev                ## Run the tests on real servers, started on free ports.
	$(PYTEST) -m "not faults" $(ARGS)

test-faults: $(VENV)/.dev         ## Run the long tests of crashes, hangs and takeovers.
	$(PYTEST) -m faults $(ARGS)

test-all: $(VENV)/.dev            ## Run both: the tests of faults mostly wait, and others run meanwhile.
	$(PYTEST) -n $$(( $(WORKERS) + 1 )) $(ARGS)

test-peers: $(VENV)/peers/.peers  ## Run the tests with mem0's own package, in an environment of their own.
	$(VENV)/peers/bin/python -m pytest tests/adapters/mem0 $(ARGS)

test-long: $(VENV)/.dev           ## Run the tests of rules with twenty times as many examples, new ones each time.
	$(PYTEST) -m "hypothesis and not faults" --hypothesis-profile=long $(ARGS)

# More than 2 GB, and some minutes, for the first run on a machine; nothing of it is kept in the repository.
N8N_CACHE ?= $(or $(TMPDIR),/tmp)/mnemolog-n8n
NPM_INSTALL := npm install --no-package-lock --no-audit --no-fund --loglevel=error

test-n8n: $(VENV)/.dev $(N8N_CACHE)/n8n/.installed $(N8N_CACHE)/node/.installed  ## Run the workflow of the fast brain in a real n8n.
	MNEMOLOG_N8N=$(N8N_CACHE) $(BIN)/python -m pytest -q -s -p no:cacheprovider tests/n8n/fast_brain.py $(ARGS)

$(N8N_CACHE)/n8n/.installed: tests/n8n/package.json
	@echo "Installing n8n into $(@D) (once, some minutes)"
	@mkdir -p $(@D) && cp $< $(@D)/ && cd $(@D) && $(NPM_INSTALL) --omit=dev && touch $@

$(N8N_CACHE)/node/.installed: infra/clients/n8n/package.json
	@mkdir -p $(@D) && cp $< $(@D)/ && cd $(@D) && $(NPM_INSTALL) && touch $@

lint: $(VENV)/.dev                ## Check style and formatting.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev               ## Check types, strictly.
	$(BIN)/mypy

contract: $(VENV)/.dev            ## Check that imports point one way.
	PYTHONPATH=infra/typing $(BIN)/lint-imports

bench: $(VENV)/.bench              ## Run a benchmark: make bench NAME=ingest ARGS="--data FILE".
	$(BIN)/python -m tests.bench.$(or $(NAME),ingest) $(ARGS)

coverage-map: $(VENV)/.dev        ## Show which requirements have tests.
	@$(BIN)/python -m tests.coverage_map

docs: $(VENV)/.dev                ## Run every code block of the documentation.
	$(BIN)/python -m pytest tests/docs $(ARGS)

reference: $(VENV)/.dev           ## Write the reference of all operations from their registry.
	$(BIN)/python -m mnemolog.adapters.operations.reference > docs/reference/operations.md

fuzz: $(VENV)/.dev                ## Ask the HTTP API at length: make fuzz ARGS="--examples 500 --seed 7".
	$(BIN)/python -m tests.fuzz.run $(ARGS)

lock: $(VENV)/.dev                ## Pin every dependency again, with hashes.
	$(BIN)/python -m pip install -qq uv
	infra/lock $(BIN)/uv

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Mnemolog needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "python3 lacks its venv module; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: $(VENV)/bin/python infra/requirements.txt pyproject.toml
	@echo "Installing Mnemolog into $(VENV) (once, about a minute)"
	@$(PIP) $(LOCKED) infra/requirements.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.bench: $(VENV)/.dev infra/requirements-bench.txt
	@$(PIP) $(LOCKED) infra/requirements-bench.txt
	@touch $@

$(VENV)/peers/.peers: infra/requirements-peers.txt pyproject.toml
	@$(MAKE) --no-print-directory VENV=$(VENV)/peers $(VENV)/peers/bin/python
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV)/peers/bin/python -m pip install -qq $(LOCKED) $<
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV)/peers/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime infra/requirements-dev.txt
	@$(PIP) $(LOCKED) infra/requirements-dev.txt
	@# Once for all the processes of a test run. Some packages contain files for other versions of Python.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@
