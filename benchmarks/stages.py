"""The stages of the main line beside dense computations."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering

from data import best_of, load
from l0graph import affinity, cluster_graph, l0_codes, l1_codes, spectral_embedding
from l0graph.metrics import clustering_accuracy


def dense_iteration(X, Z, penalty, lipschitz, n_steps):
    """The paper's iteration as one writes it in NumPy: two matrix products a step, all of Z dense."""
    threshold = np.sqrt(2 * penalty / lipschitz)
    objectives = []
    for _ in range(n_steps):
        residual = X - Z @ X
        objectives.append(np.sum(residual**2) + penalty * np.count_nonzero(Z))
        Z = Z + 2 / lipschitz * (residual @ X.T)
        Z[np.abs(Z) < threshold] = 0
        np.fill_diagonal(Z, 0)
    objectives.append(np.sum((X - Z @ X) ** 2) + penalty * np.count_nonzero(Z))
    return Z, np.array(objectives)


def l0_stage():
    """The l0 stage beside the dense iteration, from the same l1 codes, 100 iterations."""
    X, _, source = load("yaleb_32x32")
    init = l1_codes(X, n_jobs=-1).codes
    ours, result = best_of(5, lambda: l0_codes(X, init=init, tol=0, n_jobs=-1))
    start = init.toarray()
    dense, (Z, objectives) = best_of(1, lambda: dense_iteration(X, start.copy(), 0.5, 100.0, 100))
    return {
        "data": f"{source}, n = {len(X)}, d = {X.shape[1]}",
        "dense NumPy iteration, s": dense,
        "l0_codes, s": ours,
        "ratio": dense / ours,
        "largest difference of codes": float(np.abs(result.codes.toarray() - Z).max()),
        "largest difference of objectives": float(np.abs(result.objective - objectives).max()),
    }


def embedding():
    """The spectral embedding beside dense eigh, and the clusters from it beside scikit-learn's."""
    X, y, source = load("coil100")
    c = len(np.unique(y))
    W = affinity(l0_codes(X, n_jobs=-1).codes)
    ours, (E, values) = best_of(3, lambda: spectral_embedding(W, c))
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.divide(1, np.sqrt(degrees), out=np.zeros(len(X)), where=degrees > 0)
    A = root[:, None] * W.toarray() * root
    n = len(X)
    dense, (expected, _) = best_of(1, lambda: scipy.linalg.eigh(A, subset_by_index=[n - c, n - 1]))
    return {
        "data": f"l0-graph of {source}, n = {n}, c = {c}",
        "dense eigh (leading c), s": dense,
        "spectral_embedding, s": ours,
        "ratio": dense / ours,
        "largest difference of eigenvalues": float(np.abs(values - expected[::-1]).max()),
        "largest residual": float(np.linalg.norm(A @ E - E * values, axis=0).max()),
        **spectral_clustering(W, y, c),
    }


def spectral_clustering(W, y, c):
    """The clusters of the same graph by scikit-learn, beside ours without the treatment of fragments; three seeds."""
    rows = {}
    cluster = {
        "scikit-learn's SpectralClustering": lambda seed: SpectralClustering(
            c, affinity="precomputed", n_init=20, random_state=seed
        ).fit_predict(sp.csr_matrix(W)),
        "cluster_graph": lambda seed: cluster_graph(W, c, min_gap=0, random_state=seed, n_jobs=-1).labels,
    }
    for name, labels in cluster.items():
        seconds, accuracies = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn: the graph is not connected
            for seed in range(3):
                spent, found = best_of(1, lambda seed=seed, labels=labels: labels(seed))
                seconds.append(spent)
                accuracies.append(f"{clustering_accuracy(y, found):.3f}")
        rows[f"{name}, s"] = float(np.median(seconds))
        rows[f"{name}, accuracies"] = ", ".join(accuracies)
    return rows


_MEMORY = """
import sys
sys.path.insert(0, {here!r})
from data import load, peak_mib
from l0graph import L0Graph, warmup
warmup()
X, y, source = load("coil100")
before = peak_mib()
L0Graph(100, random_state=0, n_jobs=-1).fit(X)
print(source, len(X), X.nbytes / 2**20, before, peak_mib(), sep="|")
"""


def memory():
    """Peak memory of a whole fit, in a process of its own."""
    code = _MEMORY.format(here=str(Path(__file__).parent))
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    source, n, data, before, peak = run.stdout.strip().split("|")
    return {
        "data": f"{source}, n = {n}",
        "one n x n array in float64, MiB": 8 * int(n) ** 2 / 2**20,
        "X itself, MiB": float(data),
        "peak before fit, MiB": float(before),
        "peak of L0Graph.fit, MiB": float(peak),
    }
