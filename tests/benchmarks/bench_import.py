"""What importing the package adds to a bare interpreter: all timed in turn, medians and differences printed.

Run with `make bench`, or `pytest tests/benchmarks/bench_import.py --override-ini addopts= -s`.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
CASES = {
    "bare": "pass",
    "import react_text": "import react_text",
    "from react_text import parse": "from react_text import parse",
    "from react_text import *": "from react_text import *",
}


def _seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def test_import_time():
    rounds = [{name: _seconds(code) for name, code in CASES.items()} for _ in range(ROUNDS)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in CASES}
    print()
    for name, seconds in medians.items():
        more = seconds - medians["bare"]
        print(f"{name:30} {seconds * 1000:5.0f} ms, {more * 1000:5.0f} ms more, ratio {seconds / medians['bare']:.2f}")
