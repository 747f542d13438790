PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The survival library needs an older pandas than we do, so it has an environment of its own.
SURVIVAL := .venv-survival
SURVIVAL_READY := $(SURVIVAL)/.ready
# Torch is large and only PPO needs it.
RL := .venv-rl
RL_READY := $(RL)/.ready
# d3rlpy pins an old Gymnasium.
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready
# statsforecast needs an older pandas too; the case studies run it beside us.
STUDIES := .venv-studies
STUDIES_READY := $(STUDIES)/.ready
# MLflow brings much, and is needed by its flavour alone.
MLFLOW := .venv-mlflow
MLFLOW_READY := $(MLFLOW)/.ready
PIP := -m pip install --quiet --disable-pip-version-check

# Two cores: workers and BLAS threads must not multiply.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: check lint test check-slow pages docs figures demo bench ppo peers study mlflow format clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("lostsales needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(SURVIVAL_READY): pyproject.toml constraints-survival.txt
	$(PYTHON) -m venv $(SURVIVAL)
	$(SURVIVAL)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-survival.txt \
		--editable '.[survival]' pytest hypothesis
	@touch $@

# Torch first and alone, so that a CPU build at hand is taken and not replaced.
$(RL_READY): pyproject.toml constraints-rl.txt
	$(PYTHON) -m venv $(RL)
	$(RL)/bin/python $(PIP) --constraint constraints-rl.txt torch==2.13.0
	$(RL)/bin/python $(PIP) --constraint constraints-rl.txt --editable '.[rl]' pytest hypothesis
	@touch $@

$(PEERS_READY): constraints-peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) --constraint constraints-peers.txt torch==2.13.0
	$(PEERS)/bin/python $(PIP) --constraint constraints-peers.txt d3rlpy statsforecast pyarrow
	@touch $@

$(STUDIES_READY): pyproject.toml constraints-studies.txt
	$(PYTHON) -m venv $(STUDIES)
	$(STUDIES)/bin/python $(PIP) --constraint constraints-studies.txt --editable '.[plots]' statsforecast
	@touch $@

$(MLFLOW_READY): pyproject.toml constraints-mlflow.txt
	$(PYTHON) -m venv $(MLFLOW)
	$(MLFLOW)/bin/python $(PIP) --constraint constraints-mlflow.txt --editable '.[mlflow]' pytest hypothesis sqlalchemy alembic sqlparse
	@touch $@

check: lint
	$(BIN)/pytest -q -n 2 --dist loadfile --quick

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh demo

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Also writes how long every test takes (tests/seconds.txt), by which make check leaves out the slowest.
test: lint $(SURVIVAL_READY)
	$(BIN)/pytest -n 2 --dist loadfile --write-times
	$(SURVIVAL)/bin/pytest tests/survival

check-slow: $(READY)
	$(BIN)/pytest -m slow

pages: $(READY)
	$(BIN)/python -m tools.commands_page
	$(BIN)/python -m tools.methods_page
	$(BIN)/python -m tools.problem_page

# The site; a broken link, a page outside the navigation or any other warning ends it.
docs: pages
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --doctree-dir build/doctrees docs build/docs
	@echo "The site: build/docs/index.html"

# Measures the figures again that are older than the code they describe, the quickest first. MOST=MINUTES leaves those
# that take longer, MOST=0 lists them all; DATA=FOLDER holds the data that we may not ship.
figures: $(READY)
	$(BIN)/python -m tools.figures $(if $(DATA),--data $(DATA)) $(if $(MOST),--most $(MOST))

bench: $(READY) $(SURVIVAL_READY)
	$(BIN)/python -m benchmarks

ppo: $(RL_READY)
	$(RL)/bin/pytest tests/rl
	@mkdir -p build
	$(RL)/bin/lostsales solve released --target ppo --out build/ppo

# A case study from its published data, such as NAME=vn2 DATA=FILE.
study: $(STUDIES_READY)
	$(STUDIES)/bin/python -m docs.studies.$(NAME) $(DATA) build/studies/$(NAME)
	@cp build/studies/$(NAME)/results.json build/studies/$(NAME)/ways.png docs/studies/$(subst _,-,$(NAME))-results

# With DATA=FOLDER, forecasts of the real sales there against a forecasting library too.
peers: $(READY) $(PEERS_READY)
	$(BIN)/python -m peers.logs build/peers
	$(PEERS)/bin/python peers/train.py build/peers
	$(BIN)/python -m peers.score build/peers
ifdef DATA
	$(PEERS)/bin/python peers/forecasters.py $(DATA) build/peers/forecasters.parquet
	$(BIN)/python -m benchmarks.forecasting $(DATA) --peers build/peers/forecasters.parquet
endif

# The flavour of MLflow, with MLflow's own loader.
mlflow: $(MLFLOW_READY)
	$(MLFLOW)/bin/pytest tests/mlflow

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(SURVIVAL) $(RL) $(PEERS) $(STUDIES) $(MLFLOW) demo build dist
