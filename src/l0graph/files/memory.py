"""Does it fit? Asked before the bytes are read, so that a file that lies about its size costs nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .errors import FileError


def available_memory() -> int | None:
    """Return the bytes of memory that can be had now, None where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def check_fits(n_bytes: int, what: str) -> None:
    """Raise unless ``n_bytes`` can be held in memory."""
    limit = available_memory()
    if limit is not None and n_bytes > limit:
        msg = (
            f"{what} needs {n_bytes / 2**30:,.1f} GiB of memory, and {limit / 2**30:,.1f} GiB are available: "
            "take fewer samples or features, or a machine with more memory"
        )
        raise FileError(msg)
