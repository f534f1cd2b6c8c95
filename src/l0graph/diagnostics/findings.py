"""Findings in words: what the evidence of a fit says, and what to try.

Each threshold was set by what L0Graph does on real sets over nine penalties, from codes that are too dense to graphs
that fall apart; ``benchmarks/diagnostics.py`` measures it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._progress import stage
from .evidence import Evidence, gather_evidence

_MANY_ATTACHED, _TOO_MANY_ATTACHED = 0.02, 0.2
"""Share of attached samples. At 10 % accuracy may be at its best (UMIST) or no worse than at its neighbours (ORL); at
32 to 46 % (UMIST, ORL, heart) it is .04 to .14 below the best."""
_MANY_EMPTY = 0.05
"""Share of empty codes. At 20 % (ORL, heart) and 35 % (lymphoma) the graph is in pieces; at 4 to 5 % (ORL, digits)
accuracy is no worse than without."""
_NO_GAP = 0.05
"""Relative eigengap. Under it accuracy is .09 to .38 below the best penalty's on COIL-20 (8 objects), Yale B (10
people) and UMIST; ORL, of ten samples a cluster, never has a gap and is none the worse: so a warning, no verdict."""
_HARDLY_INSIDE = 0.55
"""Share of weight inside clusters beyond chance. Under it lie heart and lymphoma, whose accuracy stays under .66 at any
penalty; digits, the face and the object sets lie over it at every penalty but the smallest of ORL."""
_LONG_CODE = 0.5
"""Median nonzeros per feature. With half as many atoms as features (heart: 7 to 11 of 13) any sample is written well by
atoms from anywhere."""
_POORLY_WRITTEN = 0.9
"""Median relative residual of a code: of the sample, hardly anything is in the code."""
_SMALL, _LARGE = 0.2, 2.5
"""Cluster sizes relative to the mean. A digit torn in two leaves .16; people merged in Yale B 2.6 to 3.0; the classes
of the sets with classes of about equal size come out at .3 to 2.3."""
_NEARLY_ALL = 0.9
"""Share of the samples in one cluster. OMP-graph on all of MNIST ends so, at .97 and accuracy .11."""
_MANY_DUPLICATES = 0.05
_STILL_FALLING = 1e-3
"""Relative decrease of the objective in the last iteration."""

Severity = Literal["problem", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is worth knowing about a fit.

    Attributes
    ----------
    name : str
        Short and stable, for programs: "fragmented graph", say.
    severity : {"problem", "warning", "note"}
        "problem": the clusters are not to be trusted before it is solved; "warning": look closer; "note": good to know.
    text : str
        What was found, with its figures.
    advice : str
        What to try.
    """

    name: str
    severity: Severity
    text: str
    advice: str


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    findings : tuple of Finding
        Problems first.
    verdict : str
        All of it in a sentence.
    evidence : Evidence
        The measured facts behind it.
    """

    findings: tuple[Finding, ...]
    verdict: str
    evidence: Evidence = field(repr=False)

    def __str__(self) -> str:
        lines = [self.verdict]
        for finding in self.findings:
            lines += [f"{finding.severity}: {finding.name}: {finding.text}", f"  try: {finding.advice}"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, findings and the main figures as plain values, for JSON."""
        evidence = self.evidence
        return {
            "verdict": self.verdict,
            "findings": [
                {"name": f.name, "severity": f.severity, "text": f.text, "advice": f.advice} for f in self.findings
            ],
            "figures": {
                "n_samples": len(evidence.kept),
                "cluster_sizes": evidence.sizes.tolist(),
                "n_components": evidence.n_components,
                "n_attached": int(np.count_nonzero(~evidence.kept)),
                "n_isolated": int(np.count_nonzero(evidence.isolated)),
                "n_zero_rows": int(np.count_nonzero(evidence.zero_rows)),
                "n_duplicates": int(np.count_nonzero(evidence.duplicates)),
                "nonzeros_per_code": None if evidence.nonzeros is None else float(evidence.nonzeros.mean()),
                "share_of_weight_inside": evidence.inside,
                "inside_beyond_chance": evidence.separation,
                "relative_eigengap": evidence.gap,
                "eigenvalues": evidence.eigenvalues.tolist(),
            },
        }


