"""MNIST's own format, plain or compressed: four files, of which each declares its shape."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import IO, cast

import numpy as np

from ..errors import DataError
from ..registry import DataSet

_UNSIGNED_BYTES = 8
PARTS = (("train", 60000), ("t10k", 10000))


def find_idx(folder: Path) -> list[Path]:
    """Return the four files in a folder: images and labels of training, then of testing; none if one is missing."""
    names = {path.name.replace(".idx", "-idx").removesuffix(".gz"): path for path in folder.iterdir() if path.is_file()}
    wanted = [f"{part}-{what}-ubyte" for part, _ in PARTS for what in ("images-idx3", "labels-idx1")]
    return [names[name] for name in wanted if name in names] if all(name in names for name in wanted) else []


def read_idx(paths: list[Path], data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of all parts one after the other, and their labels."""
    shape = cast("tuple[int, int]", data_set.image_shape)
    samples, labels = [], []
    for (_, count), images, classes in zip(PARTS, paths[::2], paths[1::2], strict=True):
        samples.append(_array(images, (count, *shape)).reshape(count, -1))
        labels.append(_array(classes, (count,)))
    return np.concatenate(samples), np.concatenate(labels)


def _array(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array of one file, whose declared shape must be the one given."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            stream = cast("IO[bytes]", file)
            head = stream.read(4 + 4 * len(shape))
            if len(head) < 4 + 4 * len(shape) or head[:4] != bytes((0, 0, _UNSIGNED_BYTES, len(shape))):
                msg = f"{path}: not an idx file of bytes in {len(shape)} dimensions"
                raise DataError(msg)
            declared = struct.unpack(f">{len(shape)}I", head[4:])
            if declared != shape:
                msg = f"{path}: declares the shape {declared}, where the set has {shape}: not this set"
                raise DataError(msg)
            size = int(np.prod(shape))
            content = stream.read(size + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        msg = f"{path}: damaged ({error}): get it again"
        raise DataError(msg) from error
    if len(content) != size:
        missing = "less" if len(content) < size else "more"
        msg = f"{path}: {missing} than the {size:,} bytes that its shape {shape} needs: get it again"
        raise DataError(msg)
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)
