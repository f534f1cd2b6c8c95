"""Codes -> symmetric affinity."""

from __future__ import annotations

from typing import Literal

import scipy.sparse as sp

from .._validation import check_codes, check_option


def affinity(codes: sp.csr_array, symmetrize: Literal["mean", "max"] = "mean") -> sp.csr_array:
    """Symmetrise codes: the mean, or the maximum, of their absolute values and its transpose.

    Parameters
    ----------
    codes : sparse matrix of shape (n_samples, n_samples)
        Row i is the code of sample i.
    symmetrize : {"mean", "max"}, default="mean"
        What becomes of the two weights that a pair of samples give each other.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric and nonnegative, of the codes' dtype, with sorted indices.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from l0graph import affinity
    >>> affinity(sp.csr_array([[0.0, -1.0], [0.5, 0.0]])).toarray()
    array([[0.  , 0.75],
           [0.75, 0.  ]])
    """
    codes = check_codes(codes)
    if codes.shape[0] != codes.shape[1]:
        msg = f"codes must be square, got shape {codes.shape}: an affinity needs the codes of all samples"
        raise ValueError(msg)
    check_option(symmetrize, "symmetrize", ("mean", "max"))
    magnitude = abs(codes)
    if symmetrize == "max":
        W = sp.csr_array(magnitude.maximum(magnitude.T))
    else:
        W = sp.csr_array((magnitude + magnitude.T) * codes.dtype.type(0.5))
    W.eliminate_zeros()
    W.sort_indices()
    return W
