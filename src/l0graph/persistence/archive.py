"""The file: a zip archive of .npy arrays beside one JSON text, none of them compressed.

So nothing is unpickled, no array is larger than the file, and every size is known before memory is taken.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from l0graph.files import FileError
from l0graph.files.errors import first_line, quoted
from l0graph.files.memory import check_fits
from l0graph.files.numpy_format import read_array, read_header
from l0graph.files.write import whole_or_not_at_all

_TEXT = "model.json"
_LONGEST_TEXT = 64 * 2**20
_MOST_MEMBERS = 1000
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same model makes the same file


def write_archive(path: str, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write the facts and the arrays, whole or not at all."""
    with whole_or_not_at_all(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_TEXT, _FIXED_DATE), json.dumps(facts, indent=1))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _FIXED_DATE), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the facts and the arrays; raise a FileError for any other file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                raise _not_a_model(path, "it is some other kind of file")
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                _check_members(members, size, path)
                facts = json.loads(archive.read(_TEXT))
                if not isinstance(facts, dict):
                    raise _not_a_model(path, "its description is not one")
                return facts, {
                    member.filename.removesuffix(".npy"): _array(archive, member, path)
                    for member in members
                    if member.filename != _TEXT
                }
    except FileError:
        raise
    except OSError as error:
        msg = f"{path}: {error.strerror or error}: check the path and its permissions"
        raise FileError(msg) from error
    except Exception as error:  # a damaged archive, its text included, fails in as many ways as its readers have
        raise _not_a_model(path, first_line(error)) from error


def _check_members(members: list[zipfile.ZipInfo], size: int, path: Path) -> None:
    names = [member.filename for member in members]
    if _TEXT not in names or len(names) > _MOST_MEMBERS or len(set(names)) < len(names):
        raise _not_a_model(path, f"it holds {len(names)} parts, and {_TEXT} once among them is needed")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise _not_a_model(path, f"{quoted(member.filename)} is compressed or encrypted, which no model is")
        if member.file_size > (_LONGEST_TEXT if member.filename == _TEXT else size):
            raise _not_a_model(path, f"{quoted(member.filename)} declares {member.file_size} bytes")
        if member.filename != _TEXT and not member.filename.endswith(".npy"):
            raise _not_a_model(path, f"{quoted(member.filename)} is no array")
    # Members may overlap: together they must not declare more than there is.
    if sum(member.file_size for member in members) > size:
        raise _not_a_model(path, "its parts declare more bytes than it has")
    check_fits(size, str(path))


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> np.ndarray:
    what = f"{path}: array {quoted(member.filename)}"
    content = io.BytesIO(archive.read(member))
    header = read_header(content, what)
    if header.dtype.kind not in "fiubU" or header.n_bytes > member.file_size:
        msg = f"{what} declares {header}: not part of a model, save it again with save_model"
        raise FileError(msg)
    return read_array(content, header, what)


def _not_a_model(path: Path, why: str) -> FileError:
    return FileError(f"{path}: not a model that l0graph saved ({why}): save it again with save_model")
