"""The proximal l0 iteration as one CUDA kernel, a block of threads per sample; see `proximal.cu` beside this file.

Compiled at run time by CuPy, for arrays of CuPy or torch on a CUDA device.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .dictionary import Atoms

SOURCE = Path(__file__).with_name("proximal.cu")
WIDTHS = (32, 64, 96, 128)
"""Padded widths that the kernel is compiled for, on demand; the last takes 147 KiB of shared memory."""
_CHUNK = 16


def shared_bytes(width: int) -> int:
    """Return the dynamic shared memory of a block, as the kernel lays it out."""
    return 8 * (width * width + 2 * width + width * (_CHUNK + 1) + _CHUNK)


@lru_cache
def _kernel(width: int, sample: str, device: int) -> Any:
    cupy = import_module("cupy")
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=SOURCE.read_text(), options=(f"-DSAMPLE={sample}", f"-DWIDTH={width}"))
        kernel = module.get_function("proximal")
        kernel.max_dynamic_shared_size_bytes = shared_bytes(width)
    return kernel


def iterate(
    atoms: Atoms, values: Any, members: Any, z: Any, L: Any, *, penalty: float, reach: float, n_steps: int
) -> tuple[Any, Any, Any]:
    """Iterate rows on their supports; return codes, objectives per step and where an atom might have entered.

    ``members`` and float64 ``z`` have a width out of `WIDTHS`; padding is the atom past the last. As the first part of
    `l0graph.backends.l0.l0_block`, to rounding.
    """
    cupy = import_module("cupy")
    space, xp = atoms.space, atoms.space.xp
    n_rows, width = members.shape
    z = xp.asarray(z, copy=True)
    objectives = space.zeros((n_rows, n_steps + 1), xp.float64)
    opened = space.zeros((n_rows,), xp.int32)
    constants = space.asarray([penalty, reach], xp.float64)
    sample = "float" if atoms.dtype == xp.float32 else "double"
    arrays = [atoms.X, xp.astype(values, atoms.dtype), members, constants, L, z, objectives, opened]
    views = [cupy.from_dlpack(array) for array in arrays]
    kernel = _kernel(width, sample, views[0].device.id)
    with views[0].device, _stream(cupy, atoms.X):
        args = (*views[:5], cupy.int32(atoms.d), cupy.int32(n_steps), *views[5:])
        kernel((n_rows,), (width,), args, shared_mem=shared_bytes(width))
    return z, objectives, opened != 0


def _stream(cupy: Any, array: Any) -> Any:
    """Return the stream that the array's library works on, so that nothing overtakes anything."""
    if type(array).__module__.partition(".")[0] != "torch":
        return cupy.cuda.get_current_stream()
    torch = import_module("torch")
    return cupy.cuda.ExternalStream(torch.cuda.current_stream(array.device).cuda_stream)
