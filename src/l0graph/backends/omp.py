"""Orthogonal matching pursuit of a block: in each step every row lets an atom in and fits anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dictionary import Atoms
from .namespaces import block

_ITEMS = 8
"""Candidates by float32 products, of which the exact correlations decide."""
_PIVOT = 1e-11
"""A share of an atom's squared norm that, left over by the members, means that it depends on them."""


def strongest(atoms: Atoms, residuals: Any, own: Any, members: Any) -> tuple[Any, Any]:
    """Return for each row the atom of largest absolute correlation, of equal ones the first, and the correlation."""
    space, xp = atoms.space, atoms.space.xp
    items, _, rest = atoms.strongest(residuals, own, members, _ITEMS)
    sizes = xp.abs(atoms.correlations(items, residuals))
    largest = xp.max(sizes, axis=1)
    if bool(space.to_numpy(xp.any((rest >= largest) & (items[:, -1] != atoms.n)))):
        # More atoms than candidates are within float32's error of the largest: all are compared in the wide type.
        items, _, _ = atoms.strongest(residuals, own, members, atoms.n)
        sizes = xp.abs(residuals @ xp.astype(atoms.X, residuals.dtype).T)
        sizes = xp.take_along_axis(sizes, items, axis=1)
        largest = xp.max(sizes, axis=1)
    first = xp.min(xp.where(sizes >= largest[:, None], items, atoms.n), axis=1)
    return first, largest


def omp_block(atoms: Atoms, values: Any, own: Any, n_steps: int, tol: float) -> tuple[Any, Any, Any]:
    """Code a block; return members and codes, padded, and the squared residuals after each step."""
    space, xp = atoms.space, atoms.space.xp
    n_rows = values.shape[0]
    with block(f"omp codes, {n_rows} rows"):
        x = xp.astype(values, space.wide)
        norms = xp.sqrt(xp.sum(x * x, axis=1))
        eps = float(np.finfo(np.float64 if space.wide == xp.float64 else np.float32).eps)
        members = xp.full((n_rows, n_steps), atoms.n, dtype=xp.int64, device=space.device)
        z = space.zeros((n_rows, n_steps), space.wide)
        residuals = x
        square = norms * norms
        floors = tol**2 * square
        squares = [square]
        going = square > floors
        places = space.arange(n_steps)[None, :]
        for step in range(n_steps):
            item, size = strongest(atoms, residuals, own, members)
            going = going & (item < atoms.n) & (size > 64 * eps * xp.take(atoms.norms, item) * norms)
            tried = xp.where(places == step, xp.where(going, item, atoms.n)[:, None], members)
            A = xp.astype(space.rows(atoms.X, tried[:, : step + 1]), x.dtype)
            G = A @ xp.permute_dims(A, (0, 2, 1))
            b = (A @ x[:, :, None])[:, :, 0]
            # Rows of padding get a one on the diagonal.
            eye = xp.eye(step + 1, dtype=x.dtype, device=space.device)[None, :, :]
            regular = G + eye * xp.astype(tried[:, : step + 1] == atoms.n, x.dtype)[:, :, None]
            own_square = G[:, step, step]
            if step > 0:
                cross = G[:, :step, step]
                (y,) = space.solve_spd(regular[:, :step, :step], cross)
                left = own_square - xp.sum(cross * y, axis=1)
            else:
                left = own_square
            going = going & (left > _PIVOT * own_square)
            (fit,) = space.solve_spd(xp.where(going[:, None, None], regular, eye), b)
            fit = xp.concat([fit, space.zeros((n_rows, n_steps - step - 1), x.dtype)], axis=1)
            members = xp.where(going[:, None], tried, members)
            z = xp.where(going[:, None], fit, z)
            fresh = x - (z[:, None, : step + 1] @ A)[:, 0, :]
            residuals = xp.where(going[:, None], fresh, residuals)
            square = xp.where(going, xp.sum(residuals * residuals, axis=1), square)
            squares.append(square)
            going = going & (square > floors)
        return members, z, xp.stack(squares, axis=1)
