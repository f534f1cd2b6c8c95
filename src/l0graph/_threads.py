"""Thread counts: one place decides how many threads BLAS and Numba use.

Two regimes alternate: a big matrix product (BLAS takes all threads, Numba none) and a loop over samples (Numba takes
all threads, and BLAS calls inside it must run on one, or threads multiply). Numba's workqueue layer aborts the process
when two Python threads enter it, so a lock guards every entry.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numba
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

_kernel_lock = threading.RLock()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; NumPy's and SciPy's BLAS are loaded by the first call.
    return ThreadpoolController()


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for, as scikit-learn counts them."""
    return int(effective_n_jobs(n_jobs))


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Run BLAS on ``n_threads`` threads inside the block."""
    with _controller().limit(limits=n_threads, user_api="blas"):
        yield


@contextmanager
def kernel_threads(n_threads: int) -> Iterator[None]:
    """Run Numba kernels on ``n_threads`` threads, BLAS calls inside them on one."""
    with _kernel_lock:
        before = numba.get_num_threads()
        numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
        try:
            with blas_threads(1):
                yield
        finally:
            numba.set_num_threads(before)
