"""The proximal l0 iteration of a block, on padded supports.

As `l0graph.kernels.proximal`: with A the support's rows, G = A A^T, b = A x and q = b - G z, one step is
v = z + (2/L) q, then entries with |v| < sqrt(2 penalty / L) become zero. A short residual lets no atom in; where
all of a block stay short it runs without a word to the host. The other rows start again, in step, and ask all of X
whenever theirs is not.
"""

from __future__ import annotations

import itertools
from typing import Any

from . import raw
from .dictionary import Atoms
from .l1 import compressed, problem_bytes
from .namespaces import Space, block

_SQUARINGS = 40


def by_squaring(xp: Any, G: Any) -> Any:
    """Return the largest eigenvalue of each positive semidefinite matrix, from products alone.

    It is the mean of the eigenvalues, weighted by their powers of 2^40: less than the largest by at most 1e-12 of it
    where that has width 2 or stands alone, and by width / (e 2^40) at the worst.
    """
    P = G
    for _ in range(_SQUARINGS):
        trace = xp.sum(xp.linalg.diagonal(P), axis=1)
        P = P / xp.where(trace > 0, trace, 1.0)[:, None, None]
        P = P @ P
    trace = xp.sum(xp.linalg.diagonal(P), axis=1)
    return xp.sum(xp.sum(P * G, axis=2), axis=1) / xp.where(trace > 0, trace, 1.0)


def largest_eigenvalues(space: Space, G: Any) -> Any:
    """Return the largest eigenvalue of each positive semidefinite matrix."""
    # CUDA's solvers take one matrix after the other.
    return by_squaring(space.xp, G) if space.on_cuda else space.xp.linalg.eigvalsh(G)[:, -1]


def _replaced(space: Space, values: Any, rows: Any, new: Any) -> Any:
    """Return values with new ones in ascending rows."""
    xp = space.xp
    place = space.arange(values.shape[0])
    at = xp.searchsorted(rows, place, side="left")
    at = xp.where(at < rows.shape[0], at, 0)
    return xp.take(xp.concat([values, new]), xp.where(xp.take(rows, at) == place, values.shape[0] + at, place))


def majorising(space: Space, G: Any, L: Any, tau: float) -> Any:
    """Return for each row the least number not under L that majorises: 2 tau sigma_max(G)."""
    xp = space.xp
    trace = xp.sum(xp.linalg.diagonal(G), axis=1)  # bounds sigma_max, and is free
    rows = xp.nonzero(2 * tau * trace > L)[0]
    if rows.shape[0] == 0:
        return L
    # The fourth root of the sum of fourth powers bounds it too, and leaves few rows to the eigenproblem.
    some = xp.take(G, rows, axis=0)
    squared = some @ some
    bound = xp.sqrt(xp.sqrt(xp.sum(xp.sum(squared * squared, axis=2), axis=1)))
    close = xp.nonzero(2 * tau * bound > xp.take(L, rows))[0]
    if close.shape[0] == 0:
        return L
    rows = xp.take(rows, close)
    needed = 2 * tau * largest_eigenvalues(space, xp.take(some, close, axis=0))
    old = xp.take(L, rows)
    return _replaced(space, L, rows, xp.where(needed > old, needed, old))


def _majorising_on(atoms: Atoms, members: Any, L: Any, tau: float) -> Any:
    """As `majorising` on the members' Gram matrices, of which only those in doubt are made."""
    space, xp = atoms.space, atoms.space.xp
    norms = xp.reshape(xp.take(atoms.norms, xp.reshape(members, (-1,))), members.shape)
    rows = xp.nonzero(2 * tau * xp.sum(norms * norms, axis=1) > L)[0]
    if rows.shape[0] == 0:
        return L
    A = xp.astype(space.rows(atoms.X, xp.take(members, rows, axis=0)), L.dtype)
    G = A @ xp.permute_dims(A, (0, 2, 1))
    return _replaced(space, L, rows, majorising(space, G, xp.take(L, rows), tau))


