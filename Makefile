# Everything a newcomer or a machine runs. It needs Python 3.11 or newer with pip (or uv), make and bash; the
# rest it installs below .tools and .venv, and models below the user's cache folder.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

QUICKSTART_MODEL ?= default
SAMPLES := samples/documents
PEERS := agere agno dspy lagent langgraph langroid openai_agents pydantic_ai smolagents
KEEPERS := agno dbos langgraph openai_agents
TRIVIUM := .venv/bin/trivium
PYTHON_BIN := .venv/bin/python

# uv makes .venv itself, from a Python that is here: it never downloads one. What it says stays visible.
SYNC = python=$$(scripts/find-python); UV_PROJECT_ENVIRONMENT=.venv UV_PYTHON_DOWNLOADS=never \
	UV_PYTHON=$$python .tools/bin/uv sync --frozen
SYNC_FAILED = { echo "trivium: the environment could not be made (see above); is the package index reachable?" >&2; exit 1; }
unexport VIRTUAL_ENV
# Trust what the system trusts, as pip does: behind a company's proxy uv's own list would not do.
export UV_SYSTEM_CERTS ?= 1
# A sandbox cannot write what it compiles: without this each start of a kernel compiles a thousand modules anew.
export UV_COMPILE_BYTECODE ?= 1

.PHONY: help env dev quickstart test check wheel docs check-docs fidelity bench-extract bench-reading bench bench-wire bench-walks bench-knowledge bench-injections bench-bfcl bench-ifbench bench-journal bench-serving bench-queues screenshots bench-web-ui clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

env: .venv/.ready ## make .venv with trivium and what its command line needs

dev: .venv/.ready-dev ## the same with all extras, and the tools that tests and checks need

quickstart: env ## fetch a model, then extract records from the sample documents
	@scripts/install-debian-packages run
	$(TRIVIUM) models fetch $(QUICKSTART_MODEL)
	@mkdir -p out
	$(TRIVIUM) extract $(SAMPLES) --fields "$$(cat samples/fields.txt)" \
		--model $(QUICKSTART_MODEL) --output out/records.jsonl

# Where Python may not write what it compiles, each of a thousand processes would compile the package, and each worker
# of the tests all of them, anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: dev .peers/mcp-servers/.ready .peers/agentdojo/.ready .peers/inspect-ai/.ready .peers/npm/.ready ## run every test
	@scripts/install-debian-packages run
	@scripts/install-debian-packages test
	$(TRIVIUM) models fetch small
	@$(PYTHON_BIN) -m compileall -q src
	$(PYTHON_BIN) -m pytest -n 4 --dist worksteal --ignore tests/test_costs.py
	@# What things cost is measured with nothing beside it.
	$(PYTHON_BIN) -m pytest -q tests/test_costs.py

check: dev .peers/npm/.ready ## lint, types, layers, dependencies, and whether the documentation builds
	.venv/bin/ruff check --extend-exclude .tools,.peers .
	.venv/bin/ruff format --check --extend-exclude .tools,.peers .
	.venv/bin/pyright
	$(PYTHON_BIN) scripts/document_types.py
	.venv/bin/mypy --cache-dir=/dev/null
	scripts/node .peers/npm/node_modules/typescript/bin/tsc -p tests/ui
	.venv/bin/lint-imports --no-cache --no-logo
	.venv/bin/deptry src
	$(PYTHON_BIN) scripts/build_site.py

wheel: .venv/.ready-docs ## build the package into dist/, to install it elsewhere
	$(PYTHON_BIN) -m hatchling build -t wheel -d dist

docs: .venv/.ready-docs ## build the documentation into site/, with screenshots of its own where `make dev` and Chromium are
	$(PYTHON_BIN) scripts/build_site.py --screenshots

check-docs: dev docs .peers/npm/.ready ## open the documentation in Chromium: accessibility, search, no network
	@scripts/install-debian-packages test
	$(PYTHON_BIN) scripts/check_site.py

fidelity: dev ## count what the documents of Lagent, Langroid and Agere say: tested here, different on purpose, missing
	$(PYTHON_BIN) scripts/fidelity.py $(FIDELITY_ARGS)

bench-extract: env ## measure extraction on documents whose answers are known
	$(PYTHON_BIN) benchmarks/extract/run.py $(BENCH_ARGS)

bench: .venv/.ready-bench $(PEERS:%=.peers/%/.ready) ## measure trivium beside the field: docs/benchmarks.md
	$(PYTHON_BIN) benchmarks/field $(BENCH_ARGS)
	$(if $(BENCH_ARGS),,$(MAKE) --no-print-directory bench-journal BENCH_ARGS=beside)
	$(if $(BENCH_ARGS),,$(MAKE) --no-print-directory bench-serving)
	$(if $(BENCH_ARGS),,$(MAKE) --no-print-directory bench-web-ui)

bench-reading: dev .peers/readers/.ready ## compare readers of PDF; BENCH_ARGS is a clone of github.com/ZUGFeRD/corpus
	$(PYTHON_BIN) benchmarks/extract/reading.py --python .peers/readers/bin/python $(BENCH_ARGS)

