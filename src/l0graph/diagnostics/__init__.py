"""Whether a fit can be trusted: evidence, findings in words, and what to try."""

from .evidence import Evidence, gather_evidence
from .findings import Diagnosis, Finding, diagnose

__all__ = ["Diagnosis", "Evidence", "Finding", "diagnose", "gather_evidence"]