def diagnose(estimator: Any) -> Diagnosis:
    """Say in words whether the clusters of a fitted estimator can be trusted, and what to try where they cannot.

    Looked for are: a graph in fragments, isolated samples, penalties that are too large or too small, no eigengap
    behind the last cluster, links between clusters, clusters in pieces or of very unequal size, codes as long as the
    samples have features, codes that hardly write their samples, an iteration cut short, duplicates and zero samples.

    Parameters
    ----------
    estimator : fitted clusterer
        `L0Graph` or any other clusterer of this library.

    Returns
    -------
    Diagnosis
        ``print`` shows it.

    Notes
    -----
    No labels are needed. Time and memory are about those of the embedding; the codes are not computed again.

    Examples
    --------
    >>> from l0graph import L0Graph, diagnose
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> print(diagnose(L0Graph(3, random_state=0).fit(X)))
    Nothing speaks against these clusters.
    """
    with stage("diagnosis"):
        evidence = gather_evidence(estimator)
    order = ("problem", "warning", "note")
    findings = sorted(_findings(estimator, evidence), key=lambda finding: order.index(finding.severity))
    return Diagnosis(tuple(findings), _verdict(findings), evidence)


def _verdict(findings: list[Finding]) -> str:
    problems = [f.name for f in findings if f.severity == "problem"]
    warnings = [f.name for f in findings if f.severity == "warning"]
    if problems:
        return f"Do not trust these clusters yet: {', '.join(problems)}."
    if warnings:
        return f"The clusters may be good, but look closer: {', '.join(warnings)}."
    return "Nothing speaks against these clusters."


