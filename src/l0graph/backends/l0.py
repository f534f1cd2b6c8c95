"""The proximal l0 iteration of a block, on padded supports.

As `l0graph.kernels.proximal`: with A the support's rows, G = A A^T, b = A x and q = b - G z, one step is
v = z + (2/L) q, then entries with |v| < sqrt(2 penalty / L) become zero. A short residual lets no atom in; where
all of a block stay short it runs without a word to the host. The other rows start again, in step, and ask all of X
whenever theirs is not.
"""

from __future__ import annotations

import itertools
from typing import Any

from .dictionary import Atoms
from .l1 import compressed, problem_bytes
from .namespaces import Space, block


def largest_eigenvalues(space: Space, G: Any) -> Any:
    """Return the largest eigenvalue of each symmetric matrix."""
    return space.xp.linalg.eigvalsh(G)[:, -1]


def majorising(space: Space, G: Any, L: Any, tau: float) -> Any:
    """Return for each row the least number not under L that majorises: 2 tau sigma_max(G)."""
    xp = space.xp
    trace = xp.sum(xp.linalg.diagonal(G), axis=1)  # bounds sigma_max, and is free
    rows = xp.nonzero(2 * tau * trace > L)[0]
    if rows.shape[0] == 0:
        return L
    needed = 2 * tau * largest_eigenvalues(space, xp.take(G, rows, axis=0))
    raised = xp.where(needed > xp.take(L, rows), needed, xp.take(L, rows))
    everything = xp.concat([L, raised])
    place = space.arange(L.shape[0])
    # Where a row was raised its last value counts.
    marks = xp.searchsorted(rows, place, side="left")
    marks = xp.where(marks < rows.shape[0], marks, 0)
    hit = xp.take(rows, marks) == place
    return xp.take(everything, xp.where(hit, L.shape[0] + marks, place))


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
        rows = _Rows(atoms, x, own, members, z, L)
        if raise_where_needed:
            rows.L = majorising(space, rows.G, L, tau)
        start = rows.L
        opened = space.zeros((n_rows,), xp.bool)
        objectives = []
        for t in range(n_steps + 1):
            rr, objective = rows.measure(penalty)
            objectives.append(objective)
            if t < n_steps:
                opened = opened | (rr >= reach * rows.L)
                rows.step(penalty)
        place = space.arange(n_rows)
        table = xp.stack(objectives, axis=1)
        n_open = int(space.to_numpy(xp.sum(xp.astype(opened, xp.int64))))
        if n_open == 0:
            return [(place, rows.members, rows.z, table)]
        parts = []
        if n_open < n_rows:
            closed = place[~opened]
            parts.append((closed, *(xp.take(part, closed, axis=0) for part in (rows.members, rows.z, table))))
        again = place[opened]
        fresh = _Rows(atoms, *(xp.take(part, again, axis=0) for part in (x, own, members, z, start)))
        parts.append((again, *_open(fresh, penalty, reach, tau if raise_where_needed else None, n_steps)))
    return parts


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
