"""Visits of the regularised l0 problem, a group of samples at once, no two of them neighbours.

As `l0graph.kernels.regularized`: a visit works on the coordinates where the sample or a neighbour is nonzero, and on
those that its residual lets in. Each coordinate takes, among its gradient step v and its neighbours' values, the u of
least (L/2) (u - v)^2 - gamma (weight of the neighbours whose value is u); of equals v, then zero, then the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .dictionary import Atoms
from .l0 import majorising
from .namespaces import block


@dataclass(frozen=True)
class Rule:
    """How one sample's problem is iterated at a visit; named as the parameters of `regularized_l0_codes`."""

    gamma: float
    lipschitz: float
    tau: float
    raise_where_needed: bool
    max_iter: int
    tol: float


@dataclass
class Group:
    """Samples to be visited, and what their visits read."""

    x: Any
    own: Any
    members: Any
    """Their codes' (rows, width), padded by the zero atom."""
    z: Any
    weights: Any
    """Of their neighbours, (rows, neighbours), zero for padding."""
    near_members: Any
    """The neighbours' codes, (rows, neighbours, width)."""
    near_z: Any


def _unique(atoms: Atoms, ids: Any) -> Any:
    """Return each row's distinct ids, sorted, padded by the zero atom."""
    space, xp = atoms.space, atoms.space.xp
    ids = xp.sort(ids, axis=1)
    repeats = xp.concat([space.zeros((ids.shape[0], 1), xp.bool), ids[:, 1:] == ids[:, :-1]], axis=1)
    ids = xp.sort(xp.where(repeats, atoms.n, ids), axis=1)
    width = int(space.to_numpy(xp.max(xp.sum(xp.astype(ids < atoms.n, xp.int64), axis=1))))
    return ids[:, : max(1, width)]


def _spread(xp: Any, members: Any, z: Any, coordinates: Any) -> Any:
    """Return the values of codes (rows, ..., width) at each row's coordinates, which may lie outside their support."""
    total = z[..., :1] * 0.0 + xp.astype(coordinates, z.dtype) * 0.0
    for place in range(members.shape[-1]):
        hit = members[..., place][..., None] == coordinates
        total = total + xp.where(hit, z[..., place][..., None], 0.0)
    return total


class _Visit:
    """A group on its coordinates."""

    def __init__(self, atoms: Atoms, group: Group, rule: Rule) -> None:
        space, xp = atoms.space, atoms.space.xp
        self.atoms, self.group, self.rule = atoms, group, rule
        self.total = xp.sum(group.weights, axis=1)
        self.xx = xp.sum(group.x * group.x, axis=1)
        self.L = space.zeros((group.x.shape[0],), group.x.dtype) + rule.lipschitz
        self.place(group.members, group.z)

    def place(self, members: Any, z: Any) -> None:
        """Take the coordinates of these codes and of the neighbours'."""
        atoms, group = self.atoms, self.group
        space, xp = atoms.space, atoms.space.xp
        n_rows = members.shape[0]
        everyone = xp.concat([members, xp.reshape(group.near_members, (n_rows, -1))], axis=1)
        ids = _unique(atoms, xp.where(everyone == group.own[:, None], atoms.n, everyone))
        self.ids = ids
        self.z = _spread(xp, members, z, ids)
        # What the neighbours say: their values, and the weight of all that agree with each; zero comes first.
        values = _spread(xp, group.near_members, group.near_z, ids[:, None, :])
        values = xp.where((ids == atoms.n)[:, None, :], 0.0, values)
        self.z = xp.where(ids == atoms.n, 0.0, self.z)
        values = xp.concat([space.zeros((n_rows, 1, ids.shape[1]), values.dtype), values], axis=1)
        votes = values * 0.0
        for place in range(group.weights.shape[1]):
            agrees = values == values[:, place + 1, :][:, None, :]
            votes = votes + xp.where(agrees, group.weights[:, place][:, None, None], 0.0)
        self.values, self.votes = values, votes
        A = xp.astype(space.rows(atoms.X, ids), group.x.dtype)
        self.A, self.G = A, A @ xp.permute_dims(A, (0, 2, 1))
        self.b = (A @ group.x[:, :, None])[:, :, 0]

    def agreement(self, z: Any) -> Any:
        """Return the weight of the neighbours that agree with a code, over all coordinates."""
        xp = self.atoms.space.xp
        # Equal values have equal votes: the largest over those equal is theirs.
        return xp.sum(xp.max(xp.where(self.values == z[:, None, :], self.votes, 0.0), axis=1), axis=1)

    def stepped(self, q: Any) -> Any:
        """Return the codes after a proximal step."""
        xp = self.atoms.space.xp
        v = self.z + (2 / self.L)[:, None] * q
        scores = 0.5 * self.L[:, None, None] * (self.values - v[:, None, :]) ** 2 - self.rule.gamma * self.votes
        best = xp.min(scores, axis=1)
        # A value of zero is the first of its equals, and of different values equally good the smallest follows.
        among = xp.where(scores == best[:, None, :], self.values, float("inf"))
        has_zero = xp.any(among == 0, axis=1)
        chosen = xp.where(has_zero, 0.0, xp.min(among, axis=1))
        return xp.where(best < 0, chosen, v)

    def on_support(self, support: Any) -> Any:
        """Return the Gram matrices with all else left out."""
        xp = self.atoms.space.xp
        return xp.where(support[:, :, None] & support[:, None, :], self.G, 0.0)

    def raised(self, support: Any) -> Any:
        """Return constants that majorise on the support."""
        return majorising(self.atoms.space, self.on_support(support), self.L, self.rule.tau)


