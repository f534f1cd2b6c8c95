"""What single methods are good for: speed beside scikit-learn, gross errors, new samples."""

import time
import warnings

import numpy as np
from sklearn.linear_model import orthogonal_mp

from data import best_of, load
from l0graph import L0Graph, L1Graph, OMPGraph, RegularizedL0Graph, omp_codes
from l0graph.metrics import clustering_accuracy


def omp():
    """OMP codes of 5,000 MNIST digits, 3 atoms each, beside scikit-learn's orthogonal_mp per column (30 of them)."""
    X, _, source = load("mnist")
    X = X[:5000]
    ours, result = best_of(3, lambda: omp_codes(X, n_nonzero=3, n_jobs=-1))
    columns = np.random.default_rng(0).choice(len(X), 30, replace=False)
    same = 0
    started = time.perf_counter()
    for i in columns:
        code = orthogonal_mp(np.delete(X, i, axis=0).T, X[i], n_nonzero_coefs=3)
        same += set(np.flatnonzero(np.insert(code, i, 0))) == set(result.codes[[i]].indices)
    theirs = (time.perf_counter() - started) / len(columns) * len(X)
    return {
        "data": f"{source}, n = {len(X)}, d = {X.shape[1]}",
        "orthogonal_mp, s (scaled up from 30 columns)": theirs,
        "omp_codes, s": ours,
        "ratio": theirs / ours,
        "equal supports of 30": same,
    }


def outliers():
    """Ten people of Yale B, a tenth of the pixels replaced by noise: accuracy with and without the outlier term."""
    X, y, source = load("yaleb_32x32", normalize=False)
    X, y = X[y < 10], y[y < 10]
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(X.shape) < 0.1, rng.integers(0, 256, X.shape), X)

    def accuracy(model, data):
        return clustering_accuracy(y, model.fit(data).labels_)

    common = {"random_state": 0, "n_jobs": -1}
    term = {"l1_penalty": 0.02, "outliers": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "data": source,
            "l0, clean": accuracy(L0Graph(10, **common), X),
            "l0, noisy, without": accuracy(L0Graph(10, **common), noisy),
            "l0, noisy, without, same penalties": accuracy(
                L0Graph(10, l0_penalty=0.3, l1_penalty=0.02, **common), noisy
            ),
            "l0, noisy, with": accuracy(
                L0Graph(10, l0_penalty=0.3, outlier_penalty=0.02, l1_outlier_penalty=0.03, **term, **common), noisy
            ),
            "l1, clean": accuracy(L1Graph(10, **common), X),
            "l1, noisy, without": accuracy(L1Graph(10, **common), noisy),
            "l1, noisy, without, same penalty": accuracy(L1Graph(10, l1_penalty=0.02, **common), noisy),
            "l1, noisy, with": accuracy(L1Graph(10, outlier_penalty=0.03, **term, **common), noisy),
        }


def predict():
    """Fit on half of the samples, predict the others: agreement with the clustering of all, and accuracies."""
    rows = {}
    for name, c in (("coil20", 20), ("yaleb_32x32", 38)):
        X, y, source = load(name)
        half = np.random.default_rng(0).random(len(X)) < 0.5
        for Estimator in (L0Graph, L1Graph, OMPGraph, RegularizedL0Graph):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                whole = Estimator(c, random_state=0, n_jobs=-1).fit(X)
                model = Estimator(c, random_state=0, n_jobs=-1).fit(X[half])
                predicted = model.predict(X[~half])
                own = (model.predict(X[half]) == model.labels_).mean()
            agreement = clustering_accuracy(whole.labels_[~half], predicted)
            accuracies = [clustering_accuracy(y[~half], predicted), clustering_accuracy(y, whole.labels_)]
            rows[f"{source}, {Estimator.__name__}"] = (
                f"agreement {agreement:.3f}; accuracy predicted {accuracies[0]:.3f}, clustered {accuracies[1]:.3f};"
                f" own training labels {own:.3f}"
            )
    return rows
