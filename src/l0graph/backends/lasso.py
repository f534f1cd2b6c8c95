"""Lassos of many samples at once, each on its own working set.

    min  |x - A^T z|^2 + 2 h |z|_1   as   min  z^T G z - 2 b^T z + 2 h |z|_1,   G = A A^T, b = A x.

Descent takes in every row at once its coordinate that moves most; a step on the support with its signs then goes to the
minimiser there, or as far as it pays. Members of zero norm are padding and stay zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .namespaces import Space

_CYCLES = 60
_ROUGH_CYCLES = 2
_FIRST_STEPS = 16
_STEPS = 8
"""Descent steps before a step on the support: of the first cycle and of the others."""


def descend(space: Space, G: Any, h: Any, z: Any, q: Any, n_steps: int) -> tuple[Any, Any]:
    """Return z and q = b - G z after that many coordinate steps in each row, always the one that moves most.

    G has a diagonal of ones; ``h`` (rows, width) is each coordinate's own.
    """
    xp = space.xp
    every = space.arange(z.shape[1])[None, :]
    flat = xp.reshape(G, (-1, z.shape[1]))
    first = space.arange(z.shape[0]) * z.shape[1]
    low = -h
    for _ in range(n_steps):
        v = q + z
        move = v - xp.clip(v, low, h) - z
        best = xp.argmax(xp.abs(move), axis=1)
        hit = best[:, None]
        step = space.along(move, hit)
        z = xp.where(every == hit, z + step, z)
        q = q - step * space.take(flat, first + best)
    return z, q


def on_support(space: Space, G: Any, b: Any, h: float, z: Any, ridge: float) -> Any:
    """Return the minimiser of each row on its support and signs; nan where the members depend on each other."""
    xp = space.xp
    active = z != 0
    H = xp.where(active[:, :, None] & active[:, None, :], G, 0.0)
    diagonal = xp.where(active, ridge * xp.linalg.diagonal(G), 1.0)
    eye = xp.eye(z.shape[1], dtype=G.dtype, device=space.device)
    right = xp.where(active, b - h * xp.sign(z), 0.0)
    regular = H + eye[None, :, :] * diagonal[:, None, :]
    (y,) = space.solve_spd(regular, right)
    if ridge > 0:  # one refinement takes the ridge out again
        (more,) = space.solve_spd(regular, xp.where(active, right - (H @ y[:, :, None])[:, :, 0], 0.0))
        y = y + more
    return xp.where(active, y, 0.0)


def _value(xp: Any, G: Any, b: Any, h: float, u: Any) -> Any:
    return xp.sum(u * ((G @ u[:, :, None])[:, :, 0] - 2 * b), axis=1) + 2 * h * xp.sum(xp.abs(u), axis=1)


def _support_step(space: Space, G: Any, b: Any, h: float, z: Any, ridge: float) -> Any:
    """Return z moved towards the minimiser on its support and signs, never uphill."""
    xp = space.xp
    y = on_support(space, G, b, h, z, ridge)
    valid = xp.all(xp.isfinite(y), axis=1)
    y = xp.where(valid[:, None], y, z)
    crossing = y * z < 0
    agrees = ~xp.any(crossing | ((z != 0) & (y == 0)), axis=1)
    cut = xp.where(crossing, 0.0, y)
    # To the first coordinate that would change sign: that never goes uphill.
    gap = z - y
    reach = xp.where(crossing, z / xp.where(crossing, gap, 1.0), 2.0)
    first = xp.min(reach, axis=1)
    share = xp.where(first < 1, first, 1.0)
    near = xp.where(crossing & (reach <= first[:, None]), 0.0, z + share[:, None] * (y - z))
    best = xp.where((_value(xp, G, b, h, cut) < _value(xp, G, b, h, near))[:, None], cut, near)
    return xp.where((agrees & valid)[:, None], y, xp.where(valid[:, None], best, z))


def minimise(space: Space, G: Any, b: Any, h: float, z: Any, *, exact: bool) -> Any:
    """Return the minimiser over each working set, from z; where not ``exact``, something near it."""
    xp = space.xp
    diagonal = xp.linalg.diagonal(G)
    root = xp.sqrt(diagonal)
    inverse = xp.where(diagonal > 0, 1 / xp.where(diagonal > 0, root, 1.0), 0.0)
    H = G * inverse[:, :, None] * inverse[:, None, :]
    eps = float(np.finfo(np.float32 if G.dtype == xp.float32 else np.float64).eps)
    ridge = 64 * eps
    tolerance = max(1e-12, 16 * eps) if exact else 0.0
    for cycle in range(_CYCLES if exact else _ROUGH_CYCLES):
        # What is near its minimiser needs no descent.
        if not exact or cycle > 0:
            u = z * root
            q = b * inverse - (H @ u[:, :, None])[:, :, 0]
            z = descend(space, H, h * inverse, u, q, _FIRST_STEPS if cycle == 0 else _STEPS)[0] * inverse
        z = _support_step(space, G, b, h, z, ridge)
        if not exact:
            continue
        q = b - (G @ z[:, :, None])[:, :, 0]
        violation = xp.where(z == 0, xp.abs(q) - h, xp.abs(q - h * xp.sign(z)))
        violation = xp.where(diagonal > 0, violation, 0.0)
        # Rounding of q itself is relative to its terms, not to h.
        terms = xp.abs(b) + (xp.abs(G) @ xp.abs(z)[:, :, None])[:, :, 0]
        if not bool(space.to_numpy(xp.any(violation > tolerance * h + 8 * eps * terms))):
            break
    return z
