"""What `import react_text` adds to a bare interpreter: both timed in turn, the medians and their difference printed."""

import statistics
import subprocess
import sys
import time

ROUNDS = 15


def _seconds(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def test_import_time():
    pairs = [(_seconds("pass"), _seconds("import react_text")) for _ in range(ROUNDS)]
    bare = statistics.median(one for one, _ in pairs)
    whole = statistics.median(other for _, other in pairs)
    print(f"\nimport react_text: bare {bare * 1000:.0f} ms, with the package {whole * 1000:.0f} ms, ", end="")
    print(f"{(whole - bare) * 1000:.0f} ms more (to stay under 150), ratio {whole / bare:.2f}, {ROUNDS} pairs")