def visit(atoms: Atoms, group: Group, rule: Rule) -> tuple[Any, Any, bool]:
    """Visit the samples of a group; return members and codes, padded, and whether all met the tolerance."""
    space, xp = atoms.space, atoms.space.xp
    with block(f"regularized l0 codes, {group.x.shape[0]} rows"):
        state = _Visit(atoms, group, rule)
        before = space.zeros((group.x.shape[0],), group.x.dtype) + float("inf")
        done = xp.zeros(group.x.shape[0], dtype=xp.bool, device=space.device)
        for t in range(rule.max_iter + 1):
            q = state.b - (state.G @ state.z[:, :, None])[:, :, 0]
            rr = state.xx - xp.sum(state.z * (state.b + q), axis=1)
            rr = xp.where(rr > 0, rr, 0.0)
            width = state.ids.shape[1]
            objective = rr + rule.gamma * (state.total * width - state.agreement(state.z))
            if t > 0:
                done = done | (xp.abs(before - objective) < rule.tol)
            if t == rule.max_iter:
                break
            before = objective
            if rule.raise_where_needed and t == 0:
                state.L = state.raised(state.z != 0)
            bound = xp.sqrt(0.5 * rule.gamma * state.total * state.L)
            # The slack is for rounding: it must not close a sample that the exact bound leaves open.
            may = xp.sqrt(rr + 1e-13 * state.xx) * (atoms.max_norm * (1 + 1e-12)) >= bound
            flags = space.to_numpy(xp.stack([xp.all(done), xp.any(may & ~done)]))
            if flags[0]:
                break
            if flags[1]:
                items = _entering(atoms, state, may & ~done, bound)
                if items.shape[1]:
                    used = (state.z != 0) | (xp.abs(q) >= bound[:, None])
                    kept = xp.where(used, state.ids, atoms.n)
                    members = xp.concat([kept, items], axis=1)
                    z = xp.concat([xp.where(used, state.z, 0.0), space.zeros(items.shape, state.z.dtype)], axis=1)
                    state.place(members, z)
                    q = state.b - (state.G @ state.z[:, :, None])[:, :, 0]
            new = state.stepped(q)
            if rule.raise_where_needed:
                before_step = state.L
                state.L = xp.where(done, state.L, state.raised((state.z != 0) | (new != 0)))
                # With a larger L fewer coordinates leave zero, so it majorises for the step taken anew.
                new = xp.where((before_step < state.L)[:, None], state.stepped(q), new)
            state.z = xp.where(done[:, None], state.z, new)
        return xp.where(state.z != 0, state.ids, atoms.n), state.z, bool(space.to_numpy(xp.all(done)))


def _entering(atoms: Atoms, state: _Visit, may: Any, bound: Any) -> Any:
    """Return for each row the atoms outside its coordinates that may enter, padded by the zero atom."""
    space, xp = atoms.space, atoms.space.xp
    residuals = state.group.x - (state.z[:, None, :] @ state.A)[:, 0, :]
    sizes = xp.abs(residuals @ xp.astype(atoms.X, residuals.dtype).T)
    sizes = space.put(sizes, xp.concat([state.group.own[:, None], state.ids], axis=1), -1.0)
    sizes = space.put(sizes, xp.full((sizes.shape[0], 1), atoms.n, dtype=xp.int64, device=space.device), -1.0)
    enters = (sizes >= bound[:, None]) & may[:, None]
    count = int(space.to_numpy(xp.max(xp.sum(xp.astype(enters, xp.int64), axis=1))))
    _, items = space.largest(xp.astype(enters, residuals.dtype), count)
    return xp.where(xp.take_along_axis(enters, items, axis=1), items, atoms.n)


def differences(atoms: Atoms, group: Group) -> tuple[Any, Any]:
    """Return each row's squared residual and the weighted number of entries in which it and its neighbours differ."""
    space, xp = atoms.space, atoms.space.xp
    A = xp.astype(space.rows(atoms.X, group.members), group.x.dtype)
    residual = group.x - (group.z[:, None, :] @ A)[:, 0, :]
    n_rows = group.x.shape[0]
    everyone = xp.concat([group.members, xp.reshape(group.near_members, (n_rows, -1))], axis=1)
    ids = _unique(atoms, everyone)
    z = _spread(xp, group.members, group.z, ids)
    values = _spread(xp, group.near_members, group.near_z, ids[:, None, :])
    differ = (z[:, None, :] != values) & (ids != atoms.n)[:, None, :]
    distance = xp.sum(xp.astype(differ, group.x.dtype), axis=2)
    return xp.sum(residual * residual, axis=1), xp.sum(distance * group.weights, axis=1)
