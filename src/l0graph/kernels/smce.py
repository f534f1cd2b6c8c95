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

from ._rows import as_float64

# A Cholesky pivot under this share of the diagonal means that the member depends on earlier ones.
_PIVOT = 1e-11
# What counts as zero in the optimality condition: rounding, not a tolerance of the method.
_ROUNDING = 1e-13


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
def _factor(H, support, k, L):
    """Write the Cholesky factor of H on the support into L; return the place of the first dependent member, or -1."""
    for i in range(k):
        for j in range(i + 1):
            value = H[support[i], support[j]]
            for t in range(j):
                value -= L[i, t] * L[j, t]
            if i > j:
                L[i, j] = value / L[j, j]
            elif value <= _PIVOT * H[support[i], support[i]]:
                return i
            else:
                L[i, i] = np.sqrt(value)
    return -1


@njit(cache=True, nogil=True)
def _solve_in_place(L, k, y):
    """Solve L L^T y = y."""
    for i in range(k):
        for t in range(i):
            y[i] -= L[i, t] * y[t]
        y[i] /= L[i, i]
    for i in range(k - 1, -1, -1):
        for t in range(i + 1, k):
            y[i] -= L[t, i] * y[t]
        y[i] /= L[i, i]


@njit(cache=True, nogil=True)
def _vanishing(L, dependent, k, y):
    """Write into y the combination that costs nothing: H_SS y = 0 with 1 at the dependent member."""
    y[:k] = 0.0
    y[dependent] = 1.0
    for t in range(dependent - 1, -1, -1):
        value = -L[dependent, t]
        for u in range(t + 1, dependent):
            value -= L[u, t] * y[u]
        y[t] = value / L[t, t]


@njit(cache=True, nogil=True)
def _optimum(L, prices, support, signs, k, y):
    """Write into y the minimiser on the support with these signs; return the multiplier."""
    ones = np.ones(k)
    _solve_in_place(L, k, ones)
    for i in range(k):
        y[i] = prices[support[i]] * signs[i]
    _solve_in_place(L, k, y)
    mu = (1.0 + y[:k].sum()) / ones.sum()
    for i in range(k):
        y[i] = mu * ones[i] - y[i]
    return mu - 1.0  # H c = G c + 1 on the constraint


@njit(cache=True, nogil=True)
def minimise(G, prices, c):
    """Active-set steps from the cheapest vertex to the minimiser. OUT ``c``; return the multiplier.

    On a support with its signs the problem is quadratic: go to its minimiser, or to the first coordinate that would
    change sign, and drop that one. At the minimiser let the worst violator in. Each step lowers the objective.
    Should rounding keep that from coming to an end, c is feasible all the same and its duality gap tells.
    """
    n = c.shape[0]
    H = G + 1.0
    support = np.empty(n, dtype=np.int64)
    signs = np.empty(n)
    y = np.empty(n)
    L = np.empty((n, n))
    c[:] = 0.0
    support[0] = np.argmin(0.5 * np.diag(G) + prices)
    signs[0] = 1.0
    c[support[0]] = 1.0
    k = 1
    mu = 0.0
    for _ in range(20 * n + 20):
        dependent = _factor(H, support, k, L)
        if dependent < 0:
            mu = _optimum(L, prices, support, signs, k, y)
            for i in range(k):
                y[i] -= c[support[i]]
        else:
            # Along y the fit stays the same; go where the weighted l1 norm falls until a member drops out.
            _vanishing(L, dependent, k, y)
            slope = 0.0
            for i in range(k):
                slope += prices[support[i]] * signs[i] * y[i]
            if slope > 0.0:
                for i in range(k):
                    y[i] = -y[i]
        step = 1.0 if dependent < 0 else np.inf
        blocking = -1
        for i in range(k):
            if y[i] * signs[i] < 0.0 and -c[support[i]] / y[i] < step:
                step = -c[support[i]] / y[i]
                blocking = i
        if step == np.inf:
            break
        for i in range(k):
            c[support[i]] += step * y[i]
        if blocking >= 0:
            c[support[blocking]] = 0.0
            for i in range(blocking, k - 1):
                support[i] = support[i + 1]
                signs[i] = signs[i + 1]
            k -= 1
            continue
        worst = -1
        violation = 0.0
        slack = mu - np.dot(G, c)
        for j in range(n):
            excess = abs(slack[j]) - prices[j] - _ROUNDING * (1.0 + prices[j])
            if c[j] == 0.0 and excess > violation:
                violation = excess
                worst = j
        if worst < 0:
            return mu
        support[k] = worst
        signs[k] = 1.0 if slack[worst] > 0.0 else -1.0
        k += 1
    return np.dot(c, np.dot(G, c)) + (prices * np.abs(c)).sum()


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
