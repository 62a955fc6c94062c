# Everything runs in a virtual environment of its own, in .venv. Targets:
#   make demo         install, and run the main job on a built-in collection
#   make test         install what the tests need, and run them
#   make test-extras  the tests against other tools (LightGBM, XGBoost, pytrec_eval, ir_measures, ranx, ONNX Runtime, DuckDB), and those on Dask, Spark and PyTorch
#   make fuzz         broken files and awkward arrays at random, for FUZZ_SECONDS (300); FUZZ_SEED repeats a run
#   make docs         build the documentation into site/
#   make lint         ruff and mypy
#   make clean        remove what the others made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-extras fuzz docs lint clean

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rankwright needs Python 3.11 or newer; try: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[test]'
	@touch $(VENV)/.demo $@

$(VENV)/.extras: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[test,peers]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.lint: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[lint]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py demo-output

test: $(VENV)/.test
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile

test-extras: $(VENV)/.extras
	$(BIN)/python -m pytest -q -m peers --numprocesses auto --dist loadfile

FUZZ_SECONDS ?= 300
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict
	@echo 'The documentation is in site/index.html: open it in a browser.'

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-output fuzz-findings site build dist src/*.egg-info .pytest_cache .numba-cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
