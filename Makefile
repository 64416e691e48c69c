# A thin front: every line that runs is shown, and each also works by hand (docs/environments.md).
# Variables: make demo PYTHON=python3.12 VENV=/scratch/wordorder CORES=8 PROFILE=slurm

PYTHON ?= python3
VENV ?= .venv
COMET_VENV ?= .venv-comet
CORES ?= 2
PROFILE ?= local
STUDY ?= demo

# The tools of the environment come first, also for what they start themselves (snakefmt starts shfmt).
export PATH := $(abspath $(VENV))/bin:$(PATH)
SNAKEFILES = Snakefile workflow

.PHONY: help setup setup-dev demo study report reference test-slow test-all verify-reference test test-comet lint format comet lock clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/.stamp  ## Make the environment in VENV (once; again when pyproject.toml or the lock changes)

setup-dev: $(VENV)/.stamp-dev  ## The same with the developers' tools

demo: STUDY = demo
demo: study report  ## Run the demo study, build its page and report and print its result table
	wordorder summary --results results/demo
	@echo "Snakemake's report is $(CURDIR)/results/demo/report.html"
	@echo "The page to open is   $(CURDIR)/results/demo/index.html"

study: setup  ## Run the study STUDY with CORES cores (on a cluster: a job) and the profile PROFILE
	snakemake $(STUDY) --profile $(PROFILE) --cores $(CORES)

report: study  ## Build Snakemake's report, results/STUDY/report.html
	snakemake $(STUDY) --report results/$(STUDY)/report.html

reference: setup  ## Write the finished study STUDY to results/reference as a small bundle
	wordorder stage write-reference $(STUDY) --output results/reference/$(STUDY)

verify-reference: setup  ## Score the translations of STUDY in results/reference again and compare its tables
	texts=$$(wordorder stage reference-texts results/reference/$(STUDY)) && snakemake $$texts --profile $(PROFILE) --cores $(CORES)
	wordorder stage verify-reference results/reference/$(STUDY)

test: setup-dev lint  ## Check the style and the types, and run the tests but the slow ones
	pytest -n 2 -m "not slow" --durations=20

test-slow: setup-dev  ## Run the slow tests: whole workflows, SLURM, a browser, several processes
	pytest -n 2 -m slow --durations=40

test-all: test test-slow test-comet  ## Run every test

test-comet: setup-dev comet  ## Test COMET scores with a tiny model, beside those of comet-score
	WORDORDER_COMET_PYTHON=$(abspath $(COMET_VENV))/bin/python pytest tests/metrics/test_comet.py

lint: setup-dev  ## Check the style and the types
	ruff check
	ruff format --check
	snakefmt --check $(SNAKEFILES)
	mypy --strict src

format: setup-dev  ## Put the code into the style
	ruff check --fix
	ruff format
	snakefmt $(SNAKEFILES)

comet: $(COMET_VENV)/.stamp  ## Make the second environment, for COMET scores

lock:  ## Resolve the versions of both environments anew
	requirements/lock $(PYTHON) main
	requirements/lock $(PYTHON) comet

clean:  ## Remove the environments and the caches; results and downloads stay
	rm -rf .venv .venv-comet .mypy_cache .pytest_cache .ruff_cache

# The stamps say which lock and extras an environment was last brought up to.
$(VENV)/.stamp: pyproject.toml requirements/main.lock
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh]'
	touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp
	requirements/install $(PYTHON) $(VENV) main --editable '.[ja,zh,dev]'
	touch $@

$(COMET_VENV)/.stamp: requirements/comet.txt requirements/comet.lock
	requirements/install $(PYTHON) $(COMET_VENV) comet --requirement requirements/comet.txt
	touch $@
