"""The command ``l0graph``: parse, call, print; no numerics.

What takes long to import (NumPy, scikit-learn, Numba) is imported inside the commands, so that help comes at once.
"""

from .app import main

__all__ = ["main"]
