"""Leading eigenvectors of the normalised affinity, exact where eigenvalues repeat.

A sparse self-expressive graph is nearly disconnected: eigenvalue 1 of D^-1/2 W D^-1/2 repeats once per component, and a
Lanczos iteration, which starts from one vector, cannot see that. So components are found first; each one's vector
for eigenvalue 1 is known, sqrt(degrees); and eigenproblems are solved inside components only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from .._progress import report
from .._threads import one_blas_thread
from .._validation import check_affinity, check_number
from ..backends import is_device_array, to_scipy
from ..backends.eigen import leading
from ..backends.namespaces import space_of

_DENSE = 600
"""Components up to this size are solved densely."""
_RESIDUAL = 1e-8
"""Largest ||A v - lambda v|| that passes."""
_BAND_WORK = 1e9
"""Most multiplications that factoring a band may take; more, and the graph is no chain."""
_SHIFT = 1e-8
"""Distance of the shift from 1, past all eigenvalues."""
_Pairs = tuple[np.ndarray, np.ndarray]
_Inside = Callable[[sp.csr_array, np.ndarray, int], _Pairs]
_Solver = Callable[[np.ndarray], np.ndarray]


def spectral_embedding(W: sp.csr_array, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading eigenvectors of D^-1/2 W D^-1/2, D the diagonal of row sums.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Symmetric and nonnegative. Of torch or CuPy, the eigenproblems are solved on its device.
    n_components : int
        Number of eigenvectors, at most n_samples.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
        Orthonormal columns, of W's dtype; of each column the largest entry is positive.
    eigenvalues : ndarray of shape (n_components,)
        Descending.

    Notes
    -----
    Every connected component has eigenvalue 1 once. With more components than ``n_components`` the largest
    components' vectors are returned. Samples without edges have eigenvalue 0, by D^-1/2 = 0 for them. The result is the
    same on every run. Memory: n_samples x n_components, and one dense matrix per component of up to 600 samples.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from l0graph import spectral_embedding
    >>> W = sp.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> embedding, eigenvalues = spectral_embedding(W, 2)
    >>> eigenvalues
    array([1., 1.])
    >>> embedding.round(3)
    array([[0.707, 0.   ],
           [0.707, 0.   ],
           [0.   , 0.707],
           [0.   , 0.707]])
    """
    if is_device_array(W):
        space = space_of(W)
        embedding, eigenvalues = _embed_by(W, n_components, partial(leading, space))
        return space.asarray(embedding), space.asarray(eigenvalues)
    return _embed_by(W, n_components, _inside)


def _embed_by(W: Any, n_components: int, inside: _Inside) -> tuple[np.ndarray, np.ndarray]:
    """As `spectral_embedding`, on the host but for the eigenproblems inside components."""
    W = check_affinity(to_scipy(W) if is_device_array(W) else W)
    check_number(n_components, "n_components", at_least=1, at_most=W.shape[0], integer=True)
    dtype = W.dtype
    with one_blas_thread():  # the order of summation, and with it every bit, stays the same
        embedding, eigenvalues = _embed(W.astype(np.float64), n_components, inside)
    return embedding.astype(dtype), eigenvalues.astype(dtype)


def component_labels(W: sp.csr_array) -> tuple[int, np.ndarray]:
    """Return the number of connected components and each sample's, the largest component first."""
    count, labels = connected_components(W, directed=False)
    sizes = np.bincount(labels, minlength=count)
    # Of equal sizes the one with the earlier first sample comes first: SciPy numbers them so.
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return count, rank[labels]


def _embed(W: sp.csr_array, n_components: int, inside: _Inside) -> _Pairs:
    n = W.shape[0]
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(degrees)
    inverse_root = np.divide(1.0, root, out=np.zeros(n), where=root > 0)
    scaling = sp.dia_array((inverse_root[None, :], [0]), shape=(n, n))
    A = sp.csr_array(scaling @ W @ scaling)

    count, labels = component_labels(W)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels, minlength=count))[:-1])
    connected = [m for m in members if degrees[m[0]] > 0]
    isolated = [m for m in members if degrees[m[0]] == 0]
    pieces: list[tuple[float, np.ndarray, np.ndarray]] = []  # eigenvalue, samples, their entries of the vector
    for m in connected[:n_components]:
        pieces.append((1.0, m, root[m] / np.linalg.norm(root[m])))
    missing = n_components - len(pieces)
    if missing > 0:
        inner: list[tuple[float, np.ndarray, np.ndarray]] = [(0.0, m, np.ones(1)) for m in isolated[:missing]]
        for done, m in enumerate(connected):
            report("embedding", done, len(connected))
            k = min(missing, len(m) - 1)
            if k > 0:
                values, vectors = inside(A[m][:, m], root[m] / np.linalg.norm(root[m]), k)
                inner += [(float(values[i]), m, vectors[:, i]) for i in range(k)]
        # Stable: of equal eigenvalues the larger component's comes first.
        inner.sort(key=lambda piece: -piece[0])
        pieces += inner[:missing]

    embedding = np.zeros((n, n_components))
    for column, (_, m, vector) in enumerate(pieces):
        embedding[m, column] = vector if vector[np.argmax(np.abs(vector))] > 0 else -vector
    return embedding, np.array([value for value, _, _ in pieces])


