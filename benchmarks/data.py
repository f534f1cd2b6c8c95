"""The benchmarks' data: real sets where they are at hand, unions of subspaces of the same size elsewhere."""

import contextlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from l0graph.datasets import make_subspaces

ROOT = Path(__file__).resolve().parent.parent
# What stands in for a set that is not there: subspaces, dimension, samples in each, ambient dimension.
STAND_INS = {
    "yaleb_32x32": (38, 9, 64, 1024),
    "coil20": (20, 5, 72, 1024),
    "coil100": (100, 5, 72, 1024),
    "umist": (20, 4, 29, 1024),
    "mnist": (10, 12, 500, 784),
}


def folder():
    return Path(os.environ.get("L0GRAPH_DATA", ROOT.parent / "shared" / "data"))


def load(name, normalize=True, dtype=np.float64):
    """Return (X with unit rows, or as it is; y; where it comes from)."""
    path = folder() / f"{name}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as archive:
            X, y = archive["X"].astype(dtype), archive["y"]
        source = name
    else:
        k, dim, n, d = STAND_INS[name]
        X, y = make_subspaces(n, n_subspaces=k, dim=dim, ambient_dim=d, noise=0.02, random_state=0)
        X = X.astype(dtype)
        source = f"subspaces of the size of {name}"
    if not normalize:
        return X, y, source
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0), y, source


def peak_mib():
    """Peak resident memory of this process. (getrusage would carry the parent's peak over.)"""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def forget_peak():
    """Let `peak_mib` count from now on, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def best_of(n, function):
    """Return (the best time of n calls, the last result)."""
    seconds, result = np.inf, None
    for _ in range(n):
        started = time.perf_counter()
        result = function()
        seconds = min(seconds, time.perf_counter() - started)
    return seconds, result
