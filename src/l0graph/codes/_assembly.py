"""Padded rows, as kernels hold them, to and from CSR."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class CodeAssembler:
    """Collects finished rows in any order and puts them together as CSR."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.shape = (n_rows, n_columns)
        self.counts = np.zeros(n_rows, dtype=np.int64)
        self._chunks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, positions: np.ndarray, members: np.ndarray, coefs: np.ndarray, n_members: np.ndarray) -> None:
        """Take the rows at ``positions``: the first ``n_members`` entries of each padded row, sorted."""
        used = np.arange(members.shape[1]) < n_members[:, None]
        self.counts[positions] = n_members
        self._chunks.append((positions, members[used], coefs[used]))

    def assemble(self, dtype: np.dtype) -> sp.csr_array:
        """Return the codes."""
        indptr = np.zeros(self.shape[0] + 1, dtype=np.int64)
        np.cumsum(self.counts, out=indptr[1:])
        index_type = np.int32 if max(indptr[-1], self.shape[1]) < 2**31 else np.int64
        indices = np.empty(indptr[-1], dtype=index_type)
        data = np.empty(indptr[-1], dtype=dtype)
        for positions, items, values in self._chunks:
            counts = self.counts[positions]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            target = np.repeat(indptr[positions], counts) + within
            indices[target] = items
            data[target] = values
        codes = sp.csr_array((data, indices, indptr.astype(index_type)), shape=self.shape)
        codes.eliminate_zeros()  # a value can vanish in float32
        return codes


def split_outliers(codes: sp.csr_array, n_atoms: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Split codes over [X; I] into those over X and the outliers, the part over the identity."""
    return sp.csr_array(codes[:, :n_atoms]), sp.csr_array(codes[:, n_atoms:])


def padded(codes: sp.csr_array, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows start to stop of CSR codes as padded ``(members, coefs, n_members)``."""
    indptr = codes.indptr[start : stop + 1].astype(np.int64)
    counts = np.diff(indptr)
    used = np.arange(counts.max(initial=0)) < counts[:, None]
    members = np.zeros(used.shape, dtype=np.int64)
    coefs = np.zeros(used.shape)
    members[used] = codes.indices[indptr[0] : indptr[-1]]
    coefs[used] = codes.data[indptr[0] : indptr[-1]]
    return members, coefs, counts
