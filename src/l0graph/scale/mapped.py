"""A dictionary that stays on disk."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..codes.working_set import Dictionary, Sketch, equal_rows, row_norms, unit_float32
from .samples import Samples
from .sources import source_of

_TILE = 4096


@dataclass(frozen=True)
class MappedAtoms:
    """Where the files of a `MappedDictionary` are."""

    folder: Path


class MappedDictionary(Dictionary):
    """A dictionary whose samples and unit copy are files: tiles are read when their turn comes.

    The answers are those of the one in memory. Rows that kernels look at one by one are read through a map, whose pages
    are given back after each pass over the atoms.
    """

    def __init__(self, atoms: MappedAtoms) -> None:
        folder = self._folder = atoms.folder
        self._map = np.load(folder / "atoms.npy", mmap_mode="r", allow_pickle=False)
        self.X = np.asarray(self._map)
        self.norms = np.load(folder / "norms.npy", allow_pickle=False)
        self.max_norm = float(self.norms.max(initial=0.0))

    @staticmethod
    def build(folder: Path, samples: Samples) -> MappedAtoms:
        """Write the samples, their unit copy and norms, where they are not there already."""
        if (folder / "norms.npy").exists():  # written last
            return MappedAtoms(folder)
        folder.mkdir(exist_ok=True)
        n, d = samples.shape
        atoms = np.lib.format.open_memmap(folder / "atoms.npy", mode="w+", dtype=samples.dtype, shape=(n, d))
        unit = np.lib.format.open_memmap(folder / "unit.npy", mode="w+", dtype=np.float32, shape=(n, d))
        norms = np.empty(n)
        for start, stop in samples.passes("loading"):
            rows = samples.rows(start, stop)
            norms[start:stop] = row_norms(rows)
            atoms[start:stop] = rows
            unit[start:stop] = unit_float32(rows, norms[start:stop])
            for array in (atoms, unit):
                array.flush()
                _give_back(array)
        np.save(folder / "norms.tmp.npy", norms)
        (folder / "norms.tmp.npy").replace(folder / "norms.npy")
        return MappedAtoms(folder)

    @cached_property
    def unit(self) -> np.ndarray:
        """Atoms of norm one, as a map."""
        return np.load(self._folder / "unit.npy", mmap_mode="r", allow_pickle=False)

    @cached_property
    def sketch(self) -> Sketch | None:
        """None: it would have to be held."""
        return None

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """As in memory."""
        return equal_rows(self._reader, self.max_norm, up_to_sign=True)  # type: ignore[arg-type]

    @cached_property
    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """As in memory."""
        return equal_rows(self._reader, self.max_norm, up_to_sign=False)  # type: ignore[arg-type]

    @property
    def _reader(self) -> _Reader:
        return _Reader(self._map)

    def tiles(self, rows: np.ndarray, atoms: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """As in memory, of tiles read one by one."""
        if atoms is not None:
            yield from super().tiles(rows, atoms)
            return
        offset = self.unit.offset  # type: ignore[attr-defined]
        d = self.X.shape[1]
        size = -(-self.n_samples // max(1, -(-self.n_samples // _TILE)))
        with (self._folder / "unit.npy").open("rb") as file:
            for first in range(0, self.n_samples, size):
                stop = min(first + size, self.n_samples)
                file.seek(offset + first * d * 4)
                tile = np.fromfile(file, dtype=np.float32, count=(stop - first) * d).reshape(-1, d)
                yield first, rows @ tile.T
                _give_back(self._map)


class _Reader:
    """An array in a file, whose slices are read."""

    def __init__(self, mapped: np.memmap) -> None:
        self._source = source_of(mapped)
        self.shape, self.dtype = mapped.shape, mapped.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.shape[0])
        return self._source.read(start, stop)


def _give_back(array: np.ndarray) -> None:
    """Let the system have the pages of a map that were read; they are read again when needed."""
    array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
