"""What all tests share: reproducible hypothesis runs, and the real data sets where they are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile("l0graph", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("l0graph")

ROOT = Path(__file__).resolve().parent.parent

RealData = Callable[[str], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="session")
def real_data() -> RealData:
    """Return a loader ``name -> (X, y)`` of the sets in shared/data beside the repository; it skips without them."""

    def load(name: str) -> tuple[np.ndarray, np.ndarray]:
        path = ROOT.parent / "shared" / "data" / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"no {name}.npz in shared/data beside the repository: the set may not be redistributed")
        with np.load(path, allow_pickle=False) as archive:
            return archive["X"], archive["y"]

    return load
