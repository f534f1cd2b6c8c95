"""The methods on arrays of torch, CuPy or the standard: blocks of targets through `l0graph.backends`.

Each function is what its namesake does with such arrays; parameters are checked there.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import CodeResult, Status
from ..backends import raw
from ..backends.dictionary import Assembler, Atoms, padded, tiles
from ..backends.l0 import l0_block
from ..backends.l1 import compressed, l1_block, problem_bytes
from ..backends.namespaces import is_device_array, space_of
from ..backends.omp import omp_block
from ..backends.predict import best_clusters
from ..backends.regularized import Group, Rule, differences, visit

_WIDTH = 64
"""Width of a small problem that blocks are planned for; wider ones are taken in parts."""
_WIDER = tuple(2**k for k in range(7, 20))
"""Largest supports of blocks of l0 codes: rows of a block are padded to the widest."""
_ROWS = (512, 16384)
"""Most rows of a block: on the host, where a block should stay in the cache, and on a device."""


def takes(X: Any) -> bool:
    """Return whether X is for this module."""
    return isinstance(X, Atoms) or is_device_array(X)


def only_plain(**variants: bool) -> None:
    """Raise where a variant is asked for that runs on NumPy arrays alone."""
    for name, asked in variants.items():
        if asked:
            msg = f"{name}=True is not available for arrays of torch or CuPy: pass a NumPy array"
            raise ValueError(msg)


def checked(X: Any, name: str = "X") -> Any:
    """Return X as a finite 2-D array of float32 or float64 whose products do not overflow."""
    space = space_of(X)
    xp = space.xp
    if X.ndim != 2 or 0 in X.shape:
        msg = f"{name} must be a 2-D array with samples in rows, got shape {tuple(X.shape)}"
        raise ValueError(msg)
    if not xp.isdtype(X.dtype, ("bool", "integral", "real floating")):
        msg = f"{name} must hold real numbers, got {X.dtype}"
        raise ValueError(msg)
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float32)
    largest = float(space.to_numpy(xp.max(xp.abs(X))))
    if not np.isfinite(largest):
        msg = f"{name} contains NaN or infinity"
        raise ValueError(msg)
    if largest > np.sqrt(float(xp.finfo(X.dtype).max) / (4 * X.shape[1])):
        msg = f"{name} has entries as large as {largest:.3g}, whose squares overflow {X.dtype}: rescale {name}"
        raise ValueError(msg)
    return X


def atoms_of(X: Any) -> Atoms:
    """Return the prepared form of X; what is prepared already passes through."""
    if isinstance(X, Atoms):
        return X
    X = checked(X)
    if X.shape[0] < 2:
        msg = f"X must have at least 2 samples, got shape {tuple(X.shape)}"
        raise ValueError(msg)
    return Atoms(X)


class Targets:
    """What is coded: samples of X, or new ones. A sample's own atom is not used; a new one's is the zero atom."""

    def __init__(self, atoms: Atoms, rows: Any, X_new: Any) -> None:
        xp, space = atoms.space.xp, atoms.space
        self.atoms = atoms
        if X_new is not None:
            if rows is not None:
                msg = "rows and X_new exclude each other: rows are samples of X, X_new are others"
                raise ValueError(msg)
            X_new = checked(X_new if is_device_array(X_new) else space.asarray(X_new), "X_new")
            if X_new.shape[1] != atoms.d:
                msg = f"X_new has {X_new.shape[1]} features but X has {atoms.d}: they must be the same"
                raise ValueError(msg)
            self.values = xp.astype(X_new, atoms.dtype)
            self.own = xp.full((X_new.shape[0],), atoms.n, dtype=xp.int64, device=space.device)
            return
        if rows is None or isinstance(rows, slice):
            self.own = space.arange(atoms.n)[slice(None) if rows is None else rows]
        else:
            from .._validation import check_rows

            chosen = space.to_numpy(rows) if is_device_array(rows) else rows
            self.own = space.asarray(check_rows(chosen, atoms.n))
        self.values = atoms.X[: atoms.n, :] if rows is None else xp.take(atoms.X, self.own, axis=0)

    def __len__(self) -> int:
        return int(self.own.shape[0])

    def blocks(self, width: int = _WIDTH, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ``(start, stop)`` of blocks, from first to last, that fit into the device's budget."""
        space = self.atoms.space
        row_bytes = 16 * self.atoms.n + problem_bytes(self.atoms, width)
        size = int(np.clip(space.budget // row_bytes, 1, _ROWS[space.on_cuda]))
        last = len(self) if last is None else last
        for start in range(first, last, size):
            yield start, min(start + size, last)


def l1_codes(
    X: Any, *, l1_penalty: float = 0.1, tol: float = 1e-10, max_iter: int = 1000, rows: Any = None, X_new: Any = None
) -> CodeResult:
    """As `l0graph.l1_codes`."""
    atoms = atoms_of(X)
    space, xp = atoms.space, atoms.space.xp
    targets = Targets(atoms, rows, X_new)
    assembler = Assembler(space, len(targets), atoms.n)
    places, objectives, gaps = [], [], []
    n_iter = 0
    for start, stop in targets.blocks():
        parts, n_rounds = l1_block(
            atoms, targets.values[start:stop, :], targets.own[start:stop], float(l1_penalty), float(tol), int(max_iter)
        )
        n_iter = max(n_iter, n_rounds)
        for positions, members, z, objective, gap in parts:
            assembler.add(positions + start, members, z)
            places.append(positions + start)
            objectives.append(objective)
            gaps.append(gap)
    order = xp.argsort(xp.concat(places))
    objective, gap = (xp.take(xp.concat(parts), order) for parts in (objectives, gaps))
    squares = xp.astype(targets.values, space.wide)
    squares = xp.sum(squares * squares, axis=1)
    scale = xp.where(squares > objective, squares, objective)
    # Rounding of the objective itself is the floor under any tolerance.
    floor = 1e-13 if space.wide == xp.float64 else 1e-5
    relative = space.to_numpy(gap / xp.where(scale > 0, scale, 1.0))
    missed = relative > tol + floor
    if missed.any():
        from sklearn.exceptions import ConvergenceWarning

        msg = (
            f"l1_codes: {np.count_nonzero(missed)} of {len(targets)} rows have a relative duality gap over"
            f" tol={tol:g} (largest {relative.max():.1e}): raise max_iter or tol"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=3)
    return CodeResult(
        codes=assembler.assemble(atoms.dtype),
        objective=np.array([float(space.to_numpy(xp.sum(part))) for part in (squares, objective)]),
        n_iter=n_iter,
        status=Status.MAX_ITER if missed.any() else Status.CONVERGED,
        gap=gap,
    )


def largest_singular_value_squared(atoms: Atoms) -> float:
    """Return sigma_max(X^T X)."""
    space, xp = atoms.space, atoms.space.xp
    X = atoms.X[: atoms.n, :]
    gram = space.zeros((min(X.shape),) * 2, space.wide)
    if atoms.n <= atoms.d:
        wide = xp.astype(X, space.wide)
        gram = wide @ wide.T
    else:
        for rows in tiles(atoms.n, atoms.d):
            part = xp.astype(X[rows, :], space.wide)
            gram = gram + part.T @ part
    return float(space.to_numpy(xp.linalg.eigvalsh(gram)[-1]))


def step_constant(atoms: Atoms, lipschitz: float | str, tau: float) -> float:
    """Return tau s."""
    if not isinstance(lipschitz, str):
        return float(lipschitz)
    value = tau * 2 * largest_singular_value_squared(atoms)
    return value if value > 0 else 1.0  # all samples are zero: any step does


def started(targets: Targets, start: dict[str, Any]) -> tuple[tuple[Any, Any, Any], np.ndarray]:
    """Return codes to start from, on the device and without own entries, and their number in each row, on the host.

    ``start`` has init, or None there and what l1 codes take.
    """
    atoms = targets.atoms
    space, xp = atoms.space, atoms.space.xp
    init = start["init"]
    if init is None:
        init = l1_codes(atoms, l1_penalty=start["l1_penalty"], rows=start["rows"], X_new=start["X_new"])
    init = init.codes if isinstance(init, CodeResult) else init
    shape = (len(targets), atoms.n)
    if tuple(init.shape) != shape:
        msg = f"init must have shape {shape}, got {tuple(init.shape)}"
        raise ValueError(msg)
    data, indices, indptr = space.csr_parts(init)
    data = xp.astype(data, space.wide)
    if data.shape[0] and not bool(space.to_numpy(xp.all(xp.isfinite(data)))):
        msg = "init contains NaN or infinity"
        raise ValueError(msg)
    rows = xp.searchsorted(indptr, space.arange(data.shape[0]), side="right") - 1
    kept = (data != 0) & (xp.take(targets.own, rows) != indices)
    data, indices, rows = data[kept], indices[kept], rows[kept]
    indptr = xp.searchsorted(rows, space.arange(len(targets) + 1))
    return (data, indices, indptr), np.diff(space.to_numpy(indptr))


def l0_codes(
    X: Any,
    start: dict[str, Any],
    l0_penalty: float,
    *,
    lipschitz: float | str = 100.0,
    tau: float = 1.1,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> CodeResult:
    """As `l0graph.l0_codes`; ``start`` has its init, l1_penalty, rows and X_new."""
    atoms = atoms_of(X)
    targets = Targets(atoms, start["rows"], start["X_new"])
    codes, counts = started(targets, start)
    step = {
        "penalty": float(l0_penalty),
        "lipschitz": step_constant(atoms, lipschitz, tau),
        "tau": float(tau),
        "raise_where_needed": not isinstance(lipschitz, str),
    }
    result, objective = _iterated(targets, codes, counts, step, max_iter)
    changes = np.flatnonzero(np.abs(np.diff(objective)) < tol)
    stop = int(changes[0]) + 1 if len(changes) else None
    if stop is not None and stop < max_iter:
        # The rule looks at the total over all rows, known only now: go again, to exactly there.
        result, _ = _iterated(targets, codes, counts, step, stop)
    n_iter = max_iter if stop is None else stop
    return CodeResult(
        codes=result,
        objective=objective[: n_iter + 1],
        n_iter=n_iter,
        status=Status.MAX_ITER if stop is None else Status.CONVERGED,
    )


def _iterated(
    targets: Targets, codes: tuple[Any, Any, Any], counts: np.ndarray, step: dict[str, Any], n_steps: int
) -> tuple[Any, np.ndarray]:
    """Iterate all targets exactly ``n_steps`` times; return the codes and the total objective at each step."""
    atoms = targets.atoms
    space, xp = atoms.space, atoms.space.xp
    assembler = Assembler(space, len(targets), atoms.n)
    order = np.argsort(counts, kind="stable")  # so that a block's supports are of like size
    widths = (*raw.WIDTHS, *_WIDER) if raw.usable(atoms, 1) else _WIDER
    ends = np.searchsorted(counts[order], widths, side="right").tolist()
    tables, places = [], []
    for start, stop in [
        part
        for first, last in itertools.pairwise([0, *ends, len(order)])
        if first < last
        for part in targets.blocks(max(int(counts[order[last - 1]]), 8), first, last)
    ]:
        chosen = order[start:stop]
        at = space.asarray(chosen)
        members, z = padded(space, codes, counts, chosen, atoms.n)
        own, values = xp.take(targets.own, at), xp.take(targets.values, at, axis=0)
        for rows, some, part, table in l0_block(atoms, values, own, members, z, n_steps=n_steps, **step):
            assembler.add(xp.take(at, rows), some, part)
            tables.append(table)
            places.append(xp.take(at, rows))
    by_row = xp.take(xp.concat(tables), xp.argsort(xp.concat(places)), axis=0)
    return assembler.assemble(atoms.dtype), space.to_numpy(xp.sum(by_row, axis=0))


def omp_codes(X: Any, *, n_nonzero: int, tol: float, rows: Any = None, X_new: Any = None) -> CodeResult:
    """As `l0graph.omp_codes`."""
    atoms = atoms_of(X)
    space, xp = atoms.space, atoms.space.xp
    targets = Targets(atoms, rows, X_new)
    n_steps = min(int(n_nonzero), atoms.n, atoms.d)  # more atoms than features depend on each other
    tol = max(tol, 64 * float(xp.finfo(atoms.dtype).eps))
    assembler = Assembler(space, len(targets), atoms.n)
    squares = np.zeros(n_steps + 1)
    n_iter = 0
    for start, stop in targets.blocks(max(8, n_steps)):
        members, z, table = omp_block(atoms, targets.values[start:stop, :], targets.own[start:stop], n_steps, tol)
        assembler.add(space.arange(stop - start) + start, members, z)
        squares += space.to_numpy(xp.sum(table, axis=0))
        n_chosen = xp.sum(xp.astype(members < atoms.n, xp.int64), axis=1)
        n_iter = max(n_iter, int(space.to_numpy(xp.max(n_chosen))))
    return CodeResult(
        codes=assembler.assemble(atoms.dtype), objective=squares[: n_iter + 1], n_iter=n_iter, status=Status.CONVERGED
    )


class _Codes:
    """Codes that change, as padded rows; one more row, of zeros, stands for a neighbour that is not there."""

    def __init__(self, atoms: Atoms, codes: tuple[Any, Any, Any], counts: np.ndarray) -> None:
        self.atoms = atoms
        space, xp = atoms.space, atoms.space.xp
        members, z = padded(space, codes, counts, np.arange(len(counts)), atoms.n)
        end = xp.full((1, members.shape[1]), atoms.n, dtype=xp.int64, device=space.device)
        self.members = xp.concat([members, end])
        self.z = xp.concat([z, space.zeros((1, z.shape[1]), z.dtype)])

    def replace(self, rows: np.ndarray, members: Any, z: Any) -> None:
        """Give some rows other codes."""
        space, xp = self.atoms.space, self.atoms.space.xp
        width = max(1, int(space.to_numpy(xp.max(xp.sum(xp.astype(z != 0, xp.int64), axis=1)))))
        width = max(width, self.z.shape[1])
        members, z = compressed(self.atoms, members, z, width)
        old_members, old_z = compressed(self.atoms, self.members, self.z, width)
        source = np.arange(old_z.shape[0])
        source[rows] = old_z.shape[0] + np.arange(len(rows))
        at = space.asarray(source)
        self.members = xp.take(xp.concat([old_members, members]), at, axis=0)
        self.z = xp.take(xp.concat([old_z, z]), at, axis=0)


class _Graph:
    """Targets, their codes (the last rows of all), and the graph that couples them to rows of codes."""

    def __init__(self, targets: Targets, weights: Any, codes: _Codes) -> None:
        space = targets.atoms.space
        self.targets, self.codes = targets, codes
        self.first = codes.z.shape[0] - 1 - len(targets)
        counts = np.diff(weights.indptr)
        inside = np.arange(max(1, counts.max(initial=0))) < counts[:, None]
        near = np.full(inside.shape, codes.z.shape[0] - 1, dtype=np.int64)
        near[inside] = weights.indices
        weight = np.zeros(inside.shape)
        weight[inside] = weights.data
        self.near, self.weight = space.asarray(near), space.asarray(weight, space.wide)

    def groups(self, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, Group]]:
        """Yield what visits of the chosen targets read, in parts that fit into memory."""
        atoms, codes = self.targets.atoms, self.codes
        space, xp = atoms.space, atoms.space.xp
        width = codes.z.shape[1] * (1 + self.near.shape[1])
        size = max(1, int(space.budget // (16 * atoms.n + problem_bytes(atoms, width))))
        for start in range(0, len(chosen), size):
            part = chosen[start : start + size]
            at = space.asarray(part)
            near = xp.take(self.near, at, axis=0)
            shape = (*near.shape, codes.z.shape[1])
            flat = xp.reshape(near, (-1,))
            yield (
                part,
                Group(
                    x=xp.astype(xp.take(self.targets.values, at, axis=0), space.wide),
                    own=xp.take(self.targets.own, at),
                    members=xp.take(codes.members, at + self.first, axis=0),
                    z=xp.take(codes.z, at + self.first, axis=0),
                    weights=xp.take(self.weight, at, axis=0),
                    near_members=xp.reshape(xp.take(codes.members, flat, axis=0), shape),
                    near_z=xp.reshape(xp.take(codes.z, flat, axis=0), shape),
                ),
            )

    def objective(self, gamma: float, *, each_pair_twice: bool) -> float:
        """Return the total over the targets."""
        space, xp = self.targets.atoms.space, self.targets.atoms.space.xp
        total = 0.0
        for _, group in self.groups(np.arange(len(self.targets))):
            losses, distances = differences(self.targets.atoms, group)
            total += float(space.to_numpy(xp.sum(losses)))
            total += gamma * float(space.to_numpy(xp.sum(distances))) / (2 if each_pair_twice else 1)
        return total

    def visit(self, chosen: np.ndarray, rule: Rule) -> bool:
        """Solve the problems of some targets, their neighbours as they are; return whether all met the tolerance."""
        visited = [(part, *visit(self.targets.atoms, group, rule)) for part, group in self.groups(chosen)]
        for part, members, z, _ in visited:
            self.codes.replace(part + self.first, members, z)
        return all(done for _, _, _, done in visited)

    def result(self) -> Any:
        """Return the targets' codes."""
        atoms = self.targets.atoms
        assembler = Assembler(atoms.space, len(self.targets), atoms.n)
        codes, last = self.codes, self.codes.z.shape[0] - 1
        place = atoms.space.arange(len(self.targets))
        assembler.add(place, codes.members[self.first : last, :], codes.z[self.first : last, :])
        return assembler.assemble(atoms.dtype)


def regularized_l0_codes(
    X: Any,
    start: dict[str, Any],
    gamma: float,
    *,
    n_neighbors: int,
    lipschitz: float | str,
    tau: float,
    max_iter: int,
    max_sweeps: int,
    tol: float,
    sweep_tol: float,
    sweep: str,
    codes: Any = None,
) -> CodeResult:
    """As `l0graph.regularized_l0_codes`; ``start`` as for `l0_codes`."""
    from ..kernels.regularized import levels
    from .neighbors import neighbor_weights
    from .sweeps import jacobi_sweeps

    atoms = atoms_of(X)
    space = atoms.space
    targets = Targets(atoms, None, start["X_new"])
    rule = Rule(
        gamma=float(gamma),
        lipschitz=step_constant(atoms, lipschitz, tau),
        tau=float(tau),
        raise_where_needed=not isinstance(lipschitz, str),
        max_iter=int(max_iter) * (1 if codes is None else int(max_sweeps)),
        tol=float(tol),
    )
    n_neighbors = min(n_neighbors, atoms.n - 1 if codes is None else atoms.n)
    items = np.concatenate(
        [
            space.to_numpy(atoms.nearest(targets.values[first:last, :], targets.own[first:last], n_neighbors))
            for first, last in targets.blocks()
        ]
    )
    weights = neighbor_weights(items, atoms.n, symmetric=codes is None)
    init = started(targets, start)
    if codes is not None:
        old = started(Targets(atoms, None, None), {"init": codes})
        graph = _Graph(targets, weights, _Codes(atoms, *_stacked(space, old, init)))
        before = graph.objective(gamma, each_pair_twice=False)
        converged = graph.visit(np.arange(len(targets)), rule)
        objective = [before, graph.objective(gamma, each_pair_twice=False)]
        status = Status.CONVERGED if converged else Status.MAX_ITER
        return CodeResult(codes=graph.result(), objective=np.array(objective), n_iter=1, status=status)

    graph = _Graph(targets, weights, _Codes(atoms, *init))
    if sweep == "jacobi":
        everyone = np.arange(len(targets))

        def at_once(state: tuple[Any, Any], moves: bool) -> tuple[tuple[Any, Any], float]:
            graph.codes.members, graph.codes.z = state
            total = graph.objective(gamma, each_pair_twice=True)
            if moves:
                graph.visit(everyone, rule)
            return (graph.codes.members, graph.codes.z), total

        state, totals, status = jacobi_sweeps(at_once, (graph.codes.members, graph.codes.z), max_sweeps, sweep_tol)
        graph.codes.members, graph.codes.z = state
        return CodeResult(codes=graph.result(), objective=totals, n_iter=len(totals) - 1, status=status)
    # Visiting level by level is the same as visiting in order.
    level = levels(weights.indptr.astype(np.int64), weights.indices.astype(np.int64))
    groups = np.split(np.argsort(level, kind="stable"), np.cumsum(np.bincount(level))[:-1])
    objective = [graph.objective(gamma, each_pair_twice=True)]
    status = Status.MAX_ITER
    while len(objective) <= max_sweeps and status is Status.MAX_ITER:
        for group in groups:
            graph.visit(group, rule)
        objective.append(graph.objective(gamma, each_pair_twice=True))
        if abs(objective[-1] - objective[-2]) < sweep_tol:
            status = Status.CONVERGED
    return CodeResult(codes=graph.result(), objective=np.array(objective), n_iter=len(objective) - 1, status=status)


def _stacked(space: Any, upper: Any, lower: Any) -> tuple[tuple[Any, Any, Any], np.ndarray]:
    """Put sparse codes over others."""
    xp = space.xp
    (data, indices, indptr), counts = upper
    (more, more_indices, more_indptr), more_counts = lower
    pointers = xp.concat([indptr, more_indptr[1:] + indptr[-1]])
    return (xp.concat([data, more]), xp.concat([indices, more_indices]), pointers), np.concatenate(
        [counts, more_counts]
    )


def predict_labels(codes: Any, X: Any, labels: Any, X_new: Any) -> Any:
    """Return for each new sample the cluster that explains it best; see `SelfExpressiveClusterer.predict`."""
    atoms = atoms_of(X)
    space, xp = atoms.space, atoms.space.xp
    targets = Targets(atoms, None, X_new)
    labels = space.asarray(labels) if not is_device_array(labels) else labels
    labels = xp.astype(labels, xp.int64)
    parts, counts = started(targets, {"init": codes})
    n_clusters = int(space.to_numpy(xp.max(labels))) + 1
    best = []
    for start, stop in targets.blocks(max(8, int(counts.max(initial=0)))):
        members, z = padded(space, parts, counts, np.arange(start, stop), atoms.n)
        values = targets.values[start:stop, :]
        found = best_clusters(atoms, values, members, z, labels, n_clusters)
        # A sample without a code goes with the atom of largest cosine, a zero sample with most.
        products, norms = atoms.cosines(xp.astype(values, space.wide))
        cosine = xp.abs(products[:, : atoms.n])
        nearest = xp.take(labels, xp.argmax(cosine, axis=1))
        sizes = xp.stack([xp.sum(xp.astype(labels == c, xp.int64)) for c in range(n_clusters)])
        fallback = xp.where((xp.max(cosine, axis=1) > 0) & (norms > 0), nearest, xp.argmax(sizes))
        best.append(xp.where(found < 0, fallback, found))
    return xp.concat(best)
