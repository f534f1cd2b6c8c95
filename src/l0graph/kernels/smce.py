"""Small quadratic problems of sparse manifold clustering, one sample each.

With the directions u_j from the sample to its neighbours, G = U U^T and prices p_j,

    min_c  1/2 c^T G c + sum_j p_j |c_j|   s.t.  sum_j c_j = 1

is optimal where, for one multiplier mu,  mu - (G c)_j = p_j sign c_j  on the support and at most p_j in absolute value
elsewhere. On the constraint G may be replaced by H = G + 1 1^T, which is positive definite on a support exactly where
the combination there is unique. All arithmetic is float64, whatever X is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._affine import minimise
from ._rows import as_float64


@njit(cache=True, nogil=True)
def _measure(X, norms, x, own, same, neighbors, distances):
    """Write the distances and leave out neighbours that are the sample itself; return how many are left.

    If such a one is found for a new sample, it stays alone, at distance zero.
    """
    norm = 0.0
    for t in range(x.shape[0]):
        norm += x[t] * x[t]
    norm = np.sqrt(norm)
    count = 0
    for j in neighbors:
        square = 0.0
        for t in range(x.shape[0]):
            difference = np.float64(X[j, t]) - x[t]
            square += difference * difference
        distance = np.sqrt(square)
        if distance <= same * (norms[j] + norm):
            if own >= 0:
                continue
            neighbors[0] = j
            distances[0] = 0.0
            return 1
        neighbors[count] = j
        distances[count] = distance
        count += 1
    return count


@njit(cache=True, nogil=True)
def _gap(G, prices, c, objective):
    """Bound the objective's distance from the minimum, by a dual point in the direction of c.

    The dual asks for the largest mu - 1/2 a^2 c^T G c with |mu - a (G c)_j| <= p_j for all j.
    """
    g = np.dot(G, c)
    n = c.shape[0]
    a = 1.0
    for i in range(n):
        for j in range(n):
            if a * (g[i] - g[j]) > prices[i] + prices[j]:
                a = (prices[i] + prices[j]) / (g[i] - g[j])
    mu = np.inf
    for j in range(n):
        mu = min(mu, a * g[j] + prices[j])
    return max(0.0, objective - (mu - 0.5 * a * a * np.dot(c, g)))


@njit(cache=True, nogil=True)
def _gram_of_directions(X, x, neighbors, distances):
    """Return G = U U^T."""
    U = np.empty((neighbors.shape[0], x.shape[0]))
    for i in range(neighbors.shape[0]):
        for t in range(x.shape[0]):
            U[i, t] = (np.float64(X[neighbors[i], t]) - x[t]) / distances[i]
    return np.dot(U, U.T)


@njit(cache=True, nogil=True)
def _heaviest(distances, c, share, weights):
    """Write c_j over the distance, scaled to absolute sum one, for the fewest that make up ``share``; the rest zero.

    Of equal ones the first are kept.
    """
    k = c.shape[0]
    total = 0.0
    nearest = distances.min()
    w = np.empty(k)
    for i in range(k):
        # Distances relative to the nearest: their quotients neither overflow nor vanish, whatever the scale of X.
        w[i] = c[i] * (nearest / distances[i])
        total += abs(w[i])
    weights[:] = 0.0
    mass = 0.0
    for _ in range(k):
        # 19 of 20 equal weights are 95%, whatever the rounding of their sum.
        if mass >= (share - 1e-12) * total:
            return
        heaviest = -1
        for i in range(k):
            if weights[i] == 0.0 and w[i] != 0.0 and (heaviest < 0 or abs(w[i]) > abs(w[heaviest])):
                heaviest = i
        if heaviest < 0:
            return
        mass += abs(w[heaviest])
        weights[heaviest] = w[heaviest] / total


@njit(cache=True, nogil=True)
def smce_rows(
    start,
    stop,
    X,
    norms,
    targets,
    own,
    same,
    penalty,
    share,
    neighbors,
    n_neighbors,
    distances,
    coefs,
    weights,
    multipliers,
    objectives,
    gaps,
):
    """Solve each row's problem over its neighbours and weigh them.

    IN/OUT ``neighbors`` (rows, K), ascending, those kept to the front: atoms no farther than ``same`` times the sum of
    both norms are the sample itself and left out, but if one is a new sample's (own -1) it stays alone and takes all.
    OUT ``n_neighbors``; ``distances``, ``coefs`` and ``weights`` (rows, K); ``multipliers``; ``objectives`` (rows, 2),
    at the cheapest neighbour alone and at the minimum; ``gaps``, their distance from it at most.
    """
    for b in range(start, stop):
        x = as_float64(targets[b])
        k = _measure(X, norms, x, own[b], same, neighbors[b], distances[b])
        n_neighbors[b] = k
        objectives[b] = 0.0
        multipliers[b] = 0.0
        gaps[b] = 0.0
        if k == 0:
            continue
        d = distances[b, :k]
        c = coefs[b, :k]
        if d[0] == 0.0:
            c[0] = 1.0
            weights[b, 0] = 1.0
            continue
        G = _gram_of_directions(X, x, neighbors[b, :k], d)
        prices = penalty * (d / d.sum())
        multipliers[b] = minimise(G, prices, c)
        objectives[b, 0] = (0.5 * np.diag(G) + prices).min()
        objectives[b, 1] = 0.5 * np.dot(c, np.dot(G, c)) + (prices * np.abs(c)).sum()
        gaps[b] = _gap(G, prices, c, objectives[b, 1])
        _heaviest(d, c, share, weights[b, :k])
