"""Where data sets lie on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .readers.idx import find_idx
from .readers.images import holds_images
from .registry import DataSet

ENDINGS = (".npz", ".mat", ".data", ".dat", ".arff", ".csv", ".txt", ".zip")


def user_cache() -> Path:
    """Return the folder in which this user's programs keep what can be had again."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "l0graph" / "data"


def folders(data_dir: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders to look into, the first one first."""
    named = (data_dir, os.environ.get("L0GRAPH_DATA"))
    return [Path(folder).expanduser() for folder in named if folder] + [user_cache()]


def find(data_set: DataSet, data_dir: str | os.PathLike[str] | None) -> Iterator[list[Path]]:
    """Yield what may be the set, best first: one file or folder, or the four idx files."""
    for folder in folders(data_dir):
        if not folder.is_dir():
            continue
        entries = sorted(folder.iterdir())
        for ending in (*ENDINGS, ""):
            for name in data_set.file_names:
                for entry in entries:
                    if entry.suffix.lower() == ending and entry.is_file() and _plain(entry.stem) == name:
                        yield [entry]
        subfolders = [entry for entry in entries if entry.is_dir() and _plain(entry.name) in data_set.file_names]
        if data_set.idx:
            yield from filter(None, map(find_idx, [folder, *subfolders]))
        elif data_set.image_shape is not None:
            yield from ([entry] for entry in subfolders if holds_images(entry))


def _plain(name: str) -> str:
    """Return a name without what people write differently: capitals, hyphens, blanks."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
