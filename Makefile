# Linux or macOS with Python 3.11 to 3.13 and make: the first call makes .venv and installs into it.
# Another Python: `make train PYTHON=python3.12`, which makes .venv anew if it is of another version.
PYTHON ?= python3
# An NVIDIA GPU is used where nvidia-smi answers; `make train CUDA=` stays on the CPU.
CUDA ?= $(shell nvidia-smi -L >/dev/null 2>&1 && echo ,cuda)
# What `make train` runs; `make train GAME=racing` for the other game.
GAME ?= lasertag
TRAIN ?= train $(GAME) --preset tiny

BIN := .venv/bin
VERSION := -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.PHONY: train test test-long test-gpu lint bench docs clean

train: .venv/.base
	$(BIN)/maestro $(TRAIN)

# These compile as users do; `make test` compiles quickly (tests/quick.py).
test-long test-gpu: export XLA_FLAGS := --xla_cpu_multi_thread_eigen=false

# Bytecode is kept, whatever the shell says: all processes of the tests load the same files.
test test-long: export PYTHONDONTWRITEBYTECODE :=

test: .venv/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-long: .venv/.dev
	@$(MAKE) -s .venv/.sb3 || echo "Stable-Baselines3 could not be installed: its tests are skipped (docs/interop.md)"
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m long

test-gpu: .venv/.dev
	JAX_PLATFORMS=cuda $(BIN)/python -m pytest -m gpu

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src

bench: .venv/.bench
	$(BIN)/python benchmarks/lasertag.py
	$(BIN)/python benchmarks/training.py --phases
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/checkpoints.py
	$(BIN)/python benchmarks/views.py

docs: .venv/.dev
	$(BIN)/python docs/scripts/settings.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .cache site

# A Python that somebody asked for: is .venv of its version?
ifneq ($(filter command environment,$(firstword $(origin PYTHON))),)
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell $(BIN)/python $(VERSION)))
.PHONY: .venv/.python
CLEAR := --clear
endif
endif

.venv/.python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v[:2] <= (3, 13) else \
	"maestro needs Python 3.11 to 3.13, and $(PYTHON) is %d.%d: try make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(CLEAR) .venv
	@touch $@

.venv/.base: .venv/.python pyproject.toml constraints.txt
	@echo "Installing into .venv (once)"
	@$(INSTALL) -e ".[interop$(CUDA)]"
	@touch $@

.venv/.dev: .venv/.base
	@echo "Installing the tools for development (once)"
	@$(INSTALL) -e ".[dev$(CUDA)]"
	@touch $@

.venv/.sb3: .venv/.dev
	@echo "Installing Stable-Baselines3 and PyTorch for the CPU (once)"
	@$(INSTALL) -e ".[dev,sb3$(CUDA)]"
	@touch $@

.venv/.bench: .venv/.dev
	@$(INSTALL) -e ".[dev,bench$(CUDA)]"
	@touch $@
