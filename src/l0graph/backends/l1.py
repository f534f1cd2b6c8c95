"""l1 codes of a block: working sets, first in float32, then exactly, finished from supports and signs alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .dictionary import Atoms
from .lasso import minimise, on_support
from .namespaces import block

_ITEMS = 16
"""Atoms that a product hands to a working set; more in late rounds, where many must be told apart."""
_ROUGH = 1e-4
"""Violation, relative to the bound, at which a row is handed on from float32 to exact work."""
_ROUGH_ROUNDS = 5
"""Rounds in float32; few rows need more, and go on in the exact work."""
_SCALES = (1e-6, 1e6)
"""Largest norms with which squares and their sums keep well inside the range of float32."""
_FLOOR = 0.5
"""Share of its bound that an atom's correlation must reach to be handed on: it may violate once others have entered."""
_WIDTHS = (8, 16, 32, 64, 128)
"""Widths to which supports are padded; wider ones in steps of the last."""


@dataclass
class State:
    """Rows under way."""

    positions: Any
    """Which targets they are."""
    x: Any
    """The targets, and ``residuals``, in the type that is worked in."""
    own: Any
    members: Any
    z: Any
    residuals: Any
    rounds: int = 0

    def taken(self, xp: Any, rows: Any) -> State:
        """Return some of the rows."""
        names = ("positions", "x", "own", "members", "z", "residuals")
        return replace(self, **{name: xp.take(getattr(self, name), rows, axis=0) for name in names})


