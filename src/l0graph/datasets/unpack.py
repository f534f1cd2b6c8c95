"""Unpacking with a bound: what a set cannot need is refused before memory is taken."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import DataError

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError)


@contextmanager
def open_zip(path: Path, most_members: int) -> Iterator[zipfile.ZipFile]:
    """Open a zip file of a plausible number of members; damage becomes one line."""
    try:
        with zipfile.ZipFile(path) as archive:
            count = len(archive.infolist())
            if count > most_members:
                msg = f"{path}: {count:,} files, where the set has no more than {most_members:,}: not this set"
                raise DataError(msg)
            yield archive
    except _DAMAGE as error:
        msg = f"{path}: not a readable archive ({error}): get it again"
        raise DataError(msg) from error


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most_bytes: int, what: str) -> bytes:
    """Return the bytes of a member that declares, and has, no more than ``most_bytes``."""
    if member.file_size > most_bytes:
        msg = f"{what}: declares {member.file_size:,} bytes, where {most_bytes:,} are the most: not this set"
        raise DataError(msg)
    with archive.open(member) as stream:
        return read_at_most(stream, most_bytes, what)


def read_at_most(stream: IO[bytes], most_bytes: int, what: str) -> bytes:
    """Return the rest of a stream, which may hold ``most_bytes``."""
    content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        msg = f"{what}: more than {most_bytes:,} bytes: not this set"
        raise DataError(msg)
    return content
