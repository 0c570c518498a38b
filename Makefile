# Everything starts from a clean checkout; see `make help`.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON := .venv/bin/python

# simulator, or kubernetes for a real control plane (needs Go once, to build it)
CLUSTER ?= simulator
# Further arguments of pytest, for instance ARGS='-k leases'
ARGS ?=
PARALLEL := -n auto --maxprocesses 4 --no-loadscope-reorder
# Only the figures whose name begins so
ONLY ?=

.PHONY: help setup demo demo-reset test test-quick check fix bench fuzz pictures

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv from uv.lock (the others do this by themselves)
	@sh scripts/environment.sh

demo: setup ## Run the whole portal on a simulated cluster; CLUSTER=kubernetes for a real control plane
	@$(PYTHON) -m embedded.demo --cluster $(CLUSTER) --die-with-parent

demo-reset: setup ## Forget the demo's data
	@$(PYTHON) -m embedded.demo --reset

test: setup ## Run all tests, with a real control plane (needs Go) and a browser (needs Chromium)
	@sh scripts/test.sh $(PARALLEL) $(ARGS)

test-quick: setup ## Run the tests that need nothing but the database, in under a minute
	@$(PYTHON) -m pytest -q $(PARALLEL) -m "not cluster and not browser and not oracle and not stack" $(ARGS)

check: setup ## Check style, types, layers, templates, settings, API description and vendored files
	@$(PYTHON) scripts/check.py

fix: setup ## Repair what can be repaired by itself
	@$(PYTHON) scripts/check.py --fix

bench: setup ## Measure the promised figures, one JSON line each; ONLY=prefix picks some
	@$(PYTHON) -m bench $(ONLY)

fuzz: setup ## Compare the placement engine with the upstream allocator on generated cases (needs Go)
	@$(PYTHON) -m tests.oracle.fuzz $(if $(N),--n $(N)) $(if $(SEED),--seed $(SEED)) $(ARGS)

pictures: setup ## Take the README's pictures from a demo of its own (needs Chromium)
	@$(PYTHON) scripts/pictures.py
