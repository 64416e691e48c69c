# Make shows each command that it runs; you can also run these commands yourself (docs/environments.md).
# Variables: make demo PYTHON=python3.12 VENV=/scratch/wordorder CORES=8 PROFILE=slurm

PYTHON ?= python3
VENV ?= .venv
COMET_VENV ?= .venv-comet
AUDIT_VENV ?= .venv-audit
CORES ?= 2
PROFILE ?= local
STUDY ?= demo
BUNDLE ?= results/reference/$(STUDY)
MINUTES ?= 10

# The tools of the environment come first in PATH, also for programs that they start (snakefmt starts shfmt).
export PATH := $(abspath $(VENV))/bin:$(PATH)
# A container may forbid Python to keep compiled modules; every process would then compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE
SNAKEFILES = Snakefile workflow

.PHONY: help setup setup-dev demo study report gpu-report reference import verify-reference rebuild-references pages test test-slow test-long test-all test-comet fidelity benchmarks fuzz docs lint format comet lock audit sbom clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/.stamp  ## Create the environment in VENV, or update it after a change of pyproject.toml or the lock

setup-dev: $(VENV)/.stamp-dev  ## Create the environment with the developers' tools

demo: STUDY = demo
demo: study report  ## Run the demo study, build its page and report, and print its results
	wordorder results demo
	@echo "Snakemake's report is $(CURDIR)/results/demo/report.html"
	@echo "The page to open is   $(CURDIR)/results/demo/index.html"

study: setup  ## Run the study STUDY on CORES cores with the profile PROFILE
	snakemake $(STUDY) --profile $(PROFILE) --cores $(CORES)

report: study  ## Build Snakemake's report, results/STUDY/report.html
	snakemake $(STUDY) --report results/$(STUDY)/report.html

gpu-report: STUDY = posnet
gpu-report: setup  ## Measure speed, memory and forward passes of STUDY (posnet) on this GPU, in about 20 minutes
	wordorder gpu-report $(STUDY)

reference: setup  ## Write the finished study STUDY to results/reference as a small bundle
	wordorder stage write-reference $(STUDY) --output results/reference/$(STUDY)

import: setup  ## Import from BUNDLE (results/reference/STUDY) the results of models that STUDY needs
	snakemake prepare_all --config study=$(STUDY) --profile $(PROFILE) --cores $(CORES)
	wordorder stage import-reference $(STUDY) $(BUNDLE)

verify-reference: setup  ## Score the translations of STUDY in results/reference again and compare its tables
	texts=$$(wordorder stage reference-texts results/reference/$(STUDY)) && snakemake $$texts --profile $(PROFILE) --cores $(CORES)
	wordorder stage verify-reference results/reference/$(STUDY)

rebuild-references: setup  ## Recreate the tables of all bundles in results/reference from their translations
	texts=$$(wordorder stage reference-texts results/reference/*) && snakemake $$texts --profile $(PROFILE) --cores $(CORES)
	wordorder stage rebuild-reference results/reference/*

pages: setup  ## Create the study pages of all bundles in results/reference, in build/pages, without training
	texts=$$(wordorder stage reference-texts --sources results/reference/*) && snakemake $$texts --profile $(PROFILE) --cores $(CORES)
	wordorder stage reference-pages results/reference/* --output build/pages --processes $(CORES)
	@echo "The page to open is $(CURDIR)/build/pages/index.html"

# worksteal gives each process a half of the tests, so that fixtures of a module are made once, not in each process.
test: setup-dev lint  ## Check the style and the types, and run the fast tests
	pytest -n 2 --dist=worksteal --durations=20 -m "not slow"

test-slow: setup-dev  ## Run the other tests: whole workflows, a SLURM cluster, a browser
	pytest -n 3 --durations=20 -m slow

test-long: setup-dev  ## Run the tests that take minutes each: the tutorial, and a wheel in an empty environment
	WORDORDER_LONG=1 pytest -n 2 tests/docs/test_site.py tests/workflow/test_project.py

test-all: test test-slow test-long test-comet  ## Run all tests

test-comet: setup-dev comet  ## Test COMET scores with a tiny model against those of comet-score
	WORDORDER_COMET_PYTHON=$(abspath $(COMET_VENV))/bin/python pytest tests/metrics/test_comet.py

fidelity: setup-dev  ## Compare the encodings with packages of other authors, and write docs/fidelity.md
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh,dev,fidelity]'
	python tests/support/fidelity.py
	WORDORDER_FIDELITY=1 pytest tests/fidelity

benchmarks: setup-dev  ## Run the benchmarks, which takes hours on a quiet machine, and rewrite the tables of docs/benchmarks.md
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh,dev,benchmark,export]'
	snakemake --cores $(CORES) results/data/multi30k/binary/train/meta.json results/data/multi30k/binary/test_2016_flickr/meta.json
	python benchmarks/remake.py

fuzz: setup-dev  ## Test with damaged files, inputs and server answers for about MINUTES minutes, different ones each time
	WORDORDER_FUZZ_MINUTES=$(MINUTES) pytest -n 2 tests/fuzz

docs: setup-dev  ## Build the documentation site in build/site; a dead link fails
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh,dev,docs]'
	python -m sphinx -W --keep-going -q -b html docs build/site
	pytest -m "not slow" tests/docs/test_site.py
	@echo "The page to open is $(CURDIR)/build/site/index.html"

lint: setup-dev  ## Check the style, the spelling, the documents and the types
	ruff check
	ruff format --check
	snakefmt --check $(SNAKEFILES)
	codespell
	pymarkdown scan $$(git ls-files '*.md' ':!results/reference/*/tables/*')
	mypy --strict src

format: setup-dev  ## Format the code
	ruff check --fix
	ruff format
	snakefmt $(SNAKEFILES)

comet: $(COMET_VENV)/.stamp  ## Create the second environment, for COMET scores

lock:  ## Resolve the pinned versions of both environments again
	requirements/lock $(PYTHON) main
	requirements/lock $(PYTHON) comet

audit: $(AUDIT_VENV)/.stamp  ## Search the pinned versions for known vulnerabilities; fails without a network
	$(AUDIT_VENV)/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements/main.lock
	$(AUDIT_VENV)/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements/comet.lock

sbom: $(AUDIT_VENV)/.stamp  ## Write the software bill of materials of the pinned versions to dist/, for a release
	mkdir -p dist
	$(AUDIT_VENV)/bin/cyclonedx-py requirements --output-reproducible --output-file dist/sbom.json requirements/main.lock
	$(AUDIT_VENV)/bin/cyclonedx-py requirements --output-reproducible --output-file dist/sbom-comet.json requirements/comet.lock

clean:  ## Remove the environments and the caches, but keep results and downloads
	rm -rf .venv .venv-comet .venv-audit .mypy_cache .pytest_cache .ruff_cache

$(AUDIT_VENV)/.stamp:
	$(PYTHON) -m venv $(AUDIT_VENV)
	$(AUDIT_VENV)/bin/python -m pip install pip-audit==2.10.1 cyclonedx-bom==7.5.0
	touch $@

# The stamps record the lock and the extras with which an environment was last updated.
$(VENV)/.stamp: pyproject.toml requirements/main.lock
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh]'
	touch $@

# The developers' environment contains that of users.
$(VENV)/.stamp-dev: pyproject.toml requirements/main.lock
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh,dev]'
	touch $(VENV)/.stamp $@

$(COMET_VENV)/.stamp: requirements/comet.txt requirements/comet.lock
	requirements/install $(PYTHON) $(COMET_VENV) comet --requirement requirements/comet.txt
	touch $@
