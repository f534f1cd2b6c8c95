"""The proximal l0 iteration of one sample on its support.

With A the support's rows, G = A A^T, b = A x and q = b - G z, one step is  v = z + (2/L) q,  then entries with
|v| < sqrt(2 lambda / L) become zero. Rows are those of X and, past them, of the identity, which takes up gross errors
and has a lambda of its own. What is outside the support takes part only where the caller lets it enter.
"""

from __future__ import annotations

import numpy as np
from numba import njit

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
    """Return the union of two sorted sets of members that have none in common, with their values."""
    k, n_new = ids.shape[0], new_ids.shape[0]
    all_ids = np.empty(k + n_new, dtype=np.int64)
    all_z = np.empty(k + n_new)
    i = 0
    j = 0
    for place in range(k + n_new):
        if j == n_new or (i < k and ids[i] < new_ids[j]):
            all_ids[place] = ids[i]
            all_z[place] = z[i]
            i += 1
        else:
            all_ids[place] = new_ids[j]
            all_z[place] = new_z[j]
            j += 1
    return all_ids, all_z


@njit(cache=True, nogil=True)
def _prices(members, n_atoms, penalty, outlier_penalty):
    """Return what a nonzero costs at each member: rows of X, then rows of the identity."""
    prices = np.empty(members.shape[0])
    for i in range(members.shape[0]):
        prices[i] = penalty if members[i] < n_atoms else outlier_penalty
    return prices


@njit(cache=True, nogil=True)
def _may_enter(items, values, ids, L, n_atoms, penalty, outlier_penalty):
    """Return the sorted items outside the sorted support whose correlation is large enough at L, and these."""
    new_ids = np.empty(items.shape[0], dtype=np.int64)
    correlations = np.empty(items.shape[0])
    count = 0
    for i in range(items.shape[0]):
        price = penalty if items[i] < n_atoms else outlier_penalty
        if abs(values[i]) < np.sqrt(price * L / 2.0):
            continue
        position = np.searchsorted(ids, items[i])
        if position == ids.shape[0] or ids[position] != items[i]:
            new_ids[count] = items[i]
            correlations[count] = values[i]
            count += 1
    return new_ids[:count], correlations[:count]


@njit(cache=True, nogil=True)
def _alive(z, prices, L):
    """Return the places of the values that the threshold leaves; at the threshold a value stays, but zero is none."""
    kept = np.empty(z.shape[0], dtype=np.int64)
    count = 0
    for i in range(z.shape[0]):
        if abs(z[i]) >= np.sqrt(2.0 * prices[i] / L) and z[i] != 0.0:
            kept[count] = i
            count += 1
    return kept[:count]


@njit(cache=True, nogil=True)
def _rows_at(A, kept):
    B = np.empty((kept.shape[0], A.shape[1]))
    for i in range(kept.shape[0]):
        B[i] = A[kept[i]]
    return B


@njit(cache=True, nogil=True)
def _submatrix(G, kept):
    H = np.empty((kept.shape[0], kept.shape[0]))
    for i in range(kept.shape[0]):
        for j in range(kept.shape[0]):
            H[i, j] = G[kept[i], kept[j]]
    return H


@njit(cache=True, nogil=True)
def _restricted(ids, z, b, kept):
    n = kept.shape[0]
    new_ids, new_z, new_b = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    for i in range(n):
        new_ids[i] = ids[kept[i]]
        new_z[i] = z[kept[i]]
        new_b[i] = b[kept[i]]
    return new_ids, new_z, new_b


@njit(cache=True, nogil=True)
def _iterate(
    X,
    target,
    penalty,
    outlier_penalty,
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
    # A residual so short lets no atom in, and none of the identity either.
    reach = penalty / max_norm**2 if max_norm > 0.0 else np.inf
    if outlier_penalty < np.inf:
        reach = min(reach, outlier_penalty)
    prices = _prices(ids, X.shape[0], penalty, outlier_penalty)
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
        objective[t] = rr + prices.sum()
        if t == stop:
            break
        entering = items[:0]
        correlations = values[:0]
        if rr >= reach * L / 2.0:
            if not (screened and t == start):
                residual_of(x, A, z, residual)
                break
            entering, correlations = _may_enter(items, values, ids, L, X.shape[0], penalty, outlier_penalty)
            if check_step and entering.shape[0] > 0:
                B = gather(X, _joined(ids, z, entering, correlations)[0])
                raised = _majorising(np.dot(B, B.T), L, tau)
                if raised > L:  # a shorter step, which lets fewer in
                    L = raised
                    entering, correlations = _may_enter(items, values, ids, L, X.shape[0], penalty, outlier_penalty)
        t += 1
        changed = False
        for i in range(k):
            before = z[i]
            z[i] += 2.0 / L * q[i]
            changed = changed or z[i] != before
        kept = _alive(z, prices, L)
        if entering.shape[0] > 0:
            ids, z, b = _restricted(ids, z, b, kept)
            for i in range(correlations.shape[0]):
                correlations[i] *= 2.0 / L
            ids, z = _joined(ids, z, entering, correlations)
            A = gather(X, ids)
            G = np.dot(A, A.T)
            b = np.dot(A, x)
            prices = _prices(ids, X.shape[0], penalty, outlier_penalty)
        elif kept.shape[0] < k:
            ids, z, b = _restricted(ids, z, b, kept)
            A = _rows_at(A, kept)
            G = _submatrix(G, kept)
            prices = _prices(ids, X.shape[0], penalty, outlier_penalty)
        elif not changed:
            # A fixed point in every bit: nothing will ever change.
            for s in range(t, stop + 1):
                objective[s] = objective[t - 1]
            t = stop
            break
    members[: ids.shape[0]] = ids
    coefs[: ids.shape[0]] = z
    return t, ids.shape[0], L


@njit(cache=True, nogil=True)
def iterate(
    X,
    targets,
    penalty,
    outlier_penalty,
    tau,
    check_step,
    max_norm,
    n_steps,
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
    IN/OUT ``L``, ``reached``, ``members``, ``coefs``, ``n_members``; OUT ``objectives`` (rows, n_steps + 1),
    ``residuals`` (of the rows that stopped early).
    """
    for b in range(targets.shape[0]):
        reached[b], n_members[b], L[b] = _iterate(
            X,
            targets[b],
            penalty,
            outlier_penalty,
            L[b],
            tau,
            check_step,
            max_norm,
            reached[b],
            n_steps,
            screened,
            items[offsets[b] : offsets[b + 1]],
            values[offsets[b] : offsets[b + 1]],
            members[b],
            coefs[b],
            n_members[b],
            objectives[b],
            residuals[b],
        )
