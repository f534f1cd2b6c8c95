"""What all pictures share: where they are drawn, and colours that colour-blind readers and grey printers keep apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""After Okabe and Ito, without the yellow that is lost on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One more than colours, so that both together repeat only after 42 clusters."""
INK = "0.25"
FAINT = "0.55"


def import_pyplot() -> Any:
    """Return matplotlib.pyplot; say what to install where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "plots need matplotlib: install l0graph[plots]"
        raise ImportError(msg) from error
    return plt


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the Axes given, or those of a new figure of so many inches."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def open_frame(ax: Axes) -> None:
    """Leave the lines at the left and at the bottom only."""
    ax.spines[["top", "right"]].set_visible(False)
