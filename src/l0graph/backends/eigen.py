"""Leading eigenpairs of one component of a graph, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .namespaces import Space, block

_DENSE = 2048
"""Components up to this size are solved densely."""
_RESIDUAL = 1e-8
"""Largest ||A v - lambda v|| that passes; what float32 can reach instead where there is nothing wider."""
_MORE = 8
"""Columns of a block beyond the eigenpairs asked for: repeated eigenvalues need one each."""
_BASIS = 40
"""Blocks of a basis before it starts again from its best part."""
_RESTARTS = 60


def leading(space: Space, A: sp.csr_array, known: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenpairs of symmetric A, -1 <= A <= 1, outside its eigenvector ``known``, descending."""
    xp, n = space.xp, A.shape[0]
    v = space.asarray(known, space.wide)[:, None]
    with block(f"embedding, component of {n}"):
        if n <= _DENSE or 3 * (k + _MORE) * 4 > n:
            dense = space.asarray(A.toarray(), space.wide) - 3 * (v @ v.T)
            values, vectors = xp.linalg.eigh(dense)
            values, vectors = values[n - k :], vectors[:, n - k :]
            return space.to_numpy(xp.flip(values)), space.to_numpy(xp.flip(vectors, axis=1))
        values, vectors = _lanczos(space, A, v, k)
        return space.to_numpy(values), space.to_numpy(vectors)


def _lanczos(space: Space, A: sp.csr_array, known: Any, k: int) -> tuple[Any, Any]:
    """Block Lanczos with full orthogonalisation, restarted from the best part of its basis."""
    xp, n = space.xp, A.shape[0]
    width = k + _MORE
    multiply = space.multiplier(A)
    tolerance = _RESIDUAL if space.wide == xp.float64 else 1e-4

    def outside(block: Any, basis: Any) -> Any:
        for _ in range(2):  # once is not enough
            block = block - basis @ (basis.T @ block)
        return xp.linalg.qr(block)[0]

    random = space.asarray(np.random.RandomState(0).standard_normal((n, width)), space.wide)
    kept = known  # orthonormal, beginning with the known vector
    fresh = outside(random, kept)
    for _ in range(_RESTARTS):
        basis = xp.concat([kept, fresh], axis=1)
        images = multiply(basis)
        while basis.shape[1] + width <= min(n, width * _BASIS):
            fresh = outside(images[:, -width:], basis)
            basis = xp.concat([basis, fresh], axis=1)
            images = xp.concat([images, multiply(fresh)], axis=1)
        inner = basis[:, 1:]
        small = inner.T @ images[:, 1:]
        values, mix = xp.linalg.eigh((small + small.T) / 2)
        values, mix = xp.flip(values)[:width], xp.flip(mix, axis=1)[:, :width]
        vectors = inner @ mix
        residual = images[:, 1:] @ mix - vectors * values[None, :]
        sizes = xp.sqrt(xp.sum(residual * residual, axis=0))
        if not bool(space.to_numpy(xp.any(sizes[:k] > tolerance))):
            return values[:k], vectors[:, :k]
        kept = xp.concat([known, vectors], axis=1)
        # What has converged leaves only rounding behind: a random direction takes its place.
        settled = sizes < tolerance / 100
        scaled = residual / xp.where(settled, 1.0, sizes)[None, :]
        fresh = outside(xp.where(settled[None, :], random, scaled), kept)
    msg = (
        f"spectral_embedding: {k} eigenvectors of a component of {n} samples did not converge to {tolerance:g}: its"
        " leading eigenvalues are too close together"
    )
    raise RuntimeError(msg)
