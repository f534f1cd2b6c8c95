"""The paper's experiments: plans -> runs, each done once -> tables and figures beside the paper's."""

from .plans import TARGETS
from .reproduce import Reproduction, reproduce

__all__ = ["TARGETS", "Reproduction", "reproduce"]