def support_class(xp: Any, state: State) -> Any:
    """Return the number of the width that each row's support fits into."""
    counts = xp.sum(xp.astype(state.z != 0, xp.int64), axis=1)
    last = _WIDTHS[-1]
    small = sum(xp.astype(counts > width, xp.int64) for width in _WIDTHS)
    return xp.where(counts <= last, small, len(_WIDTHS) - 2 + (counts + last - 1) // last)


def width_of(number: int) -> int:
    """Return the width with this number."""
    return _WIDTHS[number] if number < len(_WIDTHS) else _WIDTHS[-1] * (number - len(_WIDTHS) + 2)


def compressed(atoms: Atoms, members: Any, z: Any, width: int) -> tuple[Any, Any]:
    """Return members and codes with the nonzeros first, cut or padded to a width that holds them."""
    space, xp = atoms.space, atoms.space.xp
    order = xp.argsort(xp.astype(z == 0, xp.int64), axis=1, stable=True)[:, : min(width, z.shape[1])]
    members, z = xp.take_along_axis(members, order, axis=1), xp.take_along_axis(z, order, axis=1)
    members = xp.where(z == 0, atoms.n, members)
    missing = width - z.shape[1]
    if missing > 0:
        fill = xp.full((z.shape[0], missing), atoms.n, dtype=xp.int64, device=space.device)
        members = xp.concat([members, fill], axis=1)
        z = xp.concat([z, space.zeros((z.shape[0], missing), z.dtype)], axis=1)
    return members, z


def joined(atoms: Atoms, states: list[State]) -> State:
    """Put rows together, padded to the widest."""
    xp = atoms.space.xp
    width = max(state.z.shape[1] for state in states)
    pairs = [compressed(atoms, state.members, state.z, width) for state in states]
    names = ("positions", "x", "own", "residuals")
    positions, x, own, residuals = (xp.concat([getattr(state, name) for state in states]) for name in names)
    members, z = (xp.concat([pair[i] for pair in pairs]) for i in range(2))
    return State(positions, x, own, members, z, residuals, rounds=states[0].rounds)


def by_width(atoms: Atoms, number: Any) -> list[tuple[int, Any]]:
    """Sort rows by the number of their width, -1 where there is nothing to do; return pairs of number and rows.

    One transfer tells how many rows have which. Those of one number come in parts that fit into memory.
    """
    space, xp = atoms.space, atoms.space.xp
    order = xp.argsort(number, stable=True)
    numbers, counts = np.unique(space.to_numpy(number), return_counts=True)
    parts = []
    first = 0
    for k, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        size = count if k < 0 else min(count, max(1, space.budget // problem_bytes(atoms, width_of(k) + _ITEMS)))
        parts += [(k, order[i : min(i + size, first + count)]) for i in range(first, first + count, size)]
        first += count
    return parts


def problem_bytes(atoms: Atoms, width: int) -> int:
    """Return what a row takes while its small problem of this width is solved."""
    return 8 * width * (2 * atoms.d + 5 * width)


def grown(atoms: Atoms, state: State, items: Any, h: float, *, exact: bool) -> State:
    """Let items into the rows' working sets and minimise over them."""
    space, xp = atoms.space, atoms.space.xp
    members = xp.concat([state.members, items], axis=1)
    z = xp.concat([state.z, space.zeros(items.shape, state.z.dtype)], axis=1)
    A = xp.astype(space.rows(atoms.X, members), state.x.dtype)
    G = A @ xp.permute_dims(A, (0, 2, 1))
    b = (A @ state.x[:, :, None])[:, :, 0]
    z = minimise(space, G, b, h, z, exact=exact)
    residuals = state.x - (z[:, None, :] @ A)[:, 0, :]
    return State(state.positions, state.x, state.own, members, z, residuals, state.rounds)


def screened(atoms: Atoms, state: State, h: float, tol: float, *, exact: bool) -> tuple[Any, Any, Any]:
    """Return what may enter, whether a row's condition is violated, and a bound on all correlations outside."""
    xp = atoms.space.xp
    n_items = min(atoms.n, _ITEMS if state.rounds < 10 else 4 * _ITEMS)
    # What is in a working set without being in the support need not be passed over: only violation brings it back.
    members = xp.where(state.z != 0, state.members, atoms.n)
    items, sizes, rest = atoms.strongest(state.residuals, state.own, members, n_items)
    if exact:
        sizes = xp.abs(atoms.correlations(items, state.residuals))
    largest = xp.max(sizes, axis=1)
    outside = xp.where(largest > rest, largest, rest) if exact else largest
    items = xp.where(sizes > _FLOOR * h, items, atoms.n)
    return items, outside > h * (1 + tol), outside


def rounds(
    atoms: Atoms, state: State, h: float, tol: float, max_rounds: int, *, exact: bool
) -> list[tuple[State, Any]]:
    """Let working sets grow until no atom violates; return rows as they finish, with the bound on what is outside."""
    xp = atoms.space.xp
    done: list[tuple[State, Any]] = []
    while True:
        items, violated, outside = screened(atoms, state, h, tol, exact=exact)
        going = violated & (state.rounds < max_rounds)
        state.rounds += 1
        parts = []
        for k, rows in by_width(atoms, xp.where(going, support_class(xp, state), -1)):
            part = state.taken(xp, rows)
            if k < 0:
                done.append((part, xp.take(outside, rows)))
                continue
            part.members, part.z = compressed(atoms, part.members, part.z, width_of(k))
            parts.append(grown(atoms, part, xp.take(items, rows, axis=0), h, exact=exact))
        if not parts:
            return done
        state = joined(atoms, parts)


def finished(atoms: Atoms, state: State, outside: Any, h: float) -> tuple[Any, Any, Any, Any, Any]:
    """Solve rows once more from sorted supports and signs; return positions, members, z, objectives and gaps."""
    space, xp = atoms.space, atoms.space.xp
    order = xp.argsort(xp.where(state.z != 0, state.members, atoms.n), axis=1, stable=True)
    members, z = xp.take_along_axis(state.members, order, axis=1), xp.take_along_axis(state.z, order, axis=1)
    members = xp.where(z != 0, members, atoms.n)
    A = xp.astype(space.rows(atoms.X, members), state.x.dtype)
    G = A @ xp.permute_dims(A, (0, 2, 1))
    b = (A @ state.x[:, :, None])[:, :, 0]
    y = on_support(space, G, b, h, z, 0.0)
    valid = xp.all(xp.isfinite(y) & ((z == 0) | (y * z > 0)), axis=1)
    z = xp.where(valid[:, None], y, z)
    residuals = state.x - (z[:, None, :] @ A)[:, 0, :]
    rr = xp.sum(residuals * residuals, axis=1)
    xr = xp.sum(state.x * residuals, axis=1)
    inside = xp.abs(b - (G @ z[:, :, None])[:, :, 0])
    inside = xp.max(xp.where(z != 0, inside, 0.0), axis=1)
    excess = xp.where(inside > outside, inside, outside) / h
    excess = xp.where(excess > 1, excess, 1.0)
    objective = rr + 2 * h * xp.sum(xp.abs(z), axis=1)
    scale = xp.where(rr > 0, xr / xp.where(rr > 0, rr, 1.0), 0.0)
    scale = xp.where(scale > 1 / excess, 1 / excess, xp.where(scale < -1 / excess, -1 / excess, scale))
    gap = objective - (2 * scale * xr - scale * scale * rr)
    return state.positions, members, z, objective, xp.where(gap > 0, gap, 0.0)


def l1_block(
    atoms: Atoms, values: Any, own: Any, penalty: float, tol: float, max_rounds: int
) -> tuple[list[tuple[Any, Any, Any, Any, Any]], int]:
    """Code a block of targets; return finished parts, as `finished` does, and the rounds it took."""
    space, xp = atoms.space, atoms.space.xp
    h = penalty / 2
    n_rows = values.shape[0]
    with block(f"l1 codes, {n_rows} rows"):
        nobody = space.zeros((n_rows, 1), xp.int64) + atoms.n
        zeros = space.zeros((n_rows, 1), xp.float32)
        state = State(space.arange(n_rows), values, own, nobody, zeros, values)
        if _SCALES[0] < atoms.max_norm < _SCALES[1]:
            state.x = state.residuals = xp.astype(values, xp.float32)
            rough = rounds(atoms, state, h, _ROUGH, min(max_rounds, _ROUGH_ROUNDS), exact=False)
            state = joined(atoms, [part for part, _ in rough])
            state.rounds = max(part.rounds for part, _ in rough)
        n_rounds = state.rounds
        # From here on in the wide type, beginning with the residuals.
        state.x = xp.astype(xp.take(values, state.positions, axis=0), space.wide)
        state.z = xp.astype(state.z, space.wide)
        parts = []
        for k, rows in by_width(atoms, support_class(xp, state)):
            part = state.taken(xp, rows)
            part.members, part.z = compressed(atoms, part.members, part.z, width_of(k))
            parts.append(grown(atoms, part, xp.take(nobody, rows, axis=0), h, exact=True))
        state = joined(atoms, parts)
        state.rounds = n_rounds
        done = rounds(atoms, state, h, tol / 2, max_rounds, exact=True)
        result = []
        for part, outside in done:
            n_rounds = max(n_rounds, part.rounds)
            for k, rows in by_width(atoms, support_class(xp, part)):
                some = part.taken(xp, rows)
                some.members, some.z = compressed(atoms, some.members, some.z, width_of(k))
                result.append(finished(atoms, some, xp.take(outside, rows), h))
    return result, n_rounds
