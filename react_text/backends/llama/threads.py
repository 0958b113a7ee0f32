"""What llama.cpp may use of this machine: how many threads, how they wait for each other, which instructions.

llama.cpp's OpenMP threads spin at every barrier. On an idle machine that is fast; beside other busy programs a spinning
thread burns the time slice that the thread it waits for needs, and decoding drops to a twentieth of its speed
(tests/benchmarks/bench_threads.py measures both). The defaults here give up a little idle speed and never fall off
that cliff. This module knows the machine and nothing of models.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

WAIT_POLICY = "OMP_WAIT_POLICY"
MOST_DECODE_THREADS = 8
"""Decoding is bound by memory bandwidth: more threads than this rarely help and hurt a busy machine."""


def usable_cpus() -> int:
    """Logical processors this process may use: its affinity mask, cut down by a container's CPU quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, allowed if quota is None else min(allowed, int(quota)))


def physical_cores() -> int:
    """Cores among the usable processors, counting the two threads of one core once; where unknown, the processors."""
    siblings = set()
    for cpu in os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ():
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text())
        except OSError:
            return usable_cpus()
    return min(len(siblings), usable_cpus()) or usable_cpus()


def decode_threads(cores: int) -> int:
    """Threads for decoding, one token at a time: all but one core, which stays free for a busy neighbour."""
    return max(1, min(cores - 1, MOST_DECODE_THREADS))


def prompt_threads(cpus: int) -> int:
    """Threads for prompt evaluation, whose long stretches between barriers make good use of every processor."""
    return max(1, cpus)


@contextlib.contextmanager
def patient_threads() -> Iterator[None]:
    """While llama.cpp is being loaded, ask OpenMP to let waiting threads sleep, unless the user set a policy.

    The runtime reads the variable once, when it is loaded; it is taken back afterwards so that programs started by
    this one do not inherit it. It has no effect when another library has loaded the same runtime before.
    """
    if WAIT_POLICY in os.environ or "GOMP_SPINCOUNT" in os.environ:
        yield
        return
    os.environ[WAIT_POLICY] = "passive"
    try:
        yield
    finally:
        os.environ.pop(WAIT_POLICY, None)


def reports_matrix_tiles() -> bool:
    """Whether the processor says that it has AMX tiles (x86 on Linux; elsewhere False)."""
    try:
        return " amx_tile" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def _cgroup_quota() -> float | None:
    """CPUs granted by a cgroup v2 quota, or None."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return None
