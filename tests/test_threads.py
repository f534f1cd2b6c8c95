"""Thread counts are the caller's own again after each call."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from l0graph import L0Graph, OMPGraph
from l0graph._threads import run_rows
from methods import random_data


def blas_counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("Estimator", [L0Graph, OMPGraph])
@pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning")
def test_blas_is_as_it_was_after_a_fit(Estimator, n_jobs):
    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        Estimator(3, n_jobs=n_jobs, random_state=0).fit(random_data(120, 10))
        assert blas_counts() == before


@pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning")
def test_fits_in_several_python_threads_agree():
    X = random_data(120, 10)
    expected = L0Graph(3, random_state=0).fit(X).labels_
    results = [None] * 4

    def fit(i):
        results[i] = L0Graph(3, n_jobs=2, random_state=0).fit(X).labels_

    with threadpool_limits(2, user_api="blas"):
        before = blas_counts()
        threads = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas_counts() == before
    for labels in results:
        np.testing.assert_array_equal(labels, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_go_on():
    X = random_data(60, 6)
    L0Graph(2, n_jobs=2, random_state=0).fit(X)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            from l0graph import l0_codes

            l0_codes(X, n_jobs=2)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("n_rows", [0, 1, 7, 100])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_row_is_run_once(n_rows, n_threads):
    seen = np.zeros(n_rows, dtype=int)

    def kernel(start, stop, seen):
        seen[start:stop] += 1

    run_rows(kernel, n_rows, n_threads, seen)
    assert (seen == 1).all()


def test_errors_of_a_chunk_arrive():
    def kernel(start, stop):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_rows(kernel, 10, 2)
