# Needs make and Python 3.11 or later; each target installs what it needs into .venv.
#
#   make demo      cluster handwritten digits and draw the result
#   make test      all tests but the slow ones; make test-all: those too
#   make lint      style, types, layers, spelling
#   make bench     time, memory and quality beside other libraries
#   make bench-gpu the codes on a CUDA device; installs PyTorch
#   make smoke     wheel and source distribution, each installed into an empty environment and used
#   make docs      the documentation, in docs/_build/html
#   make clean     remove what the targets made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Numba keys its cache on a kernel's own file; a folder per state of all kernels leaves nothing stale.
KERNELS := $(shell cat src/l0graph/kernels/*.py | cksum | tr ' ' '-')
export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)/numba-cache/$(KERNELS)
WARM := $(NUMBA_CACHE_DIR)/.warm

TORCH := torch==2.13.0

# Several processes of tests with one BLAS thread each; Numba keeps two, for the tests that compare one thread with two.
TEST_THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=2
PYTEST := $(TEST_THREADS) $(BIN)/python -m pytest -n auto --maxprocesses 4

.PHONY: demo test test-all lint bench bench-gpu docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed-plots
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev $(VENV)/.torch $(WARM)
	$(PYTEST)

test-all: $(VENV)/.installed-dev $(VENV)/.torch $(WARM)
	$(PYTEST) -m "slow or not slow"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: $(VENV)/.installed-dev .venv-peers/.installed
	$(BIN)/python benchmarks/run.py

bench-gpu: $(VENV)/.installed-gpu
	$(BIN)/python benchmarks/gpu.py

# What users get, not the checkout: built, installed without it, used from an empty directory.
smoke: $(BIN)/python
	rm -rf out/smoke && mkdir -p out/smoke
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir out/smoke/dist . > out/smoke/build.log || { cat out/smoke/build.log >&2; exit 1; }
	for kind in whl tar.gz; do \
	  at=$(CURDIR)/out/smoke/$$kind && $(PYTHON) -m venv $$at && mkdir $$at/empty && \
	  $$at/bin/pip install --quiet --disable-pip-version-check out/smoke/dist/*.$$kind && \
	  (cd $$at/empty && unset NUMBA_CACHE_DIR && PYTHONPATH= $$at/bin/python $(CURDIR)/tests/smoke.py $(CURDIR)/README.md $$kind) || exit 1; \
	done

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) .venv-peers out docs/_build docs/api/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# One environment for all; an extra is installed when a target first needs it, and again when pyproject.toml changes.
$(VENV)/.installed-%: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

# What others offer, in an environment of its own.
.venv-peers/.installed: benchmarks/peers.txt $(BIN)/python
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt
	@touch $@

# PyTorch for the tests of arrays on devices, where it comes as a CPU build and not with gigabytes of CUDA; they skip without.
$(VENV)/.torch: | $(VENV)/.installed-dev
	@plan=$$($(BIN)/python -m pip install --disable-pip-version-check --quiet --dry-run --report - $(TORCH) 2>/dev/null) && \
	  ! echo "$$plan" | grep -qE '"name": "(nvidia|cuda|triton)' && \
	  $(BIN)/python -m pip install --disable-pip-version-check --quiet $(TORCH) || \
	  echo "$(TORCH) is not to be had here without CUDA: tests of arrays on devices will skip"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1): make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { \
	  echo "$(PYTHON) has no venv module: install your system's package of it, python3-venv on Debian and Ubuntu" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(WARM): | $(VENV)/.installed-dev
	$(BIN)/l0graph warmup
	@mkdir -p $(@D) && touch $@
