# Needs only Python 3.11 or newer and make. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
BENCH_STAMP := $(VENV)/.installed-bench
WORKERS ?= 2

.PHONY: help demo test check format apiserver bench lock install clean

help: ## What there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: install ## A RayJob fails, is retried on new clusters and succeeds; the controller is killed meanwhile
	@$(BIN)/jobledger demo

test: install ## All tests that this machine can run; skipped ones say what is missing
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: install ## Format, lint, types, import contracts, house rules: fast, no servers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:xdist tests/house tests/rules

format: install ## Format and mend what can be mended
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: install $(BENCH_STAMP) ## The figures, as ratios in one run, with the settings printed
	@$(BIN)/python -m bench $(ARGS)

apiserver: install ## Build etcd, kube-apiserver, kube-controller-manager, kubectl (once, ten minutes)
	@$(BIN)/python -m tests.apiserver.build

lock: install ## Pin the dependencies anew: versions and hashes, no addresses
	@for group in run dev bench; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	    --no-emit-index-url --no-annotate --no-header --extra embedded \
	    $$( [ $$group = run ] || echo --group $$group ) pyproject.toml -o requirements/$$group.txt; \
	done

install: $(STAMP) ## A virtual environment with everything pinned by hash

$(STAMP): requirements/dev.txt pyproject.toml
	@echo "installing into $(VENV) (about half a minute, once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_STAMP): requirements/bench.txt $(STAMP)
	@echo "installing what the figures are compared with into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

clean: ## Remove the environment and all caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
