"""The methods' inner work on arrays of any namespace: torch, CuPy, or another of the array API standard.

Nothing here knows Numba, and torch or CuPy are imported only where their arrays come in. A block of samples is solved
at once: products with X are one matrix product, small problems are padded to one width, and what a loop runs over are
steps and widths, never samples. Padding is the atom past the last one, which is zero, so padded problems need no
masks: its rows of a Gram matrix, its correlations and its codes are zero by themselves.
"""

from .namespaces import is_device_array, on_device, operations, to_scipy

__all__ = ["is_device_array", "on_device", "operations", "to_scipy"]
