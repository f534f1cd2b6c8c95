"""How much memory a run may take, and how much it will take: said before it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._validation import check_number
from ..files.memory import available_memory

_SHARE = 0.5
"""Part of the free memory that a run takes if nothing is said."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_BLOCK_BYTES = 2**25
"""A block of samples in its stored type."""
_BLOCK_ROWS = (256, 8192)
_CODE_BYTES = 1600
"""A sample's code, about 20 nonzeros of 12 bytes, in some six copies while the graph is made."""
_GROUP_BYTES = 120
"""An atom's share of the search for equal atoms."""
_WORKING = 48 * 2**20
"""Products, residuals and codes under way, on one thread."""


def parse_memory(value: int | float | str | None) -> int | None:
    """Return a number of bytes from one, or from text such as "3 GiB", "500MB"; None stays None."""
    if value is None:
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", value.lower())
        if not match or match[2] not in _UNITS:
            msg = f"memory_limit must be a number of bytes or a size such as '3GiB', got {value!r}"
            raise ValueError(msg)
        value = float(match[1]) * _UNITS[match[2]]
    check_number(value, "memory_limit", above=0)
    return int(value)


def resident() -> int:
    """Return the bytes that this process holds now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096


@dataclass(frozen=True)
class Need:
    """What a run takes, in bytes."""

    atoms: int
    """The dictionary: its samples and their unit copy, where they are held in memory."""
    coding: int
    """Blocks under way."""
    clustering: int
    """The graph, the eigenvectors, k-means."""

    @property
    def total(self) -> int:
        """The most at one time; atoms stay throughout."""
        return self.atoms + max(self.coding, self.clustering)


def block_rows(n: int, d: int, itemsize: int) -> int:
    """Return the rows of a block: a power of two, some 32 MB, and a dozen blocks at least where n allows."""
    most = min(_BLOCK_BYTES // (d * itemsize), n // 12, _BLOCK_ROWS[1])
    return int(max(_BLOCK_ROWS[0], 2 ** int(np.log2(max(1, most)))))


def need(
    n: int, d: int, m: int, itemsize: int, *, rows: int, n_clusters: int, n_threads: int, mapped: bool, piece: int
) -> Need:
    """Estimate what n samples over m atoms take.

    Held atoms are counted with their sketch; mapped ones with the tile that is compared at a time.
    """
    atoms = m * _GROUP_BYTES
    atoms += 4 * 4096 * d * (1 + n_threads) if mapped else m * (d * (itemsize + 4) + 512)
    coding = 4 * rows * d * itemsize + 2000 * rows + n_threads * (_WORKING + 512 * d * 40) + piece
    vectors = max(2 * n_clusters + 3, 40) + 4 * (n_clusters + 1)
    if m < n:
        graph = min(m * m, 400 * m) * 12 * 4 + m * vectors * 8
        clustering = graph + n * 16 + 65_536 * (n_clusters * 24 + 400)
    else:
        clustering = n * (_CODE_BYTES + vectors * 8)
    return Need(int(atoms), int(coding), int(clustering))


def limit_of(memory_limit: int | None) -> tuple[int, str]:
    """Return the bytes that a run may take beside what the process holds already, and where they come from."""
    if memory_limit is not None:
        return memory_limit - resident(), "memory_limit"
    free = available_memory()
    return (2**62 if free is None else int(_SHARE * free)), "half of the free memory"


def refuse(needed: Need, limit: int, name: str, advice: str) -> None:
    """Raise: a run cannot fit."""
    size = needed.total + (resident() if name == "memory_limit" else 0)
    allowed = limit + (resident() if name == "memory_limit" else 0)
    msg = (
        f"this run needs about {size / 2**30:.2f} GiB of memory, and {name} is {max(0, allowed) / 2**30:.2f} GiB: "
        f"raise memory_limit{advice}"
    )
    raise ValueError(msg)
