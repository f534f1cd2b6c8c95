"""Codes that several runs start from, computed once and kept on disk."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files import atomic_write

_DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def cached_codes(
    folder: Path, identity: dict[str, Any], compute: Callable[[], sp.csr_array]
) -> tuple[sp.csr_array, bool]:
    """Return the codes of this identity, and whether they were computed now."""
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:20]
    path = folder / f"{name}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            parts = (kept["data"], kept["indices"], kept["indptr"])
            return sp.csr_array(parts, shape=tuple(kept["shape"])), False
    except _DAMAGED:
        pass  # not there yet; or damaged, and then written anew
    codes = compute()
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as draft:
        np.savez(draft, data=codes.data, indices=codes.indices, indptr=codes.indptr, shape=np.array(codes.shape))
    return codes, True
