"""Threads: one place decides how many run.

Two regimes alternate: a big matrix product, where BLAS takes all threads, and a loop over samples, where rows go to
Python threads in chunks and BLAS calls inside run on one. Kernels release the GIL, so plain threads are enough:
Numba's own parallel loops take several times as long to compile, and its threading layers forbid a later fork or a
second caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

_blas_lock = threading.RLock()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; NumPy's and SciPy's BLAS are loaded by the first call.
    return ThreadpoolController()


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for, as scikit-learn counts them."""
    return int(effective_n_jobs(n_jobs))


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Run BLAS on ``n_threads`` threads inside the block.

    The number is the process's, so callers from several Python threads take turns.
    """
    with _blas_lock, _controller().limit(limits=n_threads, user_api="blas"):
        yield


def run_rows(kernel: Callable[..., None], n_rows: int, n_threads: int, *args: Any) -> None:
    """Run ``kernel(start, stop, *args)`` over all rows, on ``n_threads`` threads.

    A kernel treats each row by itself, so the chunks leave no trace in the result.
    """
    with blas_threads(1):
        if n_threads == 1 or n_rows < 2:
            kernel(0, n_rows, *args)
            return
        # Rows differ in cost: several chunks a thread even that out.
        size = max(1, -(-n_rows // (8 * n_threads)))
        with ThreadPoolExecutor(n_threads) as pool:
            chunks = [pool.submit(kernel, start, min(start + size, n_rows), *args) for start in range(0, n_rows, size)]
            for chunk in chunks:
                chunk.result()
