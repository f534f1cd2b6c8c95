"""The proximal l0 iteration of one sample on its support.

With A the support's rows of X, G = A A^T, b = A x and q = b - G z, one step is  v = z + (2/L) q,  then entries
with |v| < sqrt(2 lambda / L) become zero. Atoms outside the support take part only where the caller lets them enter.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from ._rows import as_float64, gather, residual_of


@njit(cache=True, nogil=True)
def _majorising(G, L, tau):
    """Return the least number not under L that majorises on this support: 2 tau sigma_max(G)."""
    trace = 0.0
    for i in range(G.shape[0]):
        trace += G[i, i]
    if 2.0 * tau * trace <= L:  # the trace bounds sigma_max, and is free
        return L
    return max(L, 2.0 * tau * np.linalg.eigvalsh(G)[-1])


@njit(cache=True, nogil=True)
def _joined(ids, z, new_ids, new_z):
    """Return the sorted union of a support and new members, with their values."""
    all_ids = np.concatenate((ids, new_ids))
    order = np.argsort(all_ids)
    return all_ids[order], np.concatenate((z, new_z))[order]


@njit(cache=True, nogil=True)
def _outside(items, ids):
    """Mark the items that are not in the sorted support."""
    marks = np.empty(items.shape[0], dtype=np.bool_)
    for i in range(items.shape[0]):
        position = np.searchsorted(ids, items[i])
        marks[i] = position == ids.shape[0] or ids[position] != items[i]
    return marks


@njit(cache=True, nogil=True)
def _submatrix(G, kept):
    H = np.empty((kept.shape[0], kept.shape[0]))
    for i in range(kept.shape[0]):
        for j in range(kept.shape[0]):
            H[i, j] = G[kept[i], kept[j]]
    return H


@njit(cache=True, nogil=True)
def _iterate(
    X,
    target,
    penalty,
    L,
    tau,
    check_step,
    max_norm,
    start,
    stop,
    screened,
    items,
    values,
    members,
    coefs,
    k,
    objective,
    residual,
):
    """Iterate one sample from ``start`` to ``stop``, or to where atoms might enter that nobody has screened.

    ``screened`` says that ``items`` and ``values`` are all atoms, with their correlations, that may enter at ``start``.
    IN/OUT the padded row ``members`` (sorted), ``coefs``; OUT ``objective`` from ``start`` on and, where stopped
    early, ``residual``. Returns (iteration reached, support size, L).
    """
    x = as_float64(target)
    xx = np.dot(x, x)
    ids = members[:k].copy()
    z = coefs[:k].copy()
    A = gather(X, ids)
    G = np.dot(A, A.T)
    b = np.dot(A, x)
    if check_step and start == 0:
        L = _majorising(G, L, tau)
    t = start
    while True:
        k = ids.shape[0]
        q = b.copy()
        for j in range(k):
            for i in range(k):
                q[i] -= z[j] * G[j, i]
        rr = xx
        for i in range(k):
            rr -= z[i] * (b[i] + q[i])
        rr = max(rr, 0.0)
        objective[t] = rr + penalty * k
        if t == stop:
            break
        entering = items[:0]
        correlations = values[:0]
        if np.sqrt(rr) * max_norm >= np.sqrt(penalty * L / 2.0):
            if not (screened and t == start):
                residual_of(x, A, z, residual)
                break
            new = _outside(items, ids)
            entering = items[new]
            correlations = values[new]
            if check_step and entering.shape[0] > 0:
                B = gather(X, np.sort(np.concatenate((ids, entering))))
                raised = _majorising(np.dot(B, B.T), L, tau)
                if raised > L:  # a shorter step, which lets fewer in
                    L = raised
                    enough = np.abs(correlations) >= np.sqrt(penalty * L / 2.0)
                    entering = entering[enough]
                    correlations = correlations[enough]
        t += 1
        changed = False
        for i in range(k):
            before = z[i]
            z[i] += 2.0 / L * q[i]
            changed = changed or z[i] != before
        kept = np.flatnonzero((np.abs(z) >= np.sqrt(2.0 * penalty / L)) & (z != 0.0))
        if entering.shape[0] > 0:
            ids, z = _joined(ids[kept], z[kept], entering, 2.0 / L * correlations)
            A = gather(X, ids)
            G = np.dot(A, A.T)
            b = np.dot(A, x)
        elif kept.shape[0] < k:
            ids = ids[kept]
            z = z[kept]
            A = A[kept]
            G = _submatrix(G, kept)
            b = b[kept]
        elif not changed:
            # A fixed point in every bit: nothing will ever change.
            for s in range(t, stop + 1):
                objective[s] = objective[t - 1]
            t = stop
            break
    members[: ids.shape[0]] = ids
    coefs[: ids.shape[0]] = z
    return t, ids.shape[0], L


@njit(cache=True, nogil=True, parallel=True)
def iterate(
    X,
    targets,
    penalty,
    tau,
    check_step,
    max_norm,
    stop,
    screened,
    offsets,
    items,
    values,
    L,
    reached,
    members,
    coefs,
    n_members,
    objectives,
    residuals,
):
    """Iterate each row from where it stands.

    ``screened``: rows have been screened at the iteration they have reached; row b may let in the ``items`` from
    ``offsets[b]`` to ``offsets[b + 1]``, whose correlations are ``values``. The padded rows have room for them.
    IN/OUT ``L``, ``reached``, ``members``, ``coefs``, ``n_members``; OUT ``objectives`` (rows, stop + 1), ``residuals``
    (of the rows that stopped early).
    """
    for b in prange(targets.shape[0]):
        reached[b], n_members[b], L[b] = _iterate(
            X,
            targets[b],
            penalty,
            L[b],
            tau,
            check_step,
            max_norm,
            reached[b],
            stop,
            screened,
            items[offsets[b] : offsets[b + 1]],
            values[offsets[b] : offsets[b + 1]],
            members[b],
            coefs[b],
            n_members[b],
            objectives[b],
            residuals[b],
        )