class _Rows:
    """Rows under iteration, all at the same step."""

    def __init__(self, atoms: Atoms, x: Any, own: Any, members: Any, z: Any, L: Any) -> None:
        self.atoms, self.x, self.own, self.L = atoms, x, own, L
        self.xx = atoms.space.xp.sum(x * x, axis=1)
        self.place(members, z)

    def place(self, members: Any, z: Any) -> None:
        """Take up other members and codes."""
        xp = self.atoms.space.xp
        self.members, self.z = members, z
        A = xp.astype(self.atoms.space.rows(self.atoms.X, members), self.x.dtype)
        self.G = A @ xp.permute_dims(A, (0, 2, 1))
        self.b = (A @ self.x[:, :, None])[:, :, 0]

    def taken(self, at: Any) -> _Rows:
        """Return some of the rows, as they stand."""
        xp = self.atoms.space.xp
        parts = (self.x, self.own, self.members, self.z, self.L)
        return _Rows(self.atoms, *(xp.take(part, at, axis=0) for part in parts))

    def measure(self, penalty: float) -> tuple[Any, Any]:
        """Compute q; return the squared residuals and the objectives."""
        xp = self.atoms.space.xp
        self.q = self.b - (self.G @ self.z[:, :, None])[:, :, 0]
        rr = self.xx - xp.sum(self.z * (self.b + self.q), axis=1)
        rr = xp.where(rr > 0, rr, 0.0)
        return rr, rr + penalty * xp.astype(xp.sum(xp.astype(self.z != 0, xp.int64), axis=1), rr.dtype)

    def step(self, penalty: float) -> None:
        """Take one step on the members; what is zero among them stays so."""
        xp = self.atoms.space.xp
        v = self.z + (2 / self.L)[:, None] * self.q
        stays = (xp.abs(v) >= xp.sqrt(2 * penalty / self.L)[:, None]) & (self.z != 0)
        self.z = xp.where(stays, v, 0.0)


def l0_block(
    atoms: Atoms,
    values: Any,
    own: Any,
    members: Any,
    z: Any,
    *,
    penalty: float,
    lipschitz: float,
    tau: float,
    raise_where_needed: bool,
    n_steps: int,
) -> list[tuple[Any, Any, Any, Any]]:
    """Iterate a block ``n_steps`` times; return parts of positions, members, codes and objectives per step."""
    space, xp = atoms.space, atoms.space.xp
    n_rows = values.shape[0]
    # A hair more than the largest norm: rounding must not close a row that the exact bound leaves open.
    reach = penalty / (atoms.max_norm * (1 + 1e-12)) ** 2 / 2 if atoms.max_norm > 0 else float("inf")
    with block(f"l0 codes, {n_rows} rows"):
        x = xp.astype(values, space.wide)
        L = space.zeros((n_rows,), space.wide) + lipschitz
        if raise_where_needed:
            L = _majorising_on(atoms, members, L, tau)
        iterate = raw.iterate if raw.usable(atoms, members.shape[1]) else _iterate
        codes, table, opened = iterate(atoms, x, members, z, L, penalty=penalty, reach=reach, n_steps=n_steps)
        place = space.arange(n_rows)
        n_open = int(space.to_numpy(xp.sum(xp.astype(opened, xp.int64))))
        if n_open == 0:
            return [(place, members, codes, table)]
        parts = []
        if n_open < n_rows:
            closed = place[~opened]
            parts.append((closed, *(xp.take(part, closed, axis=0) for part in (members, codes, table))))
        again = place[opened]
        fresh = _Rows(atoms, *(xp.take(part, again, axis=0) for part in (x, own, members, z, L)))
        parts.append((again, *_open(fresh, penalty, reach, tau if raise_where_needed else None, n_steps)))
    return parts


def _iterate(
    atoms: Atoms, x: Any, members: Any, z: Any, L: Any, *, penalty: float, reach: float, n_steps: int
) -> tuple[Any, Any, Any]:
    """Iterate rows on their supports; return codes, objectives per step and where an atom might have entered."""
    space, xp = atoms.space, atoms.space.xp
    rows = _Rows(atoms, x, None, members, z, L)
    opened = space.zeros((x.shape[0],), xp.bool)
    objectives = []
    for t in range(n_steps + 1):
        rr, objective = rows.measure(penalty)
        objectives.append(objective)
        if t < n_steps:
            opened = opened | (rr >= reach * L)
            rows.step(penalty)
    return rows.z, xp.stack(objectives, axis=1), opened


