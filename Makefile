# `make run` installs what is missing and opens the window; `make test` does so and runs the suite.
# With images of the native kernels (`make prebuild`, once) `make run` needs no compiler.
# ARGS reaches the program: make run ARGS="--source scene --style candy"

VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --constraint constraints.txt --editable

.PHONY: run test quick test-full lint check bench fuzz mutants docs prebuild wheel wheels test-release setup clean
.DELETE_ON_ERROR:  # an interrupted virtual environment is made anew

# Where the environment forbids bytecode, each process of the tests would compile every module.
test quick test-full fuzz: export PYTHONDONTWRITEBYTECODE :=

run: $(VENV)/.installed
	@$(PYTHON) -m utils.system $(if $(wildcard kernels/images/manifest.json),,--compiler)
	@$(PYTHON) -m app $(ARGS)

# On as many processes as there are cores, four at most: each takes about 2 GB. A process that has
# done its tests takes over half of another's, so that all end together.
test: $(VENV)/.installed-test
	@$(PYTHON) -m utils.system --tests
	$(PYTHON) -m pytest -n logical --maxprocesses 4 --dist worksteal $(ARGS)

# The tests nearest to what changed, in about three minutes: make quick ARGS=app/frame.py
quick: $(VENV)/.installed-test
	@$(PYTHON) -m utils.system --tests
	@$(PYTHON) -m tools.quick $(ARGS)

# The whole suite, with slow tests and those that repeat others under other conditions.
test-full: $(VENV)/.installed-test
	@$(PYTHON) -m utils.system --tests
	$(PYTHON) -m pytest -n logical --maxprocesses 4 --dist worksteal -m "full or not full" $(ARGS)

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(PYTHON) -m tools.plain_english
	$(VENV)/bin/pyright
	$(VENV)/bin/lint-imports

check: lint test

# Measures on this machine, stores the figures and writes them into docs/reference/benchmarks.md.
bench: $(VENV)/.installed
	@mkdir -p benchmarks/reports
	$(PYTHON) -m app bench --json benchmarks/reports/cpu.json --device cpu --sizes 640x480 $(ARGS)
	$(PYTHON) -m benchmarks.live benchmarks/reports/live.json
	$(PYTHON) -m benchmarks.tables docs/reference/benchmarks.md

# Feeds everything the program reads with hostile input, until Ctrl+C.
fuzz: $(VENV)/.installed-test
	@$(PYTHON) -m utils.system --tests
	$(PYTHON) -m tests.fuzz $(ARGS)

# The pages and the reference, into build/docs; a warning is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

# Images of the native libraries for every system, into kernels/images; 20 minutes the first time.
prebuild: $(VENV)/.installed-prebuild
	$(PYTHON) -m tools.prebuild

# The program, and the fused operations alone, into dist: a wheel for each system that there are
# images for, or one without images, and the source distribution.
wheel wheels: $(VENV)/.installed
	$(PYTHON) -m tools.build_wheels $(ARGS)

# Builds a release with every image, and paints a picture with its wheel in a fresh environment.
test-release: prebuild wheel
	$(PYTHON) -m tools.try_wheel

# The setup program for Windows, with uv and the wheel for it, into dist; needs NSIS (apt: nsis).
setup: wheel
	$(PYTHON) -m tools.setup

# Breaks the program in one line at a time; the tests have to notice each.
mutants: $(VENV)/.installed-test
	@$(PYTHON) -m utils.system --tests
	$(PYTHON) -m tests.mutants $(ARGS)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp is newer than pyproject.toml and the constraints once what it names is installed.
$(VENV)/.installed: pyproject.toml constraints.txt | $(PYTHON)
	$(INSTALL) .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(PYTHON)
	$(INSTALL) ".[test]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(PYTHON)
	$(INSTALL) ".[dev]"
	@touch $@ $(VENV)/.installed $(VENV)/.installed-test

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(PYTHON)
	$(INSTALL) ".[compile,docs]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-prebuild: pyproject.toml constraints.txt | $(PYTHON)
	$(INSTALL) ".[compile,prebuild]"
	@touch $@ $(VENV)/.installed

# With the newest Python that PyTorch has a wheel for.
$(PYTHON):
	@sh tools/make_venv.sh $(VENV)
