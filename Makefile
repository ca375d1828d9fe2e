# The README's commands are the truth; these targets call them, in an environment where Tamis is installed.
PYTHON ?= $(or $(wildcard .venv/bin/python),python)

.PHONY: help test night chaos check replay specification site site-serve pythons lowest audit wheels compose-check

help: ## What there is to make.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

test: ## All tests but the long ones.
	$(PYTHON) -m pytest -n 4 --dist loadfile

night: ## Everything: the long forms too, and 100 examples of each law.
	$(PYTHON) -m pytest -n 4 --dist loadfile -m "not alone" --hypothesis-profile night
	$(PYTHON) -m pytest -m alone

chaos: ## Every row of the fault table, the long forms too.
	$(PYTHON) -m pytest -m "chaos and not alone" -n 3 --dist loadfile
	$(PYTHON) -m pytest -m "chaos and alone"

check: ## Style, types, and who may import whom.
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports
	$(PYTHON) -m pytest --quiet -m night tests/unit/test_types.py

replay: ## A published review, from its searches to its PRISMA figure (docs/replay.md), in build/replay.
	$(PYTHON) -m benchmarks.replay --output build/replay

specification: ## docs/specification.md, from the requirements and from the marks at the tests.
	$(PYTHON) -m tests.specification

pythons: ## Unit and integration tests on every Python that uv, pyenv or the system offers.
	$(PYTHON) .ci/pythons

lowest: ## The same tests with the lowest versions that pyproject.toml allows (.ci/lowest).
	$(PYTHON) .ci/pythons --lowest

site: ## The documentation as a site, in site/: without a network, and a warning fails it.
	$(PYTHON) -m zensical build --clean --strict

site-serve: ## The same for who writes it: http://localhost:8000, built anew whenever a page changes.
	$(PYTHON) -m zensical serve

audit: ## Known vulnerabilities of the pinned versions; needs the extra "audit" and a network.
	$(PYTHON) -m pip_audit --requirement constraints.txt --no-deps --disable-pip --strict

wheels: ## What the image installs, in dist/wheels: for a build without a network.
	$(PYTHON) deploy/check/compose_check.py --wheels-only

compose-check: ## docker-compose.yml for real, with faults; needs a Docker engine, and root where images are missing.
	$(PYTHON) deploy/check/compose_check.py
