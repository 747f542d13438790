PYTHON ?= python3
VENV := .venv
# Where an environment keeps its commands.
PLACE := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PLACE)
READY := $(VENV)/.ready
# Environments of their own, by the dependency groups of pyproject.toml that say why.
GROUPS := rl peers studies mlflow
ready = .venv-$(1)/.ready
PIP := -m pip install --quiet --disable-pip-version-check

# Two cores: workers and BLAS threads must not multiply.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: check lint test tests check-slow pages notebooks docs figures demo dist bench ppo peers study mlflow format clean

# Dependency groups need a recent pip.
define environment
	$(PYTHON) -m venv $(1)
	$(1)/$(PLACE)/python $(PIP) --upgrade pip==26.3
endef

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("lostsales needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(call environment,$(VENV))
	$(BIN)/python $(PIP) --constraint constraints.txt --group dev --editable .
	@touch $@

# Torch first and alone, so that a CPU build at hand is taken and not replaced.
$(foreach name,$(GROUPS),$(call ready,$(name))): .venv-%/.ready: pyproject.toml constraints.txt
	$(call environment,.venv-$*)
	$(if $(filter rl peers,$*),.venv-$*/$(PLACE)/python $(PIP) --constraint constraints.txt torch==2.13.0)
	.venv-$*/$(PLACE)/python $(PIP) --constraint constraints.txt --group $* \
		$(if $(filter-out peers,$*),--editable '.[$(if $(filter mlflow,$*),mlflow,plots)]')
	@touch $@

check: lint
	$(BIN)/pytest -q -n 2 --dist loadfile --quick

# Wheel and source distribution, checked as the package index checks them.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh demo

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/zizmor --offline --quiet .github

# Also writes how long every test takes (tests/seconds.txt), by which make check leaves out the slowest.
test: lint
	$(BIN)/pytest -n 2 --dist loadfile --write-times

# The same tests without lint, as they run on other systems.
tests: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile

check-slow: $(READY)
	$(BIN)/pytest -m slow

pages: $(READY)
	$(BIN)/python -m tools.commands_page
	$(BIN)/python -m tools.methods_page
	$(BIN)/python -m tools.problem_page
	$(BIN)/python -m tools.leaderboard_page

# Runs the tutorials, and writes their output into the pages and the notebooks next to them; then the pictures.
notebooks: $(READY)
	$(BIN)/python -m tools.notebooks
	$(BIN)/python -m tools.pictures

# The site; a broken link, a page outside the navigation or any other warning ends it.
docs: pages
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --doctree-dir build/doctrees docs build/docs
	@echo "The site: build/docs/index.html"

# Measures the figures again that are older than the code they describe, the quickest first. MOST=MINUTES leaves those
# that take longer, MOST=0 lists them all; DATA=FOLDER holds the data that we may not ship.
figures: $(READY)
	$(BIN)/python -m tools.figures $(if $(DATA),--data $(DATA)) $(if $(MOST),--most $(MOST))

bench: $(READY) $(call ready,studies)
	$(BIN)/python -m benchmarks

ppo: $(call ready,rl)
	.venv-rl/bin/pytest tests/rl
	@mkdir -p build
	.venv-rl/bin/lostsales solve released --target ppo --out build/ppo

# A case study from its published data, such as NAME=vn2 DATA=FILE.
study: $(call ready,studies)
	.venv-studies/bin/python -m docs.studies.$(NAME) $(DATA) build/studies/$(NAME)
	@cp build/studies/$(NAME)/results.json build/studies/$(NAME)/ways.png docs/studies/$(subst _,-,$(NAME))-results

# With DATA=FOLDER, forecasts of the real sales there against a forecasting library too.
peers: $(READY) $(call ready,peers)
	$(BIN)/python -m peers.logs build/peers
	.venv-peers/bin/python peers/train.py build/peers
	$(BIN)/python -m peers.score build/peers
ifdef DATA
	.venv-peers/bin/python peers/forecasters.py $(DATA) build/peers/forecasters.parquet
	$(BIN)/python -m benchmarks.forecasting $(DATA) --peers build/peers/forecasters.parquet
endif

# The flavour of MLflow, with MLflow's own loader.
mlflow: $(call ready,mlflow)
	.venv-mlflow/bin/pytest tests/mlflow

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(GROUPS:%=.venv-%) demo build dist
