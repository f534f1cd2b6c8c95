"""Thumbnails of all shown samples in one PNG, and bytes as text."""

from __future__ import annotations

import base64
import math
import struct
import zlib

import numpy as np

LARGEST_SIDE = 32
"""Pixels; larger images are drawn smaller, as means over blocks."""


def thumbnails(images: np.ndarray) -> np.ndarray:
    """Return images with values from 0 to 1 as bytes, at most LARGEST_SIDE a side."""
    block = -(-max(images.shape[1:3]) // LARGEST_SIDE)
    height, width = (max(1, side // block) for side in images.shape[1:3])
    cut = images[:, : height * block, : width * block] if block > 1 else images
    if block > 1:
        cut = cut.reshape(len(cut), height, block, width, block, -1).mean(axis=(2, 4))
        cut = cut.reshape(len(cut), height, width, *images.shape[3:])
    return np.asarray((cut * 255).round(), dtype=np.uint8)


def sprite(pictures: np.ndarray) -> tuple[str, int]:
    """Return all pictures as one PNG in a data address, and how many stand in a row."""
    count, height, width = pictures.shape[:3]
    columns = math.ceil(math.sqrt(count))
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, *pictures.shape[1:]), dtype=np.uint8)
    sheet[:count] = pictures
    sheet = sheet.reshape(rows, columns, height, width, -1).transpose(0, 2, 1, 3, 4)
    sheet = sheet.reshape(rows * height, columns * width, -1)
    return "data:image/png;base64," + base64.b64encode(_png(sheet)).decode("ascii"), columns


def packed(values: np.ndarray) -> str:
    """Return an array of bytes as base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode("ascii")


def _png(sheet: np.ndarray) -> bytes:
    height, width, channels = sheet.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = np.zeros((height, 1 + width * channels), dtype=np.uint8)  # the leading byte of a line: no filter
    lines[:, 1:] = sheet.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + chunk(b"IEND", b"")
    )
