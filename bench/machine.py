"""What the figures were measured on, and how CPU time is read there."""

import gc
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from jobledger.adapters.process.interpreter import SWITCH_INTERVAL_SECONDS, collect_seldom


def run_as_the_service_does() -> None:
    """Set this interpreter up as `jobledger run` does."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_seldom()


def machine_settings() -> dict[str, str]:
    """Return what the figures depend on."""
    switch = f"switch interval {sys.getswitchinterval() * 1e3} ms, collector {gc.get_threshold()}"
    return {
        "cores": f"{os.cpu_count()}, shared by everything that is measured",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_version()}{_build()}, {switch}",
        "load before": load(),
    }


def load() -> str:
    """Return the load averages over 1, 5 and 15 minutes."""
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


def _build() -> str:
    """Return that this interpreter was built without profile-guided optimisation, if it was.

    That costs a fifth. Builds of Debian's do not say that they are optimised, but empty the flag.
    """
    configured = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    flag = sysconfig.get_config_var("PGO_PROF_USE_FLAG")
    is_optimised = "--enable-optimizations" in configured or not flag
    return "" if is_optimised else " without profile-guided optimisation"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time of processes of one thread, to the nanosecond where Linux tells it."""
    return sum(_cpu_seconds(pid) for pid in pids)


def _cpu_seconds(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except (OSError, IndexError):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its children, those that have ended included."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        own = process.cpu_times()
        total += own.user + own.system + own.children_user + own.children_system
        for child in process.children():
            with suppress(psutil.NoSuchProcess):
                times = child.cpu_times()
                total += times.user + times.system
    return total
