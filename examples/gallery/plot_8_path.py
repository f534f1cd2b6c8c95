"""
A path over the penalty
=======================

``l0_penalty`` matters more than any other parameter. ``l0_path`` codes at many values, each started from the one
before, in half the time of as many fits; and what happens along it says where to stop, without labels too.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from l0graph import FragmentedGraphWarning, L0Graph, l0_path
from l0graph.metrics import affinity_silhouette_scorer, clustering_accuracy
from l0graph.plots import plot_path

X, y = load_digits(return_X_y=True)
model = L0Graph(10, random_state=0, n_jobs=-1)
path = l0_path(model, X, np.geomspace(0.05, 8, 12))

# %%
# Nonzeros fall, components come: where components take off, the graph begins to fall apart. (The codes along a path are
# not those of separate fits: each starts from the codes before it, where a fit starts from the l1 codes, and there are
# many local minima.)

plot_path(path)

# %%
# With labels, which one usually does not have: accuracy holds where the graph falls apart, since fragments are
# attached.

plot_path(path, y)

# %%
# Where one number has to come out, scikit-learn's grid search takes a score that needs no labels: how much more
# strongly samples are linked to their own cluster than to any other, where attached samples count nothing. It is a
# guide, no proof: compare what it chose with the best of the path.

warnings.simplefilter("ignore", FragmentedGraphWarning)  # some of the penalties are too large on purpose
everything = np.arange(len(X))
search = GridSearchCV(
    model,
    {"l0_penalty": np.geomspace(0.05, 8, 7).round(2)},
    scoring=affinity_silhouette_scorer,
    cv=[(everything, everything)],
).fit(X)
for penalty, score in zip(search.cv_results_["param_l0_penalty"], search.cv_results_["mean_test_score"], strict=True):
    print(f"l0_penalty {penalty:4}: {score:.3f}")
print(
    f"chosen {search.best_params_['l0_penalty']}, accuracy {clustering_accuracy(y, search.best_estimator_.labels_):.3f}"
)
