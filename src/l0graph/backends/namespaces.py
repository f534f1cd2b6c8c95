"""What the array API standard has no word for, for each library of arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

_LIBRARIES = ("torch", "cupy", "cupyx", "array_api_strict")
_BUDGET = 2**29
"""Bytes of a block where memory is the host's; on a device a share of what is free there."""
_SHARE = 0.25


def is_device_array(X: Any) -> bool:
    """Return whether X is an array (also a sparse one) of torch, CuPy or array_api_strict. Imports nothing."""
    return type(X).__module__.partition(".")[0] in _LIBRARIES


class Space:
    """A namespace of the standard, on one device, and in the standard's own words what it lacks.

    Subclasses say the same in their library's words.
    """

    def __init__(self, xp: Any, device: Any) -> None:
        self.xp = xp
        self.device = device

    @property
    def wide(self) -> Any:
        """float64 where the device has it, else float32."""
        dtypes = self.xp.__array_namespace_info__().dtypes(device=self.device, kind="real floating")
        return dtypes.get("float64", dtypes["float32"])

    @cached_property
    def budget(self) -> int:
        """The bytes that a block may take."""
        return _BUDGET

    @property
    def on_cuda(self) -> bool:
        """Whether the device is one of CUDA."""
        return False

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        """Return values on the device."""
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def to_numpy(self, array: Any) -> np.ndarray:
        """Return the array on the host: the one place where something waits for the device."""
        _count_transfer()
        return self._to_numpy(array)

    def _to_numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros on the device."""
        return self.xp.zeros(shape, dtype=dtype, device=self.device)

    def arange(self, n: int) -> Any:
        """Return 0, 1, ..., n - 1."""
        return self.xp.arange(n, dtype=self.xp.int64, device=self.device)

    def largest(self, values: Any, k: int) -> tuple[Any, Any]:
        """Return the k largest values of each row, in descending order, and where they are."""
        order = self.xp.argsort(values, axis=1, descending=True)[:, : min(k, values.shape[1])]
        return self.xp.take_along_axis(values, order, axis=1), order

    def product(self, A: Any, B: Any) -> Any:
        """Return A B, in float32 with all of its digits also where the caller's settings trade some for speed."""
        return A @ B

    def put(self, values: Any, columns: Any, value: float) -> Any:
        """Return values with ``value`` in some columns of each row, perhaps in place."""
        every = self.arange(values.shape[1])[None, :]
        for i in range(columns.shape[1]):
            values = self.xp.where(every == columns[:, i : i + 1], value, values)
        return values

    def take(self, A: Any, ids: Any) -> Any:
        """Return A[ids] for ids not negative; the standard's, on torch, costs as many operations again for those."""
        return self.xp.take(A, ids, axis=0)

    def along(self, A: Any, columns: Any) -> Any:
        """Return some columns of each row, not negative, by their numbers (rows, k)."""
        return self.xp.take_along_axis(A, columns, axis=1)

    def rows(self, A: Any, ids: Any) -> Any:
        """Return A[ids] for ids (rows, width): (rows, width, features)."""
        flat = self.take(A, self.xp.reshape(ids, (-1,)))
        return self.xp.reshape(flat, (*ids.shape, A.shape[1]))

    def solve_spd(self, G: Any, *right: Any) -> list[Any]:
        """Solve G y = r for symmetric positive definite G (rows, k, k) and each r (rows, k); nan where it is not."""
        return [self.xp.linalg.solve(G, r[:, :, None])[:, :, 0] for r in right]

    def csr(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        """Return a sparse matrix on the device; SciPy's where the library has none."""
        return sp.csr_array((np.asarray(data), np.asarray(indices), np.asarray(indptr)), shape=shape)

    def multiplier(self, A: sp.csr_array) -> Callable[[Any], Any]:
        """Return V -> A V for a sparse matrix, taken to the device; dense where the library has nothing sparse."""
        dense = self.asarray(A.toarray(), self.wide)
        return lambda V: dense @ V

    def csr_parts(self, codes: Any) -> tuple[Any, Any, Any]:
        """Return data, indices and row pointers of sparse codes, of this library or SciPy's, on the device."""
        codes = sp.csr_array(codes)
        index = self.xp.int64
        return self.asarray(codes.data), self.asarray(codes.indices, index), self.asarray(codes.indptr, index)


class _Torch(Space):
    @property
    def on_cuda(self) -> bool:
        return bool(self.device.type == "cuda")

    @cached_property
    def budget(self) -> int:
        if not self.on_cuda:
            return _BUDGET
        import torch

        idle = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return int(_SHARE * (torch.cuda.mem_get_info(self.device)[0] + idle))

    def product(self, A: Any, B: Any) -> Any:
        import torch

        before = torch.get_float32_matmul_precision()
        if before == "highest":
            return A @ B
        torch.set_float32_matmul_precision("highest")
        try:
            return A @ B
        finally:
            torch.set_float32_matmul_precision(before)

    def _to_numpy(self, array: Any) -> np.ndarray:
        return array.detach().cpu().numpy()

    def largest(self, values: Any, k: int) -> tuple[Any, Any]:
        found = values.topk(k, dim=1)
        return found.values, found.indices

    def put(self, values: Any, columns: Any, value: float) -> Any:
        return values.scatter_(1, columns, value)

    def take(self, A: Any, ids: Any) -> Any:
        return A.index_select(0, ids)

    def along(self, A: Any, columns: Any) -> Any:
        return A.gather(1, columns)

    def solve_spd(self, G: Any, *right: Any) -> list[Any]:
        import torch

        L, info = torch.linalg.cholesky_ex(G)
        solved = torch.cholesky_solve(torch.stack(right, dim=2), L)
        solved = torch.where((info > 0)[:, None, None], torch.nan, solved)
        return list(solved.unbind(dim=2))

    def csr(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        import warnings

        import torch

        with warnings.catch_warnings():  # torch calls its CSR support a beta, and tells of checks that are turned off
            warnings.filterwarnings("ignore", "Sparse CSR|Sparse invariant", UserWarning)
            return torch.sparse_csr_tensor(indptr, indices, data, size=shape, check_invariants=False)

    def multiplier(self, A: sp.csr_array) -> Callable[[Any], Any]:
        parts = (self.asarray(A.data, self.wide), self.asarray(A.indices), self.asarray(A.indptr))
        matrix = self.csr(*parts, A.shape)
        return lambda V: matrix @ V

    def csr_parts(self, codes: Any) -> tuple[Any, Any, Any]:
        if not is_device_array(codes):
            return super().csr_parts(codes)
        import warnings

        import torch

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR|Sparse invariant", UserWarning)
            codes = codes if codes.layout == torch.sparse_csr else codes.to_sparse_csr()
        return tuple(part.to(self.device) for part in (codes.values(), codes.col_indices(), codes.crow_indices()))


class _CuPy(Space):
    @property
    def on_cuda(self) -> bool:
        return True

    @cached_property
    def budget(self) -> int:
        return int(_SHARE * self.device.mem_info[0])

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        with self.device:
            return self.xp.asarray(values, dtype=dtype)

    def _to_numpy(self, array: Any) -> np.ndarray:
        return array.get()

    def put(self, values: Any, columns: Any, value: float) -> Any:
        values[self.xp.arange(values.shape[0])[:, None], columns] = value
        return values

    def csr(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        from cupyx.scipy.sparse import csr_matrix

        index = self.xp.int32 if max(len(data), shape[1]) < 2**31 else self.xp.int64
        return csr_matrix((data, indices.astype(index), indptr.astype(index)), shape=shape)

    def multiplier(self, A: sp.csr_array) -> Callable[[Any], Any]:
        parts = (self.asarray(A.data, self.wide), self.asarray(A.indices), self.asarray(A.indptr))
        matrix = self.csr(*parts, A.shape)
        return lambda V: matrix @ V

    def csr_parts(self, codes: Any) -> tuple[Any, Any, Any]:
        if not is_device_array(codes):
            return super().csr_parts(codes)
        from cupyx.scipy.sparse import csr_matrix

        codes = csr_matrix(codes)
        return codes.data, codes.indices.astype(self.xp.int64), codes.indptr.astype(self.xp.int64)


def space_of(X: Any) -> Space:
    """Return the namespace and device of an array."""
    compat = _compat()
    library = type(X).__module__.partition(".")[0]
    if library == "cupyx":
        return space_of(X.data)
    kinds: dict[str, type[Space]] = {"torch": _Torch, "cupy": _CuPy}
    return kinds.get(library, Space)(compat.array_namespace(X), compat.device(X))


def _compat() -> Any:
    try:
        return import_module("array_api_compat")
    except ImportError:
        msg = "arrays of torch or CuPy need the package array-api-compat: pip install 'l0graph[gpu]'"
        raise ImportError(msg) from None


def on_device(X: np.ndarray, device: str) -> Any:
    """Return X as a torch array on ``"cuda"``, ``"cuda:1"``, ``"cpu"``, ...; a device that is missing is an error."""
    try:
        torch = import_module("torch")
    except ImportError:
        msg = f"device={device!r} needs PyTorch, which is not installed: pip install 'l0graph[gpu]', or device=None"
        raise ImportError(msg) from None
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        msg = f"device must be None or a name that PyTorch knows, such as 'cuda', 'cuda:1' or 'cpu', got {device!r}"
        raise ValueError(msg) from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if place.type == "cuda" and not (place.index or 0) < count:
        msg = f"device={device!r} was asked for, but PyTorch finds {count} CUDA devices here: use device='cpu' or None"
        raise ValueError(msg)
    return torch.asarray(X, device=place)


def to_scipy(codes: Any) -> sp.csr_array:
    """Return codes of torch or CuPy as a SciPy array on the host; SciPy's own pass through.

    Parameters
    ----------
    codes : sparse matrix or array
        Of torch, CuPy or SciPy.

    Returns
    -------
    csr_array
        The same codes.
    """
    library = type(codes).__module__.partition(".")[0]
    if library == "torch" and str(codes.layout) == "torch.sparse_csr":
        parts = [part.cpu().numpy() for part in (codes.values(), codes.col_indices(), codes.crow_indices())]
        index = np.int32 if max(len(parts[0]), *codes.shape) < 2**31 else np.int64
        return sp.csr_array((parts[0], parts[1].astype(index), parts[2].astype(index)), shape=tuple(codes.shape))
    if library == "torch":
        return sp.csr_array((codes if str(codes.layout) == "torch.strided" else codes.to_dense()).cpu().numpy())
    if library in ("cupy", "cupyx"):
        return sp.csr_array(codes.get())
    return sp.csr_array(codes if sp.issparse(codes) else np.asarray(codes))


@dataclass
class Operations:
    """What was asked of the device, block by block."""

    per_block: list[tuple[str, int, int]] = field(default_factory=list)
    """``(what, operations, transfers to the host)`` of each block."""
    count: int = 0
    transfers: int = 0

    def __str__(self) -> str:
        """One line a block."""
        return "\n".join(f"{what}: {n} device operations, {t} flags read" for what, n, t in self.per_block)


_counting: ContextVar[Operations | None] = ContextVar("counting", default=None)


def count_launch() -> None:
    """Count a kernel of ours, which torch does not see."""
    counting = _counting.get()
    if counting is not None:
        counting.count += 1


def _count_transfer() -> None:
    counting = _counting.get()
    if counting is not None:
        counting.transfers += 1


@contextmanager
def operations(*, show: bool = False) -> Iterator[Operations]:
    """Count the torch operations of each block and, with ``show``, print them to stderr as blocks end.

    For looking: counting takes time of its own.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    record = Operations()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            record.count += 1
            return func(*args, **(kwargs or {}))

    token = _counting.set(record)
    try:
        with Counting():
            yield record
    finally:
        _counting.reset(token)
    if show:
        sys.stderr.write(f"{record}\n")


@contextmanager
def block(what: str) -> Iterator[None]:
    """Name a block's operations to whoever counts."""
    counting = _counting.get()
    if counting is None:
        yield
        return
    count, transfers = counting.count, counting.transfers
    yield
    counting.per_block.append((what, counting.count - count, counting.transfers - transfers))
