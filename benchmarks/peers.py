"""One peer's l1 codes, timed: run by speed.py with the Python of the peers' environment, which has no l0graph.

    python peers.py PEER DATA.npy COLUMNS.npy PENALTY SECONDS PROCESSES

DATA holds unit-norm samples in rows. Codes the columns one by one, a process for each share of them, until SECONDS are
over; prints one JSON line: seconds of what is done once for all columns, columns a second, processor seconds a column,
and each column's objective ||x - Xz||^2 + penalty ||z||_1 at its code.
"""

import json
import multiprocessing
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # a thread in each process

import numpy as np  # noqa: E402 - reads the number of threads when it is imported

TIGHT = 1e-10
"""Tolerance of the iterative solvers, so that all reach the same objective; see the objectives printed."""


def others(A, i):
    """The dictionary without a column, as the solvers want it."""
    return np.asfortranarray(np.delete(A, i, axis=1))


def spams_without(A, penalty):
    """Lasso per column over a dictionary without that column."""
    import spams

    def code(i):
        z = spams.lasso(A[:, [i]], D=others(A, i), lambda1=penalty / 2, mode=2, numThreads=1).toarray()[:, 0]
        return np.insert(z, i, 0.0)

    return code


def spams_zeroed(A, penalty):
    """The same without the copy: the sample's own column is set to zero while it is coded."""
    import spams

    def code(i):
        x = np.asfortranarray(A[:, [i]])
        A[:, i] = 0
        z = spams.lasso(x, D=A, lambda1=penalty / 2, mode=2, numThreads=1).toarray()[:, 0]
        A[:, i] = x[:, 0]
        return z

    return code


def spams_gram(A, penalty):
    """The same over a Gram matrix of all samples, which takes n x n memory, made once."""
    import spams

    Q = np.asfortranarray(A.T @ A)

    def code(i):
        q = np.asfortranarray(Q[:, [i]])
        q[i] = 0
        row = Q[i].copy()
        Q[i], Q[:, i] = 0, 0
        Q[i, i] = 1
        x = np.asfortranarray(A[:, [i]])
        z = spams.lasso(x, Q=Q, q=q, lambda1=penalty / 2, mode=2, numThreads=1).toarray()[:, 0]
        Q[i], Q[:, i] = row, row
        return z

    return code


def celer(A, penalty):
    from celer import Lasso

    d = len(A)
    model = Lasso(alpha=penalty / (2 * d), fit_intercept=False, tol=TIGHT, max_iter=1000)
    return lambda i: np.insert(model.fit(others(A, i), A[:, i]).coef_, i, 0.0)


def skglm(A, penalty):
    from skglm import Lasso

    d = len(A)
    model = Lasso(alpha=penalty / (2 * d), fit_intercept=False, tol=TIGHT)
    return lambda i: np.insert(model.fit(others(A, i), A[:, i]).coef_, i, 0.0)


def sklearn(A, penalty):
    from sklearn.linear_model import Lasso

    d = len(A)
    model = Lasso(alpha=penalty / (2 * d), fit_intercept=False, tol=TIGHT, max_iter=100_000)
    return lambda i: np.insert(model.fit(others(A, i), A[:, i]).coef_, i, 0.0)


PEERS = {f.__name__.replace("_", "-"): f for f in (spams_without, spams_zeroed, spams_gram, celer, skglm, sklearn)}


def share(peer, path, columns, penalty, seconds, started):
    """Code some of the columns; what a process does."""
    import warnings

    warnings.simplefilter("ignore")
    A = np.asfortranarray(np.load(path).T)
    PEERS[peer](A, penalty)(int(columns[-1]))  # what is compiled or loaded at first is not counted
    started.wait()
    begun = time.perf_counter()
    code = PEERS[peer](A, penalty)
    setup = time.perf_counter() - begun
    begun, processor = time.perf_counter(), time.process_time()
    found = []
    for i in columns:
        z = code(int(i))
        found.append((int(i), z))
        if time.perf_counter() - begun > seconds:
            break
    wall, processor = time.perf_counter() - begun, time.process_time() - processor
    objectives = {i: float(np.sum((A[:, i] - A @ z) ** 2) + penalty * np.abs(z).sum()) for i, z in found}
    return {"setup": setup, "wall": wall, "processor": processor, "objectives": objectives}


def main():
    peer, path, columns, penalty, seconds, processes = sys.argv[1:]
    columns = np.load(columns)
    processes = int(processes)
    with multiprocessing.get_context("spawn").Manager() as manager:
        started = manager.Barrier(processes)  # all begin together
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            jobs = [
                (peer, path, columns[k::processes], float(penalty), float(seconds), started) for k in range(processes)
            ]
            parts = pool.starmap(share, jobs, chunksize=1)
    objectives = {i: value for part in parts for i, value in part["objectives"].items()}
    # Processes end at different columns: columns a second add up.
    rate = sum(len(part["objectives"]) / part["wall"] for part in parts)
    processor = sum(part["processor"] for part in parts)
    setup = max(part["setup"] for part in parts)
    line = {"setup": setup, "rate": rate, "processor": processor / len(objectives), "objectives": objectives}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