def _inside(A: sp.csr_array, known: np.ndarray, k: int) -> _Pairs:
    """Return the k leading eigenpairs of one component other than the known one of eigenvalue 1."""
    s = A.shape[0]
    if s <= _DENSE or 3 * (k + 1) > s:
        # Moving the known vector's eigenvalue from 1 to -2 takes it out of the way.
        dense = A.toarray() - 3 * np.outer(known, known)
        values, vectors = scipy.linalg.eigh(dense, subset_by_index=[s - k, s - 1])
        return values[::-1], vectors[:, ::-1]
    solve = _banded_solver(A)
    values, vectors = _lanczos(A, known[:, None], k, seed=0, solve=solve)
    # Lanczos finds one vector of a repeated eigenvalue: look for what it missed until nothing above the last is left.
    for attempt in range(1, 2 * k + 2):
        more, vector = _lanczos(A, np.column_stack([known, vectors]), 1, seed=attempt, solve=solve)
        if more[0] <= values[-1] + _RESIDUAL:
            return values, vectors
        order = np.argsort(-np.append(values, more), kind="stable")[:k]
        values = np.append(values, more)[order]
        vectors = np.column_stack([vectors, vector])[:, order]
    msg = f"spectral_embedding: the leading eigenvalues of a component of {s} samples did not settle"
    raise RuntimeError(msg)


def _banded_solver(A: sp.csr_array) -> _Solver | None:
    """Return the solver of (shift I - A) x = b where the samples line up so that A is a narrow band, or None.

    Long chains and rings have eigenvalues too close together for Lanczos on A, and hardly any fill in their factor.
    Where the band is wide the graph is well connected, its factor fills in, and Lanczos on A does well.
    """
    s = A.shape[0]
    order = reverse_cuthill_mckee(sp.csr_matrix(A), symmetric_mode=True)
    place = np.empty(s, dtype=np.int64)
    place[order] = np.arange(s)
    rows = np.repeat(np.arange(s), np.diff(A.indptr))
    width = int(np.abs(place[rows] - place[A.indices]).max(initial=0))
    if width * width * s > _BAND_WORK:
        return None
    shifted = sp.csc_matrix((1 + _SHIFT) * sp.eye_array(s) - A[order][:, order])
    # Positive definite: no pivoting, so nothing leaves the band.
    factor = splu(shifted, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(v: np.ndarray) -> np.ndarray:
        return factor.solve(v[order])[place]

    return solve


def _lanczos(A: sp.csr_array, known: np.ndarray, k: int, seed: int, solve: _Solver | None) -> _Pairs:
    """Return the k leading eigenpairs of A outside the span of its eigenvectors ``known``, residuals checked.

    With ``solve``, which applies (shift I - A)^-1, by that.
    """
    s = A.shape[0]

    def without_known(v: np.ndarray) -> np.ndarray:
        return v - known @ (known.T @ v)

    def deflated(v: np.ndarray) -> np.ndarray:
        v = v.ravel()
        if solve is None:
            return A @ v - known @ (3 * (known.T @ v))
        return without_known(solve(without_known(v)))

    start = np.random.RandomState(seed).standard_normal(s)
    operator = LinearOperator((s, s), matvec=deflated, dtype=np.float64)
    n_basis = min(s, max(2 * k + 1, 40))
    while True:
        try:
            values, vectors = eigsh(
                operator, k=k, which="LA", v0=start, ncv=n_basis, tol=1e-10, maxiter=max(300, 20 * k)
            )
        except ArpackNoConvergence:
            values = vectors = np.empty(0)
        else:
            if solve is not None:
                values = 1 + _SHIFT - 1 / values
            if np.linalg.norm(A @ vectors - vectors * values, axis=0).max() <= _RESIDUAL:
                break
        if n_basis >= min(s, 1000):
            msg = (
                f"spectral_embedding: {k} eigenvectors of a component of {s} samples did not converge to {_RESIDUAL:g}"
                f" with {n_basis} basis vectors: its leading eigenvalues are too close together"
            )
            raise RuntimeError(msg)
        n_basis = min(s, 1000, 3 * n_basis)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
