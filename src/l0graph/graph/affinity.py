"""Codes -> symmetric affinity."""

from __future__ import annotations

import scipy.sparse as sp

from .._validation import check_codes


def affinity(codes: sp.csr_array) -> sp.csr_array:
    """Symmetrise codes: the mean of their absolute values and its transpose.

    Parameters
    ----------
    codes : sparse matrix of shape (n_samples, n_samples)
        Row i is the code of sample i.

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
    magnitude = abs(codes)
    W = sp.csr_array((magnitude + magnitude.T) * codes.dtype.type(0.5))
    W.eliminate_zeros()
    W.sort_indices()
    return W