def _open(
    rows: _Rows, penalty: float, reach: float, tau: float | None, n_steps: int, first: int = 0
) -> tuple[Any, Any, Any]:
    """Iterate rows into which atoms may enter, from step ``first``; return members, codes and objectives per step.

    With ``tau``, a row takes a larger constant where its own does not majorise. Where too many atoms enter for all
    rows to fit into memory, each half of them goes on by itself.
    """
    atoms = rows.atoms
    space, xp = atoms.space, atoms.space.xp
    objectives = []
    for t in range(first, n_steps + 1):
        rr, objective = rows.measure(penalty)
        objectives.append(objective)
        if t == n_steps:
            break
        may = rr >= reach * rows.L
        if not bool(space.to_numpy(xp.any(may))):
            rows.step(penalty)
            continue
        items, correlations = _entering(atoms, rows, may, penalty)
        if items.shape[1] == 0:
            rows.step(penalty)
            continue
        n_rows, width = rows.members.shape[0], rows.members.shape[1] + items.shape[1]
        if n_rows > 1 and n_rows * problem_bytes(atoms, width) > space.budget:
            ends = (0, n_rows // 2, n_rows)
            halves = [
                _open(rows.taken(space.arange(n_rows)[a:b]), penalty, reach, tau, n_steps, t)
                for a, b in itertools.pairwise(ends)
            ]
            width = max(z.shape[1] for _, z, _ in halves)
            pairs = [compressed(atoms, members, z, width) for members, z, _ in halves]
            members, z = (xp.concat([pair[i] for pair in pairs]) for i in range(2))
            before = [xp.stack(objectives[:-1], axis=1)] if len(objectives) > 1 else []
            return members, z, xp.concat([*before, xp.concat([table for _, _, table in halves])], axis=1)
        if tau is not None:
            used = xp.where(rows.z != 0, rows.members, atoms.n)
            A = xp.astype(space.rows(atoms.X, xp.concat([used, items], axis=1)), rows.x.dtype)
            raised = majorising(space, A @ xp.permute_dims(A, (0, 2, 1)), rows.L, tau)
            some = xp.any(correlations != 0, axis=1)
            rows.L = xp.where(some, raised, rows.L)
            # A shorter step lets fewer in.
            stay = xp.abs(correlations) >= xp.sqrt(penalty * rows.L / 2)[:, None]
            correlations = xp.where(stay, correlations, 0.0)
        rows.step(penalty)
        fresh = (2 / rows.L)[:, None] * correlations
        everyone, codes = xp.concat([rows.members, items], axis=1), xp.concat([rows.z, fresh], axis=1)
        width = int(space.to_numpy(xp.max(xp.sum(xp.astype(codes != 0, xp.int64), axis=1))))
        rows.place(*compressed(atoms, everyone, codes, max(1, width)))
    return rows.members, rows.z, xp.stack(objectives, axis=1)


def _entering(atoms: Atoms, rows: _Rows, may: Any, penalty: float) -> tuple[Any, Any]:
    """Return for each row the atoms outside its support that may enter, and their correlations, padded by zero."""
    space, xp = atoms.space, atoms.space.xp
    used = xp.where(rows.z != 0, rows.members, atoms.n)
    A = xp.astype(space.rows(atoms.X, used), rows.x.dtype)
    residuals = rows.x - (rows.z[:, None, :] @ A)[:, 0, :]
    # By the wide type itself: a screen in float32 would leave the comparison open.
    correlations = residuals @ xp.astype(atoms.X, rows.x.dtype).T
    correlations = space.put(correlations, xp.concat([rows.own[:, None], used], axis=1), 0.0)
    bounds = xp.sqrt(penalty * rows.L / 2)
    enters = (xp.abs(correlations) >= bounds[:, None]) & may[:, None]
    count = int(space.to_numpy(xp.max(xp.sum(xp.astype(enters, xp.int64), axis=1))))
    _, items = space.largest(xp.astype(enters, rows.x.dtype), count)
    inside = xp.take_along_axis(enters, items, axis=1)
    values = xp.where(inside, xp.take_along_axis(correlations, items, axis=1), 0.0)
    return xp.where(inside, items, atoms.n), values
