"""X and y in a .npz file."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..registry import DataSet
from ..unpack import open_zip, read_member

_LONGEST_HEADER = 1 << 14


def read_npz(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays X and y, never unpickling."""
    n, d = data_set.shape
    with open_zip(path, 100) as archive:
        return _array(archive, "X", path, n * d), _array(archive, "y", path, n)


def _array(archive: zipfile.ZipFile, name: str, path: Path, size: int) -> np.ndarray:
    what = f"{path}: array {name!r}"
    try:
        member = archive.getinfo(f"{name}.npy")
    except KeyError:
        msg = f"{path}: holds no array {name!r}; X and y are needed"
        raise DataError(msg) from None
    content = io.BytesIO(read_member(archive, member, 16 * size + _LONGEST_HEADER, what))
    try:
        version = np.lib.format.read_magic(content)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = reader(content)
        if dtype.hasobject or math.prod(shape) != size:
            msg = f"{dtype} of shape {shape}, where {size:,} values are needed"
            raise ValueError(msg)
        content.seek(0)
        return np.lib.format.read_array(content, allow_pickle=False)
    # A damaged header makes Python's parser, which NumPy hands it to, fail in a dozen ways.
    except Exception as error:
        msg = f"{what}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        raise DataError(msg) from error
