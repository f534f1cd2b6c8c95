"""A folder of images as a matrix: one image a sample, one pixel a feature."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Columns
from .errors import FileError, first_line, optional_package
from .memory import check_fits
from .table import Table, of_strings

_FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
    ".pgm": "PPM",
    ".ppm": "PPM",
    ".pbm": "PPM",
}
FOLDER = "folder"
"""The name by which the images' own folders serve as labels."""


def read_images(path: Path, columns: Columns, *, resize: tuple[int, int] | None, color: bool) -> Table:
    """Return the images in a folder and the folders in it, grey or in colour, in the order of their names.

    Images are scaled to ``resize = (width, height)``, or must all be of one size. Values lie between 0 and 1, but for
    formats whose numbers have no largest one; images of more than 8 bits stay grey.
    """
    if columns.drop or columns.id is not None or columns.label not in (None, FOLDER):
        msg = f"{path}: images have no columns; their file names are the ids, and --label-column {FOLDER} their classes"
        raise FileError(msg)
    image_package = optional_package("PIL.Image", path)
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _FORMATS and file.is_file())
    if not files:
        msg = f"{path}: a directory without images: none of its files ends in {', '.join(_FORMATS)}"
        raise FileError(msg)
    first = _read_image(image_package, files[0], resize, color)
    shape = first.shape
    check_fits(4 * len(files) * first.size, f"{path}: {len(files)} images of {_size(shape)} pixels")
    X = np.empty((len(files), first.size), dtype=np.float32)
    for i, file in enumerate(files):
        pixels = _read_image(image_package, file, resize, color) if i else first
        if pixels.shape != shape:
            width, height = (min(edge, 64) for edge in (shape[1], shape[0]))
            msg = (
                f"{file}: {_size(pixels.shape)} pixels, where {files[0].name} has {_size(shape)}: all must be of one "
                f"size, scale them with --resize {width}x{height} for instance"
            )
            raise FileError(msg)
        X[i] = pixels.ravel()
    names = of_strings([file.relative_to(path).as_posix() for file in files])
    labels = of_strings([_folder(file, path) for file in files]) if columns.label == FOLDER else None
    return Table(X, labels=labels, ids=names, id_name="file", image_shape=shape)


def _folder(file: Path, root: Path) -> str:
    return file.parent.relative_to(root).as_posix() if file.parent != root else ""


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"


def _read_image(image_package: Any, file: Path, resize: tuple[int, int] | None, color: bool) -> np.ndarray:
    from PIL import ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", image_package.DecompressionBombWarning)
            # Named formats only: others start programs of their own.
            with image_package.open(file, formats=sorted(set(_FORMATS.values()))) as image:
                check_fits(16 * image.width * image.height, str(file))
                image = ImageOps.exif_transpose(image)
                scale = 1.0
                if image.mode.startswith("I;16"):
                    image = image_package.fromarray(np.asarray(image, dtype=np.float32) / np.float32(65535))
                elif image.mode not in ("I", "F"):
                    image, scale = image.convert("RGB" if color else "L"), 255.0
                if resize is not None:
                    image = image.resize(resize, image_package.Resampling.BILINEAR)
                return np.asarray(image, dtype=np.float32) / np.float32(scale)
    except FileError:
        raise
    except Exception as error:  # a damaged image fails in as many ways as there are decoders
        msg = f"{file}: not a readable image ({first_line(error).replace(str(file), file.name)}): replace or remove it"
        raise FileError(msg) from error
