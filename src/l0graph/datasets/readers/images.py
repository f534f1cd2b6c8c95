"""A folder or a zip file of images: the class is the folder, or what the file's name begins with."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np

from ..errors import DataError
from ..registry import DataSet
from ..unpack import open_zip, read_at_most, read_member

ENDINGS = {".png", ".pgm", ".ppm", ".bmp", ".gif", ".jpg", ".jpeg", ".tif", ".tiff"}
_MOST_BYTES = 4 * 2**20
_LONGEST_SIDE = 1024


def read_images(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the images in grey, reduced to the set's size, and the names of their classes."""
    shape = cast("tuple[int, int]", data_set.image_shape)
    samples, labels = [], []
    for name, content in _files(path, data_set):
        image = _reduced(_grey(content, f"{path}: {name}"), shape, data_set, f"{path}: {name}")
        samples.append(np.ravel(image, order="F" if data_set.column_major else "C"))
        labels.append(_class_of(name))
    if len(samples) != data_set.n_samples:
        msg = f"{path}: {len(samples):,} images, where {data_set.title} has {data_set.n_samples:,}"
        raise DataError(msg)
    return np.stack(samples), _numbered(labels)


def holds_images(path: Path) -> bool:
    """Say whether there is an image anywhere below a folder."""
    return any(entry.suffix.lower() in ENDINGS for entry in path.rglob("*"))


def _wanted(name: str) -> bool:
    path = PurePosixPath(name)
    # Extended Yale B has pictures of the room without the flash; archives made on a Mac carry shadow files.
    return (
        path.suffix.lower() in ENDINGS
        and "ambient" not in path.name.lower()
        and not any(part.startswith((".", "__MACOSX")) for part in path.parts)
    )


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return the key under which obj2 comes before obj10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def _files(path: Path, data_set: DataSet) -> Iterator[tuple[str, bytes]]:
    """Yield the images in natural order, name by name; the common folder of all is left out."""
    most = 4 * data_set.n_samples
    if path.is_dir():
        files = [entry for entry in path.rglob("*") if entry.is_file()]
        if len(files) > most:
            msg = (
                f"{path}: {len(files):,} files for the {data_set.n_samples:,} images of {data_set.title}: not this set"
            )
            raise DataError(msg)
        found = {entry.relative_to(path).as_posix(): entry for entry in files}
        for name in _sorted(found):
            with found[name].open("rb") as stream:
                yield name, read_at_most(stream, _MOST_BYTES, str(found[name]))
        return
    with open_zip(path, most) as archive:
        members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        for name in _sorted(members):
            yield name, read_member(archive, members[name], _MOST_BYTES, f"{path}: {name}")


def _sorted(names: Any) -> list[str]:
    return sorted((name for name in names if _wanted(name)), key=_natural)


def _class_of(name: str) -> tuple[str, str]:
    """Return the folder of an image, and the beginning of its name up to its number among those of the class."""
    path = PurePosixPath(name)
    folder = path.parent.parent if path.parent.name.lower() == "face" else path.parent
    return str(folder), re.split(r"__|_P00|[-_ .]?\d+$", path.stem, maxsplit=1)[0]


def _numbered(labels: list[tuple[str, str]]) -> np.ndarray:
    """Return numbers for the classes in the order of their first images: by folder, or by name where there is one."""
    by = 0 if len({folder for folder, _ in labels}) > 1 else 1
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(label[by], len(numbers)) for label in labels])


def _grey(content: bytes, what: str) -> np.ndarray:
    """Return the grey levels of an image; colours are weighed as MATLAB's rgb2gray does."""
    try:
        from PIL import Image
    except ImportError as error:
        msg = f"{what}: images need Pillow: install l0graph[io]"
        raise ImportError(msg) from error
    try:
        with Image.open(io.BytesIO(content)) as image:
            if max(image.size) > _LONGEST_SIDE:
                msg = f"{what}: {image.size[0]} x {image.size[1]} pixels, where {_LONGEST_SIDE} a side are the most"
                raise DataError(msg)
            if image.mode in ("L", "1"):
                return np.asarray(image.convert("L"), dtype=np.float64)
            red, green, blue = np.moveaxis(np.asarray(image.convert("RGB"), dtype=np.float64), 2, 0)
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        msg = f"{what}: not a readable image ({error}): get it again"
        raise DataError(msg) from error
    return np.round(0.2989 * red + 0.5870 * green + 0.1140 * blue)


def _reduced(image: np.ndarray, shape: tuple[int, int], data_set: DataSet, what: str) -> np.ndarray:
    """Return the image in the set's size, by means over boxes of pixels."""
    if image.shape[0] < shape[0] or image.shape[1] < shape[1]:
        msg = f"{what}: {image.shape[1]} x {image.shape[0]} pixels, fewer than the {shape[1]} x {shape[0]} of the set"
        raise DataError(msg)
    if image.shape != shape:
        rows, columns = (_box_weights(large, small) for large, small in zip(image.shape, shape, strict=True))
        image = rows @ image @ columns.T
    return np.round(image) if data_set.grey_levels else image / 255


def _box_weights(large: int, small: int) -> np.ndarray:
    """Return the weights (small, large) of means over boxes, which may cut through pixels."""
    edges = np.linspace(0, large, small + 1)
    pixels = np.arange(large)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.clip(overlap, 0, None) * (small / large)
