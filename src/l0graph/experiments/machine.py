"""The machine and the versions that a figure comes from."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def machine() -> str:
    """Return processor, cores and memory in a few words."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                processor = " ".join(line.split(":", 1)[1].split())
                break
    memory = ""
    with suppress(AttributeError, OSError, ValueError):
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    return f"{processor}, {os.cpu_count()} cores{memory}, {platform.system()}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of what does the arithmetic."""
    packages = ("l0graph", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def forget_peak() -> None:
    """Start measuring peak memory anew, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mib() -> float:
    """Return the most memory that this process has held: since `forget_peak` on Linux, since its start elsewhere."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if platform.system() == "Darwin" else peak / 1024
    return float("nan")