bench-wire: dev ## measure the client of model servers beside a bare request and OpenAI's SDK
	$(PYTHON_BIN) benchmarks/wire.py $(BENCH_ARGS)

bench-walks: dev ## count the calls behind five uses of trivium, beside those of an earlier commit
	$(PYTHON_BIN) benchmarks/walks.py $(BENCH_ARGS)

bench-knowledge: dev .peers/langroid/.ready ## measure retrieval and answers on real texts
	@scripts/install-debian-packages run
	@scripts/install-debian-packages knowledge
	$(TRIVIUM) models fetch default
	$(PYTHON_BIN) benchmarks/knowledge/run.py $(BENCH_ARGS)

bench-injections: .peers/agentdojo/.ready ## run AgentDojo's attacks with and without a policy: docs/injections.md
	PYTHONPATH=src .peers/agentdojo/bin/python benchmarks/injections $(BENCH_ARGS)

bench-bfcl: dev .peers/bfcl/.ready ## measure how the embedded models call functions, by BFCL's own checker
	$(TRIVIUM) models fetch small
	$(TRIVIUM) models fetch default
	$(PYTHON_BIN) benchmarks/bfcl $(BENCH_ARGS)

bench-ifbench: dev .peers/ifbench/.ready ## measure how the embedded models follow instructions, by IFBench's own checker
	$(TRIVIUM) models fetch small
	$(TRIVIUM) models fetch default
	$(PYTHON_BIN) benchmarks/ifbench $(BENCH_ARGS)

bench-journal: dev $(KEEPERS:%=.peers/%/.ready) ## kill, race and damage durable runs, and measure them: docs/journal-figures.md
	$(PYTHON_BIN) benchmarks/journal --page docs/journal-figures.md $(BENCH_ARGS)

bench-serving: dev .peers/agno_os/.ready ## measure open streams and many owners beside other servers: docs/serving-figures.md
	$(PYTHON_BIN) benchmarks/serving $(BENCH_ARGS)

bench-queues: dev ## measure queued runs, and kill, cut off and restart what they need: docs/scaling-figures.md
	$(PYTHON_BIN) benchmarks/queues --page docs/scaling-figures.md $(BENCH_ARGS)

bench-web-ui: dev ## measure the web UI with a run of 100,000 nodes: docs/web-ui.md
	$(PYTHON_BIN) benchmarks/web_ui.py $(BENCH_ARGS)

screenshots: dev .peers/npm/.ready ## write the pictures of docs/web-ui.md anew, as the repository has them
	TRIVIUM_SCREENSHOTS=$(CURDIR)/docs/web-ui $(PYTHON_BIN) -m pytest -q tests/ui/test_conduct.py

clean: ## remove what make made here; fetched models stay in the user's cache
	rm -rf .venv .tools .peers out build dist site .coverage* htmlcov .hypothesis .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.tools/bin/uv: scripts/get-uv
	@scripts/get-uv
	@touch -h $@

# Without the tools: those that `make dev` put there stay (--inexact).
.venv/.ready: uv.lock pyproject.toml | .tools/bin/uv
	@$(SYNC) --inexact --no-default-groups --extra cli --extra local --extra knowledge || $(SYNC_FAILED)
	@touch $@

# A peer whose packages would not go with ours has an environment of its own, of the same Python.
.peers/%/.ready: benchmarks/peers/%.txt | .venv/.ready .tools/bin/uv
	@UV_PYTHON_DOWNLOADS=never .tools/bin/uv venv --quiet --clear --python $(PYTHON_BIN) .peers/$*
	@.tools/bin/uv pip sync --quiet --require-hashes --python .peers/$*/bin/python $<
	@touch $@

# Clients and referees in JavaScript, as locked.
.peers/npm/.ready: benchmarks/peers/npm/package.json benchmarks/peers/npm/package-lock.json scripts/npm | .venv/.ready-dev
	@mkdir -p $(@D)
	@cp benchmarks/peers/npm/*.json $(@D)
	@cd $(@D) && $(CURDIR)/scripts/npm ci --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

# With what builds the site and the package, and no more.
.venv/.ready-docs: uv.lock pyproject.toml | .tools/bin/uv
	@$(SYNC) --inexact --only-group docs || $(SYNC_FAILED)
	@touch $@

# With what draws the charts.
.venv/.ready-bench: uv.lock pyproject.toml | .tools/bin/uv
	@$(SYNC) --inexact --no-default-groups --extra cli --extra local --extra knowledge --group bench || $(SYNC_FAILED)
	@touch $@ .venv/.ready

.venv/.ready-dev: uv.lock pyproject.toml scripts/engines.txt | .tools/bin/uv
	@$(SYNC) --all-extras --group dev || $(SYNC_FAILED)
	@$$(scripts/find-python) -m pip --python .venv/bin/python install --quiet -r scripts/engines.txt
	@rm -f .venv/.ready-bench
	@touch $@ .venv/.ready .venv/.ready-docs
