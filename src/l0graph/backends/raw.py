"""The proximal l0 iteration as one CUDA kernel, a block of threads per sample; see `proximal.cu` beside this file.

Compiled at run time by CuPy, for arrays of CuPy or torch on a CUDA device.
"""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .dictionary import Atoms
from .namespaces import count_launch

SWITCH = "L0GRAPH_RAW_KERNEL"
"""Environment variable that turns the kernel off where it is 0."""
SOURCE = Path(__file__).with_name("proximal.cu")
WIDTHS = (32, 64, 96, 128)
"""Padded widths that the kernel is compiled for, on demand; the last takes 147 KiB of shared memory."""
_CHUNK = 16


def shared_bytes(width: int) -> int:
    """Return the dynamic shared memory of a block, as the kernel lays it out."""
    return 8 * (width * width + 2 * width + width * (_CHUNK + 1) + _CHUNK)


def padded_width(width: int) -> int:
    """Return the least width, out of `WIDTHS`, that holds this one."""
    return next(w for w in WIDTHS if w >= width)


def usable(atoms: Atoms, width: int) -> bool:
    """Return whether the kernel takes rows of this width: with CuPy, on a CUDA device whose shared memory suffices."""
    if width > WIDTHS[-1] or not atoms.space.on_cuda or os.environ.get(SWITCH) == "0" or find_spec("cupy") is None:
        return False
    return _kernel(padded_width(width), _sample(atoms), _device(atoms.X)) is not None


def _sample(atoms: Atoms) -> str:
    return "float" if atoms.dtype == atoms.space.xp.float32 else "double"


def _device(array: Any) -> int:
    return int(import_module("cupy").from_dlpack(array).device.id)


@lru_cache
def _kernel(width: int, sample: str, device: int) -> Any:
    """Return the kernel, compiled; None where the device or CuPy cannot, after a warning if that is unexpected."""
    cupy = import_module("cupy")
    try:
        place = cupy.cuda.Device(device)
        if place.attributes.get("MaxSharedMemoryPerBlockOptin", shared_bytes(width)) < shared_bytes(width):
            return None
        with place:
            module = cupy.RawModule(code=SOURCE.read_text(), options=(f"-DSAMPLE={sample}", f"-DWIDTH={width}"))
            kernel = module.get_function("proximal")
            kernel.max_dynamic_shared_size_bytes = shared_bytes(width)
    except Exception as error:  # whatever is wrong with CuPy here, batched operations do the same work
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        msg = f"CuPy does not compile l0graph's CUDA kernel ({reason}): batched operations, which are slower, take over"
        warnings.warn(msg, RuntimeWarning, stacklevel=2)
        return None
    return kernel


def iterate(
    atoms: Atoms, x: Any, members: Any, z: Any, L: Any, *, penalty: float, reach: float, n_steps: int
) -> tuple[Any, Any, Any]:
    """Iterate rows on their supports; return codes, objectives per step and where an atom might have entered.

    Padding is the atom past the last; at most the last of `WIDTHS` members. As `l0graph.backends.l0` does by batched
    operations, to rounding.
    """
    space, xp = atoms.space, atoms.space.xp
    n_rows, used = members.shape
    width = padded_width(used)
    fill = xp.full((n_rows, width - used), atoms.n, dtype=xp.int64, device=space.device)
    members = xp.concat([members, fill], axis=1)
    z = xp.concat([z, space.zeros((n_rows, width - used), z.dtype)], axis=1)
    objectives = space.zeros((n_rows, n_steps + 1), xp.float64)
    opened = space.zeros((n_rows,), xp.int32)
    constants = space.asarray([penalty, reach], xp.float64)
    inputs = [atoms.X, xp.astype(x, atoms.dtype), members, constants, L]
    _launch(width, _sample(atoms), inputs, atoms.d, n_steps, [z, objectives, opened])
    count_launch()
    return z[:, :used], objectives, opened != 0


def _launch(width: int, sample: str, inputs: list[Any], d: int, n_steps: int, outputs: list[Any]) -> None:
    cupy = import_module("cupy")
    views = [cupy.from_dlpack(array) for array in inputs]
    results = [cupy.from_dlpack(array) for array in outputs]
    kernel = _kernel(width, sample, views[0].device.id)
    with views[0].device, _stream(cupy, inputs[0]):
        args = (*views, cupy.int32(d), cupy.int32(n_steps), *results)
        kernel((len(views[1]),), (width,), args, shared_mem=shared_bytes(width))


def _stream(cupy: Any, array: Any) -> Any:
    """Return the stream that the array's library works on, so that nothing overtakes anything."""
    if type(array).__module__.partition(".")[0] != "torch":
        return cupy.cuda.get_current_stream()
    torch = import_module("torch")
    return cupy.cuda.ExternalStream(torch.cuda.current_stream(array.device).cuda_stream)
