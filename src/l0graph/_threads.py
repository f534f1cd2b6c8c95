"""Threads: one place decides how many run.

The parallel part is always the outermost: blocks of rows go to Python threads, and whatever happens to a block
(products with X, kernels, small solves) happens on its thread alone, with BLAS on one. Both release the GIL,
so plain threads are enough: Numba's own parallel loops take several times as long to compile, and its threading layers
forbid a later fork or a second caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from ._validation import check_number

_lock = threading.Lock()
_holders = 0
_limit: AbstractContextManager[Any] | None = None


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds; NumPy's and SciPy's BLAS are loaded by the first call.
    return ThreadpoolController()


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for, as scikit-learn counts them."""
    if n_jobs is not None:
        check_number(n_jobs, "n_jobs", integer=True)
        if n_jobs == 0:
            msg = "n_jobs must not be 0: give a number of threads, -1 for all cores, or None for one"
            raise ValueError(msg)
    return int(effective_n_jobs(n_jobs))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS on one thread inside the block: one order of summation, so one result, and no threads of threads.

    The number is the process's, not the caller's: the first to come sets it and the last to leave restores it.
    """
    global _holders, _limit  # noqa: PLW0603 - the state of the process, kept where it is set
    with _lock:
        if _holders == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0 and _limit is not None:
                _limit.__exit__(None, None, None)
                _limit = None


def run_blocks(
    work: Callable[[int, int], object],
    n_rows: int,
    size: int,
    n_threads: int,
    *,
    cancel: Callable[[], object] | None = None,
) -> None:
    """Run ``work(start, stop)`` for all rows, in blocks of up to ``size``, on ``n_threads`` threads.

    Blocks share nothing but what they write into, each its own rows; so neither size nor threads leave a trace in the
    result. After an error or Ctrl-C no further block begins; ``cancel`` can tell those under way to end early.
    """
    blocks = [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    with one_blas_thread():
        if n_threads == 1 or len(blocks) < 2:
            for block in blocks:
                work(*block)
            return
        with ThreadPoolExecutor(min(n_threads, len(blocks))) as pool:
            # Each in a copy of the caller's context, where the listener to reports is kept.
            futures = [pool.submit(partial(copy_context().run, work, *block)) for block in blocks]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                if cancel is not None:
                    cancel()
                raise


def run_rows(kernel: Callable[..., None], n_rows: int, n_threads: int, *args: Any) -> None:
    """Run ``kernel(start, stop, *args)`` over all rows, on ``n_threads`` threads.

    A kernel treats each row by itself, so the chunks leave no trace in the result.
    """
    # Rows differ in cost: several chunks a thread even that out.
    size = n_rows if n_threads == 1 else -(-n_rows // (8 * n_threads))
    run_blocks(lambda start, stop: kernel(start, stop, *args), n_rows, max(1, size), n_threads)


def block_size(n_rows: int, largest: int, n_threads: int) -> int:
    """Return a number of rows a block, at most ``largest``, that keeps all threads busy to the end."""
    return max(1, min(largest, -(-n_rows // (4 * n_threads))))
