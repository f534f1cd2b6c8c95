"""Diagnoses: each finding where its cause was put into the data, and none where there is none."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from conftest import RealData
from l0graph import SMCE, L0Graph, L1Graph, OMPGraph, SpectralGraph, diagnose
from l0graph.datasets import make_subspaces
from l0graph.diagnostics import gather_evidence
from l0graph.metrics import clustering_accuracy
from methods import ESTIMATORS

pytestmark = pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning")


def names(diagnosis: Any) -> dict[str, str]:
    return {finding.name: finding.severity for finding in diagnosis.findings}


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return make_subspaces(30, n_subspaces=3, dim=3, ambient_dim=20, noise=0.01, random_state=0)[0]


def test_good_clusters_are_left_alone(clean: np.ndarray) -> None:
    diagnosis = diagnose(L0Graph(3, random_state=0).fit(clean))
    assert diagnosis.findings == ()
    assert diagnosis.verdict == "Nothing speaks against these clusters."


def test_penalty_too_large(clean: np.ndarray) -> None:
    diagnosis = diagnose(L0Graph(3, l0_penalty=15, random_state=0).fit(clean))
    found = names(diagnosis)
    assert found["fragmented graph"] == "problem"
    assert "isolated samples" in found
    assert "penalty too large" in found
    assert "l0_penalty=7.5" in diagnosis.findings[0].advice
    assert diagnosis.verdict.startswith("Do not trust these clusters yet: fragmented graph")
    assert [f.severity for f in diagnosis.findings] == sorted(
        (f.severity for f in diagnosis.findings), key=("problem", "warning", "note").index
    )


def test_penalty_too_small() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    found = names(diagnose(L1Graph(2, l1_penalty=1e-6, random_state=0).fit(X)))
    assert found["penalty too small"] == "warning"


def test_no_gap_names_other_numbers(clean: np.ndarray) -> None:
    diagnosis = diagnose(OMPGraph(8, random_state=0).fit(clean))
    gap = [finding for finding in diagnosis.findings if "eigengap" in finding.name]
    numbers = gap[0].advice.split("with a larger gap: ")[1].rstrip(".").split(", ")
    assert "3" in numbers
    assert "8" not in numbers


def test_zero_and_repeated_samples(clean: np.ndarray) -> None:
    X = np.vstack([clean, np.zeros((2, 20)), 3 * clean[:8]])
    evidence = gather_evidence(L0Graph(3, random_state=0, normalize=False).fit(np.vstack([X, clean[:1]])))
    assert np.flatnonzero(evidence.zero_rows).tolist() == [90, 91]
    assert np.flatnonzero(evidence.duplicates).tolist() == [100]
    exact = np.vstack([np.eye(20), 2 * np.eye(20)])
    found = names(diagnose(L0Graph(2, random_state=0, n_init=1).fit(np.vstack([exact, np.zeros((1, 20))]))))
    assert found["zero samples"] == "note"
    assert found["duplicates"] == "warning"


def test_unequal_clusters() -> None:
    X, _ = make_subspaces([80, 6, 40], n_subspaces=3, dim=2, ambient_dim=12, random_state=0)
    diagnosis = diagnose(L0Graph(3, fragments="keep", random_state=0).fit(X))
    assert names(diagnosis) == {"unequal clusters": "note"}
    assert "cluster 1 is far from that" in diagnosis.findings[0].text


def test_one_cluster_takes_nearly_all() -> None:
    X, _ = make_subspaces([100, 5, 5], n_subspaces=3, dim=2, ambient_dim=12, random_state=0)
    diagnosis = diagnose(L0Graph(3, fragments="keep", random_state=0).fit(X))
    assert names(diagnosis) == {"one cluster takes nearly all": "problem"}
    assert "Cluster 0 has 90.9% of the samples" in diagnosis.findings[0].text


def test_iteration_cut_short(clean: np.ndarray) -> None:
    diagnosis = diagnose(L0Graph(3, max_iter=2, l0_penalty=0.01, random_state=0).fit(clean))
    assert "max_iter=4." in [finding.advice for finding in diagnosis.findings if finding.name == "not converged"]


def test_no_links() -> None:
    assert names(diagnose(L0Graph(2, random_state=0).fit(np.eye(5)))) == {"no links": "problem"}


def test_samples_hardly_written(clean: np.ndarray) -> None:
    X = np.eye(12) + 0.2
    found = names(diagnose(L1Graph(2, l1_penalty=0.9, random_state=0, normalize=True).fit(X)))
    assert "samples hardly written" in found


@pytest.mark.parametrize("method", [*ESTIMATORS.values(), SpectralGraph])
def test_every_method_is_diagnosed(clean: np.ndarray, method: Any) -> None:
    fit = method(3, random_state=0).fit(clean)
    figures = json.loads(json.dumps(diagnose(fit).to_dict()))["figures"]
    assert figures["n_samples"] == 90
    assert sum(figures["cluster_sizes"]) == 90
    assert 0 <= figures["share_of_weight_inside"] <= 1
    evidence = gather_evidence(fit)
    assert (evidence.residuals is None) == (method in (SMCE, SpectralGraph))


def test_evidence_against_plain_sums(clean: np.ndarray) -> None:
    fit = L0Graph(3, l0_penalty=1, random_state=0).fit(clean)
    evidence = gather_evidence(fit)
    W, same = fit.affinity_matrix_.toarray(), fit.labels_[:, None] == fit.labels_
    assert np.isclose(evidence.inside, W[same].sum() / W.sum())
    degrees = np.array([W[fit.labels_ == c].sum() for c in range(3)]) / W.sum()
    assert np.isclose(evidence.separation, (evidence.inside - (degrees**2).sum()) / (1 - (degrees**2).sum()))
    X = fit._fit_X
    left = np.linalg.norm(X - fit.codes_.toarray() @ X, axis=1) / np.linalg.norm(X, axis=1)
    assert np.allclose(evidence.residuals, left)


def test_what_has_no_graph_of_all_samples_is_refused(clean: np.ndarray) -> None:
    with pytest.raises(NotFittedError):
        diagnose(L0Graph(3))
    with pytest.raises(ValueError, match="over exemplars has no graph of all samples"):
        diagnose(L0Graph(3, dictionary=30, random_state=0).fit(clean))


def test_real_sets(real_data: RealData) -> None:
    X, y = real_data("coil20")
    X, y = X[y < 8], y[y < 8]
    good = L0Graph(8, l0_penalty=2, random_state=0).fit(X)
    assert clustering_accuracy(y, good.labels_) > 0.99
    assert not {"problem", "warning"} & set(names(diagnose(good)).values())
    bad = L0Graph(8, l0_penalty=0.005, random_state=0).fit(X)
    assert clustering_accuracy(y, bad.labels_) < 0.7
    assert "penalty too small or no eigengap" in names(diagnose(bad))
