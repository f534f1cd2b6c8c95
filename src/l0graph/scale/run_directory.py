"""Blocks of results in a directory: each there whole or not at all, under a manifest that says what they are of."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..files import FileError, atomic_write

_MANIFEST = "manifest.json"
_FORMAT = 1
Arrays = dict[str, np.ndarray]


class RunDirectory:
    """The directory of a run.

    Blocks of a phase are files ``PHASE/FIRST_ROW.npz``. Whoever finds a block there need not compute it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    @contextmanager
    def opened(path: str | os.PathLike[str] | None) -> Iterator[RunDirectory]:
        """Open the directory for this process alone; a temporary one, removed at the end, for None."""
        if path is None:
            with tempfile.TemporaryDirectory(prefix="l0graph-", ignore_cleanup_errors=True) as name:
                yield RunDirectory(Path(name))
            return
        directory = Path(path)
        if directory.exists() and not directory.is_dir():
            msg = f"{directory}: not a directory: give the run a directory of its own"
            raise FileError(msg)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{directory}: {error.strerror}: the run directory cannot be made"
            raise FileError(msg) from error
        if any(directory.iterdir()) and not (directory / _MANIFEST).exists():
            foreign = [entry.name for entry in directory.iterdir() if not _ours(entry.name)]
            if foreign:
                msg = f"{directory}: holds other files ({foreign[0]}): give the run a directory of its own"
                raise FileError(msg)
        with _locked(directory):
            run = RunDirectory(directory)
            run.sweep()
            try:
                yield run
            finally:
                run.sweep()

    def sweep(self) -> None:
        """Remove what writers that were killed have left."""
        for draft in self.path.rglob(".l0graph-*.tmp"):
            draft.unlink(missing_ok=True)

    @property
    def manifest(self) -> dict[str, Any] | None:
        """What the blocks are of; None for a new directory."""
        return read_manifest(self.path)

    def begin(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Write the manifest, or compare it with the one there; return the one that holds.

        Everything under "parameters", "data" and "versions" must agree.
        """
        old = self.manifest
        if old is None:
            self._write_json(_MANIFEST, {"format": _FORMAT, **manifest})
            return manifest
        differences = []
        for part in ("parameters", "data", "versions"):
            new, there = json.loads(json.dumps(manifest[part])), old.get(part, {})
            for name in sorted({*new, *there}):
                if new.get(name) != there.get(name):
                    differences.append(f"{name} was {there.get(name)!r} and is now {new.get(name)!r}")
        if old.get("format") != _FORMAT:
            differences.insert(0, f"its format is {old.get('format')!r} and not {_FORMAT}")
        if differences:
            msg = (
                f"{self.path}: holds another run: {'; '.join(differences)}: give this run another directory, or"
                " remove that one"
            )
            raise FileError(msg)
        return old

    def note(self, **facts: Any) -> None:
        """Add facts to the manifest."""
        self._write_json(_MANIFEST, {**(self.manifest or {}), **facts})

    def has(self, name: str) -> bool:
        """Return whether a file of arrays is there, whole; a damaged one is removed."""
        path = self.path / f"{name}.npz"
        if not path.exists():
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                whole = archive.testzip() is None
        except (zipfile.BadZipFile, OSError, EOFError):
            whole = False
        if not whole:
            path.unlink(missing_ok=True)
        return whole

    def read(self, name: str, *wanted: str) -> Arrays:
        """Return the arrays of a file, or those wanted."""
        with np.load(self.path / f"{name}.npz", allow_pickle=False) as archive:
            return {key: archive[key] for key in wanted or archive.files}

    def write(self, name: str, arrays: Arrays) -> None:
        """Write a file of arrays, whole or not at all."""
        path = self.path / f"{name}.npz"
        with self._explained():
            path.parent.mkdir(exist_ok=True)
            with atomic_write(path, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

    def _write_json(self, name: str, value: dict[str, Any]) -> None:
        with self._explained(), atomic_write(self.path / name) as file:
            json.dump(value, file, indent=1)
            file.write("\n")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            msg = (
                f"{self.path}: {error.strerror or error}: what is written so far is whole; make room, then start the"
                " run again, and it continues"
            )
            raise FileError(msg) from error

    def room(self) -> int:
        """Return the free bytes on its disk."""
        return shutil.disk_usage(self.path).free


def block_name(phase: str, start: int) -> str:
    """Return the name of a block's file, without its ending."""
    return f"{phase}/{start:012d}"


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of a directory, None if there is none."""
    path = directory / _MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        msg = f"{path}: not readable ({error}): remove the directory and start again"
        raise FileError(msg) from error
    if not isinstance(manifest, dict):
        msg = f"{path}: not a manifest: remove the directory and start again"
        raise FileError(msg)
    return manifest


def run_status(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return how far a run is.

    Parameters
    ----------
    path : str or path-like
        The run's directory. Nothing in it is changed.

    Returns
    -------
    dict
        ``manifest``; ``phases``, for each its blocks done and their number; ``bytes`` on disk; ``running``, whether a
        process is at it; ``finished``.
    """
    directory = Path(path)
    manifest = read_manifest(directory) if directory.is_dir() else None
    if manifest is None:
        msg = f"{directory}: no run: there is no {_MANIFEST} in it"
        raise FileError(msg)
    n_blocks = -(-manifest["data"]["shape"][0] // manifest["block_rows"])
    phases = {
        entry.name: (sum(1 for _ in entry.glob("*.npz")), n_blocks)
        for entry in sorted(directory.iterdir())
        if entry.is_dir()
    }
    return {
        "manifest": manifest,
        "phases": phases,
        "bytes": sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()),
        "running": _is_locked(directory),
        "finished": "finished" in manifest,
    }


def _ours(name: str) -> bool:
    return name == "lock" or (name.startswith(".l0graph-") and name.endswith(".tmp"))


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock; it is gone with the process, however that ends."""
    try:
        file = (directory / "lock").open("a")
    except OSError as error:
        msg = f"{directory}: {error.strerror}: the run directory cannot be written"
        raise FileError(msg) from error
    with file:
        if not _try_lock(file):
            msg = f"{directory}: another process runs in it: wait for its end, or give this run another directory"
            raise FileError(msg)
        yield


def _try_lock(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # not there on Windows: two runs in one directory are then the user's care
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(directory: Path) -> bool:
    with suppress(OSError), (directory / "lock").open("r") as file:
        return not _try_lock(file)
    return False