def _findings(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    if evidence.isolated.all():
        yield from _no_links(estimator, evidence)
        yield from _rows(estimator, evidence)
        return
    rules = (_fragments, _isolated, _pieces, _gap, _links, _long_codes, _residuals, _sizes, _iteration, _rows)
    for rule in rules:
        yield from rule(estimator, evidence)


def _no_links(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    yield Finding(
        "no links",
        "problem",
        f"None of the {len(evidence.kept):,} samples is linked to any other: there is no graph to cluster.",
        f"Denser codes: {_denser(estimator)}. Are there samples enough to write each other?",
    )


def _fragments(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    n, attached = len(evidence.kept), int(np.count_nonzero(~evidence.kept))
    if attached > _MANY_ATTACHED * n:
        yield Finding(
            "fragmented graph",
            "problem" if attached > _TOO_MANY_ATTACHED * n else "warning",
            f"The graph has {evidence.n_components:,} components; {_share(attached, n)} lie in ones too small to be"
            " clusters and were only attached afterwards, by similarity. The codes are too sparse to hold the clusters"
            " together.",
            f"Denser codes: {_denser(estimator)}.",
        )
    elif evidence.n_large > estimator.n_clusters:
        large_enough = " large enough to be clusters" if estimator.fragments == "attach" else ""
        yield Finding(
            "fragmented graph",
            "warning",
            f"The graph has {evidence.n_large:,} pieces{large_enough}, and the number of clusters asked for is"
            f" {estimator.n_clusters}: which pieces go together was decided by weak links.",
            f"More clusters ({evidence.n_large:,}, say), or denser codes: {_denser(estimator)}.",
        )
    if evidence.nonzeros is not None:
        empty = int(np.count_nonzero((evidence.nonzeros == 0) & ~evidence.zero_rows))
        if empty > _MANY_EMPTY * n:
            yield Finding(
                "penalty too large",
                "warning",
                f"{_share(empty, n)} have an empty code: no other sample is worth its price to them.",
                f"Denser codes: {_denser(estimator)}.",
            )


def _isolated(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    isolated = int(np.count_nonzero(evidence.isolated & ~evidence.zero_rows))
    if isolated:
        yield Finding(
            "isolated samples",
            "note",
            f"{_share(isolated, len(evidence.kept))} have no link to any other, the first is sample"
            f" {int(np.flatnonzero(evidence.isolated & ~evidence.zero_rows)[0])}. They may be outliers.",
            f"Look at them; if they belong to clusters, denser codes: {_denser(estimator)}.",
        )


def _pieces(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    torn = np.flatnonzero(evidence.connectivity == 0)
    if len(torn):
        yield Finding(
            "clusters in pieces",
            "note",
            f"{_clusters(torn)} made of parts that no link joins directly.",
            "Look at the parts in the map: they may be clusters of their own, or go elsewhere.",
        )


def _gap(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    k, gap = len(evidence.sizes), evidence.gap
    if gap is None or gap >= _NO_GAP or evidence.n_large > estimator.n_clusters:
        return
    numbers = np.arange(2, len(evidence.gaps) + 1)
    others = numbers[np.argsort(-evidence.gaps[1:], kind="stable")]
    better = [int(c) for c in others[:3] if c != k and evidence.gaps[c - 1] >= max(2 * gap, _NO_GAP)]
    try_k = f" Other numbers of clusters with a larger gap: {', '.join(map(str, better))}." if better else ""
    whole = evidence.n_components == 1 and _sparser(estimator)
    advice = f"Sparser codes: {_sparser(estimator)}." if whole else "Another number of clusters."
    yield Finding(
        "penalty too small or no eigengap" if whole else "no eigengap",
        "warning",
        f"Eigenvalue {k} is as near to the next one as {gap:.0%} of that one's distance from 1: the graph itself does"
        f" not say that there are {k} clusters.",
        advice + try_k,
    )


def _links(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    # Where the graph is in pieces already, sparser codes would only make more of them.
    whole = bool(evidence.kept.all()) and evidence.n_large <= estimator.n_clusters
    if len(evidence.sizes) > 1 and evidence.separation < _HARDLY_INSIDE:
        yield Finding(
            "links between clusters",
            "problem" if evidence.separation < _HARDLY_INSIDE / 2 else "warning",
            f"{evidence.inside:.0%} of the graph's weight lies inside clusters, of which"
            f" {max(0.0, evidence.separation):.0%} of what is possible beyond chance: samples are written by those of"
            " other clusters as well.",
            (f"Sparser codes: {_sparser(estimator)}. " if whole and _sparser(estimator) else "")
            + "Check the features: are they on one scale, does each sample lie near a subspace? Compare other methods.",
        )


def _long_codes(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    if evidence.nonzeros is None:
        return
    d, typical = estimator.n_features_in_, float(np.median(evidence.nonzeros))
    if typical >= _LONG_CODE * d:
        yield Finding(
            "penalty too small",
            "warning",
            f"A typical code has {typical:g} nonzeros for {d} features: with so many atoms any sample can be written by"
            " samples from anywhere.",
            f"Sparser codes: {_sparser(estimator)}.",
        )


def _residuals(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    if evidence.residuals is None or np.isnan(evidence.residuals).all():
        return
    typical = float(np.nanmedian(evidence.residuals))
    if typical > _POORLY_WRITTEN:
        yield Finding(
            "samples hardly written",
            "warning",
            f"A typical code leaves {typical:.0%} of its sample's norm: the samples do not lie near subspaces that"
            " others span, or the penalty is too large.",
            f"Denser codes: {_denser(estimator)}; centre or scale the features; more samples.",
        )


def _sizes(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    share = evidence.sizes.max() / evidence.sizes.sum()
    if len(evidence.sizes) > 1 and share >= _NEARLY_ALL:
        yield Finding(
            "one cluster takes nearly all",
            "warning" if len(evidence.sizes) == 2 else "problem",  # of two, one may well be a class of few
            f"Cluster {int(evidence.sizes.argmax())} has {share:.1%} of the samples: the others are groups that hang"
            " loosely on it, not parts of it.",
            "Another penalty or another method; fragments='attach' and a larger min_fraction leave loose groups out.",
        )
        return
    ratio = evidence.sizes / evidence.sizes.mean()
    small, large = np.flatnonzero(ratio < _SMALL), np.flatnonzero(ratio > _LARGE)
    if len(small) or len(large):
        yield Finding(
            "unequal clusters",
            "note",
            f"Clusters have {evidence.sizes.min():,} to {evidence.sizes.max():,} samples, {evidence.sizes.mean():,.0f}"
            f" on average; {_clusters(np.union1d(small, large))} far from that.",
            "If your classes are of about equal size: the small ones may be torn off another, the large ones be"
            " several; look at their members and try other numbers of clusters.",
        )


def _iteration(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    objective = getattr(estimator, "objective_", None)
    if objective is None or len(objective) < 3 or estimator.n_iter_ < getattr(estimator, "max_iter", np.inf):
        return
    last = (objective[-2] - objective[-1]) / (abs(objective[-1]) or 1.0)
    if last > _STILL_FALLING:
        yield Finding(
            "not converged",
            "warning",
            f"The objective still fell by {last:.1%} in the last of {estimator.n_iter_} iterations.",
            f"max_iter={2 * estimator.max_iter}.",
        )


def _rows(estimator: Any, evidence: Evidence) -> Iterator[Finding]:
    n = len(evidence.kept)
    zero, repeated = np.flatnonzero(evidence.zero_rows), int(np.count_nonzero(evidence.duplicates))
    if len(zero):
        yield Finding(
            "zero samples",
            "note",
            f"{_share(len(zero), n)} are zero in every feature, the first is sample {int(zero[0])}. No code can say"
            " anything of them; they were put somewhere.",
            "Leave them out.",
        )
    if repeated:
        yield Finding(
            "duplicates",
            "warning" if repeated > _MANY_DUPLICATES * n else "note",
            f"{_share(repeated, n)} equal an earlier one{' up to scale' if estimator.normalize else ''}, the first is"
            f" sample {int(np.flatnonzero(evidence.duplicates)[0])}. A duplicate writes its twin alone, with weight"
            " one, and the pair may drop out of its cluster.",
            "Leave duplicates out.",
        )


_TUNING = {
    "L0Graph": ("l0_penalty", 0.5),
    "RegularizedL0Graph": ("gamma", 0.5),
    "L1Graph": ("l1_penalty", 0.5),
    "SMCE": ("penalty", 0.5),
    "OMPGraph": ("n_nonzero", 2.0),
    "SpectralGraph": ("n_kept", 2.0),
}
"""What makes each graph denser: the parameter and the factor to try; its inverse makes it sparser."""


def _denser(estimator: Any) -> str:
    return _scaled(estimator, 1) or "no parameter does it here, the graph is full"


def _sparser(estimator: Any) -> str:
    return _scaled(estimator, -1) or ("n_kept=20" if type(estimator).__name__ == "SpectralGraph" else "")


def _scaled(estimator: Any, power: int) -> str:
    name, factor = _TUNING.get(type(estimator).__name__, ("", 1.0))
    value = getattr(estimator, name, None)
    if value is None:
        return ""
    scaled = value * factor**power
    return f"{name}={max(1, round(scaled))}" if name.startswith("n_") else f"{name}={scaled:g}"


def _share(count: int, total: int) -> str:
    share = f"{count / total:.1%}" if count >= total / 1000 else "under 0.1%"
    return f"{count:,} of {total:,} samples ({share})"


def _clusters(which: np.ndarray, most: int = 8) -> str:
    names = ", ".join(map(str, which[:most].tolist())) + (f" and {len(which) - most} more" if len(which) > most else "")
    return f"cluster {names} is" if len(which) == 1 else f"clusters {names} are"
