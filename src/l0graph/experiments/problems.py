"""The clustering problems of the paper: a data set, its first classes, or a draw from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import Bunch

from ..codes.working_set import Dictionary
from ..graph.neighbors import unit_rows


@dataclass(frozen=True)
class Problem:
    """Which samples of which set."""

    data: str
    n_classes: int | None = None
    """The first so many classes; all for None."""
    draw: int | None = None
    """Seed of a draw of ``per_class`` samples of each class; all samples for None."""
    per_class: int | None = None

    def __str__(self) -> str:
        parts = [self.data]
        if self.n_classes is not None:
            parts.append(f"c={self.n_classes}")
        if self.draw is not None:
            parts.append(f"draw {self.draw}")
        return " ".join(parts)


class Samples:
    """A problem with its samples at hand."""

    def __init__(self, problem: Problem, loaded: Bunch) -> None:
        self.version = loaded.version
        self.problem = problem
        chosen = np.arange(len(loaded.target))
        if problem.n_classes is not None:
            chosen = np.flatnonzero(loaded.target < problem.n_classes)
        if problem.draw is not None and problem.per_class is not None:
            chosen = _draw(loaded.target, problem.per_class, problem.draw)
        self.X = loaded.data[chosen].astype(np.float64)
        self.y = loaded.target[chosen]
        self.n_clusters = len(np.unique(self.y))
        self.fingerprint = hashlib.sha256(self.X.tobytes() + self.y.tobytes()).hexdigest()[:16]

    @cached_property
    def dictionary(self) -> Dictionary:
        """The samples with unit norm, prepared once for all methods."""
        return Dictionary(unit_rows(self.X))


def _draw(y: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """Return so many samples of each class, drawn at random, in the order of the set."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(np.flatnonzero(y == label), per_class, replace=False) for label in np.unique(y)]
    return np.sort(np.concatenate(drawn))
