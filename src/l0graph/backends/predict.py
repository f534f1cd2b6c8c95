"""Which cluster explains a sample best, for a block of coded samples."""

from __future__ import annotations

from typing import Any

from .dictionary import Atoms


def best_clusters(atoms: Atoms, values: Any, members: Any, z: Any, labels: Any, n_clusters: int) -> Any:
    """Return for each row the cluster whose part of the code leaves the smallest residual; -1 for an empty code.

    ``labels`` are those of the atoms. Of equals the first cluster wins.
    """
    space, xp = atoms.space, atoms.space.xp
    x = xp.astype(values, z.dtype)
    A = xp.astype(space.rows(atoms.X, members), z.dtype)
    label = xp.take(
        xp.concat([labels, xp.full((1,), -1, dtype=xp.int64, device=space.device)]), xp.reshape(members, (-1,))
    )
    label = xp.where(z != 0, xp.reshape(label, members.shape), -1)
    best = xp.full((x.shape[0],), -1, dtype=xp.int64, device=space.device)
    smallest = space.zeros((x.shape[0],), x.dtype) + float("inf")
    for cluster in range(n_clusters):
        part = xp.where(label == cluster, z, 0.0)
        residual = x - (part[:, None, :] @ A)[:, 0, :]
        rr = xp.sum(residual * residual, axis=1)
        better = xp.any(label == cluster, axis=1) & (rr < smallest)
        best = xp.where(better, cluster, best)
        smallest = xp.where(better, rr, smallest)
    return best
