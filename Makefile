# One word for each thing a contributor or a reader does. `make` alone prints them.
SHELL := /bin/bash
VENV ?= .venv
PY := $(VENV)/bin/python
VERSION ?= 0.1.0
ARGS ?=
ONLY ?=
PG_DISTRIBUTION = $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin)))
# Tests of real servers mostly wait: three workers, each with a PostgreSQL of its own, a file in one piece.
WORKERS = -n 3 --dist loadfile
export PYTHONDONTWRITEBYTECODE = 1

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-down test test-fast test-postgres test-site test-lab lint types check bench soak lab lab-shell lab-reclaim release docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## packages and the development environment (asked for by every other word)
	@tests/setup.sh $(VENV)

demo: setup ## the main job on this machine: archive, a real host, four phases, a real login, a Run, upgrade, rollback
	@$(PY) -m tests.demo $(ARGS)

demo-down: setup ## end the demo and remove every trace of it
	@$(PY) -m tests.demo --down

test: setup lab-reclaim check test-fast test-postgres test-site test-lab ## every test, as CI runs them

test-fast: setup ## units, contracts, architecture, installer: no server, no lab, about two minutes on two idle cores
	$(PY) -m pytest -q -n 2 -m "not lab and not postgres and not slapd and not slow" tests/unit tests/contract tests/architecture tests/installer $(ARGS)

test-postgres: setup ## the same tests on the distribution's PostgreSQL and on 18
	PHAROS_TEST_PG_BIN=$(PG_DISTRIBUTION) $(PY) -m pytest -q $(WORKERS) tests/postgres $(ARGS)
	$(PY) -m pytest -q $(WORKERS) tests/postgres $(ARGS)

test-site: setup ## the site bundle against a real slapd, and the slow tests of the installer and the release
	$(PY) -m pytest -q tests/site $(ARGS)
	$(PY) -m pytest -q -m slapd tests/architecture $(ARGS)
	$(PY) -m pytest -q -m "slow and not lab" tests/unit tests/contract tests/architecture tests/installer $(ARGS)

test-lab: setup lab ## on a real host: the lab itself, the journeys, the demo (LAB=off skips them and says so)
	$(PY) -m pytest -q -n 2 --dist loadfile tests/lab tests/journeys $(ARGS)
	$(PY) -m pytest -q tests/demo $(ARGS)

check: lint types ## what must hold before a commit

lint: setup ## ruff, shellcheck, dash -n
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	shellcheck install.sh tests/setup.sh .ci/run $$(git ls-files 'tests/lab/*.sh')
	dash -n install.sh
	$(PY) docs/generate.py --check

types: setup ## mypy --strict over everything
	$(VENV)/bin/mypy

bench: setup ## ratios against limits measured in the same run (ONLY=key for one)
	$(PY) -m tests.bench $(if $(ONLY),--only $(ONLY))

soak: setup lab-reclaim ## the long suites whole; their counts go into the release notes
	$(PY) -m pytest -q -m soak tests --soak --durations=0 $(ARGS)

lab: setup ## build the lab host's tree, once
	@$(PY) -m tests.lab build

lab-shell: lab ## a host of your own and a root shell in it
	@$(PY) -m tests.lab shell

lab-reclaim: setup ## remove every trace of lab hosts whose owner is dead
	@$(PY) -m tests.lab reclaim

release: setup ## dist/pharos-hpc-site-v$(VERSION).tar.gz with its signatures (VERSION=x.y.z)
	$(PY) -m release build --version $(VERSION) $(ARGS)

docs: setup ## settings, errors and other generated pages
	$(PY) docs/generate.py

clean: ## what builds left here
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
