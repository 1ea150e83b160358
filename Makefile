# make demo        a detector trained and evaluated on handwritten digits, in minutes on two cores
# make road        pre-training, export, fine-tuning to detect and to segment, and both from scratch
# make test        the tests
# make test-slow   those that take longer than some twenty seconds
# make test-cpus   the tests with the kernels of other processors and with other random numbers, nine times in all
# make test-oldest the tests with the oldest versions that pyproject.toml allows, in an environment of their own, .venv-oldest
# make lint        ruff: rules and format
# make docs        the site of the documentation and of the classes' reference, in site/; nothing is fetched but its packages
# make docs-check  runs every command of docs/ and of the READMEs, in some ten minutes
# Each sets up the environment first: $(VENV), with the versions of requirements/constraints.txt. A second run re-uses it.
# Variables: PYTHON (3.10 to 3.13), VENV (default .venv), PYTEST_ARGS, WORKERS (test processes).

VENV ?= .venv
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.10; do \
	$$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$python && break; \
	done)
PYTEST_ARGS ?=
# One test process per core, each with one thread.
WORKERS ?= auto

EXTRAS := onedl,digits,export,test
CONSTRAINTS := requirements/constraints.txt
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
STAMP := $(VENV)/.csan_mm-installed

.PHONY: help env demo road test test-slow test-cpus test-oldest lint docs docs-check
.DELETE_ON_ERROR:

help:
	@sed -n '/^#/!q; s/^# //p' Makefile

env: $(STAMP)

demo: $(STAMP)
	$(PY) tools/demo.py

road: $(STAMP)
	$(PY) tools/road.py

test: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) $(PYTEST_ARGS)

test-slow: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) -m slow $(PYTEST_ARGS)

# Instruction sets that ATen, oneDNN and MKL are held to, and seeds of the tests' random numbers.
CPUS := ATEN_CPU_CAPABILITY=default ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=SSE41 ONEDNN_MAX_CPU_ISA=AVX2 \
	MKL_CBWR=COMPATIBLE MKL_CBWR=AVX2 CSAN_MM_TEST_SEED=1 CSAN_MM_TEST_SEED=2 CSAN_MM_TEST_SEED=3

test-cpus: $(STAMP)
	@failed=; for setting in $(CPUS); do \
		echo "$$setting"; \
		env OMP_NUM_THREADS=1 $$setting $(PY) -m pytest -n $(WORKERS) $(PYTEST_ARGS) || failed="$$failed $$setting"; \
	done; \
	test -z "$$failed" || { echo "error: tests fail under$$failed" >&2; exit 1; }

# The line of OpenMMLab's original packages; what cannot pass there stands with its reason in requirements/oldest-without.txt.
OLDEST := requirements/oldest.txt
test-oldest:
	$(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) test VENV=.venv-oldest CONSTRAINTS=$(OLDEST) \
		EXTRAS=openmmlab,digits,export,test \
		PYTEST_ARGS="$$(sed -n 's/^\(tests[^ ]*\) .*/--deselect=\1/p' requirements/oldest-without.txt | tr '\n' ' ') $(PYTEST_ARGS)"

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

# An environment that has all but the site's packages gets them when they are first wanted.
docs: $(STAMP)
	@$(PY) -c 'import mkdocs, mkdocstrings, material' 2>/dev/null || $(PIP) install --constraint $(CONSTRAINTS) --editable '.[$(EXTRAS),docs]'
	$(PY) tools/misc/build_docs.py

docs-check: $(STAMP)
	$(PY) tools/misc/check_docs.py

# Written last, so that an installation that failed is tried again.
$(STAMP): setup.py pyproject.toml $(CONSTRAINTS) csan_mm/version.py
	@rm -f $@
	@if ! $(PIP) --version >/dev/null 2>&1; then $(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) venv; fi
	$(PIP) install --constraint $(CONSTRAINTS) --editable '.[$(EXTRAS)]'
	@# opencv-python and its headless build share one folder, and only the headless one does without libGL.
	@if ! $(PY) -c 'import cv2' 2>/dev/null; then \
		echo "import cv2 fails (a machine without libGL): installing OpenCV's headless build over it"; \
		$(PIP) install --constraint $(CONSTRAINTS) --force-reinstall --no-deps opencv-python-headless && $(PY) -c 'import cv2'; \
	fi
	@touch $@

.PHONY: venv
venv:
	@test -n '$(PYTHON)' || { echo "error: no Python 3.10 to 3.13 found (python3 is $$(python3 --version 2>&1)): \
	install one, and name it with make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "error: $(PYTHON) is \
	$$($(PYTHON) --version 2>&1), and csan_mm needs 3.10 or newer: name another with make PYTHON=/path/to/python" >&2; exit 1; }
	@# Debian's python3 has no ensurepip without python3-venv; its pip can fill an empty environment.
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $(PY) install pip; } \
	|| { echo "error: $(PYTHON) can make no virtual environment: install its venv module (Debian: python3-venv)" >&2; exit 1; }
