# Needs only Python 3.11 or newer and make. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
BENCH_STAMP := $(VENV)/.installed-bench
RAY_VENV := $(VENV)/ray
RAY_STAMP := $(VENV)/.installed-ray
SDK_STAMP := $(VENV)/sdk/.installed
# Tests wait for other processes half of the time: three workers for each core, eight at most.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, 3 * (os.cpu_count() or 1)))')
PYTEST  := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Bytecode is kept in one place for all workers and what they start, also where it is not wanted beside
# the sources: without it each worker compiles everything, and so does each program that it starts.
KEEPING_BYTECODE := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/build/bytecode"

.PHONY: help demo demo-ray screenshots failures test test-faults test-ray test-operators lives train-lives node test-node test-install test-pythons explore check failover format apiserver operators helm upstream sdk bench profile soak mutate lock install clean

help: ## What there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: install ## A RayJob fails, is retried on new clusters and succeeds; the controller is killed meanwhile; ARGS=--keep leaves its page open
	@$(BIN)/jobledger demo $(ARGS)

screenshots: install ## Pictures of the page for the docs, taken in Chromium, of the twenty failures
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

failures: install ## A ledger with twenty failed jobs, to ask why; says how
	@$(BIN)/python -m tests.failure_corpus.twenty $(ARGS)

test: install ## Rules, parts and whole jobs (ten minutes on two cores); skipped tests say what is missing
	@$(KEEPING_BYTECODE) $(PYTEST) -m "not faults" $(ARGS)

test-faults: install ## Faults: outages, crashes at every step, failovers, attackers, random lives (ten minutes on two cores)
	@$(KEEPING_BYTECODE) $(PYTEST) -m faults $(ARGS)

test-ray: install $(RAY_STAMP) ## The job API and whole RayJobs on real heads of the `ray` package
	@$(BIN)/python -m tests.real_ray $(RAY_VENV)/bin $(ARGS)

demo-ray: install $(RAY_STAMP) ## One of KubeRay's own samples, which imports ray, on a real head in the sandbox
	@$(BIN)/python -m tests.real_ray.demo $(RAY_VENV)/bin $(ARGS)

test-pythons: install ## The program, unpinned, in clean environments of Python 3.11 to 3.14, as far as they are here; ARGS="PYTHON"
	@$(BIN)/python -m tests.pythons $(ARGS)

explore: install ## The properties with fresh seeds; says how to see again what it found
	@$(BIN)/python -m tests.explore $(ARGS)

check: install ## Format, lint, types, import contracts, house rules: fast, no servers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(KEEPING_BYTECODE) $(BIN)/python -m pytest -q -p no:xdist tests/house tests/rules

format: install ## Format and mend what can be mended
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

failover: install ## A ledger that loses its last seconds, or meets another, while jobs go on; needs Postgres' binaries alone
	@$(BIN)/python -m tests.failover $(ARGS)

soak: install $(BENCH_STAMP) ## An hour of churn under kills and restarts: fails if anything grows or leaks
	@$(BIN)/python -m tests.soak $(ARGS)

profile: install $(BENCH_STAMP) ## Where the controller's CPU goes, by thread, folder and function
	@$(BIN)/python -m bench profile $(ARGS)

bench: install $(BENCH_STAMP) ## The figures, as ratios in one run, with the settings printed
	@$(BIN)/python -m bench $(ARGS)

mutate: install ## Small mistakes in core/ that no test notices; ARGS="core/jobs --sample 100"
	@$(BIN)/python -m tests.mutation $(ARGS)

apiserver: install ## Build etcd, kube-apiserver, its controllers, kubectl, JobSet (once, twelve minutes)
	@$(BIN)/python -m tests.apiserver.build

operators: install ## Build KubeRay's operator, Trainer's and Kueue's managers from their Go modules (once, half an hour)
	@$(BIN)/python -m tests.operators.build

helm: install ## Build Helm from its Go module (once, four minutes); tests of the chart need it
	@$(BIN)/python -m tests.chart.helm

test-operators: apiserver operators ## Stories beside upstream's real operators; writes docs/compatibility.md
	@$(BIN)/python -m tests.operators $(ARGS)

lives: apiserver ## Whole RayJobs under KubeRay's own controller and under ours, compared (ten minutes, needs Go); ARGS="--seed 1 --count 50" draws them
	@$(BIN)/python -m tests.lives $(ARGS)

train-lives: operators ## Whole TrainJobs under Trainer's own manager and under ours, compared (ten minutes, needs Go); ARGS="--seeds 20" draws more
	@$(BIN)/python -m tests.operators.train_lives $(ARGS)

node: apiserver ## A real Kubernetes node on this machine (Debian, root): containerd, kubelet, DNS, Ray's image; ARGS=--stop ends it
	@$(BIN)/python -m tests.node $(ARGS)

test-node: apiserver ## Upstream's own end-to-end suite of RayJobs on that node (or KUBECONFIG's cluster); writes docs/compatibility.md
	@$(BIN)/python -m tests.node.suite $(ARGS)

test-install: apiserver helm ## The chart on that node, by every command of docs/howto/run-in-a-cluster.md, and jobs that fail on it (a quarter of an hour); ARGS="--keep FOLDER"
	@$(BIN)/python -m tests.node.install $(ARGS)

upstream: install ## Ask upstream's own code again: the answers that tests compare with (needs Go; ARGS="search")
	@$(BIN)/python -m tests.upstream $(or $(ARGS),answers)

sdk: $(SDK_STAMP) ## The Kubeflow SDK in an environment of its own, for the tests that drive it

$(SDK_STAMP): requirements/sdk.txt
	@echo "installing the Kubeflow SDK into $(VENV)/sdk"
	@$(PYTHON) -m venv $(VENV)/sdk
	@$(VENV)/sdk/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/sdk.txt
	@touch $@

lock: install ## Pin the dependencies anew: versions and hashes, no addresses
	@for group in run dev bench; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	    --no-emit-index-url --no-annotate --no-header --extra embedded --extra report \
	    $$( [ $$group = run ] || echo --group $$group ) pyproject.toml -o requirements/$$group.txt; \
	done
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --constraint requirements/run.txt pyproject.toml -o requirements/image.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --constraint requirements/run.txt --extra parquet pyproject.toml -o requirements/parquet.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --constraint requirements/dev.txt --group build -o requirements/build.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --group ray -o requirements/ray.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --group sdk -o requirements/sdk.txt

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

$(RAY_STAMP): requirements/ray.txt $(STAMP)
	@echo "installing Ray into $(RAY_VENV) (a download of about 110 MB, once)"
	@$(PYTHON) -m venv $(RAY_VENV)
	@$(RAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/ray.txt
	@touch $@

clean: ## Remove the environment and all caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
