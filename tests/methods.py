"""The table of methods: every shared invariant runs over every row of it."""

from functools import partial

import numpy as np

from l0graph import (
    SMCE,
    L0Graph,
    L1Graph,
    OMPGraph,
    RegularizedL0Graph,
    l0_codes,
    l1_codes,
    omp_codes,
    regularized_l0_codes,
    smce_codes,
)

CODES = {
    "l1": l1_codes,
    "l0": l0_codes,
    "l0-global": partial(l0_codes, lipschitz="global", l0_penalty=0.01),
    # A step so long that atoms outside the support enter, and columns need a larger constant.
    "l0-open": partial(l0_codes, lipschitz=0.5, l0_penalty=1e-3, max_iter=20),
    "omp": omp_codes,
    "smce": smce_codes,
    "regularized": regularized_l0_codes,
    "regularized-open": partial(regularized_l0_codes, lipschitz=0.5, gamma=1e-4, max_iter=10, max_sweeps=3),
}

ESTIMATORS = {"l1": L1Graph, "l0": L0Graph, "omp": OMPGraph, "smce": SMCE, "regularized": RegularizedL0Graph}


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


def random_data(n=60, d=12, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((n, d)))
