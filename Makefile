# Needs python3 (3.11, 3.12 or 3.13) with pip, nothing else. Every target works in a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two test processes; each lets NumPy's BLAS have one thread, so that together they fit two cores.
TEST_JOBS ?= 2
PYTEST_ARGS ?=

.PHONY: demo test bench lint clean

demo: $(STAMP)
	mkdir -p demo/output
	$(BIN)/flambeau run demo/train_digits.py --out demo/output
	$(BIN)/flambeau run demo/train_chargpt.py --out demo/output
	@echo "written to demo/output:" && ls -1 demo/output

test: $(STAMP)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --tb=short -n $(TEST_JOBS) $(PYTEST_ARGS)

# Beside PyTorch, in an environment of its own; ORACLE=PYTHON uses one that is there.
ORACLE ?= .oracle/bin/python
ROUNDS ?= 5
bench: $(STAMP) $(ORACLE)
	$(BIN)/python benchmarks/compare.py --oracle $(ORACLE) --rounds $(ROUNDS) --compile \
		--markdown benchmarks/results/workloads.md --plot benchmarks/results/workloads.svg
	$(BIN)/python benchmarks/compare.py --oracle $(ORACLE) --rounds $(ROUNDS) --folder everyday \
		--markdown benchmarks/results/everyday.md
	$(BIN)/python benchmarks/roofline.py --oracle $(ORACLE) --markdown benchmarks/results/roofline.md
	$(BIN)/python benchmarks/recording.py --oracle $(ORACLE)
	$(BIN)/python benchmarks/data.py --oracle $(ORACLE)

.oracle/bin/python:
	$(PYTHON) -m venv .oracle
	.oracle/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 numpy

lint: $(STAMP)
	$(BIN)/ruff check flambeau tests demo conformance benchmarks conftest.py
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo/output .pytest_cache .mypy_cache .ruff_cache

# Bytecode is written at once: where Python is told to write none, every process would compile the package again.
# The stamp is written last: an interrupted installation is started again.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/python -m compileall -q flambeau
	touch $@
